"""Household: homes with furniture that opens, small things, and a robot with a head camera."""
