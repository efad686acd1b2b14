"""PrefLib files read and written, against preflibtools and the published profiles."""

import gzip
import io
import tracemalloc
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from preflibtools.instances import OrdinalInstance

from ratings_core.errors import InputError
from ratings_core.formats.errors import FormatError
from ratings_core.formats.profile import data_type, read_profile, write_profile
from ratings_core.formats.stream import unpacked
from ratings_core.voting.profile import Profile
from tests.support.profiles import PREFLIB_FILES, profiles, random_profile, written
from tests.support.shared import shared_file

HEAD = "# DATA TYPE: {}\n# ALTERNATIVE NAME 1: A\n# ALTERNATIVE NAME 2: B\n# ALTERNATIVE NAME 3: C\n"


def orders(profile: Profile) -> Counter[tuple[tuple[int, ...], ...]]:
    """Voters of each order, alternatives numbered from 1."""
    counted: Counter[tuple[tuple[int, ...], ...]] = Counter()
    for ballot in profile.ballots:
        counted[tuple(tuple(i + 1 for i in level) for level in ballot.levels)] += int(ballot.weight)
    return counted


def by_preflibtools(text: str, kind: str) -> OrdinalInstance:
    instance = OrdinalInstance()
    instance.data_type = kind
    instance.parse_str(text, kind)
    return instance


def of_oracle(instance: OrdinalInstance) -> Counter[tuple[tuple[int, ...], ...]]:
    return Counter({tuple(tuple(sorted(level)) for level in order): count for order, count in instance.multiplicity.items()})


def test_published_profiles_as_preflibtools_reads_them_there_and_back() -> None:
    files = sorted(Path(shared_file("data/preflib")).iterdir())
    assert len(files) == PREFLIB_FILES
    kinds: Counter[str] = Counter()
    for file in files:
        text, kind = file.read_text(encoding="utf-8"), file.suffix[1:]
        kinds[kind] += 1
        profile, oracle = read_profile(text), by_preflibtools(text, kind)
        assert profile.names == tuple(oracle.alternatives_name[i] for i in sorted(oracle.alternatives_name)), file.name
        assert orders(profile) == of_oracle(oracle), file.name
        again = write_profile(profile)
        back = by_preflibtools(again, data_type(profile))
        assert of_oracle(back) == orders(profile), file.name
        assert (back.num_voters, back.num_unique_orders) == (oracle.num_voters, len(of_oracle(oracle))), file.name
        assert (read_profile(again).names, orders(read_profile(again))) == (profile.names, orders(profile)), file.name
    assert kinds == {"soc": 16, "soi": 10, "toc": 1, "toi": 1}


@given(profiles(), st.sampled_from(["", "A title"]))
@settings(max_examples=100, deadline=None)
def test_what_is_written_is_read_by_us_and_by_preflibtools(profile: Profile, title: str) -> None:
    text = write_profile(profile, title)
    assert (read_profile(text).names, orders(read_profile(text))) == (profile.names, orders(profile))
    oracle = by_preflibtools(text, data_type(profile))
    assert (of_oracle(oracle), oracle.data_type, oracle.title) == (orders(profile), data_type(profile), title)
    np.testing.assert_array_equal(read_profile(text).margins(), profile.margins())


@given(profiles())
@settings(max_examples=25, deadline=None)
def test_what_preflibtools_writes_is_read(tmp_path_factory: pytest.TempPathFactory, profile: Profile) -> None:
    oracle = by_preflibtools(write_profile(profile), data_type(profile))
    path = tmp_path_factory.mktemp("preflib") / f"x.{data_type(profile)}"
    oracle.write(str(path))
    assert orders(read_profile(path.read_text(encoding="utf-8"))) == orders(profile)


@pytest.mark.parametrize(
    ("profile", "kind"),
    [
        (written((1, "a b c"), names="abc"), "soc"),
        (written((1, "a b"), names="abc"), "soi"),
        (written((1, "a b=c"), names="abc"), "toc"),
        (written((1, "a=b"), (2, "c"), names="abc"), "toi"),
    ],
)
def test_the_narrowest_type_is_written(profile: Profile, kind: str) -> None:
    assert f"# DATA TYPE: {kind}\n" in write_profile(profile)


