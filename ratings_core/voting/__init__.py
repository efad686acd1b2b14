"""Voting methods: rankings from who beats whom, one file per method."""
