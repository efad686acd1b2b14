"""What runs: the log, the shards, the solves, the store, the API and the command line around `ratings_core`."""
