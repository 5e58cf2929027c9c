"""PathEval: which of two paths on a map serves a task better."""
