"""Details of agents in the control log: changes, rules, records and their keys, erased names."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from msgspec import UNSET

from ratings_core.errors import InputError
from services.admin.erasure import erase_details, erase_kept
from services.admin.log_copy import copy_log, read_copy
from services.cli.agent_details import change_of
from services.control.details import NO_DETAILS, AgentDetails, AgentFilter, DetailsChange, check_details
from services.control.details_records import KEY_PREFIX, DetailsWritten, agent_key, records_of
from services.control.erasures import ErasureRequest, erased_name, matchers
from services.control.log import ControlLog, NoPool
from services.control.records import ControlState, PoolCreated, decode, encode
from services.imports.agent_details import changes_of_csv, changes_of_json, changes_of_json_lines, csv_of, json_lines_of
from services.log.protocol import Log, Record
from services.log.records import MAX_RECORD_BYTES
from services.log.sqlite.log import open_sqlite_log
from services.runtime.settings import Settings
from services.wire.pools import Kind
from tests.support.pools import pool_of

MOST = 1000
EVERYTHING = AgentDetails(
    display_name="Ann Lee",
    country="DE",
    organisation="Lee & Co",
    tags={"team": "red", "size": "7b"},
    licence="Apache-2.0",
    url="https://example.org/ann",
    hidden=True,
)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    log = open_sqlite_log(tmp_path / "log.sqlite", 2)
    log.control.append(0, [encode(pool_of("blitz", Kind.GAMES))])
    yield log
    log.close()


def keys(log: Log) -> list[bytes | None]:
    """Keys of the records of details, in the order of the log."""
    return [record.key for record in records(log) if (record.key or b"").startswith(KEY_PREFIX.encode())]


def records(log: Log) -> list[Record]:
    reader = log.control.reader({0: 0})
    found = list(reader.poll(1.0, 10_000).get(0, []))
    reader.close()
    return found


def write(control: ControlLog, **changes: DetailsChange) -> int:
    return control.write_details("blitz", changes, 1.0, most_agents=MOST)


def test_a_change_keeps_absent_fields_and_removes_those_that_are_null() -> None:
    change = DetailsChange(country=None, tags={"team": None, "rank": "1"}, hidden=None)
    after = change.of(EVERYTHING)
    assert after == msgspec.structs.replace(EVERYTHING, country=None, tags={"rank": "1", "size": "7b"}, hidden=False)
    assert DetailsChange().of(EVERYTHING) == EVERYTHING
    assert DetailsChange(tags=None).of(EVERYTHING).tags == {}
    assert DetailsChange(tags=UNSET, display_name="A").of(NO_DETAILS) == AgentDetails(display_name="A")


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (AgentDetails(country="de"), "two capital letters"),
        (AgentDetails(country="DEU"), "two capital letters"),
        (AgentDetails(country="DE\n"), "two capital letters"),
        (AgentDetails(display_name=""), "display_name must be 1 to 256 bytes"),
        (AgentDetails(display_name="x" * 257), "display_name must be 1 to 256 bytes"),
        (AgentDetails(display_name="A\u0301nn"), "NFC"),
        (AgentDetails(display_name="a\u200bb"), "U\\+200B is invisible"),
        (AgentDetails(display_name="a\nb"), "control characters"),
        (AgentDetails(organisation=" Lee"), "white space"),
        (AgentDetails(licence="\ud800"), "UTF-8"),
        (AgentDetails(url="javascript:alert(1)"), "url must be an http or https address"),
        (AgentDetails(url="https://"), "url must be an http or https address"),
        (AgentDetails(url="https://[bad"), "url must be an http or https address"),
        (AgentDetails(url="https://a b"), "url must be an http or https address"),
        (AgentDetails(url="https://example.org/" + "x" * 1024), "url must be an http or https address"),
        (AgentDetails(tags={"Team": "red"}), "keys of a-z"),
        (AgentDetails(tags={"": "red"}), "keys of a-z"),
        (AgentDetails(tags={"team": ""}), "tags.team must be 1 to 256 bytes"),
        (AgentDetails(tags={f"t{i}": "x" for i in range(17)}), "at most 16"),
    ],
)
def test_a_value_that_breaks_a_rule_is_refused(change: AgentDetails, rule: str) -> None:
    with pytest.raises(InputError, match=rule):
        check_details("ann", change)


def test_valid_details_and_names_are_accepted() -> None:
    check_details("ann", EVERYTHING)
    check_details("team/Straße 漢字", NO_DETAILS)
    with pytest.raises(InputError, match="agent must not start or end with white space"):
        check_details(" ann", NO_DETAILS)


def test_a_change_is_written_once_and_read_by_those_that_ask_for_details(log: Log) -> None:
    control, other, without = ControlLog(log.control, details=True), ControlLog(log.control, details=True), ControlLog(log.control)
    assert write(control, ann=DetailsChange(country="DE"), bob=DetailsChange()) == 1
    assert write(control, ann=DetailsChange(country="DE")) == 0
    assert write(control, ann=DetailsChange(organisation="Lee")) == 1
    assert write(other, ann=DetailsChange(country=None)) == 1
    details = other.refresh().details.of("blitz")
    assert details.get("ann") == AgentDetails(organisation="Lee")
    assert (len(details), details.get("bob"), other.known().details.of("rapid").items()) == (1, None, [])
    assert len(without.refresh().details.of("blitz")) == 0
    assert without.known().position == other.known().position == 4
    assert set(keys(log)) == {agent_key("blitz", "ann").encode()}
    assert b"ann" not in b"".join(key or b"" for key in keys(log))


def test_what_is_removed_completely_is_forgotten(log: Log) -> None:
    control = ControlLog(log.control, details=True)
    write(control, ann=DetailsChange(country="DE", hidden=True))
    assert control.known().details.of("blitz").hidden() == {"ann"}
    write(control, ann=DetailsChange(country=None, hidden=False))
    details = control.known().details.of("blitz")
    assert (details.get("ann"), details.items(), details.hidden()) == (None, [], frozenset())


def test_nothing_is_written_if_one_of_many_changes_breaks_a_rule(log: Log) -> None:
    control = ControlLog(log.control, details=True)
    before = log.control.end(0)
    with pytest.raises(InputError, match="bob: country must be two capital letters"):
        write(control, ann=DetailsChange(country="DE"), bob=DetailsChange(country="x"))
    with pytest.raises(InputError, match="at most 1 with details"):
        control.write_details("blitz", {"a": DetailsChange(country="DE"), "b": DetailsChange(country="DE")}, 1.0, most_agents=1)
    with pytest.raises(NoPool):
        control.write_details("rapid", {"ann": DetailsChange(country="DE")}, 1.0, most_agents=1)
    assert log.control.end(0) == before


def test_many_agents_are_written_in_few_records_below_the_limit_of_a_record(log: Log) -> None:
    control = ControlLog(log.control, details=True)
    changes = {f"agent-{i}": DetailsChange(display_name="\u6f22" * 85, country="DE") for i in range(2500)}
    assert control.write_details("blitz", changes, 1.0, most_agents=10_000) == 2500
    written = records(log)[1:]
    assert 3 <= len(written) <= 5
    assert max(len(record.value) + len(record.key or b"") for record in written) <= MAX_RECORD_BYTES
    assert len({record.key for record in written}) == len(written)
    assert len(ControlLog(log.control, details=True).refresh().details.of("blitz")) == 2500
    assert write(control, **{"agent-7": DetailsChange(country="FR")}) == 1
    known = ControlLog(log.control, details=True).refresh().details.of("blitz").get("agent-7")
    assert known is not None
    assert known.country == "FR"


def test_the_largest_details_of_an_agent_fit_a_record() -> None:
    text = "\u6f22" * 85
    largest = AgentDetails(
        display_name=text,
        organisation=text,
        licence=text,
        url="https://a/" + '"' * 1000,
        tags={f"t{i:0>31}": text for i in range(16)},
    )
    check_details("ann", largest)
    for record in records_of("p" * 60, {f"{i}{text[:80]}": largest for i in range(1500)}, 1.0):
        assert sum(map(len, encode(record))) <= MAX_RECORD_BYTES


def test_records_of_one_content_have_one_key() -> None:
    many = DetailsWritten(pool="blitz", time=1.0, agents={"a": EVERYTHING, "b": NO_DETAILS})
    assert encode(many) == encode(many)
    assert decode(encode(many)[1]) == many
    assert encode(many)[0] != encode(msgspec.structs.replace(many, time=2.0))[0]


def test_the_last_record_of_a_key_says_as_much_as_all_of_them(log: Log) -> None:
    """Kafka's compaction keeps the last record of each key alone."""
    control = ControlLog(log.control, details=True)
    for country in ("DE", "FR", None, "AT"):
        write(control, ann=DetailsChange(country=country), **({"bob": DetailsChange(licence=country)} if country != "FR" else {}))
    last = {record.key: record for record in records(log)}
    kept = sorted(last.values(), key=lambda record: record.offset)
    state = ControlState()
    for record in kept:
        state.apply(record.offset, decode(record.value))
    assert state.details.of("blitz").items() == control.known().details.of("blitz").items()


