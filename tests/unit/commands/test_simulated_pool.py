"""The simulated games of the demo: a cycle, and copies that are exact after each round."""

from collections import Counter

from services.demo import simulated
from services.wire.events import GameEvent

ROUNDS = 40


def games() -> list[GameEvent]:
    return [simulated.game(i, 0.0) for i in range(ROUNDS * simulated.ROUND)]


def margins(played: list[GameEvent]) -> Counter[tuple[str, str]]:
    """Wins less losses of each agent against each other one."""
    found = Counter[tuple[str, str]]()
    for one in played:
        (first,), (second,) = (side.agents for side in one.sides)
        won = one.sides[1].place - one.sides[0].place
        found[first, second] += won
        found[second, first] -= won
    return found


def test_each_pair_meets_once_in_a_round() -> None:
    pairs = [frozenset(agent for side in one.sides for agent in side.agents) for one in games()]
    assert all(len(set(pairs[i : i + simulated.ROUND])) == simulated.ROUND for i in range(0, len(pairs), simulated.ROUND))
    assert simulated.GAMES % simulated.ROUND == 0


def test_copies_have_the_results_of_their_hand_after_each_round() -> None:
    played = games()
    for i in range(simulated.ROUND, len(played) + 1, simulated.ROUND):
        found = margins(played[:i])
        for other in ("paper", "scissors", "pebble"):
            assert found["rock", other] == found["rock-copy-1", other] == found["rock-copy-2", other]
        assert found["rock", "rock-copy-1"] == found["rock-copy-1", "rock-copy-2"] == 0


def test_the_hands_beat_each_other_in_a_circle() -> None:
    found = margins(games())
    assert min(found["paper", "rock"], found["rock", "scissors"], found["scissors", "paper"]) > ROUNDS / 2


def test_the_pool_without_copies_has_the_same_games_of_the_others() -> None:
    played = games()
    before = simulated.before(played)
    with_copies, without = margins(played), margins(before)
    assert {agent for pair in without for agent in pair} == {"rock", "paper", "scissors", "pebble"}
    assert all(with_copies[pair] == margin for pair, margin in without.items())
    assert {one.pool for one in before} == {simulated.POOL_BEFORE}
