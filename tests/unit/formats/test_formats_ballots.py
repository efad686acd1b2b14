"""PrefLib profiles."""

import os
from pathlib import Path

import numpy as np
import pytest

from ratings_core.errors import InputError
from ratings_core.formats.errors import FormatError
from ratings_core.formats.profile import read_profile

SHARED = Path(os.environ.get("EQUIRANK_SHARED", Path(__file__).parents[3].parent / "shared"))
HEAD = "# DATA TYPE: toi\n# ALTERNATIVE NAME 1: A\n# ALTERNATIVE NAME 2: B\n# ALTERNATIVE NAME 3: C\n"


def test_a_profile_with_ties_and_unlisted_alternatives() -> None:
    profile = read_profile(HEAD + "3: 1,{2,3}\n2: 2\n")
    assert (profile.names, profile.voters) == (("A", "B", "C"), 5)
    assert [ballot.levels for ballot in profile.ballots] == [((0,), (1, 2)), ((1,),)]
    wins, ties = profile.pair_counts().dense(3)
    np.testing.assert_array_equal(wins, [[0, 3, 3], [2, 0, 2], [0, 0, 0]])
    np.testing.assert_array_equal(ties, [[0, 0, 0], [0, 0, 3], [0, 3, 0]])
    unknown, _ = profile.pair_counts("unknown").dense(3)
    np.testing.assert_array_equal(unknown, [[0, 3, 3], [0, 0, 0], [0, 0, 0]])


def test_an_order_of_count_0_is_checked_and_is_no_vote() -> None:
    stated = "# NUMBER VOTERS: 5\n# NUMBER UNIQUE ORDERS: 3\n"
    with_empty = read_profile(HEAD + stated + "3: 1,{2,3}\n0: 1,3,2\n2: 2\n")
    without = read_profile(HEAD + "3: 1,{2,3}\n2: 2\n")
    assert (with_empty.names, with_empty.ballots) == (without.names, without.ballots)


def test_a_header_counts_orders_of_count_0() -> None:
    with pytest.raises(FormatError, match="NUMBER UNIQUE ORDERS"):
        read_profile(HEAD + "# NUMBER UNIQUE ORDERS: 1\n3: 1,2,3\n0: 1,3,2\n")


@pytest.mark.parametrize("ballot", ["1,2", "-1: 1", "0: 1,1", "0: 4", "1: 1,1", "1: 4", "1: a", "1:", "1: {1,2", "1: {1,{2}}"])
def test_a_bad_ballot_names_its_line(ballot: str) -> None:
    with pytest.raises(FormatError, match="row 5"):
        read_profile(HEAD + ballot + "\n")


@pytest.mark.parametrize("text", ["", HEAD, HEAD + "0: 1,2,3\n", "1: 1\n"])
def test_a_profile_needs_alternatives_and_ballots(text: str) -> None:
    with pytest.raises(InputError):
        read_profile(text)


@pytest.mark.skipif(not (SHARED / "data" / "preflib").is_dir(), reason=f"published profiles are not in {SHARED} (set EQUIRANK_SHARED)")
def test_published_profiles() -> None:
    files = sorted((SHARED / "data" / "preflib").iterdir())
    assert len(files) == 28
    for file in files:
        text = file.read_text(encoding="utf-8")
        profile = read_profile(text)
        stated = dict(line[2:].split(": ", 1) for line in text.splitlines() if line.startswith("# NUMBER"))
        assert len(profile.names) == int(stated["NUMBER ALTERNATIVES"])
        assert profile.voters == int(stated["NUMBER VOTERS"])
        assert len(profile.ballots) == int(stated["NUMBER UNIQUE ORDERS"])
        counts = profile.pair_counts()
        assert (counts.wins + counts.losses + counts.ties <= profile.voters).all()
