"""The run core: what a run consists of, and how it is walked."""
