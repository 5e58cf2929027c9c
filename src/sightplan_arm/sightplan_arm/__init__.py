"""Symbolic actions as motions of a robot arm, behind a safety gate."""
