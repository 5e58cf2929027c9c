"""Commands of sightplan_belief."""
