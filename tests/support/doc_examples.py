"""The curl lines of the docs as requests: found in the pages, parsed as a shell would, and sent to another address."""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
import jsonschema

from scripts.reference_api import Route, routes
from services.api.app import openapi_document

ROOT: Final = Path(__file__).parents[2]
_FENCE: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE: Final = re.compile(r"`(curl [^`]+)`")
_VALUED: Final = {"-X": "method", "-H": "header", "-d": "data", "--data-binary": "data", "--json": "json", "-o": "output"}
"""Options of curl with a value. Others of the docs are letters of `_FLAGS`."""
_FLAGS: Final = frozenset("sfSNI")
DOCUMENT: Final = openapi_document()


def pages() -> list[Path]:
    """README.md and all pages of docs that readers follow. Decisions describe their time."""
    return [ROOT / "README.md", *(page for page in sorted((ROOT / "docs").rglob("*.md")) if "decisions" not in page.parts)]


def curl_lines(page: str) -> list[str]:
    """The curl commands of a page, in their order: those of its shell blocks, and those inside its sentences."""
    found: list[str] = []
    for part in re.split(r"(^```\w*\n.*?^```$)", page, flags=re.MULTILINE | re.DOTALL):
        if (block := _FENCE.fullmatch(part)) is None:
            found += _INLINE.findall(part)
        elif block[1] in {"sh", "bash"}:
            found += [one for one in _commands(block[2]) if one.startswith("curl ")]
    return found


def client_blocks(page: str) -> list[str]:
    """The Python examples of a page that use the client and do not show what they print."""
    blocks = [code for language, code in _FENCE.findall(page) if language == "py" and "equirank_client" in code]
    return [code for code in blocks if "\n# " not in code]


def _commands(block: str) -> Iterator[str]:
    """The commands of a shell block. A command goes on in the next line after a backslash and inside of quotes."""
    pending = ""
    for line in block.splitlines():
        pending = f"{pending}\n{line}" if pending else line
        try:
            words = shlex.split(pending, comments=True)
        except ValueError:  # a quote or a backslash is open
            continue
        if words:
            yield from (one.strip() for one in re.split(r";\s+(?=curl )", pending))
        pending = ""
    assert not pending, pending


@dataclass
class CurlRequest:
    """A request as a curl line states it.

    Attributes:
        method: HTTP method.
        target: Path and query.
        headers: Its headers.
        body: Its body; None without one.
        streams: Whether the answer is a stream that does not end.
    """

    method: str = ""
    target: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    streams: bool = False

    @property
    def route(self) -> Route:
        """The route that the request reaches. Fails if there is none."""
        path, method = urlsplit(self.target).path, "GET" if self.method == "HEAD" else self.method
        return next(one for one in routes(DOCUMENT) if one.method == method and re.fullmatch(re.sub(r"{\w+}", "[^/]+", one.path), path))


def parsed(line: str, variables: Mapping[str, str], files: Mapping[str, bytes]) -> CurlRequest:
    """Parse a curl line. Fails on an option, a variable or a file that is not known here.

    Args:
        line: The command.
        variables: Value of each shell variable.
        files: Content of each file that a line may send.
    """
    line = re.sub(r"\$(\w+)", lambda match: variables[match[1]], line.replace("\\\n", " "))
    request, words = CurlRequest(), iter(shlex.split(line, comments=True)[1:])
    for word in words:
        if word.startswith("http://"):
            request.target = word.removeprefix(f"http://{urlsplit(word).netloc}")
        elif word in _VALUED:
            _take(request, _VALUED[word], next(words), files)
        else:
            assert word[0] == "-", word
            assert set(word[1:]) <= _FLAGS, f"option {word} of `{line}` is not known"
            request.streams |= "N" in word
            request.method = "HEAD" if "I" in word else request.method
    request.method = request.method or ("GET" if request.body is None else "POST")
    return request


def _take(request: CurlRequest, option: str, value: str, files: Mapping[str, bytes]) -> None:
    match option:
        case "method":
            request.method = value
        case "header":
            name, _, text = value.partition(": ")
            request.headers[name] = text
        case "json":
            request.body, request.headers["Content-Type"] = value.encode(), "application/json"
        case "data":
            request.body = files[value[1:]] if value.startswith("@") else value.encode()


def check_answer(request: CurlRequest, response: httpx.Response) -> None:
    """Fail if an answer is not of a media type and a schema of its route."""
    kind, answers = response.headers["content-type"].partition(";")[0], request.route.answers
    known = {one.partition(";")[0]: entry for one, entry in answers.items()}
    assert kind in known, f"{kind} is none of {', '.join(known)}"
    if kind == "application/json":
        schema: Mapping[str, Any] = known[kind]["schema"]
        validator = jsonschema.Draft202012Validator({**schema, "components": DOCUMENT["components"]})
        wrong = jsonschema.exceptions.best_match(validator.iter_errors(response.json()))
        assert wrong is None, f"{wrong.json_path}: {wrong.message[:300]}"
