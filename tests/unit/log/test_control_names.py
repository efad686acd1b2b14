"""Settings that readers see hold the token of an erased name. Earlier control records stay as they are."""

from contextlib import closing
from pathlib import Path

import pytest

from ratings_core.errors import InputError
from services.admin.erasure import request_erasure
from services.control import generations
from services.control.erasures import ErasureRequest, erased_name
from services.control.log import ControlLog
from services.log.reading import read_range
from services.log.sqlite.log import open_sqlite_log
from tests.support.pools import first_generation, pool_of

NAME = "ann"


def test_the_next_generation_holds_the_token_and_no_record_is_written_again(tmp_path: Path) -> None:
    with closing(open_sqlite_log(tmp_path / "log.sqlite", 1)) as log:
        control = ControlLog(log.control)
        created = control.create_pool(pool_of("p"))
        made = first_generation(created, aliases={"annie": NAME}, bans=("eve",), initial={"elo": {NAME: 1600.0}})
        control.create_generation(made)
        end = log.control.end(0)
        token = request_erasure(control, None, "p", NAME, "case 1").name.token
        assert log.control.end(0) == end + 1, "one record: the request"
        assert control.refresh().generations["p"][1] == made
        after = control.create_generation(generations.make_successor(control.refresh(), made, 0, 2.0))
        assert (after.number, after.aliases, after.initial) == (2, {"annie": token}, {"elo": {token: 1600.0}})


@pytest.mark.parametrize("erased_first", [True, False])
def test_a_request_that_waits_never_shows_an_erased_name_in_whatever_order_the_records_came(tmp_path: Path, erased_first: bool) -> None:
    """Who requests a generation reads the erasures before it appends, so an erasure may come between."""
    with closing(open_sqlite_log(tmp_path / "log.sqlite", 1)) as log:
        control = ControlLog(log.control)
        control.create_generation(first_generation(control.create_pool(pool_of("p"))))
        begun = ErasureRequest(pool="p", name=erased_name(NAME, ()), by="case 1", time=1.0)
        wanted = generations.wish(control.standing("p"), time=1.0, aliases={"annie": NAME}, bans=["eve"], start=1000)
        for record in (begun, wanted) if erased_first else (wanted, begun):
            control.append(record)
        end = log.control.end(0)
        waiting = control.refresh().wish("p")
        assert waiting is not None
        assert (waiting[1].aliases, waiting[1].bans) == ({"annie": begun.name.token}, ("eve",))
        assert control.standing("p") == waiting[1]
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
