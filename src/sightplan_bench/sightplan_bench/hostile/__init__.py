"""Hostile input: readers (targets), spoilt input (mutations), and who reads it (workers)."""
