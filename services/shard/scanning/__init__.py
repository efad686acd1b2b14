"""Plain games read from the bytes of records, columns at once."""
