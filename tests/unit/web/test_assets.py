"""The page's files: named by content, nothing from elsewhere, no HTML made of names."""

import gzip
import re
from pathlib import Path

from services.web.assets import asset, page
from services.web.routes import routes_page

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


def test_the_page_of_routes_tells_parameters_bodies_and_answers_and_takes_no_text_for_html() -> None:
    answer = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Board"}}}}
    count = {"name": "count", "in": "query", "schema": {"type": "integer", "default": 20}, "description": "Rows & more."}
    wanted = {"oneOf": [{"description": "One <b>outcome</b>."}, {"$ref": "#/components/schemas/Board"}]}
    route = {
        "description": "First.\n\nSecond.",
        "parameters": [{"name": "pool", "in": "path", "schema": {"type": "string"}}, count],
        "requestBody": {"content": {"application/json": {"schema": wanted}}},
        "responses": {"404": {}, "200": answer},
    }
    board = {"description": "A board.", "required": ["rows"], "properties": {"rows": {"type": "array", "items": {"enum": ["<i>", 2]}}}}
    api = {"info": {"description": "All."}, "paths": {"/v1/<pool>": {"get": route}}, "components": {"schemas": {"Board": board}}}
    text = routes_page(api, "/static/1/app.css")
    assert "<h2><code>GET /v1/&lt;pool&gt;</code></h2>" in text
    assert "<p>First.</p>\n<p>Second.</p>" in text
    assert "<td><code>count</code></td><td>integer, default 20</td><td>Rows &amp; more.</td>" in text
    assert '<p>Body: One &lt;b&gt;outcome&lt;/b&gt;.</p>\n<p>Body: <a href="#Board">Board</a></p>' in text
    assert '<p>Answer: <a href="#Board">Board</a></p>' in text
    assert 'id="Board"' in text
    assert "<td><code>rows</code> (required)</td><td>list of &lt;i&gt; or 2</td></tr>" in text
