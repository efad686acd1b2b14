"""Methods fitted to all outcomes at once, from tallies."""
