"""Methods of the belief package, found by their entry points."""
