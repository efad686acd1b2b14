"""Seasons as the control log has them: requests, generations, spans, and what is refused."""

from typing import Any

import msgspec
import pytest

from ratings_core.errors import InputError
from services.control import generations, seasons
from services.control.erasures import ErasureRequest, erased_name
from services.control.records import (
    ControlState,
    FoldSettings,
    Generation,
    GenerationRequest,
    Opening,
    SeasonStart,
    Serve,
    decode,
    encode,
)
from services.control.seasons import SeasonStatus, season_request
from services.wire.pools import FIRST_SEASON
from tests.support.pools import control_of, pool_of

AUTUMN = SeasonStart(name="autumn", keep=0.5)


def known() -> ControlState:
    return control_of(pool_of("p"), start=5)


def apply(control: ControlState, record: Any) -> int:
    offset = control.position
    control.apply(offset, record)
    return offset


def ask(control: ControlState, season: SeasonStart | None = AUTUMN, **changes: Any) -> GenerationRequest:
    """Request a season, or a change of settings without one."""
    standing = control.wishes["p"][1] if control.wish("p") else control.newest("p")
    assert standing is not None
    if season is None:
        wanted = generations.wish(standing, time=9.0, **changes)
    else:
        wanted = season_request(control, standing, season, changes.get("start"), 9.0)
    apply(control, wanted)
    return wanted


def make(control: ControlState, position: int) -> Generation:
    """Make the generation that fulfills the waiting request, with the shard at a position."""
    wish = control.wish("p")
    assert wish is not None
    made = generations.after_wish(control, wish, position, 0, 10.0)
    apply(control, made)
    return made


def serve(control: ControlState, number: int) -> None:
    apply(control, Serve(pool="p", number=number, time=11.0))


def test_a_season_is_a_generation_that_names_the_end_of_the_one_before() -> None:
    control = known()
    ask(control)
    made = make(control, 40)
    assert (made.number, made.start, made.season, made.retraction_horizon) == (2, 40, "autumn", 0)
    assert made.opening == Opening(generation=1, position=40, keep=0.5, first=2, methods=("elo", "sco", "glicko2"))
    assert decode(encode(made)[1]) == made


def test_later_generations_of_a_season_keep_its_name_and_its_origin() -> None:
    control = known()
    ask(control)
    first = make(control, 40)
    serve(control, 2)
    ask(control, None, fold=FoldSettings(per_task=True))
    second = make(control, 60)
    assert (second.start, second.season, second.opening) == (40, "autumn", first.opening)
    third = generations.make_successor(control, second, 70, 12.0)
    assert (third.start, third.season, third.opening, third.retraction_horizon) == (40, "autumn", first.opening, 70)


def test_a_change_while_a_season_starts_belongs_to_the_season() -> None:
    control = known()
    ask(control)
    first = make(control, 40)  # it does not serve yet
    ask(control, None, bans=["eve"])
    second = make(control, 45)
    assert (second.number, second.start, second.season, second.opening, second.bans) == (3, 40, "autumn", first.opening, ("eve",))
    serve(control, 3)
    assert [(season.name, season.status) for season in seasons.seasons(control, "p")] == [
        (FIRST_SEASON, SeasonStatus.ENDED),
        ("autumn", SeasonStatus.RUNNING),
    ]
    assert seasons.ended(control, "p")[0].generation.number == 1


def test_a_waiting_season_keeps_its_start_when_settings_change() -> None:
    control = known()
    ask(control, start=90)
    wanted = ask(control, None, bans=["eve"])
    assert (wanted.season, wanted.start, wanted.bans) == (AUTUMN, 90, ("eve",))
    assert seasons.seasons(control, "p")[-1][:4] == ("autumn", SeasonStatus.REQUESTED, None, 90)
    assert make(control, 95).start == 90


def test_a_season_drops_initial_ratings_and_keeps_everything_else() -> None:
    control = control_of(pool_of("p"), initial={"elo": {"ann": 1.0}}, bans=("eve",), aliases={"annie": "ann"})
    wanted = ask(control)
    assert (wanted.initial, wanted.bans, wanted.aliases) == ({}, ("eve",), {"annie": "ann"})


def test_initial_ratings_are_refused_where_a_season_takes_over_those_of_the_season_before() -> None:
    control = known()
    initial = {"elo": {"ann": 1.0}}
    generations.check_initial(control, ask(control, None, initial=initial))
    make(control, 20)
    wanted = ask(control)
    generations.check_initial(control, wanted)
    with pytest.raises(InputError, match="must be empty: season autumn begins with the ratings of the season before"):
        generations.check_initial(control, msgspec.structs.replace(wanted, initial=initial))
    make(control, 40)
    with pytest.raises(InputError, match="season autumn"):
        generations.check_initial(control, ask(control, None, initial=initial))


