"""Hostile input: readers (targets), spoilt input (spoiling), and reading processes (workers)."""
