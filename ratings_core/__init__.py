"""Ratings that cycles and clones do not fool: arrays in, arrays out. No clock, network, environment or process in here."""
