"""What people see of a run on a terminal: progress while it goes on, its scores as a table."""
