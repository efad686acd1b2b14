"""Verify the final states of ended seasons: fold each season again from the log, and compare the result with its file."""

from typing import NamedTuple

import numpy as np

from ratings_core.arrays.digest import digest
from ratings_core.arrays.frozen import Arrays
from services.boards.season_files import SeasonFiles, tokenized
from services.checkpoints.checkpoint import CheckpointStore
from services.checkpoints.objects import BadObject
from services.control.erasures import NameMatcher
from services.control.records import FOLD_VERSION, ControlState, Generation
from services.log.protocol import Log, OffsetLost
from services.shard.generations.season_end import SeasonEnds, SeasonNotFolded
from services.state.opening import FinalState


class Compared(NamedTuple):
    """The comparison of a final state, with the fields of a `Finding`."""

    what: str
    position: int
    difference: str | None
    made: bool


class SeasonsBefore:
    """Final states of the seasons before the generations that `verify` folds: from the log, or from the files if the log lost records.

    Args:
        log: The log, with its archive.
        control: State of the control log.
        checkpoints: Where the files of seasons are; None uses the log alone.
    """

    def __init__(self, log: Log, control: ControlState, checkpoints: CheckpointStore | None) -> None:
        self.control = control
        self._of_log, self._of_files = SeasonEnds(log, control, None), SeasonEnds(log, control, checkpoints)
        self._files = None if checkpoints is None else SeasonFiles(checkpoints, log.outcomes.identity)
        self._compared: dict[tuple[str, int], bool] = {}
        """Pool and last generation of the seasons that were compared, and whether they could be folded."""

    def compared(self, made: Generation, number: int) -> Compared | None:
        """Compare the final state of the season before `made` with its file.

        Returns None if there is no such season, or if it was compared already. Raises `LogError`, `OSError`.

        Args:
            made: A generation.
            number: Partition of its pool.
        """
        opening, last = made.opening, self._last(made)
        if opening is None or last is None or (made.pool, last.number) in self._compared:
            return None
        what = f"end of season {last.season}"
        if last.fold_version != FOLD_VERSION:
            self._compared[made.pool, last.number] = False
            why = f"it was folded by version {last.fold_version}, and this release folds by version {FOLD_VERSION}"
            return Compared(what, opening.position, why, made=False)
        try:
            folded = self._digest(made.pool, self._of_log.folded(made, number))
        except (OffsetLost, SeasonNotFolded) as error:
            self._compared[made.pool, last.number] = False
            return Compared(what, opening.position, f"the season cannot be folded again from the log ({error})", made=False)
        self._compared[made.pool, last.number] = True
        kept = self._digest_of_file(last)
        difference = None if kept == folded else f"the file has {kept}, the log and its archive give {folded}"
        return Compared(what, opening.position, difference, made=True)

    def final(self, made: Generation, number: int) -> FinalState | None:
        """Final state of the season before `made`; None for a generation without an opening. Raises as `SeasonEnds.before`."""
        last = self._last(made)
        folded = last is not None and self._compared.get((made.pool, last.number), False)
        return (self._of_log if folded else self._of_files).before(made, number)

    def _last(self, made: Generation) -> Generation | None:
        return None if made.opening is None else self.control.generations.get(made.pool, {}).get(made.opening.generation)

    def _digest_of_file(self, last: Generation) -> str:
        end = None if self._files is None else self._files.end(last.pool, last.season)
        if self._files is None or end is None:
            return "no final state"
        try:
            return self._digest(last.pool, self._files.arrays(end))
        except BadObject as error:
            return f"a damaged final state ({error})"

    def _digest(self, pool: str, arrays: Arrays) -> str:
        """Digest of a final state. If names of the pool are erased, without what depends on the time of the erasure."""
        erased = self.control.erasures.names(pool)
        if not erased:
            return digest(arrays)
        kept = {name: array for name, array in tokenized(arrays, NameMatcher(erased)).items() if not name.startswith("edits.")}
        return digest({**kept, "dedupe.bodies": np.zeros_like(kept["dedupe.bodies"])})
