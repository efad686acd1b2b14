"""The records of one call of the fold: shares, one or more for each pool, and dead letters."""

from collections.abc import Sequence

from services.log.dead_letters import DeadLetter, excerpt
from services.log.protocol import Records
from services.shard.share import Share, shares_of
from services.wire import events
from services.wire.refusals import Reason


class Batch:
    """The decoded records of one call.

    shares: by pool, one or more shares in log order; pools are in the order of their first outcomes. outcomes: total number of outcomes.
    letters: dead letters so far.
    """

    def __init__(self, partition: int, records: Records) -> None:
        self.partition, self.records = partition, records
        self.letters: list[DeadLetter] = []
        self._last_texts: tuple[int, bytes, Sequence[bytes]] = -1, b"", ()
        """Cache for excerpts: index, value and texts of the items of the record that was last split into items."""
        parts, self._refusals = records.outcomes()
        self.shares = shares_of(records, parts)
        self.outcomes = sum([len(part.record) for part in parts])

    def refuse_undecodable(self) -> None:
        """Add a dead letter for each record or item that breaks a rule of the wire schema."""
        for refusal in self._refusals:
            self._refuse(refusal.record, refusal.item, refusal.reason, refusal.path, refusal.rule)

    def refuse_all(self, share: Share, reason: Reason, rule: str) -> None:
        """Add a dead letter for each outcome of a share whose pool is refused."""
        for i in range(len(share)):
            self.refuse(share, i, reason, "pool", rule)

    def refuse(self, share: Share, index: int, reason: Reason, path: str, rule: str, generation: int = 0) -> None:
        """Add a dead letter for one outcome of a share.

        Args:
            share: The share that contains the outcome.
            index: Index of the outcome in the share.
            reason: Reason of the refusal.
            path: Path of the field that breaks the rule.
            rule: The rule, for people.
            generation: Number of the generation that refused the outcome; 0 without one.
        """
        self._refuse(int(share.record[index]), int(share.item[index]), reason, path, rule, share.pool, generation)

    def _refuse(self, record: int, item: int, reason: Reason, path: str, rule: str, pool: str | None = None, generation: int = 0) -> None:
        self.letters.append(
            DeadLetter(
                generation=generation,
                partition=self.partition,
                offset=int(self.records.offset[record]),
                item=item,
                reason=reason,
                path=path,
                rule=rule,
                pool=pool,
                excerpt=excerpt(self._refused_text(record, item)),
            )
        )

    def _refused_text(self, record: int, item: int) -> bytes:
        """Return the text of one item, or the value of a record that is not an array.

        Dead letters hold items instead of records: together they are about as long as the record, whatever its number of items.
        """
        if self._last_texts[0] != record:
            value = self.records[record].value
            self._last_texts = record, value, events.item_texts(value) if item >= 0 else ()
        _, value, texts = self._last_texts
        return texts[item] if 0 <= item < len(texts) else value
