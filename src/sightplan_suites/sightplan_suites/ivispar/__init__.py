"""The iVISPAR benchmark: sliding puzzles, seen in 3D, in 2D or as text."""
