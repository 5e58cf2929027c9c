"""Learning of calibrations, constraints and priors from answers and rollouts."""
