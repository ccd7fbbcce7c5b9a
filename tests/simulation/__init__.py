"""Random jobs in the simulator, judged by the oracle: ``python -m simulation --seeds 5000``.

check     one seed: draw, simulate, compare
runner    many seeds in several processes
mutants   code broken on purpose, which must be caught (aggregate_mutants, commit_mutants)
"""
