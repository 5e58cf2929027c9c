"""Learning of sightplan_belief."""
