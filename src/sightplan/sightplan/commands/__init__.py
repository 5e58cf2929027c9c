"""The sub-commands of ``sightplan``: one module each, over one frame."""
