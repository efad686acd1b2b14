"""Shards: pure states of pools, the actor that folds partitions into them, and the checkpoints that survive it."""
