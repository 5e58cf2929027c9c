"""One module per answerer, chosen by its name: see ``sightplan.agent.answerer``."""
