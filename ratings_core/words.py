"""Words of results that several modules print."""


def counted(number: float, unit: str) -> str:
    """A number with its unit, such as `1 game` or `3 games`. A million games are not 1e+06."""
    return f"{number:.15g} {unit}" if number == 1 else f"{number:.15g} {unit}s"


def word_for_replicates(kind: str) -> str:
    """`draws` for replicates by draws of posterior margins, `refits` for those by refits to resampled data. kind: `Resampling.kind`."""
    return "draws" if kind == "posterior" else "refits"
