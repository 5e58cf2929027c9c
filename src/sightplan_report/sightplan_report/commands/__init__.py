"""Commands that the report's package adds to ``sightplan``."""
