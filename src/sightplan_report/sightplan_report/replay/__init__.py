"""Replay of recorded episodes: decisions on changed answers, and tables."""
