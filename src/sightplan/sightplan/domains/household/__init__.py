"""Things in a home that only partly is in view: data files and a problem generator."""
