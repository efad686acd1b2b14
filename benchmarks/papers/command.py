"""What `equirank papers` does: run the items, print each result, write the pages."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.papers.items import Match
from benchmarks.papers.pages import results_of, write_pages
from benchmarks.papers.registry import PAPERS, chosen
from benchmarks.papers.run import ROOT, Progress, Status, code_digest, read_result, run_papers

DEFAULT_FOLDER: Final = ROOT / ".cache" / "papers"
_KINDS: Final = (Match.YES, Match.NOISE, Match.EXPLAINED, Match.OTHER, Match.NO)


def reproduce(names: Sequence[str], *, quick: bool, folder: Path | None = None, again: bool = False, seed: int | None = None) -> int:
    """Run the items of papers, print one line for each, and write the pages.

    Args:
        names: Names of papers, or PAPER/ITEM; all if empty.
        quick: Small sizes.
        folder: Where results, figures and pages are stored; `.cache/papers` of the checkout by default.
        again: Compute also what is stored.
        seed: In place of the first seed of each item that draws at random. Results are stored in the subfolder `seed-SEED`.

    Returns:
        The exit status: 1 if a value differs from the printed one without an explanation.

    Raises:
        InputError: A name is unknown.
    """
    where, papers = _folder(folder, seed), chosen(list(names))
    seen = []
    for one in run_papers(papers, where, quick=quick, again=again, seed=seed):
        seen.append(one)
        _show(one, where, seed)
    write_pages(PAPERS, where, seed)
    wrong = sum(one.result.count(Match.NO) for one in seen)
    lacking = sum(one.result.status is Status.NOT_RUN for one in seen)
    counts = _counts([one.result.count(kind) for one in seen for kind in _KINDS])
    print(f"\nItems of this run: {len(seen)}; {counts}" + f"; {lacking} without input" * bool(lacking))
    if any(one.result.size == "quick" for one in seen):
        print("Sizes are small (--quick, the default): random statements are tried on few trials, and some rows need --full.")
    results = [result for paper in PAPERS for result in results_of(paper, where).values()]
    absent = sum(result is None for result in results)
    without = sum(result is not None and result.status is Status.NOT_RUN for result in results)
    print(
        f"Pages: {where}; of their {len(results)} items, {without} lack their input" + f", {absent} were not asked for yet" * bool(absent)
    )
    return int(wrong > 0)


def render(folder: Path | None = None, seed: int | None = None) -> None:
    """Write the pages of all papers from the results in the folder, or from its results of a seed.

    The default folder is `.cache/papers` of the checkout. Prints the items whose results other code computed than this checkout has.
    """
    where = _folder(folder, seed)
    where.mkdir(parents=True, exist_ok=True)
    write_pages(PAPERS, where, seed)
    print(f"Pages: {where}")
    stored = [
        (paper.name, item, result)
        for paper in PAPERS
        for item in paper.items
        if (result := read_result(where, paper.name, item.name)) is not None and result.status is Status.DONE
    ]
    older = [(paper, result) for paper, item, result in stored if result.code != code_digest(paper, item)]
    if older:
        print(f"{len(older)} of {len(stored)} results were computed by other code than this checkout's:")
    for paper, result in older:
        print(f"  {paper}/{result.item}, {f'commit {result.commit}, {result.day}' if result.commit else 'an unknown commit'}")


def _folder(folder: Path | None, seed: int | None) -> Path:
    """Where results are stored. Those of a seed have a folder of their own, so that they never replace the others."""
    parent = folder or DEFAULT_FOLDER
    return parent if seed is None else parent / f"seed-{seed}"


def _show(one: Progress, folder: Path, seed: int | None) -> None:
    head = f"[{one.place:3} of {one.total}] {one.paper.name:16} {one.item.name:24}"
    if one.result.status is Status.NOT_RUN:
        print(f"{head} NOT RUN: needs {one.result.needs}", flush=True)
        return
    took = f"{one.seconds:.1f} s" if one.seconds else "stored"
    counts = [one.result.count(kind) for kind in _KINDS]
    print(f"{head} {_counts(counts) if any(counts) else 'no row to compare in this size'} ({one.result.size}, {took})", flush=True)
    if seed is not None and not one.result.seeds:
        print("      draws nothing at random: the seed changes nothing", flush=True)
    for figure in one.result.figures:
        print(f"      {folder / 'figures' / figure.name}.png", flush=True)
    for value in one.result.values:
        if value.match is Match.NO:
            print(f"      NO MATCH {value.label}: printed {value.printed}, ours {value.ours} {value.why}", flush=True)


def _counts(numbers: Sequence[int]) -> str:
    """Counts of `_KINDS` as text, summed if there are several of each."""
    sums = [sum(numbers[place :: len(_KINDS)]) for place in range(len(_KINDS))]
    return ", ".join(f"{count} {kind}" for count, kind in zip(sums, _KINDS, strict=True) if count or kind is Match.YES)
