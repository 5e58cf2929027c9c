"""One module per backend, chosen by its name."""
