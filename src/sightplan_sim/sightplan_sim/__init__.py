"""Simulated worlds for sightplan: one sub-package per domain, no ROS."""
