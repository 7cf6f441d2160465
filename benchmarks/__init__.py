"""The benchmark suite of cygrad: `python -m benchmarks` times cygrad beside its peers in one run.

It exists so that every claim about speed can be repeated by whoever doubts it: same machine, same data, same
number of threads, interleaved. `docs/benchmarks.md` says how to run it and how to read what it prints.
"""
