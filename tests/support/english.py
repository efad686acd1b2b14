"""Phrases that a reader has to decipher, for the test that refuses them and the script that counts them."""

import re

PHRASES = re.compile(
    r"\b(?:(?:is|are|was|were) told|tells? of|told (?:by|as|in|at)|what stands|stands? in (?:place|for)|hardly linked|foresaw|foreseen"
    r"|what broke|whoever|whom it|of whom|that there are|mends?|mended|as often as|comes? meanwhile|anew|of its own|(?-i:is none)|of none"
    r"|nobody is|has to be folded|goes on where|in its turn|what becomes of|it all|do(?:es)? not say|(?:is|not) to be had|by nobody)\b",
    re.IGNORECASE,
)
"""Phrases that docs/reference/glossary.md and plain technical English do without."""
