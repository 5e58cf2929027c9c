"""Commands of sightplan_report."""
