"""The predicates benchmark: yes/no questions about pictures of ViPlan's worlds."""
