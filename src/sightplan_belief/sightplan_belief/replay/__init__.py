"""Replay of sightplan_belief."""
