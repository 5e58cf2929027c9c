"""Graph files, and running a graph with all its processes."""