def test_equal_votes_are_counted_together_most_voters_first() -> None:
    lines = write_profile(written((1, "a b"), (2, "b=c a"), (2, "a b"), (4, "c"), names="abc")).splitlines()
    assert lines[-3:] == ["4: 3", "3: 1, 2", "2: {2, 3}, 1"]


@pytest.mark.parametrize(
    ("profile", "title", "argument"),
    [
        (written((0.5, "a"), names="a"), "", "weight"),
        (written((0, "a"), names="a"), "", "weight"),
        (written((2.0**60, "a"), names="a"), "", "weight"),
        (Profile.from_orders([[0]], names=["a\nb"]), "", "names"),
        (Profile.from_orders([[0]], names=[""]), "", "names"),
        (Profile.from_orders([[0]], names=["a\u2028b"]), "", "names"),
        (written((1, "a"), names="a"), "two\nlines", "title"),
    ],
)
def test_what_preflib_cannot_say_is_refused(profile: Profile, title: str, argument: str) -> None:
    with pytest.raises(InputError) as caught:
        write_profile(profile, title)
    assert caught.value.argument == argument


@pytest.mark.parametrize(
    ("text", "row", "column"),
    [
        ("# NUMBER ALTERNATIVES: 4\n" + HEAD.format("toi") + "1: 1\n", 1, "NUMBER ALTERNATIVES"),
        (HEAD.format("toi") + "# NUMBER VOTERS: 3\n1: 1\n1: 2\n", 5, "NUMBER VOTERS"),
        (HEAD.format("toi") + "# NUMBER UNIQUE ORDERS: 3\n1: 1\n1: 2\n", 5, "NUMBER UNIQUE ORDERS"),
        (HEAD.format("soc") + "1: 1,2\n", 1, "DATA TYPE"),
        (HEAD.format("soi") + "1: {1,2}\n", 1, "DATA TYPE"),
        (HEAD.format("toc") + "1: {1,2}\n", 1, "DATA TYPE"),
        (HEAD.format("toi") + "9999999999999999999999: 1\n", 5, None),
        (HEAD.format("toi") + "1: 99999999999999999999\n", 5, None),
        (HEAD.format("toi") + "1: \u0661\n", 5, None),
    ],
)
def test_a_header_that_its_votes_contradict_is_refused(text: str, row: int, column: str | None) -> None:
    """A file that was cut off is no smaller election."""
    with pytest.raises(FormatError) as caught:
        read_profile(text)
    assert (caught.value.row, caught.value.column) == (row, column)


@pytest.mark.parametrize(
    ("stated", "votes"), [("soc", "1: 1,2,3"), ("toc", "1: 1,2,3"), ("soi", "1: 1,2,3"), ("toi", "1: 1,2,3"), ("new", "1: 1")]
)
def test_a_wider_type_is_no_error(stated: str, votes: str) -> None:
    assert len(read_profile(HEAD.format(stated) + votes)) == 1


def test_profiles_of_a_seed() -> None:
    """The generator of these tests does make all four types."""
    assert {data_type(random_profile(seed)) for seed in range(200)} == {"soc", "soi", "toc", "toi"}


def test_a_stream_is_the_text_and_takes_the_memory_of_its_votes():
    """20,000 votes of 6 alternatives: 1.3 MB as votes, ten times that as records."""
    names = "".join(f"# ALTERNATIVE NAME {i}: a{i}\n" for i in range(1, 7))
    lines = (names + "3: 1,{2,3},4\n", *["1: 6,5,4,3,2,1\n"] * 4)
    text = "\ufeff" + "\r\n".join("".join(lines).split("\n"))
    streamed, whole = read_profile(unpacked(io.BytesIO(gzip.compress(text.encode())))), read_profile(text)
    assert (streamed.names, streamed.ballots) == (whole.names, whole.ballots)
    with pytest.raises(FormatError, match="row 9"):
        read_profile(unpacked(io.BytesIO(("".join(lines[:2]) + "1: 9\n").encode()[:-1] + b"\n")))
    many = gzip.compress((names + "1: 6,5,4,3,2,1\n" * 20_000).encode())
    tracemalloc.start()
    try:
        found = read_profile(unpacked(io.BytesIO(many)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(found) == 20_000
    assert peak < 10e6
