"""The page's files: named by content, nothing from elsewhere, no HTML made of names."""

import gzip
import re
from pathlib import Path

from services.web import asset, page

STATIC = Path(__file__).parents[3] / "services" / "web" / "static"


def test_the_page_names_each_file_by_its_content() -> None:
    text = page().content.decode()
    found = re.findall(r'"(/static/([0-9a-f]{16})/([a-z.]+))"', text)
    assert {name for _, _, name in found} == {"app.js", "app.css", "plotly.min.js"}
    for _, digest, name in found:
        one = asset(name)
        assert one is not None
        assert one.digest == digest
        assert gzip.decompress(one.gzipped) == one.content


def test_other_names_are_no_files() -> None:
    assert asset("index.html") is None
    assert asset("../__init__.py") is None


def test_nothing_is_loaded_from_elsewhere() -> None:
    for name in ("index.html", "app.js", "app.css"):
        assert not re.search(r"(?:https?:)?//[a-z0-9]", (STATIC / name).read_text().replace("// ", "")), name


def test_the_script_makes_no_html_of_text_and_evaluates_nothing() -> None:
    script = (STATIC / "app.js").read_text()
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
        assert word not in script


def test_the_page_has_no_inline_script_and_no_handler() -> None:
    text = (STATIC / "index.html").read_text()
    assert not re.search(r"<script(?![^>]*src=)", text)
    assert not re.search(r"\son[a-z]+=", text)
