"""Pages of stored results: one for each paper, and a summary."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from benchmarks.papers.items import Item, Match, Paper, Value
from benchmarks.papers.run import Status, Stored, read_result

_SUMMARY_HEAD: Final = """# The papers, reproduced

The methods come from five papers. This page says how many of their numbers and statements we reproduce. The page of a paper has its
tables and figures: what the paper says, what we find, and whether they match. A command in a clone of the project computes them; a test
compares the pages with the stored results.

```sh
scripts/bootstrap                                       # once: .venv with everything (2.4 GB)
.venv/bin/equirank papers vase/figure-2                 # one table or figure in small size, in seconds; prints where its picture is
.venv/bin/equirank papers vase/figure-2 --full          # the same in full size
.venv/bin/equirank papers                               # all in small sizes (--quick), at most five minutes
.venv/bin/equirank papers --full --output docs/papers   # all in full size, into these pages (make papers)
```

The last line of a table or figure on a paper's page has the name of its item, and its seeds if it draws at random. Without `--output`,
results and pictures go to `.cache/papers`.

Another seed shows how much of a value is chance:

```sh
.venv/bin/equirank papers soft_condorcet/table-3 --seed 5
```

The first seed of the item becomes 5, and its other seeds follow. Results of a seed go to a subfolder, here `.cache/papers/seed-5`, so they
never replace the committed ones. For an item without seeds, the command says that it draws nothing at random. A statement that fails with
the other seed is a *no*, and the command ends with status 1.

| paper | items | compared rows | match | within noise | no, explained | no, other input | no | items without input |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""
_SUMMARY_END: Final = """
- *Compared rows*: what the paper says is a number that it prints, a statement, or what an equation or a theorem of it implies for our
  input, such as a sum that has to be 0. The column *the paper* has it. A statement counts as much as a number.
- *Match*: equal to the tolerance in the table, or the paper's statement holds. Where the note above a table says that our input is another
  one, a statement that holds on it shows no more about the paper's figure than one that fails. In small size, a random statement is tried
  on few trials, and some are compared in full size alone.
- *Within noise*: the experiment is random, and the difference is at most the noise in the table.
- *No, explained*: the printed value does not follow from the paper's definitions or data, or follows only from a choice that the paper does
  not state, such as a precision, a rule for ties, or where an iteration ends. Ours is the value that the stated reason predicts.
- *No, other input*: a value or a statement of the paper that is another one on our input. The paper's input is not public, so nothing
  follows for or against the paper. It counts as not reproduced.
- *Not printed*, *not compared*: the paper prints no value, or one that ours cannot be compared with; the last column says why. These rows
  are in no column here.
- *Items without input*: it is not public, or was not on the machine. The page of the paper says which.

**Input outside of the project.** Table 2 of soft Condorcet optimization reads `data/preflib_sco.tar.xz` below the folder that the
environment variable `EQUIRANK_SHARED` names. It is an archive of a folder `preflib` with the strict profiles of PrefLib (preflib.org),
files `*.soc` and `*.soi` under their own names. Without it, this item is not run.

Which rating predicts games best, on three histories of football and three drawn ones: {scoreboard}.

Why the pages are built like this: {decision}.
"""
_ABSENT: Final = """
{count} of these items were not asked for yet, and have no results here.
"""
_OTHER_PAGES: Final = {"scoreboard": ("the scoreboard", "scoreboard.md"), "decision": ("decision 75", "../decisions/0075-papers.md")}
"""Text and address of each page that is only in docs/papers."""
_OLDER: Final = """
The last line of an item says which commit computed it. Code of a later commit may give another value. The command computes again what
other code computed, and `equirank papers --pages --output docs/papers` lists it."""
_OTHER_SEED: Final = """

**Another seed.** Seeds of these results begin at {seed}. The committed results, with the first seeds of the items, are in `docs/papers`."""


def write_pages(papers: Sequence[Paper], folder: Path, seed: int | None = None) -> None:
    """Write the page of each paper, and README.md, from the results in the folder, which are those of a seed if one is given."""
    for paper in papers:
        folder.joinpath(f"{paper.name}.md").write_text(paper_page(paper, folder, seed), encoding="utf-8")
    folder.joinpath("README.md").write_text(summary_page(papers, folder), encoding="utf-8")


