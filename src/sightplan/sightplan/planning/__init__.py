"""Planning: from symbols to actions."""
