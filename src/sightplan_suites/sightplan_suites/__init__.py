"""Benchmarks: one folder a suite that says everything about itself; read by ``runs.suite``."""
