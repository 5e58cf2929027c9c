"""How good a model's eyes are: yes/no questions about pictures of ViPlan's worlds."""
