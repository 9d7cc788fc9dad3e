"""docs/accuracy.md: how far labkit's numbers are from published measurements, and others' too.

`python -m benchmarks.accuracy` writes it; `--check` says whether it is up to date.
"""
