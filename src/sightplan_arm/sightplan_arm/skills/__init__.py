"""Skills: one module per domain, its actions as motions."""
