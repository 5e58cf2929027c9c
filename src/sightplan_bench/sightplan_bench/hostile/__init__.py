"""Hostile input: readers (targets), spoilt input (mutations), and reading processes (workers)."""
