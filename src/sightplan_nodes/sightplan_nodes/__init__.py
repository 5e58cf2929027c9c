"""The ROS 2 nodes: convert, call the core, convert back."""