def test_an_erased_agent_has_no_details_before_and_after(log: Log) -> None:
    control = ControlLog(log.control, details=True)
    write(control, ann=DetailsChange(display_name="Ann Lee", hidden=True), bob=DetailsChange(country="DE"))
    name = erased_name("ann", ())
    control.append(ErasureRequest(pool="blitz", name=name, by="case 1", time=2.0))
    details = control.refresh().details.of("blitz")
    assert (details.get("ann"), details.hidden(), len(details)) == (None, {"ann"}, 1), "boards have the name for some time"
    with pytest.raises(InputError, match="erased"):
        write(control, ann=DetailsChange(country="DE"))
    control.append(DetailsWritten(pool="blitz", time=3.0, agents={"ann": EVERYTHING, "eve": NO_DETAILS}))
    assert control.refresh().details.of("blitz").get("ann") is None
    assert ControlLog(log.control, details=True).refresh().details.of("blitz").items() == [("bob", AgentDetails(country="DE"))]


def test_an_erasure_removes_details_from_an_embedded_control_log(log: Log, tmp_path: Path) -> None:
    control = ControlLog(log.control, details=True)
    write(control, ann=DetailsChange(display_name="Ann-Lee-4711"))
    write(control, ann=DetailsChange(country="DE"), bob=DetailsChange(country="FR"))
    request = ErasureRequest(pool="blitz", name=erased_name("ann", ()), by="case 1", time=2.0)
    control.append(request)
    end = log.control.end(0)
    erase_details(log.control, matchers([request]))
    assert log.control.end(0) == end
    assert b"Ann-Lee-4711" not in b"".join(record.value for record in records(log))
    assert ControlLog(log.control, details=True).refresh().details.of("blitz").items() == [("bob", AgentDetails(country="FR"))]
    assert all(b"Ann-Lee-4711" not in path.read_bytes() for path in tmp_path.glob("log.sqlite*"))


