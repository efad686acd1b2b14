"""Exports under way in one API."""

from collections.abc import Iterator
from threading import Lock, Semaphore

from services.admin.export import Wanted, tables
from services.admin.export_formats import EncodedPart, Format, encoded
from services.admin.outcome_ids import with_ids
from services.api.problems import ApiError, no_pool
from services.boards.agent_history import AgentOutcomes
from services.control.log import ControlLog
from services.log.protocol import Log


class Exports:
    """The exports of one API. At most `most` run at once; a further one is refused with 503."""

    def __init__(self, log: Log, control: ControlLog, most: int) -> None:
        self._log, self._control, self._most = log, control, most
        self.free = Semaphore(most)
        """The exports that may begin now."""

    def parts(self, wanted: Wanted, form: Format) -> Iterator[EncodedPart]:
        """Return the parts of an export. Raises `ApiError` if the pool does not exist, and the errors of `tables` and `encoded`."""
        control = self._control.refresh()
        if wanted.range.pool not in control.pools:
            raise no_pool(wanted.range.pool)
        return encoded(tables(self._log, control, wanted), form, wanted.columns)

    def with_ids(self, answer: AgentOutcomes) -> AgentOutcomes:
        """Return outcomes with their ids, which takes the place of an export. Raises as `begin` and `outcome_ids.with_ids`."""
        self._take_place()
        try:
            return with_ids(self._log, self._control.refresh(), answer)
        finally:
            self.free.release()

    def begin(self, wanted: Wanted, form: Format) -> "ExportStream":
        """Begin an export, which gives its place back when it ends. Raises `ApiError` 503 if no place is free."""
        self._take_place()
        return ExportStream(self, wanted, form)

    def _take_place(self) -> None:
        if not self.free.acquire(blocking=False):
            detail = f"{self._most} exports are under way already: send the request again later"
            raise ApiError(503, "busy", detail, headers={"Retry-After": "5"})


class ExportStream:
    """One export under way. One thread reads it at a time; another thread closes it if the client disconnects."""

    def __init__(self, exports: Exports, wanted: Wanted, form: Format) -> None:
        self._exports, self._wanted, self._form = exports, wanted, form
        self._parts: Iterator[EncodedPart] | None = None
        self._lock, self._closed = Lock(), False

    def next(self) -> bytes | None:
        """Return the next bytes; None at the end. Raises the errors of `Exports.parts`. The end and an error give the place back."""
        with self._lock:
            data: bytes | None = None
            try:
                if not self._closed:
                    self._parts = self._parts or self._exports.parts(self._wanted, self._form)
                    data = next((part.data for part in self._parts if part.data), None)
            finally:
                if data is None:
                    self._end()
            return data

    def close(self) -> None:
        """End the export. Waits for a read under way in another thread."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        if not self._closed:
            self._closed, self._parts = True, None
            self._exports.free.release()
