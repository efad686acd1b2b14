"""How Equirank is cited: CITATION.cff, the page about it, and what an archive of a commit has."""

import datetime as dt
import io
import re
import shutil
import subprocess
import tarfile
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[3]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs/guides/cite.md").read_text(encoding="utf-8")
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


def test_the_citation_names_the_version_of_the_project_and_its_day() -> None:
    assert CITATION["version"] == VERSION
    assert isinstance(CITATION["date-released"], dt.date), "BibTeX takes its year from this day"


def test_each_paper_of_the_citation_has_an_address() -> None:
    assert len(CITATION["references"]) == 5
    for paper in CITATION["references"]:
        assert re.fullmatch(r"https://arxiv\.org/abs/\d{4}\.\d{5}", paper["url"]), paper["title"]


def test_the_bibtex_entry_is_that_of_the_citation() -> None:
    entry = dict(re.findall(r"^  (\w+) = \{\{?(.+?)\}?\},?$", PAGE, re.MULTILINE))
    assert entry == {
        "author": CITATION["authors"][0]["name"],
        "title": CITATION["title"],
        "version": VERSION,
        "year": str(CITATION["date-released"].year),
        "url": CITATION["repository-code"],
    }


def test_an_archive_of_a_commit_has_what_the_page_says() -> None:
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("needs a git clone of the project")
    (command,) = re.findall(r"^git (archive .+)$", PAGE, re.MULTILINE)
    said = ["--format=tar" if word.startswith("--format") else word for word in command.split()]
    words = ["HEAD" if word == f"v{VERSION}" else word for word in said if not word.startswith("--output")]
    made = subprocess.run([git, "-C", str(ROOT), *words], capture_output=True, check=True)
    with tarfile.open(fileobj=io.BytesIO(made.stdout)) as archive:
        names = set(archive.getnames())
    table = [path for row in re.findall(r"^\| (`.+?) \|", PAGE, re.MULTILINE) for path in re.findall(r"`(.+?)`", row)]
    assert {"CITATION.cff", "LICENSE", "requirements.lock", "docs/papers/results"} <= set(table)
    assert [path for path in table if f"equirank-{VERSION}/{path}" not in names] == []
