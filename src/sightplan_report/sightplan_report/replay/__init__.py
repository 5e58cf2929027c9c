"""Replay of sightplan_report."""