def test_a_pool_without_outcomes_can_name_its_first_season() -> None:
    control = ControlState()
    created = pool_of("p")
    apply(control, created)
    standing = GenerationRequest(pool="p", time=0.0, fold=created.fold, initial={"elo": {"ann": 1.0}})
    offset = apply(control, season_request(control, standing, AUTUMN, None, 0.0))
    made = generations.make_first((offset, control.wishes["p"][1]), 7, 1.0)
    assert (made.season, made.opening, made.start) == ("autumn", None, 7)
    assert made.initial == {"elo": {"ann": 1.0}}, "they begin the first season"


def test_spans_follow_each_other() -> None:
    control = known()
    for number, (name, position) in enumerate([("autumn", 40), ("winter", 70)], 2):
        ask(control, SeasonStart(name=name, keep=0.0))
        make(control, position)
        serve(control, number)
    spans = [(season.name, season.start, season.end, season.generation, season.keep) for season in seasons.seasons(control, "p")]
    assert spans == [(FIRST_SEASON, 5, 40, 1, None), ("autumn", 40, 70, 2, 0.0), ("winter", 70, None, 3, 0.0)]
    assert [ended.name for ended in seasons.ended(control, "p")] == [FIRST_SEASON, "autumn"]
    assert seasons.find_ended(control, "p", "winter") is None


def test_a_name_is_used_once_and_one_season_starts_at_a_time() -> None:
    control = known()
    with pytest.raises(InputError, match="must be the name of no season"):
        ask(control, SeasonStart(name=FIRST_SEASON))
    ask(control)
    with pytest.raises(InputError, match="must wait until season autumn has started"):
        ask(control, SeasonStart(name="winter"))
    make(control, 40)
    with pytest.raises(InputError, match="must wait until season autumn has started"):
        ask(control, SeasonStart(name="winter"))
    serve(control, 2)
    with pytest.raises(InputError, match="must be the name of no season"):
        ask(control)
    assert ask(control, SeasonStart(name="winter")).season == SeasonStart(name="winter")


@pytest.mark.parametrize("start", ["same", 0, 5])
def test_a_season_begins_after_the_one_before(start: Any) -> None:
    with pytest.raises(InputError, match="must be now, or a log offset of 6 or more"):
        ask(known(), start=start)


def test_the_start_moves_within_a_season_and_never_before_it() -> None:
    control = known()
    ask(control)
    first = make(control, 40)
    serve(control, 2)
    with pytest.raises(InputError, match="must be at least 40, where season autumn begins"):
        ask(control, None, start=39)
    ask(control, None, start="now")
    made = make(control, 60)
    assert (made.start, made.season, made.opening) == (60, "autumn", first.opening)
    serve(control, 3)
    apply(control, GenerationRequest(pool="p", time=0.0, fold=made.fold, start=7))
    assert make(control, 70).start == 40


def test_the_start_of_a_waiting_season_moves() -> None:
    control = known()
    ask(control, start=90)
    assert ask(control, None, start=95).start == 95
    with pytest.raises(InputError, match="where season autumn begins"):
        ask(control, None, start="same")


@pytest.mark.parametrize("name", ["", "a/b", "a b", ".x", "x" * 65, "x\n", "ä"])
def test_names_are_parts_of_urls_and_files(name: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"name": name}, SeasonStart)


def test_records_of_earlier_releases_belong_to_the_first_season() -> None:
    text = encode(Generation(pool="p", number=1, start=0, time=0.0, fold=FoldSettings()))[1]
    early = {name: value for name, value in msgspec.json.decode(text).items() if name not in ("season", "opening")}
    record = decode(msgspec.json.encode(early))
    assert isinstance(record, Generation)
    assert (record.season, record.opening) == (FIRST_SEASON, None)


