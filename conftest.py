"""What all tests share. No test depends on how fast the machine is, random examples neither."""

from __future__ import annotations

import hypothesis

hypothesis.settings.register_profile('sightplan', deadline=None, print_blob=True)
hypothesis.settings.load_profile('sightplan')
