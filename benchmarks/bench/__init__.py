"""`equirank bench`: tasks that Equirank and other packages do on the same input, with values and CPU seconds beside each other.

`tasks.py` lists tasks and peers, `programs` has what each package runs, `measure.py` runs them. docs/performance.md explains the table.
"""
