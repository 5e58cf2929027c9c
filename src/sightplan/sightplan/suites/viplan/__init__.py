"""The ViPlan benchmark."""
