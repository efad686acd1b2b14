"""`equirank dead-letters`: each letter once, what was refused to its end, and sent again where that can help."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner, Result

from services.admin import dead_letter_replay as letters
from services.admin.dead_letter_replay import Outcome
from services.admin.erasure import erase_kept
from services.cli.main import application
from services.control.directory import LiveDirectory
from services.control.erasures import ErasureRequest, erased_name
from services.control.log import ControlLog, control_state
from services.control.records import FoldSettings, PoolCreated
from services.log import dead_letters
from services.log.partition import partition_of
from services.log.reading import read_range
from services.log.sqlite.log import open_sqlite_log
from services.runtime.settings import Settings
from services.shard.partition import Partition
from services.wire.pools import Kind
from tests.support import outcomes
from tests.support.damaged import damage

PARTITIONS = 8
POOL = "blitz"
HOME = partition_of(POOL, PARTITIONS)
AWAY = (HOME + 1) % PARTITIONS

Run = Callable[..., Result]


def game(identity: str, **fields: object) -> dict[str, object]:
    return outcomes.game(identity, "ada", "bob", pool=POOL, **fields)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command on a log with three bad ones of four kinds of record; every letter was delivered twice."""
    monkeypatch.setenv("EQUIRANK_DATA", str(tmp_path))
    log = open_sqlite_log(tmp_path / "log.sqlite", PARTITIONS)
    values = {
        HOME: [msgspec.json.encode([game("good"), game("bad", weight=-1, meta="y" * 3000), game("early")]), b"no json" * 1000],
        AWAY: [msgspec.json.encode(game("misplaced"))],
    }
    control = ControlLog(log.control)
    directory = LiveDirectory(control, FoldSettings(), 10, lambda: 0.0, create=False)
    for number, records in values.items():
        log.outcomes.append(number, [(None, value) for value in records])
        reader = log.outcomes.reader({number: 0})
        letters = Partition(number, PARTITIONS).fold(reader.poll(5.0, 100)[number], directory)
        reader.close()
        for _ in range(2):
            dead_letters.write(log.dead_letters, letters)
    control.close()
    log.close()
    return lambda *words: CliRunner().invoke(application("dead-letters"), ["dead-letters", *words])


def create(folder: Path) -> None:
    log = open_sqlite_log(folder / "log.sqlite", PARTITIONS)
    control = ControlLog(log.control)
    control.create_pool(PoolCreated(pool=POOL, kind=Kind.GAMES, time=0.0))
    control.close()
    log.close()


def at_home(folder: Path) -> list[bytes]:
    log = open_sqlite_log(folder / "log.sqlite", PARTITIONS)
    reader = log.outcomes.reader({HOME: 2})
    found = reader.poll(0.1, 100).get(HOME, []) if log.outcomes.end(HOME) > 2 else []
    reader.close()
    log.close()
    return [record.value for record in found]


def test_each_letter_is_listed_once_with_its_reason(run: Run) -> None:
    found = run("list")
    assert found.exit_code == 0, found.output
    assert "5 dead letters, bad_field 1, unknown_pool 2, unparsable 1, wrong_partition 1" in found.output
    assert "1 dead letter, bad_field 1" in run("list", "--reason", "bad_field").output
    assert "0 dead letters" in run("list", "--pool", "other").output
    assert "the newest 2 are listed" in run("list", "--count", "2").output


