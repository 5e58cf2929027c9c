"""Models that answer queries: one module per backend, chosen by its name."""
