"""Replay of recorded answers: estimates of states, and rates learned in hindsight."""
