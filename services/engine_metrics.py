"""The engine's metrics, fed from what shards and solves tell. No label names a pool or an agent."""
