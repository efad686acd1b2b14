"""The HTTP side: outcomes in, boards out. A stateless reader of the store and writer to the log."""
