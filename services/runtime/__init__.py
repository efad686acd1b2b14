"""Process-level building blocks without any logic of ratings: settings, logging, metrics, files, signals.

May import: `ratings_core.errors` and third-party libraries; no other folder of `services`.
Read first: `settings.py` (every setting), `metrics.py` (every metric), `logging.py`.
"""
