"""Commands that the belief package adds to ``sightplan``."""
