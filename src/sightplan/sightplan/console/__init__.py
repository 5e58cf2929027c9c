"""Display of a run on a terminal: its progress while it goes on, and its scores as a table."""
