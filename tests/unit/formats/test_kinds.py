"""The kind of a file is recognized by its name, its header and its first rows; in doubt, the guess refuses and says what to do."""

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ratings_core.errors import InputError
from ratings_core.formats.kinds import FileKind
from ratings_core.formats.options import ReadOptions
from ratings_core.formats.reading import FileReading
from ratings_core.formats.source import FileSource

MARGINS = "x,rock,paper,scissors\nrock,0,-1,1\nscissors,-1,1,0\npaper,1,0,-1\n"
RESULTS = "date,home_team,away_team,home_score,away_score\n1872-11-30,Scotland,England,0,0\n"


def kind_of(tmp_path: Path, name: str, data: bytes | str, **options: object) -> FileReading:
    path = tmp_path / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    with FileSource(path) as source:
        return FileReading(source, ReadOptions(**options))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.csv", MARGINS, "margins"),
        ("a.csv", "\ufefftask,dqn,human\npong,18.9,14.6\n\nbreakout,,31\n", "scores"),
        ("a.csv", ",dqn,human\npong,18.9,14.6\nchess,1,NA\n", "scores"),
        ("a.csv", RESULTS, "games"),
        ("a.csv", RESULTS.replace(",", ";"), "games"),
        ("a.csv", "sep=;\n" + RESULTS.replace(",", ";"), "games"),
        ("a.tsv", RESULTS.replace(",", "\t"), "games"),
        ("a.csv", "winner_id,loser_id\n1,2\n", "games"),
        ("a.csv", "first,second,result\nsecond,result,1\nresult,second,0\n", "games"),
        ("a.csv", "x,home,away\naway,1,0\nhome,0,-1\n", "margins"),
        ("a.json", '[{"model_a":"a","model_b":"b","winner":"tie"}]', "games"),
        ("a", '{"v":1,"id":"x","pool":"p","sides":[]}', "outcomes"),
        ("a.jsonl", '[{"v":1,"id":"x","pool":"p","sides":[]}]', "outcomes"),
        ("a.csv", "kind,pool,id\n", "outcomes"),
        ("a.toi", "# FILE", "profile"),
        ("a.pgn", "", "pgn"),
        ("a", '[Event "x"]', "pgn"),
        ("a.json", '{\n "id": 1, "time_seconds": 2, "standings": []}', "contests"),
        ("log.json", '{"tstamp": 1.5, "type": "chat", "models": ["x"]}', "games"),
    ],
)
def test_kinds_are_guessed(tmp_path: Path, name: str, data: str, kind: str) -> None:
    assert kind_of(tmp_path, name, data).kind == kind
    assert kind_of(tmp_path, name + ".gz", gzip.compress(data.encode())).kind == kind


def test_parquet_is_guessed_by_its_columns(tmp_path: Path) -> None:
    for columns, kind in (
        ({"model_a": ["a"], "model_b": ["b"], "winner": ["tie"]}, "games"),
        ({"kind": ["game"], "pool": ["p"], "id": ["x"]}, "outcomes"),
        ({"task": ["t"], "a": [1.5], "b": [None]}, "scores"),
    ):
        pq.write_table(pa.table(columns), tmp_path / "t.parquet")
        with FileSource(tmp_path / "t.parquet") as source:
            assert FileReading(source).kind == kind


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.zip", "", "zip"),
        ("a.csv.xz", "", "xz"),
        ("a.json", "{}", "must hold games"),
        ("a.jsonl", '{"p":{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6}}', r"its fields are p, p\.a, p\.b, p\.c, p\.d, p\.e, p\.f"),
        ("a.jsonl", "{" + ",".join(f'"x{i}":{i}' for i in range(50)) + "}", r"x38, x39, and 10 more"),
        ("a.csv", "match,p,q,r,s,t,u,v\n1,5,7,1,1,1,1,1\n2,8,9,1,1,1,1,1\n", r"t = '1', and 2 more"),
        ("a.csv", "a\n", "must contain rows"),
        ("a.csv", "a\n1\n", "--delimiter"),
        ("a.csv", "", "the file is empty"),
        ("a.csv", "match,p,q\n1,5,7\n2,8,9\n", r"Its first row is match = '1', p = '5'.*--column first=HEADER.*--input scores.*task '1'"),
        ("a.csv", "name,team\nx,y\nz,w\n", "--column first=HEADER"),
        ("a.soc", "3\n1,A\n2,B\n3,C\n", "PrefLib's format since 2022"),
    ],
)
def test_what_cannot_be_guessed_says_what_to_do(tmp_path: Path, name: str, data: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        kind_of(tmp_path, name, data)


def test_scores_without_a_word_for_tasks_say_how_they_are_read(tmp_path: Path) -> None:
    reading = kind_of(tmp_path, "a.csv", ",dqn,human\npong,18.9,14.6\nchess,1,2\n")
    assert reading.note == "read as scores: tasks are pong, chess, ...; agents are dqn, human"
    assert not kind_of(tmp_path, "a.csv", "task,dqn,human\npong,18.9,14.6\n").note
    assert not kind_of(tmp_path, "a.csv", ",dqn,human\npong,18.9,14.6\n", kind=FileKind.SCORES).note


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32"])
def test_another_encoding_is_named_before_any_guess(tmp_path: Path, encoding: str) -> None:
    data = RESULTS.encode(encoding) if encoding != "utf-16-be" else b"\xfe\xff" + RESULTS.encode(encoding)
    with pytest.raises(InputError, match=r"must be UTF-8 text: iconv -f UTF-(16|32)"):
        kind_of(tmp_path, "a.csv", data)


@pytest.mark.parametrize("agents", [2, *range(200, 216), 700])
def test_a_large_matrix_of_margins_is_known_by_whole_lines(agents: int, tmp_path: Path) -> None:
    """Wherever its beginning ends, be it in the header: half a name is no name of the header."""
    names = [f"agent-{i:0100}" for i in range(agents)]
    text = "\n".join([",".join(["", *names]), *(",".join([name, *["0"] * agents]) for name in names)])
    assert kind_of(tmp_path, "m.csv", text).kind is FileKind.MARGINS
