"""Random and published profiles for tests of voting methods."""

from functools import cache
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from ratings_core.formats.profile import read_profile
from ratings_core.voting.profile import Ballot, Profile
from tests.support.shared import shared_file

PREFLIB_FILES = 28


@cache
def preflib() -> dict[str, Profile]:
    """File name -> published profile in the shared folder. Skips the test without the folder; fails if files are missing."""
    files = sorted(Path(shared_file("data/preflib")).iterdir())
    assert len(files) == PREFLIB_FILES
    return {file.name: read_profile(file.read_text(encoding="utf-8")) for file in files}


def random_profile(seed: int, largest: int = 6, votes: int = 6, ties: bool = True, complete: bool = False, least: int = 1) -> Profile:
    """Draw a profile with 1 to `votes` weighted votes on `least` to `largest` alternatives.

    ties: votes may have ties. complete: votes list all alternatives.
    """
    rng = np.random.default_rng(seed)
    m = int(rng.integers(least, largest + 1))
    return Profile.from_ballots([_ballot(rng, m, ties, complete) for _ in range(rng.integers(1, votes + 1))], tuple("abcdefghij"[:m]))


def _ballot(rng: np.random.Generator, m: int, ties: bool, complete: bool) -> Ballot:
    listed = rng.permutation(m)[: m if complete else rng.integers(1, m + 1)]
    cuts = np.flatnonzero(rng.random(len(listed) - 1) < (0.6 if ties else 1.0)) + 1
    return Ballot(float(rng.integers(1, 5)), tuple(tuple(sorted(level.tolist())) for level in np.split(listed, cuts)))


def profiles(largest: int = 6, votes: int = 6, ties: bool = True, complete: bool = False, least: int = 1) -> st.SearchStrategy[Profile]:
    """`random_profile` with a seed from Hypothesis. numpy draws the rest, because Hypothesis takes longer for it than the tested code."""
    return st.builds(random_profile, st.integers(0, 2**32), *map(st.just, (largest, votes, ties, complete, least)))


def strict_profiles(largest: int = 6, votes: int = 6, least: int = 1) -> st.SearchStrategy[Profile]:
    return profiles(largest, votes, ties=False, complete=True, least=least)


def scaled(profile: Profile, factor: float) -> Profile:
    return Profile(profile.names, profile.start, profile.agent, profile.level, profile.weight * factor)


def shuffled(profile: Profile, seed: int) -> Profile:
    """Profile with the same votes in random order."""
    order = np.random.default_rng(seed).permutation(len(profile))
    return Profile.from_ballots([profile.ballots[i] for i in order], profile.names)


def without(profile: Profile, gone: int) -> Profile:
    """Profile without the alternative `gone`, and without votes that list no other alternative."""
    kept = [c for c in range(len(profile.names)) if c != gone]
    ballots = [
        Ballot(ballot.weight, tuple(level for members in ballot.levels if (level := tuple(kept.index(c) for c in members if c != gone))))
        for ballot in profile.ballots
    ]
    return Profile.from_ballots([ballot for ballot in ballots if ballot.levels], [profile.names[c] for c in kept])


def order_of(text: str, names: str = "abcdefgh") -> tuple[tuple[int, ...], ...]:
    """Levels of a vote that is written as "a b=c d": best first, `=` for ties."""
    return tuple(tuple(names.index(name) for name in level.split("=")) for level in text.split())


def written(*votes: tuple[float, str], names: str) -> Profile:
    """Profile of votes that are written as (weight, "a b=c d")."""
    return Profile.from_ballots([Ballot(weight, order_of(text, names)) for weight, text in votes], tuple(names))
