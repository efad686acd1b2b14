"""Names erased from records of a control log that is compacted: records of the same keys take the place of those that hold the name."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ratings_core.errors import InputError
from services.admin.erasure import _erase_control, request_erasure
from services.control import generations
from services.control.erasures import ErasureRequest, erased_name, matchers
from services.control.log import ControlLog
from services.control.records import decode
from services.log.protocol import Record
from services.log.reading import read_range
from services.log.sqlite.log import open_sqlite_log
from tests.support.pools import first_generation, pool_of

NAME = "ann"


class Compacted:
    """A topic that cannot replace values, as Kafka's. compacted: the newest record of each key."""

    def __init__(self, topic: Any) -> None:
        self._topic = topic
        self.begin, self.end, self.reader, self.append, self.name = topic.begin, topic.end, topic.reader, topic.append, topic.name

    def compacted(self) -> list[Record]:
        records = {record.key: record for record in read_range(self._topic, 0, 0, self._topic.end(0))}
        return sorted(records.values())


def test_the_compacted_control_log_holds_no_erased_name(tmp_path: Path) -> None:
    with closing(open_sqlite_log(tmp_path / "log.sqlite", 1)) as log:
        topic, control = Compacted(log.control), ControlLog(log.control)
        created = control.create_pool(pool_of("p"))
        edits = {"aliases": {"annie": NAME}, "bans": ("eve",), "initial": {"elo": {NAME: 1600.0}}}
        made = first_generation(created, **edits)
        control.create_generation(made)
        request = request_erasure(control, None, "p", NAME, "case 1")
        names = matchers([request])
        assert [one.pool for one in control.refresh().erasures.requests] == ["p"]
        _erase_control(topic, names)  # type: ignore[arg-type]  # the methods that it calls
        end = log.control.end(0)
        _erase_control(topic, names)  # type: ignore[arg-type]  # as above
        assert log.control.end(0) == end, "nothing is left to do"
        assert not [record for record in topic.compacted() if b'"ann"' in record.value]
        assert control.refresh().generations["p"][1] == made, "the first record of a generation counts"
        wish = control.refresh().wish("p")
        assert wish is not None
        token = request.name.token
        assert (wish[1].aliases, wish[1].initial) == ({"annie": token}, {"elo": {token: 1600.0}})
        kept = [one for record in topic.compacted() if hasattr(one := decode(record.value), "aliases")]
        assert [one.aliases for one in kept] == [{"annie": token}] * 2


def test_a_request_that_was_cut_off_is_completed_by_the_next_one(tmp_path: Path) -> None:
    with closing(open_sqlite_log(tmp_path / "log.sqlite", 1)) as log:
        control = ControlLog(log.control)
        control.create_generation(first_generation(control.create_pool(pool_of("p")), aliases={"annie": NAME}))
        begun = ErasureRequest(pool="p", name=erased_name(NAME, ()), by="case 1", time=1.0)
        control.append(begun)
        assert request_erasure(control, None, "p", NAME, "case 1") == begun
        end = log.control.end(0)
        waiting = control.refresh().wish("p")
        assert waiting is not None
        assert waiting[1].aliases == {"annie": begun.name.token}
        assert request_erasure(control, None, "p", NAME, "case 1") == begun
        assert log.control.end(0) == end, "nothing is left to do"


def test_a_wish_after_an_erasure_is_kept_without_the_name(tmp_path: Path) -> None:
    """As where somebody bans an agent by the name that it still plays under."""
    with closing(open_sqlite_log(tmp_path / "log.sqlite", 1)) as log:
        control = ControlLog(log.control)
        created = control.create_pool(pool_of("p"))
        control.create_generation(first_generation(created))
        token = request_erasure(control, None, "p", NAME, "case 1", unknown=True).name.token
        control.want(generations.wish(control.standing("p"), time=1.0, bans=[NAME, "eve"]))
        waiting = control.refresh().wish("p")
        assert waiting is not None
        assert set(waiting[1].bans) == {token, "eve"}
        assert not [record for record in read_range(log.control, 0, 0, log.control.end(0)) if b'"ann"' in record.value]
        with pytest.raises(InputError, match="must not be an alias"):  # the token and the name are one agent
            control.want(generations.wish(control.standing("p"), time=1.0, bans=[NAME], aliases={token: "ben"}))


def test_a_token_is_not_erased_again(tmp_path: Path) -> None:
    """Its name in the log would give the first token, and the rows of the archive that hold this one the second: two agents for one."""
    with closing(open_sqlite_log(tmp_path / "log.sqlite", 1)) as log:
        control = ControlLog(log.control)
        control.create_generation(first_generation(control.create_pool(pool_of("p"))))
        request = request_erasure(control, None, "p", NAME, "case 1", unknown=True)
        assert request_erasure(control, None, "p", request.name.token, "case 2", unknown=True) == request
        assert control.refresh().erasures.requests == [request]


@pytest.mark.parametrize("others", [(), ("eve",)])
def test_of_two_requests_at_once_both_get_the_one_that_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: tuple[str, ...]
) -> None:
    """Else the second one prints a token that nobody has, and waits for ever."""
    with closing(open_sqlite_log(tmp_path / "log.sqlite", 1)) as log:
        control, other = ControlLog(log.control), ControlLog(log.control)
        control.create_generation(first_generation(control.create_pool(pool_of("p"))))
        for name in others:  # whose salt both take
            request_erasure(control, None, "p", name, "case 0", unknown=True)
        first, append = list[ErasureRequest](), control.append

        def later(record: ErasureRequest) -> int:
            first.append(request_erasure(other, None, "p", NAME, "case 1", unknown=True))
            return append(record)

        monkeypatch.setattr(control, "append", later)
        assert [request_erasure(control, None, "p", NAME, "case 2", unknown=True)] == first