def test_the_task_of_an_erasure_removes_details(log: Log, tmp_path: Path) -> None:
    write(ControlLog(log.control, details=True), ann=DetailsChange(display_name="Ann-Lee-4711"))
    request = ErasureRequest(pool="blitz", name=erased_name("ann", ()), by="case 1", time=2.0)
    erase_kept(Settings(data=tmp_path, partitions=2), 0, [request], {}, 0)
    assert b"Ann-Lee-4711" not in b"".join(record.value for record in records(log))


class WithoutRewrites:
    """A topic that cannot replace records, as Kafka's."""

    def __init__(self, log: Log) -> None:
        self._topic = log.control

    def __getattr__(self, name: str) -> object:
        if name == "rewrite":
            raise AttributeError(name)
        return getattr(self._topic, name)


def test_an_erasure_supersedes_the_records_of_one_agent_where_none_can_be_replaced(log: Log) -> None:
    control = ControlLog(log.control, details=True)
    write(control, ann=DetailsChange(display_name="Ann Lee"))
    write(control, bob=DetailsChange(country="DE"))
    request = ErasureRequest(pool="blitz", name=erased_name("ann", ()), by="case 1", time=2.0)
    topic = WithoutRewrites(log)
    for _ in range(2):
        erase_details(topic, matchers([request]))  # type: ignore[arg-type]
    newest = {record.key: record.value for record in records(log)}
    assert b"Ann" not in newest[agent_key("blitz", "ann").encode()]
    assert keys(log).count(agent_key("blitz", "ann").encode()) == 2, "an erasure that is repeated writes nothing"


def test_a_backup_is_read_without_details(log: Log, tmp_path: Path) -> None:
    write(ControlLog(log.control, details=True), ann=DetailsChange(country="DE"))
    copy_log(tmp_path / "log.sqlite", tmp_path / "copy.sqlite")
    assert read_copy(tmp_path / "copy.sqlite").erasures == {}


