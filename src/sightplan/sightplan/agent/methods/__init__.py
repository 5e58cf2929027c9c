"""One module per method, chosen by its name: ``Settings`` and ``Policy`` (see agent.policy)."""
