"""The methods: each module is one, and holds ``Settings`` and ``Policy`` (see agent.policy)."""
