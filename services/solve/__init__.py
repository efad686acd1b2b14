"""Solves: which are due, how they run, and what they return."""
