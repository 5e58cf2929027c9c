"""sightplan: visual planning for robots (see, symbols, plan, act, measure); no ROS in here."""

__version__ = '0.2.0'
