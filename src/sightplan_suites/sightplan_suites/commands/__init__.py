"""Commands of sightplan_suites."""
