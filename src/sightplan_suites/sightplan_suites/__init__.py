"""Suites of benchmarks: one folder a suite, which ``runs.suite`` reads."""
