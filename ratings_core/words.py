"""Words of results that several modules print."""


def counted(number: float, unit: str) -> str:
    """A number with its unit, such as `1 game` or `3 games`."""
    return f"{amount(number)} {unit}" if number == 1 else f"{amount(number)} {unit}s"


def amount(number: float) -> str:
    """A number, or a sum of weights: all digits of a whole number (a million is not 1e+06), and four of another one."""
    return f"{number:.15g}" if float(number).is_integer() else f"{number:.4g}"


def word_for_replicates(kind: str) -> str:
    """`draws` for replicates by draws of posterior margins, `refits` for those by refits to resampled data. kind: `Resampling.kind`."""
    return "draws" if kind == "posterior" else "refits"
