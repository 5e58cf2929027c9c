"""Methods of sightplan_belief."""
