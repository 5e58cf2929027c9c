"""Simulated hardware: a Franka Panda in PyBullet with its controllers, and a camera with depth."""
