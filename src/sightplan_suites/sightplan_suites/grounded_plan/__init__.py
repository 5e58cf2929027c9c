"""GroundedPlanBench: plans of grasp, place, open and close, each with its place in the picture."""
