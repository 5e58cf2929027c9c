"""Sliding puzzles: a board of cells, pieces on it, and one move at a time."""
