"""Benchmarks: speed, safety, robustness; ``sightplan bench``."""
