"""Measurements: our server beside a bare loop, a bare store and two other servers, in one interleaved run.

`python -m bench` (or `make bench`) writes a dated page of ratios to `bench/results/`. Figures of different machines or
runs do not compare; ratios inside one block do, when the block counts (`report.py` says when).
"""