def test_a_filter_accepts_agents_for_which_all_conditions_hold() -> None:
    visible = msgspec.structs.replace(EVERYTHING, hidden=False)
    for wanted in (AgentFilter(), AgentFilter(country="DE"), AgentFilter(organisation="Lee & Co", tags=(("size", "7b"), ("team", "red")))):
        assert (wanted.accepts(visible), wanted.accepts(EVERYTHING), wanted._replace(hidden=True).accepts(EVERYTHING)) == (
            True,
            False,
            True,
        )
    for wanted in (AgentFilter(country="FR"), AgentFilter(country="DE", tags=(("team", "blue"),)), AgentFilter(organisation="Lee")):
        assert not wanted.accepts(visible)


def test_a_saved_file_is_read_as_it_was_written() -> None:
    known = [("b", AgentDetails(tags={"team": 'a "b", c'})), ("a", EVERYTHING), ("c\u6f22", AgentDetails(country="FR"))]
    for text, read in (("".join(csv_of(known)), changes_of_csv), ("".join(json_lines_of(known)), changes_of_json_lines)):
        changes = read(text.encode())
        assert {agent: change.of(NO_DETAILS) for agent, change in changes.items()} == dict(known)


def test_a_tag_can_have_the_name_of_a_field_on_the_command_line() -> None:
    assert change_of(["tags.country=red", "country=DE"]) == DetailsChange(country="DE", tags={"country": "red"})
    for twice in (["tags.country=red", "tags.country=blue"], ["country=DE", "country=FR"]):
        with pytest.raises(InputError, match="must be set once"):
            change_of(twice)


def test_an_empty_cell_removes_a_value_and_an_absent_column_keeps_it() -> None:
    changes = changes_of_csv("\ufeffagent,country,tags.team,hidden\r\nann,,,\nbob,DE,red,true\n\n".encode())
    assert changes["ann"].of(EVERYTHING) == msgspec.structs.replace(EVERYTHING, country=None, tags={"size": "7b"}, hidden=False)
    assert changes["bob"] == DetailsChange(country="DE", tags={"team": "red"}, hidden=True)


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (b"", "must have agent"),
        (b"agent,contry\nann,DE\n", "must have agent"),
        (b"agent,agent\nann,ann\n", "must have agent"),
        (b"agent,tags.Team\nann,red\n", "keys of a-z"),
        (b"agent,country\nann\n", "row 2 must have 2 cells"),
        (b"agent,country\nann,DE\nann,FR\n", "row 3, column 'agent' must be there once"),
        (b"agent,hidden\nann,yes\n", "must be true, false or empty"),
        (b'agent,country\n"ann,DE\n', "RFC 4180"),
        (b"agent\n\xff\n", "must be UTF-8"),
    ],
)
def test_a_csv_file_with_a_mistake_is_refused_with_its_row(data: bytes, rule: str) -> None:
    with pytest.raises(InputError, match=rule):
        changes_of_csv(data)


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (b'{"agent":"ann","contry":"DE"}', "row 1 must be an object .*contry"),
        (b'\n{"country":"DE"}', "row 2 must be an object .*agent"),
        (b'{"agent":"ann"}\n{"agent":"ann"}', "row 2, column 'agent' must be there once"),
        (b'{"agent":"ann","hidden":"true"}', "row 1 must be an object"),
        (b"\xff", "row 1 must be an object"),
    ],
)
def test_json_lines_with_a_mistake_are_refused_with_their_line(data: bytes, rule: str) -> None:
    with pytest.raises(InputError, match=rule):
        changes_of_json_lines(data)


def test_a_json_array_is_read_as_json_lines_are() -> None:
    lines = b'{"agent":"ann","country":"DE"}\n{"agent":"bob","tags":{"team":null}}\n'
    assert changes_of_json(b"[" + lines.strip().replace(b"\n", b",") + b"]") == changes_of_json_lines(lines)
    with pytest.raises(InputError, match="must be an array"):
        changes_of_json(b'{"agent":"ann"}')


def test_pool_created_is_no_record_of_details() -> None:
    assert not encode(PoolCreated(pool="details", kind=Kind.GAMES, time=0.0))[0].startswith(KEY_PREFIX.encode())
