"""The ViPlan benchmark: planning with visual grounding in blocksworld and household."""
