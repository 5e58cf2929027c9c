"""Household things on a table that are put in and on others, and a cabinet with drawers."""
