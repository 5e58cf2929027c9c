"""Commands that the suites' package adds to ``sightplan``."""
