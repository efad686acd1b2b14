"""Games of chess: who played, who won, when; what is left out, and what is named as broken."""

import gzip
import io
from collections import Counter

import chess
import chess.pgn
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from ratings_core.errors import InputError
from ratings_core.formats.errors import FormatError, Skipped
from ratings_core.formats.options import Unplayed
from ratings_core.formats.pgn import ChessGame, iter_games
from ratings_core.formats.stream import unpacked


def games(data: bytes | str, unplayed: Unplayed = "skip") -> list[ChessGame | Skipped]:
    """The games of a file. Raises the first error of a game."""
    found: list[ChessGame | Skipped] = []
    for one in iter_games(unpacked(io.BytesIO(data.encode() if isinstance(data, str) else data)), unplayed):
        if isinstance(one, FormatError):
            raise one
        found.append(one)
    return found


def game(
    white: str = "Ann", black: str = "Bob", result: str = "1-0", tags: str = "", moves: str = "1. e4 e5 { a comment\n\nof two }"
) -> str:
    return f'[Event "?"]\n[White "{white}"]\n[Black "{black}"]\n[Result "{result}"]\n{tags}\n{moves} {result}\n\n'


FILE = "\n% a note\n" + game() + game(result="0-1", tags='[UTCDate "2017.04.01"]\n[UTCTime "11:32:01"]\n') + "\n\n" + game(result="1/2-1/2")


def test_players_results_places_and_lines() -> None:
    found = [one for one in games("\ufeff" + FILE.replace("\n", "\r\n")) if isinstance(one, ChessGame)]
    assert [(one.number, one.white, one.black, one.places, one.time) for one in found] == [
        (1, "Ann", "Bob", (1, 2), None),
        (2, "Ann", "Bob", (2, 1), 1491046321.0),
        (3, "Ann", "Bob", (1, 1), None),
    ]
    assert [one.line for one in found] == [2, 12, 25]
    assert found[2].content == game(result="1/2-1/2").strip()


@pytest.mark.parametrize(
    "pack", [zstandard.compress, gzip.compress, lambda data: b"".join(map(zstandard.compress, (data[:99], data[99:])))]
)
def test_packed_files_of_one_or_more_frames(pack) -> None:  # type: ignore[no-untyped-def]
    assert games(pack(FILE.encode())) == games(FILE)


@pytest.mark.parametrize("cut", [4, 40, -1])
def test_a_packed_file_that_ends_early_is_no_shorter_file(cut: int) -> None:
    for packed in (zstandard.compress(FILE.encode()), gzip.compress(FILE.encode())):
        with pytest.raises(InputError, match="complete if it is compressed"):
            games(packed[:cut])


@pytest.mark.parametrize(
    ("tags", "time"),
    [
        ('[Date "1970.01.02"]\n', 86400.0),
        ('[Date "????.??.??"]\n', None),
        ('[Date "1984.??.??"]\n', None),
        ('[UTCDate "1970.01.02"]\n[UTCTime "??:??:??"]\n[Date "1999.01.01"]\n', 86400.0),
        ('[UTCDate "????.??.??"]\n[Date "1970.01.02"]\n[UTCTime "10:00:00"]\n', 86400.0),
        ('[Date ""]\n', None),
    ],
)
def test_days_become_times_where_they_are_known(tags: str, time: float | None) -> None:
    (found,) = games(game(tags=tags))
    assert isinstance(found, ChessGame)
    assert found.time == time


def test_games_without_result_or_player_are_left_out_and_counted() -> None:
    found = games(game() + game(result="*") + game(white="?") + game(black="") + game(result="*"))
    assert Counter(one.why for one in found if isinstance(one, Skipped)) == {"no result (unplayed)": 2, "a player is unknown": 2}
    with pytest.raises(FormatError, match="game 2"):
        games(game() + game(result="*"), "refuse")


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (game(result="1-1"), r"row 10, column 'Result of game 2' must be 1-0, 0-1 or 1/2-1/2"),
        (game(black="Ann"), "Black of game 2' must differ"),
        (game(white="Ann "), "White of game 2' must not start or end"),
        (game(tags='[Date "2017.02.30"]\n'), "Date of game 2' must be a day"),
        (game(tags='[Date "yesterday"]\n'), "Date of game 2' must be a day"),
        (game(tags='[UTCDate "2017.02.01"]\n[UTCTime "25:00:00"]\n'), "UTCDate of game 2' must be a day"),
        (game().replace("[White ", "(White "), "game 2' must be a tag"),
    ],
)
def test_broken_games_are_named_by_number(broken: str, words: str) -> None:
    with pytest.raises(FormatError, match=words):
        games(game() + broken)


@pytest.mark.parametrize("result", ["*", "?", "0-0", ""])
def test_results_of_games_that_were_not_played(result: str) -> None:
    (found,) = games(f'[White "a"]\n[Black "b"]\n[Result "{result}"]\n\n*\n')
    assert found == Skipped(1, "no result (unplayed)")
    with pytest.raises(FormatError, match="Result of game 1"):
        games(f'[White "a"]\n[Black "b"]\n[Result "{result}"]\n\n*\n', "refuse")


def test_a_broken_game_does_not_end_the_file() -> None:
    found = list(iter_games(unpacked(io.BytesIO((game(result="1/2") + game()).encode()))))
    assert [type(one) for one in found] == [FormatError, ChessGame]


def test_names_in_latin_1_say_what_to_do() -> None:
    with pytest.raises(FormatError, match=r"row 2 .*iconv"):
        games(game(white="Rubén").encode("latin-1"))


@given(st.lists(st.tuples(*[st.text(st.characters(codec="utf-8", categories=["L", "N", "P"]), min_size=1, max_size=9)] * 2), max_size=5))
@settings(max_examples=50, deadline=None)
def test_what_the_chess_package_writes_is_read(players: list[tuple[str, str]]) -> None:
    written = []
    for white, black in players:
        one = chess.pgn.Game()
        one.headers.update({"White": white.replace("\\", "/"), "Black": black.replace("\\", "/"), "Result": "1-0"})
        one.add_main_variation(chess.Move.from_uci("e2e4"), comment="a {note}")
        written.append(one)
    text = "\n\n".join(map(str, written)) + "\n"
    try:
        found = games(text)
    except InputError:
        return  # a name that breaks a rule
    expected = [(one.headers["White"], one.headers["Black"]) for one in written if "?" not in (one.headers["White"], one.headers["Black"])]
    assert [(one.white, one.black) for one in found if isinstance(one, ChessGame)] == expected
