"""Names with characters that are not displayed: refused where they would be new, read and named where a log already holds them."""

import json
import unicodedata
from pathlib import Path

import pytest

from ratings_core.errors import InputError
from ratings_core.records.names import check_name, check_visible_name, hidden_character
from services.control import generations
from services.control.records import FoldSettings, GenerationRequest
from services.wire.events import decode
from services.wire.scanning.scan import scan
from tests.support.api import Running
from tests.support.files import outcomes_of
from tests.support.outcomes import game

HIDDEN = {
    "zero-width space": "\u200b",
    "zero-width joiner": "\u200d",
    "byte order mark": "\ufeff",
    "word joiner": "\u2060",
    "soft hyphen": "\u00ad",
    "left-to-right mark": "\u200e",
    "Arabic letter mark": "\u061c",
    "variation selector": "\ufe0f",
    "Hangul filler": "\u3164",
    "tag": "\U000e0041",
    "line separator": "\u2028",
    "interlinear annotation": "\ufff9",
}
"""Characters that the decoder takes in names, because logs hold them already."""


@pytest.mark.parametrize("character", HIDDEN.values(), ids=list(HIDDEN))
def test_hidden_characters_are_refused_in_new_names_and_accepted_from_the_log(character: str) -> None:
    name = f"a{character}b"
    assert check_name(name) == name
    assert hidden_character(name) == character
    with pytest.raises(InputError, match=f"U\\+{ord(character):04X} is invisible"):
        check_visible_name(name)
    record = json.dumps(game("g", name, "c", time=5.0), ensure_ascii=False).encode()
    assert not decode([record]).refusals
    assert list(scan([record]).rest) == []


def test_every_format_character_of_bidirectional_text_is_hidden() -> None:
    classes = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    marks = [chr(code) for code in range(0x110000) if unicodedata.bidirectional(chr(code)) in classes]
    assert len(marks) == 9
    assert all(hidden_character(mark) == mark for mark in marks)


@pytest.mark.parametrize("name", ["José", "王", "наташа", "ﷺ", "a-b c", "𝐚", "👍", "ไทย", "हिन्दी"])
def test_displayed_names_are_accepted(name: str) -> None:
    assert check_visible_name(name) == name


@pytest.mark.parametrize(
    ("item", "path"),
    [
        (game("g\u200b", "a", "b", time=5.0), "id"),
        (game("g", "a", "b", time=5.0, task="t\u200b"), "task"),
        (game("g", time=5.0, sides=[{"agents": ["a"], "place": 1}, {"agents": ["b", "c\u200b"], "place": 2}]), "sides[1].agents[1]"),
        ({"v": 1, "id": "s", "pool": "p", "time": 1.0, "task": "t", "scores": {"a": 1.0, "b\u200b": 2.0}}, 'scores["b\\u200b"]'),
        ({"v": 1, "id": "r\u200b", "pool": "p", "time": 1.0, "retracts": "g"}, "id"),
        (game("g", "a", "b", time=5.0, tags={"map": "x", "language": "en\u200b"}), "tags.language"),
        ({"v": 1, "id": "s", "pool": "p", "time": 1.0, "task": "t", "scores": {"a": 1.0}, "tags": {"k": "a\u200bb"}}, "tags.k"),
    ],
)
def test_a_request_with_a_hidden_name_writes_nothing_and_names_the_field(api: Running, item: dict[str, object], path: str) -> None:
    answer = api.client.post("/v1/outcomes", json=[item])
    assert answer.status_code == 422
    [refusal] = answer.json()["refusals"]
    assert (refusal["item"], refusal["reason"], refusal["path"]) == (0, "bad_field", f"$[0].{path}")
    assert "U+200B is invisible" in refusal["rule"]
    alone = api.client.post("/v1/outcomes", json=item).json()["refusals"]
    assert [one["path"] for one in alone] == [f"$.{path}"]
    assert api.records() == []


def test_a_retraction_may_name_an_id_that_the_log_holds(api: Running) -> None:
    assert api.client.post("/v1/outcomes", json=game("g", "a", "b", time=5.0)).status_code == 202
    retraction = {"v": 1, "id": "r", "pool": "p", "time": 1.0, "retracts": "old\u200bid"}
    assert api.client.post("/v1/outcomes", json=retraction).status_code == 202


def test_a_label_with_a_hidden_character_is_refused(api: Running) -> None:
    answer = api.client.put("/v1/pools/p", json={"kind": "games", "label": "simu\u202elated"})
    assert (answer.status_code, "label" in answer.json()["detail"]) == (422, True)


def test_an_imported_row_with_a_hidden_name_is_refused_alone(tmp_path: Path) -> None:
    path = tmp_path / "games.csv"
    path.write_text("home_team,away_team,home_score,away_score\nWales,Malta,2,1\nWa\u200bles,Malta,0,1\nMalta,Wales,1,1\n")
    found = outcomes_of(path, "p")
    assert len(found.events) == 2
    assert (found.counts.rows, found.counts.bad) == (3, 1)
    assert (found.counts.first[0].row, found.counts.first[0].value) == (3, "Wa\u200bles")


def test_an_alias_may_rename_a_hidden_name_but_not_introduce_one(api: Running) -> None:
    standing = GenerationRequest(pool="p", time=0.0, fold=FoldSettings())
    renamed = generations.wish(standing, time=1.0, aliases={"pay\u200bpal": "paypal"}, bans=["e\u200bve"])
    assert renamed.aliases == {"pay\u200bpal": "paypal"}
    with pytest.raises(InputError, match="U\\+200B is invisible"):
        generations.wish(standing, time=1.0, aliases={"paypal": "pay\u200bpal"})
    kept = GenerationRequest(pool="p", time=0.0, fold=FoldSettings(), aliases={"x": "o\u200bld"})
    assert generations.wish(kept, time=1.0, bans=["eve"]).aliases == kept.aliases
    assert api.client.put("/v1/pools/blitz", json={"kind": "games"}).status_code == 201
    answer = api.client.post("/v1/pools/blitz/generations", json={"aliases": {"paypal": "pay\u200bpal"}})
    assert (answer.status_code, "invisible" in answer.json()["detail"]) == (422, True)
