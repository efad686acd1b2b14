"""The store that readers read: protocol, Redis key layout, scripts, and the embedded Redis server.

May import: `services.boards`, `services.control`, `services.runtime`.
Read first: `protocol.py` (the laws of a store), `keys.py` (key layout), `redis.py`.
"""
