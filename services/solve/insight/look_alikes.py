"""Agents whose names look like another agent's, by Unicode's table of confusable characters.

Two names look alike if they have the same skeleton (Unicode Technical Standard 39, section 4). Names that differ only in ASCII
characters (`model-1` and `model-l`, `gpt-4o` and `gpt-40`) have the same skeleton, too, but are common and not reported.
"""

import json
import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Final

from ratings_core.findings import records as findings
from ratings_core.records.names import hidden_character
from ratings_core.solution import Floats

_SHOWN: Final = 20


def look_alikes(names: Sequence[str], activity: Floats) -> findings.LookAlikes:
    """Find the groups of names that look alike.

    Args:
        names: Names of agents.
        activity: float64 (n,), games or tasks of each agent.

    Returns:
        At most 20 groups of at most 20 names, most active agents first, and the number of all groups.
    """
    groups = _groups(names)
    groups.sort(key=lambda group: (-float(activity[group].max()), names[group[0]]))
    shown = [sorted(group, key=lambda i: (-activity[i], names[i]))[:_SHOWN] for group in groups[:_SHOWN]]
    rows = [[_row(names[i], float(activity[i])) for i in group] for group in shown]
    return findings.LookAlikes(groups=rows, groups_total=len(groups))


def skeleton(name: str) -> str:
    """The skeleton of `name`. Names with equal skeletons look alike (UTS 39, section 4; combining marks are kept)."""
    if name.isascii():
        return name.translate(_prototypes())
    shown = "".join(character for character in unicodedata.normalize("NFD", name) if hidden_character(character) is None)
    return unicodedata.normalize("NFD", shown.translate(_prototypes()))


def _groups(names: Sequence[str]) -> list[list[int]]:
    """Indices of names that look alike and differ in more than ASCII characters."""
    looks: defaultdict[str, list[int]] = defaultdict(list)
    for i, name in enumerate(names):
        if not name.isascii():
            looks[skeleton(name)].append(i)
    for i, name in enumerate(names) if looks else ():
        if name.isascii() and (look := skeleton(name)) in looks:
            looks[look].append(i)
    return [group for group in looks.values() if len({_foreign(names[i]) for i in group}) > 1]


def _foreign(name: str) -> str:
    """The characters of `name` outside of ASCII."""
    return "".join(character for character in name if not character.isascii())


def _row(name: str, activity: float) -> findings.LookAlike:
    characters = [f"U+{ord(character):04X} {unicodedata.name(character, 'without a name')}" for character in dict.fromkeys(_foreign(name))]
    return findings.LookAlike(agent=name, activity=activity, characters=characters)


@cache
def _prototypes() -> Mapping[int, str]:
    """Code point -> prototype. All characters that look alike have the same prototype.

    The library lists for each text the texts that look like it. In the Unicode table each character has one prototype, and a prototype
    is its own prototype. The texts that look alike therefore form a star with the prototype at its center, which is the text with the
    most look-alikes. Of two texts the longer one is the center, because only prototypes have several characters.
    """
    with files("confusable_homoglyphs").joinpath("confusables.json").open(encoding="utf-8") as file:
        alike = {text: [row["c"] for row in rows] for text, rows in json.load(file).items()}
    centers = {
        text: max((text, *others), key=lambda candidate: (len(alike.get(candidate, ())), len(candidate), candidate))
        for text, others in alike.items()
        if len(text) == 1
    }
    return str.maketrans(
        {text: center if len(center) == 1 else "".join(centers.get(part, part) for part in center) for text, center in centers.items()}
    )