class TestWithdrawal:
    def test_a_requested_season_is_withdrawn_and_its_name_is_free_again(self) -> None:
        control = known()
        ask(control)
        apply(control, seasons.withdrawal(control, "p", "autumn", 10.0))
        assert control.wish("p") is None
        assert [season.name for season in seasons.seasons(control, "p")] == [FIRST_SEASON]
        ask(control)
        assert make(control, 40).season == "autumn"
        serve(control, 2)
        assert [season.name for season in seasons.seasons(control, "p")] == [FIRST_SEASON, "autumn"]

    def test_changed_settings_stay_requested_for_the_present_season(self) -> None:
        control = known()
        ask(control)
        ask(control, None, bans=["eve"])
        offset = apply(control, seasons.withdrawal(control, "p", "autumn", 10.0))
        assert control.wish("p") == (offset, control.wishes["p"][1])
        asked = control.wishes["p"][1]
        assert (asked.season, asked.start, asked.bans) == (None, "same", ("eve",))
        made = make(control, 40)
        assert (made.season, made.opening, made.start, made.bans) == (FIRST_SEASON, None, 5, ("eve",))

    def test_initial_ratings_of_the_present_season_stay(self) -> None:
        initial = {"elo": {"ann": 1700.0}}
        control = control_of(pool_of("p"), start=5, initial=initial)
        ask(control)
        ask(control, None, bans=["eve"])
        apply(control, seasons.withdrawal(control, "p", "autumn", 10.0))
        assert control.wishes["p"][1].initial == initial

    def test_initial_ratings_of_a_method_that_the_settings_drop_go_with_it(self) -> None:
        """A generation with a rating for a method that it does not have cannot be folded: the pool would stop."""
        initial = {"elo": {"ann": 1700.0}, "sco": {"ann": 0.5}}
        control = control_of(pool_of("p"), start=5, initial=initial)
        ask(control)
        ask(control, None, fold=FoldSettings(online={"sco": {}}))
        apply(control, seasons.withdrawal(control, "p", "autumn", 10.0))
        asked = control.wishes["p"][1]
        assert asked.initial == {"sco": {"ann": 0.5}}
        generations.check(control.pools["p"].kind, asked.fold, asked.initial, asked.aliases, asked.bans)

    def test_what_stays_requested_has_no_erased_names(self) -> None:
        control = control_of(pool_of("p"), start=5, initial={"elo": {"ann": 1700.0, "bob": 1600.0}})
        ask(control)
        ask(control, None, bans=["eve"])
        apply(control, ErasureRequest(pool="p", name=erased_name("ann", ()), by="eve", time=9.0))
        apply(control, seasons.withdrawal(control, "p", "autumn", 10.0))
        assert "ann" not in control.wishes["p"][1].initial["elo"]
        assert len(control.wishes["p"][1].initial["elo"]) == 2

    def test_a_season_that_begins_or_does_not_exist_is_refused(self) -> None:
        control = known()
        for name in ("autumn", FIRST_SEASON):
            with pytest.raises(seasons.NoRequest if name == "autumn" else seasons.SeasonBegan):
                seasons.withdrawal(control, "p", name, 10.0)
        ask(control)
        make(control, 40)
        with pytest.raises(seasons.SeasonBegan, match="must not have begun, but it is starting: nothing was withdrawn"):
            seasons.withdrawal(control, "p", "autumn", 10.0)
        serve(control, 2)
        with pytest.raises(seasons.SeasonBegan, match="it is running"):
            seasons.withdrawal(control, "p", "autumn", 10.0)

    def test_the_order_of_the_log_decides_between_a_withdrawal_and_the_first_generation(self) -> None:
        """A shard that has not read the withdrawal makes the generation after it; one that was faster began the season."""
        late, early = known(), known()
        for control in (late, early):
            ask(control)
        record = seasons.withdrawal(late, "p", "autumn", 10.0)
        made = generations.after_wish(late, late.wish("p") or (0, ask(late)), 40, 0, 10.0)
        apply(late, record)
        apply(late, made)
        assert list(late.generations["p"]) == [1]
        apply(early, made)
        apply(early, record)
        assert early.generations["p"][2] == made
        with pytest.raises(seasons.SeasonBegan):
            seasons.check_not_begun(early, "p", "autumn")
        later = generations.make_successor(early, made, 50, 11.0)
        apply(early, later)
        assert early.generations["p"][3].season == "autumn", "a later generation of the season counts"

    def test_a_pool_that_begins_while_its_first_season_is_withdrawn_begins_in_the_season_without_a_name(self) -> None:
        control, created = ControlState(), pool_of("p")
        apply(control, created)
        standing = GenerationRequest(pool="p", time=0.0, fold=created.fold)
        offset = apply(control, season_request(control, standing, AUTUMN, None, 0.0))
        made = generations.make_first((offset, control.wishes["p"][1]), 7, 1.0)
        apply(control, seasons.withdrawal(control, "p", "autumn", 10.0))
        assert control.wish("p") is None
        apply(control, made)
        assert control.generations["p"][1] == msgspec.structs.replace(made, season=FIRST_SEASON)

    def test_its_record_is_read_again(self) -> None:
        control = known()
        ask(control)
        record = seasons.withdrawal(control, "p", "autumn", 10.0)
        assert decode(encode(record)[1]) == record


def test_a_moment_is_read_by_the_generation_that_serves_its_season() -> None:
    def number(position: int | None, time: float = 0.0) -> int | None:
        made = seasons.generation_at(control, "p", position, time)
        return None if made is None else made.number

    control = known()
    assert [number(position) for position in (4, 5, 100)] == [None, 1, 1]
    ask(control, None, fold=FoldSettings(online={"elo": {"k": 8.0}}))
    make(control, 20)
    assert number(10) == 1, "generation 2 does not serve yet"
    serve(control, 2)
    assert [number(position) for position in (4, 5, 100)] == [None, 2, 2]
    ask(control)
    assert make(control, 40).number == 3
    serve(control, 3)
    assert [number(position) for position in (4, 39, 40, 100)] == [None, 2, 3, 3]
    assert [number(None, time) for time in (9.0, 10.0)] == [2, 3], "the season began with a record of time 10"
    ask(control, None, start=60)
    make(control, 70)
    serve(control, 4)
    assert [number(position) for position in (39, 50, 60)] == [2, 3, 4], "outcomes before position 60 count in generation 3 alone"
