"""Blocks in columns: data files and a problem generator."""