def test_the_list_says_which_were_sent_again(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    create(tmp_path)
    run("replay", "--reason", "wrong_partition")
    rows = {line.split("│")[2].strip(): line.split("│")[6].strip() for line in run("list").output.splitlines() if line.startswith("│")}
    assert rows == {"bad_field": "no", "unknown_pool": "no", "unparsable": "no", "wrong_partition": "yes"}


def test_a_letter_shows_the_rule_and_what_broke_it_to_its_end(run: Run) -> None:
    key = f"0/{HOME}/0/1"
    shown = run("show", key)
    assert "bad_field: $[1].weight" in shown.output
    assert f"partition {HOME}, offset 0, item 1" in shown.output
    whole = run("show", f"0/{HOME}/1/-1", "--whole")
    assert "no json" * 1000 in whole.output
    assert "key of a dead letter" in str(run("show", "0/0/0/0").exception)


def test_what_would_be_taken_now_is_sent_again_and_the_rest_told(run: Run, tmp_path: Path) -> None:
    before = run("replay")
    assert (before.exit_code, at_home(tmp_path)[1:]) == (1, [])
    assert "create it first" in before.output
    create(tmp_path)
    done = run("replay")
    assert done.exit_code == 1
    assert "3 of 5 dead letters sent again" in done.output
    assert "bad_field: still refused: $.weight must be from 0.001 to 1000" in done.output
    ids = [msgspec.json.decode(value)["id"] for value in at_home(tmp_path)]
    assert sorted(ids) == ["early", "good", "misplaced"]
    assert run("replay", "--reason", "unknown_pool").exit_code == 0


def test_letters_of_a_damaged_batch_do_not_keep_the_others_back(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    create(tmp_path)
    log = open_sqlite_log(tmp_path / "log.sqlite", PARTITIONS)
    damage(log.outcomes, monkeypatch, (HOME, 0, 0, 1))
    sent = letters.send_again(log, control_state(log.control), letters.read(log.dead_letters), 0.0)
    found = Counter((one.letter.partition, one.outcome) for one in sent)
    assert found == {(HOME, Outcome.GONE): 3, (HOME, Outcome.STILL_REFUSED): 1, (AWAY, Outcome.SENT): 1}
    log.close()


def test_what_an_earlier_run_sent_stays_where_it_is(run: Run, tmp_path: Path) -> None:
    """Beyond the window of ids a second sending would count a second time."""
    create(tmp_path)
    run("replay", "--reason", "wrong_partition")
    assert len(at_home(tmp_path)) == 1
    second = run("replay")
    assert "2 of 5 dead letters sent again, 1 by an earlier run" in second.output
    third = run("replay", "--pool", POOL)
    assert (third.exit_code, len(at_home(tmp_path))) == (0, 3)
    assert "0 of 3 dead letters sent again, 3 by an earlier run" in third.output
    assert "3 of 3 dead letters sent again" in run("replay", "--pool", POOL, "--again").output
    assert len(at_home(tmp_path)) == 6


LETTER = {"generation": 0, "partition": HOME, "offset": 0, "item": 1, "reason": "bad_field", "path": "$", "rule": "must", "pool": None}
DAMAGED = {
    b"\xff\x00no json": "malformed",
    b"": "truncated",
    b'{"more":' + b"[" * 100_000: "recursion",
    b"[1]": "Expected `object`",
    msgspec.json.encode(LETTER): "missing required field `excerpt`",
    msgspec.json.encode(LETTER | {"excerpt": "", "offset": "0"}): "Expected `int`, got `str` - at `$.offset`",
    msgspec.json.encode(LETTER | {"excerpt": "", "offset": -1}): ">= 0",
    msgspec.json.encode(LETTER | {"excerpt": "", "item": -2}): ">= -1",
    b'{"offset":1%s}' % (b"0" * 400): "at `$.offset`",
    b'{"pool":"\xed\xa0\x80"}': "utf-8",
}


def test_damaged_letters_are_passed_over_and_told(run: Run, tmp_path: Path) -> None:
    create(tmp_path)
    log = open_sqlite_log(tmp_path / "log.sqlite", PARTITIONS)
    offsets = log.dead_letters.append(0, [(None, value) for value in DAMAGED])
    log.close()
    listed, shown, replayed = run("list"), run("show", f"0/{HOME}/0/1"), run("replay")
    assert [one.exit_code for one in (listed, shown, replayed)] == [0, 0, 1]
    assert "5 dead letters, bad_field 1" in listed.output
    assert "3 of 5 dead letters sent again" in replayed.output
    for offset, rule in zip(offsets, DAMAGED.values(), strict=True):
        (told,) = [line for line in replayed.stderr.splitlines() if line.startswith(f"skipped: dead letter at offset {offset} ")]
        assert rule.casefold() in told.casefold()
        assert "got b" in told


def test_an_erasure_empties_damaged_letters_and_goes_on(run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Entries of all partitions without a pool are searched: a record that broke before its pool was read may lie in any."""
    log = open_sqlite_log(tmp_path / "log.sqlite", PARTITIONS)
    damaged = msgspec.json.encode(LETTER | {"offset": "0", "excerpt": '"ada"'})
    away = msgspec.json.encode(LETTER | {"partition": AWAY, "excerpt": '{"agents": ["ada"'})
    (offset, _) = log.dead_letters.append(0, [(None, damaged), (None, away)])
    request = ErasureRequest(pool=POOL, name=erased_name("ada", ()), by="case 1", time=0.0)
    for _ in range(2):
        erase_kept(Settings(data=tmp_path, partitions=PARTITIONS), HOME, [request], {}, 0)
    values = [record.value for record in read_range(log.dead_letters, 0, 0, log.dead_letters.end(0))]
    log.close()
    assert (values[offset], values[offset + 1].count(request.name.token.encode())) == (b"", 1)
    assert not any(b"ada" in value for value in values)
    rule = "must be an entry of this version (Expected `int`, got `str` - at `$.offset`)"
    assert caplog.messages == [f"dead letter at offset {offset} is damaged and was emptied: it {rule}"]
    assert "5 dead letters" not in run("list").output
    assert "6 dead letters" in run("list").output


def test_a_letter_of_no_partition_or_item_is_not_sent_and_the_others_are(run: Run, tmp_path: Path) -> None:
    create(tmp_path)
    log = open_sqlite_log(tmp_path / "log.sqlite", PARTITIONS)
    places = [{"partition": PARTITIONS}, {"item": 9}, {"offset": 2**62}]
    log.dead_letters.append(0, [(None, msgspec.json.encode(LETTER | {"excerpt": ""} | place)) for place in places])
    log.close()
    replayed = run("replay")
    assert "3 of 8 dead letters sent again" in replayed.output
    assert f"bad_field: the letter is damaged: partition must be below {PARTITIONS}, got {PARTITIONS}" in replayed.output
    assert (
        "bad_field: the letter is damaged: item must be below 3, the number of outcomes in the record at offset 0, got 9" in replayed.output
    )
    assert "bad_field: the log no longer has its record" in replayed.output


def test_what_is_refused_each_time_is_sent_once_each_time(tmp_path: Path) -> None:
    log = open_sqlite_log(tmp_path / "log.sqlite", PARTITIONS)
    control = ControlLog(log.control)
    control.create_pool(PoolCreated(pool=POOL, kind=Kind.GAMES, time=0.0, fold=FoldSettings(max_agents=2)))
    directory = LiveDirectory(control, FoldSettings(), 10, lambda: 0.0, create=False)
    third = [{"agents": ["ada"], "place": 1}, {"agents": ["eve"], "place": 2}]
    foreign = {"v": 1, "id": "scores", "pool": POOL, "time": 0.0, "task": "t", "scores": {"ada": 1.0}}
    values = [game("first"), game("second", sides=third), foreign]
    log.outcomes.append(HOME, [(None, msgspec.json.encode(value)) for value in values])
    partition = Partition(HOME, PARTITIONS)
    ends = []
    for _ in range(4):
        reader = log.outcomes.reader({HOME: partition.position})
        dead_letters.write(log.dead_letters, partition.fold(reader.poll(5.0, 100)[HOME], directory))
        reader.close()
        done = list(letters.send_again(log, control.refresh(), list(letters.read(log.dead_letters)), 0.0))
        assert {one.outcome for one in done if one.letter.reason == "wrong_kind"} == {Outcome.STILL_REFUSED}
        ends.append(log.outcomes.end(HOME))
    assert ends == [4, 5, 6, 7]
    control.close()
    log.close()


def test_a_name_that_is_not_displayed_as_a_whole_is_not_sent_again(tmp_path: Path) -> None:
    """It would be new to the pool: its letter says that nothing folded it."""
    log = open_sqlite_log(tmp_path / "log.sqlite", PARTITIONS)
    log.outcomes.append(AWAY, [(None, msgspec.json.encode(outcomes.game("g", "ada", "b\u200bob", pool=POOL)))])
    control = ControlLog(log.control)
    control.create_pool(PoolCreated(pool=POOL, kind=Kind.GAMES, time=0.0))
    directory = LiveDirectory(control, FoldSettings(), 10, lambda: 0.0, create=False)
    reader = log.outcomes.reader({AWAY: 0})
    found = Partition(AWAY, PARTITIONS).fold(reader.poll(5.0, 100)[AWAY], directory)
    reader.close()
    (done,) = letters.send_again(log, control.refresh(), found, 0.0)
    assert (done.outcome, done.rule[:22]) == (Outcome.STILL_REFUSED, "$.sides[1].agents[0] m")
    assert "U+200B is invisible" in done.rule
    assert at_home(tmp_path) == []
    control.close()
    log.close()


def test_a_conflict_is_listed_with_its_place_and_is_not_sent_again(run: Run, tmp_path: Path) -> None:
    """It would conflict again. The letter has the text of the dropped outcome."""
    create(tmp_path)
    log = open_sqlite_log(tmp_path / "log.sqlite", PARTITIONS)
    control = ControlLog(log.control)
    begin = log.outcomes.end(HOME)
    log.outcomes.append(HOME, [(None, msgspec.json.encode([game("a"), game("a", time=5.0), game("a", weight=2.0)]))])
    with_pools = LiveDirectory(control, FoldSettings(), 10, lambda: 0.0, create=False)
    reader = log.outcomes.reader({HOME: begin})
    dead_letters.write(log.dead_letters, Partition(HOME, PARTITIONS, begin).fold(reader.poll(5.0, 100)[HOME], with_pools))
    reader.close()
    control.close()
    log.close()
    assert "1 dead letter, conflicting_id 1" in run("list", "--reason", "conflicting_id").output
    shown = run("show", f"1/{HOME}/{begin}/2").output
    assert "conflicting_id: id must be new: the pool counts another outcome with this id (conflict 1)" in shown
    assert '"weight":2.0' in shown
    replayed = run("replay", "--reason", "conflicting_id")
    assert replayed.exit_code == 1
    assert "still refused" in replayed.output
    assert "0 of 1 dead letter sent again" in replayed.output
