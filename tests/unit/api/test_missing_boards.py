"""The texts that say why a pool has no board of a method, and what to do."""

import pytest

from services.api.missing_boards import why_missing
from services.boards.slice_boards import SliceDimension, SliceName, SliceValue
from services.control.records import FoldSettings, SolvePlan
from services.wire.pools import Kind
from tests.support.boards import head_of
from tests.support.pools import control_of, pool_of

_SLICES = {"language": SliceDimension(methods=["sco"], values=[SliceValue(value="English", outcomes=4, agents=2)], most=64)}
_ENGLISH = SliceName("language", "English")


@pytest.mark.parametrize(
    ("board", "says"),
    [
        (_ENGLISH.board("elo"), "slices by language do not keep elo (they keep sco): the setting `slices` chooses it"),
        (SliceName("map", "dust").board("elo"), "slices by map do not keep elo (they keep no online method)"),
        (_ENGLISH.board("copeland"), "slices by language are not solved by copeland: `equirank methods --pool blitz --slices`"),
        (_ENGLISH.board("bradley_terry"), "the pool is solved by bradley_terry; a solved board appears some seconds after"),
    ],
)  # fmt: skip
def test_a_missing_board_of_a_slice_names_the_setting_that_chooses_it(board: str, says: str) -> None:
    control = control_of(pool_of("blitz"), fold=FoldSettings())
    plan = SolvePlan(pool="blitz", methods={"bradley_terry": {}, "copeland": {}}, time=0.0, slices={"language": ("bradley_terry",)})
    control.apply(control.position, plan)
    assert says in why_missing(head_of(slices=_SLICES), control, board)


def test_a_pool_of_scores_has_no_online_methods() -> None:
    control = control_of(pool_of("suite", Kind.SCORES))
    says = why_missing(head_of("suite", kind="scores"), control, "elo")
    assert says == "elo is an online method, which rates games, and the pool has scores"


def test_a_stopped_pool_is_solved_again_only_after_it_goes_on() -> None:
    control = control_of(pool_of("blitz"))
    says = why_missing(head_of(position=7, stopped="a broken outcome"), control, "bradley_terry")
    assert says.endswith("the pool stopped at position 7 (a broken outcome): `equirank pools resume blitz` folds it again")
    assert "stopped" not in why_missing(head_of(position=7), control, "bradley_terry")
