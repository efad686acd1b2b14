"""The files of the pages: named by content, nothing from elsewhere, no HTML made of names, libraries as their authors published them."""

import gzip
import re
from hashlib import sha256
from pathlib import Path

from services.web.assets import assets, digest, docs_page, page

STATIC = Path(__file__).parents[3] / "services" / "web" / "static"
OWN = [path for path in STATIC.rglob("*") if path.suffix in (".js", ".css", ".html") and "vendor" not in path.parts]


def test_the_page_names_its_files_by_the_digest_of_all() -> None:
    found = re.findall(r'"/static/([0-9a-f]{16})/([a-z/.]+)"', page().content.decode())
    assert {version for version, _ in found} == {digest()}
    assert {name for _, name in found} >= {"app.js", "app.css", "vendor/preact.mjs"}
    for name in {name for _, name in found}:
        assert gzip.decompress(assets()[name].gzipped) == assets()[name].content


def test_the_page_of_the_api_names_files_that_are_served() -> None:
    found = re.findall(r'"/static/([0-9a-f]{16})/([a-z/.-]+)"', docs_page().content.decode())
    assert {version for version, _ in found} == {digest()}
    assert {name for _, name in found} == {"app.css", "docs.js", "vendor/swagger-ui-bundle.js", "vendor/swagger-ui.css"}
    assert {name for _, name in found} <= assets().keys()


def test_only_files_for_browsers_are_served() -> None:
    assert {Path(name).suffix for name in assets()} == {".js", ".mjs", ".css"}
    assert not {"index.html", "docs.html"} & assets().keys()


def test_each_import_names_a_file_that_is_served() -> None:
    for path in OWN:
        for name in re.findall(r'(?:from|import)\(? ?"([^"]+)"', path.read_text()):
            assert name.startswith("."), name
            assert (path.parent / name).resolve().relative_to(STATIC).as_posix() in assets(), (path, name)


def test_libraries_are_the_files_that_their_authors_published() -> None:
    listed = [line.split() for line in (STATIC / "vendor" / "versions.txt").read_text().splitlines()]
    assert {line[1] for line in listed} == {path.name for path in (STATIC / "vendor").iterdir() if path.suffix in (".mjs", ".js", ".css")}
    for hashed, name, package, *_ in listed:
        assert sha256((STATIC / "vendor" / name).read_bytes()).hexdigest() == hashed
        assert (STATIC / "vendor" / f"{package}.LICENSE").is_file()


def test_nothing_is_loaded_from_elsewhere() -> None:
    for path in OWN:
        text = path.read_text().replace("// ", "").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"(?:https?:)?//[a-z0-9]", text), path


def test_the_scripts_make_no_html_of_text_and_evaluate_nothing() -> None:
    for path in OWN:
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "dangerouslySetInnerHTML"):
            assert word not in path.read_text(), path


def test_the_page_has_no_inline_script_and_no_handler() -> None:
    for name in ("index.html", "docs.html"):
        text = (STATIC / name).read_text()
        assert not re.search(r"<script(?![^>]*src=)", text)
        assert not re.search(r"\son[a-z]+=", text)
        assert "style=" not in text