def summary_page(papers: Sequence[Paper], folder: Path) -> str:
    """README.md: one row for each paper."""
    results = [results_of(paper, folder) for paper in papers]
    absent = sum(result is None for one in results for result in one.values())
    rows = "".join(map(_summary_row, papers, results))
    others = {
        name: f"[{text}]({link})" if (folder / link).exists() else f"{text} in docs/papers" for name, (text, link) in _OTHER_PAGES.items()
    }
    return _SUMMARY_HEAD + rows + (_ABSENT.format(count=absent) if absent else "") + _SUMMARY_END.format(**others)


def paper_page(paper: Paper, folder: Path, seed: int | None = None) -> str:
    """The page of a paper."""
    results = results_of(paper, folder)
    head = f"# {paper.title}\n\n{paper.reference}\n\n{paper.about.strip()}\n\n{_made(paper, results, seed)}\n"
    return head + "".join(_section(item, results[item.name]) for item in paper.items)


def results_of(paper: Paper, folder: Path) -> dict[str, Stored | None]:
    """Stored results of a paper by item; None for an item that was never run."""
    return {item.name: read_result(folder, paper.name, item.name) for item in paper.items}


def _summary_row(paper: Paper, results: dict[str, Stored | None]) -> str:
    done = [result for result in results.values() if result is not None and result.status is Status.DONE]
    counts = [sum(result.count(match) for result in done) for match in (Match.YES, Match.NOISE, Match.EXPLAINED, Match.OTHER, Match.NO)]
    lacking = sum(result is not None and result.status is Status.NOT_RUN for result in results.values())
    cells = [f"[{paper.title}]({paper.name}.md)", len(results), sum(counts), *counts, lacking]
    return _row(cells)


def _made(paper: Paper, results: dict[str, Stored | None], seed: int | None) -> str:
    versions = sorted(
        {", ".join(f"{name} {number}" for name, number in one.versions.items()) for one in results.values() if one is not None}
    )
    where = "--output docs/papers" if seed is None else f"--seed {seed}"
    command = f"```sh\n.venv/bin/equirank papers {paper.name} --full {where}\n```\n"
    head = f"Made by this command, with {'; '.join(versions) or 'nothing yet'}:\n\n{command.strip()}\n"
    return head + _OLDER + ("" if seed is None else _OTHER_SEED.format(seed=seed))


def _section(item: Item, result: Stored | None) -> str:
    head = f"\n## {item.source}: {item.title}\n\n"
    if result is None:
        return f"{head}Not run yet.\n"
    if result.status is Status.NOT_RUN:
        return f"{head}**Not run: needs {result.needs}.**\n"
    return head + "\n".join(_parts(item, result))


def _parts(item: Item, result: Stored) -> Iterator[str]:
    if result.note:
        yield f"{result.note.strip()}\n"
    if result.values:
        yield _table(result.values)
    for figure in result.figures:
        path = f"figures/{figure.name}"
        yield f"![{item.source}: {item.title}]({path}.svg)\n\n{figure.caption.strip()} ([PNG]({path}.png))\n"
    seeds = f"; seeds {_seeds(result.seeds)}" if result.seeds else ""
    yield f"Item `{item.name}`, {result.size} size{seeds}. {_computed(result)}\n"


def _computed(result: Stored) -> str:
    """When and by which code a result was computed."""
    if not result.commit:
        return f"Computed by an unknown commit (digest {result.code})."
    changes = ", with changes that were not committed" if result.commit.endswith("+") else ""
    return f"Computed on {result.day} by commit {result.commit.rstrip('+')}{changes} (digest {result.code})."


def _seeds(seeds: Sequence[int]) -> str:
    """`0 to 199` for consecutive seeds, else a list."""
    if len(seeds) > 2 and list(seeds) == list(range(seeds[0], seeds[0] + len(seeds))):
        return f"{seeds[0]} to {seeds[-1]}"
    return ", ".join(map(str, seeds))


def _table(values: Sequence[Value]) -> str:
    rows = [(one.label, one.printed or "–", one.ours, _match(one), one.why) for one in values]
    head = "| value | the paper | ours | match | reason or tolerance |\n| --- | --- | --- | --- | --- |\n"
    return head + "".join(map(_row, rows))


def _match(value: Value) -> str:
    """The match as text. A printed value that cannot be compared is `not compared`."""
    return "not compared" if value.match is Match.NONE and value.printed else str(value.match)


def _row(cells: Sequence[object]) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |\n"
