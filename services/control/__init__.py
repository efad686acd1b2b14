"""The control log: pools, generations, takeovers and operator decisions. It holds everything that changes what a fold means.

May import: `services.log`, `services.wire`, `services.runtime`, `ratings_core`.
Read first: `records.py` (the records and the state they fold into), `log.py` (reading and appending), `generations.py`.
"""
