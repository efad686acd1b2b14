"""The table of a run as Markdown, and its chart."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.bench.comparing import Mark
from benchmarks.bench.rows import Results, Row, Scaling
from benchmarks.bench.tasks import TASKS

_HEAD: Final = "| task | peer | size | value | ours | peer's | ratio | bound of ours |\n| --- | --- | --- | --- | --- | --- | --- | --- |"


def page(results: Results, marks: Sequence[Mark] = (), before: str = "") -> str:
    """The whole page: machine, table of peers, what is compared, first runs, scaling, and marks beside an earlier run."""
    lines = ["# Beside other packages", "", *sections(results)]
    if before:
        lines += ["", *_marked(marks, before)]
    return "\n".join(lines) + "\n"


def sections(results: Results) -> list[str]:
    """The page without its title and without marks, as lines."""
    tables = (table(results.rows), _notes(results.rows), _first(results.rows), scaling_table(results.scaling))
    return [_machine(results), *(line for lines in tables for line in ("", *lines))]


def table(rows: Sequence[Row]) -> list[str]:
    """The rows as lines of a Markdown table."""
    return [_HEAD, *(f"| {' | '.join(cells(row))} |" for row in rows)]


def cells(row: Row) -> tuple[str, ...]:
    """One row as texts: task, peer, size, value, seconds of both, ratio, bound."""
    task = TASKS.get(row.task)
    size, bound = f"{row.size:,} {task.unit if task else ''}".strip(), task.bound if task else ""
    if row.error:
        return row.task, row.peer, size, f"failed: {row.error}".replace("|", "/"), "-", "-", "-", bound
    return row.task, row.peer, size, value(row), _seconds(row.ours), _seconds(row.theirs), ratio(row), bound


def value(row: Row) -> str:
    """How the values compare: equal or not with the largest difference, or Kendall's tau for another model."""
    if row.difference is None:
        return "-"
    if row.tolerance is None:
        return f"another model, tau {1 - row.difference:.3f}"
    return f"{'equal' if row.equal else 'differs'} ({row.difference:.1g})"


def ratio(row: Row) -> str:
    """The ratio with three digits; below 1 the peer is faster, and bold says so."""
    return _times(row.ratio)


def _times(found: float | None) -> str:
    if found is None:
        return "-"
    return f"{found:.3g}x" if found >= 1 else f"**{found:.2g}x**"


def scaling_table(rows: Sequence[Scaling]) -> list[str]:
    """Seconds of ours by size, and the exponent."""
    lines = ["Ours by size; the exponent is the slope of log seconds by log size.", "", "| task | sizes | CPU seconds | exponent |"]
    lines.append("| --- | --- | --- | --- |")
    for row in rows:
        sizes = f"{', '.join(f'{size:,}' for size in row.sizes)} {row.unit}"
        seconds = ", ".join(_seconds(own) for own in row.seconds) + (f"; failed: {row.error}" if row.error else "")
        lines.append(f"| {row.task} | {sizes} | {seconds} | {'-' if row.exponent is None else f'{row.exponent:.2f}'} |")
    return lines


def chart(rows: Sequence[Row], file: Path) -> None:
    """Write FILE.svg and FILE.png: a bar for each ratio, on a log scale; right of 1 ours takes less. Failed rows have no bar."""
    from benchmarks.papers.figures import COLOURS, grid, save  # noqa: PLC0415 - needs matplotlib

    drawn = [row for row in rows if row.ratio is not None][::-1]
    figure, (axes,) = grid(width=7.0, height=1.2 + 0.24 * len(drawn))
    ratios = [row.ratio or 1.0 for row in drawn]
    axes.barh(range(len(drawn)), [own - 1 for own in ratios], left=1, color=[COLOURS[0] if own >= 1 else COLOURS[1] for own in ratios])
    axes.set_yticks(range(len(drawn)), [f"{row.task}: {row.peer}" for row in drawn])
    axes.set_xscale("log")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xlabel("CPU seconds of the peer / CPU seconds of Equirank")
    save(figure, file)


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.2g} s" if value < 100 else f"{value:.0f} s"


def _machine(results: Results) -> str:
    facts = ", ".join(f"{name} {value}" for name, value in results.machine.items())
    sizes = "small sizes, whose ratios mean little" if results.quick else "full sizes"
    return f"Machine: {facts}. Run with {sizes}. CPU seconds are those of all threads, the least of several runs by turns."


def _notes(rows: Sequence[Row]) -> list[str]:
    said = dict.fromkeys((row.task, row.peer, row.compared, row.why) for row in rows)
    lines = [f"- {task}, {peer}: {compared}{'. ' + why if why else ''}." for task, peer, compared, why in said]
    return ["What is compared:", "", *lines]


def _first(rows: Sequence[Row]) -> list[str]:
    ratios = [_over(row.first_theirs, row.first_ours) for row in rows]
    known = [one for one in ratios if one is not None]
    lost = sum(one < 1 for one in known)
    lines = [
        "Not in the ratios above: imports, and the first run of a process, which may compile (CPU seconds).",
        f"The first run of Equirank takes longer than the peer's in {lost} of {len(known)} rows; their ratios are bold.",
        "",
        "| task | peer | imports, ours | imports, peer's | first run, ours | first run, peer's | ratio of first runs |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row, first in zip(rows, ratios, strict=True):
        figures = (row.imports_ours, row.imports_theirs, row.first_ours, row.first_theirs)
        lines.append(f"| {row.task} | {row.peer} | {' | '.join(_seconds(own) for own in figures)} | {_times(first)} |")
    return lines


def _over(theirs: float | None, ours: float | None) -> float | None:
    return theirs / ours if ours and theirs is not None else None


def _marked(marks: Sequence[Mark], before: str) -> list[str]:
    lines = [
        f"Beside `{before}`, by ratio:",
        "",
        "| task | peer | size | ratio before | ratio now | mark |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for mark in marks:
        ratios = " | ".join("-" if own is None else f"{own:.3g}x" for own in (mark.before, mark.now))
        lines.append(
            f"| {mark.task} | {mark.peer} | {mark.size:,} | {ratios} | {'**' + mark.word + '**' if mark.regression else mark.word} |"
        )
    return lines
