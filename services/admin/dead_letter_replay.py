"""List dead letters, and send refused outcomes to the log again.

A dead letter is an index entry: it names the offset and item of the refused outcome, and the outcome log holds the complete text. A run
notes the keys of the letters it sent in the control log, and later runs skip these letters.

An outcome that is sent again keeps its id. If a run is killed before its note, the next run sends the same outcomes once more, and the
pool counts each of them once as long as the id is in its dedupe window.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from typing import Final, NamedTuple

from ratings_core.errors import InputError
from services.control import records as pools
from services.control.records import ControlState, LettersSent
from services.log import dead_letters
from services.log.dead_letters import DeadLetter
from services.log.partition import partition_of
from services.log.protocol import BatchDamaged, Log, OffsetLost, Topic
from services.log.reading import read_range
from services.wire import events
from services.wire.new_names import hidden_names
from services.wire.refusals import Reason, Refusal
from services.wire.rules import Broken

_NOTED_AT_ONCE: Final = 1000
_NOTE: Final = b'"letters_sent"'


class Outcome(StrEnum):
    """Result of sending a letter again."""

    SENT = "sent"
    STILL_REFUSED = "still refused"
    UNKNOWN_POOL = "its pool is not there: create it first"
    REPEATED = "the same was sent already"
    SENT_BEFORE = "sent by an earlier run"
    GONE = "the log no longer has its record, or the record cannot be read"
    DAMAGED = "the letter is damaged"


class Sent(NamedTuple):
    """A letter and the result of sending it. rule: the rule that it still breaks, or the damage; empty for other results."""

    letter: DeadLetter
    outcome: Outcome
    rule: str = ""


def read(
    topic: Topic, reason: Reason | None = None, pool: str | None = None, tell: Callable[[InputError], object] = lambda _: None
) -> Iterator[DeadLetter]:
    """Read the dead letters, oldest first. Repeated deliveries of a letter are skipped.

    Args:
        topic: Topic of dead letters.
        reason: Only letters with this reason; None for all.
        pool: Only letters of this pool; None for all.
        tell: Called with the error of each damaged record. Damaged records are skipped.

    Raises:
        LogError: The topic cannot be read.
    """
    seen: set[str] = set()
    for record in read_range(topic, 0, topic.begin(0), topic.end(0)):
        try:
            letter = dead_letters.decode(record)
        except InputError as error:
            tell(error)
            continue
        if letter.key not in seen:
            seen.add(letter.key)
            if reason in {None, letter.reason} and pool in {None, letter.pool}:
                yield letter


def original(log: Log, letter: DeadLetter) -> bytes:
    """Complete bytes of a refused item, or of the record if all of it was refused.

    Raises:
        OffsetLost: Neither the log nor the archive holds the record.
        InputError: The letter is damaged: its partition or item does not exist.
        LogError: The log cannot be read.
    """
    topic, partition = log.history, letter.partition
    if partition >= topic.partitions:
        raise InputError("partition", partition, f"must be below {topic.partitions}")
    values = [record.value for record in read_range(topic, partition, letter.offset, letter.offset + 1)]
    if not values:
        raise OffsetLost(topic.name, partition, letter.offset, topic.begin(partition), topic.end(partition))
    if letter.item < 0:
        return values[0]
    texts = events.item_texts(values[0])
    if letter.item >= len(texts):
        raise InputError("item", letter.item, f"must be below {len(texts)}, the number of outcomes in the record at offset {letter.offset}")
    return texts[letter.item]


def sent_before(control: Topic) -> set[str]:
    """Keys of the letters that the control log notes as sent. Raises `LogError`."""
    keys: set[str] = set()
    for record in read_range(control, 0, control.begin(0), control.end(0)):
        if _NOTE in record.value and isinstance(noted := pools.decode(record.value), LettersSent):
            keys.update(noted.letters)
    return keys


def send_again(log: Log, control: ControlState, letters: Iterable[DeadLetter], now: float, *, all_: bool = False) -> Iterator[Sent]:
    """Append the refused outcome of each letter to its pool's partition, if it breaks no rule now. Equal texts are sent once.

    An outcome can be refused again, and then becomes a new letter. If equal texts were sent once for each letter, every run would double
    these letters.

    Args:
        log: The log.
        control: State of the control log.
        letters: Letters to send.
        now: Time of the note, seconds since 1970.
        all_: Also send letters that an earlier run noted as sent.

    Returns:
        Each letter with its result. Letters are sent while the iterator is consumed.

    Raises:
        LogError: The log cannot be read or written.
    """
    before = set() if all_ else sent_before(log.control)
    texts: set[bytes] = set()
    noted: list[str] = []
    try:
        for letter in letters:
            done = Sent(letter, Outcome.SENT_BEFORE) if letter.key in before else _send(log, control, letter, texts)
            if done.outcome in {Outcome.SENT, Outcome.REPEATED}:
                noted.append(letter.key)
            if len(noted) == _NOTED_AT_ONCE:
                _note(log, noted, now)
            yield done
    finally:
        _note(log, noted, now)


def _send(log: Log, control: ControlState, letter: DeadLetter, texts: set[bytes]) -> Sent:
    """Send one letter, if it breaks no rule and `texts` lacks its hash. Adds the hash (SHA-256) to `texts`."""
    if letter.reason == Reason.CONFLICTING_ID:  # it would conflict again
        return Sent(letter, Outcome.STILL_REFUSED, f"{letter.path} {letter.rule}")
    try:
        value = original(log, letter)
    except (OffsetLost, BatchDamaged):  # other letters can still be sent
        return Sent(letter, Outcome.GONE)
    except InputError as error:
        return Sent(letter, Outcome.DAMAGED, str(error))
    decoded = events.decode([value])
    broken: list[Refusal | Broken] = [*decoded.refusals, *hidden_names(decoded.events).values()]
    if broken:
        return Sent(letter, Outcome.STILL_REFUSED, f"{broken[0].path} {broken[0].rule}")
    pool = decoded.events[0].pool
    if pool not in control.pools:
        return Sent(letter, Outcome.UNKNOWN_POOL)
    if any(event.kind not in {None, control.pools[pool].kind} for event in decoded.events):
        return Sent(letter, Outcome.STILL_REFUSED, f"pool {pool} holds {control.pools[pool].kind} outcomes only")
    if (text := hashlib.sha256(value).digest()) in texts:
        return Sent(letter, Outcome.REPEATED)
    texts.add(text)
    log.outcomes.append(partition_of(pool, log.outcomes.partitions), [(pool.encode(), value)])
    return Sent(letter, Outcome.SENT)


def _note(log: Log, keys: list[str], now: float) -> None:
    """Note `keys` as sent in the control log, and empty the list."""
    if keys:
        log.control.append(0, [pools.encode(LettersSent(letters=list(keys), time=now))])
        keys.clear()
