"""What examples/ holds is what its scripts write."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from sightplan.records.bag_reading import open_bag

EXAMPLES = Path(__file__).resolve().parent.parent / 'examples'


def test_the_recorded_paths_are_those_of_their_script(tmp_path):
    subprocess.run([sys.executable, EXAMPLES / 'record_paths.py', tmp_path / 'three_paths'],
                   check=True)
    shipped, made = (list(open_bag(folder / 'three_paths').messages())
                     for folder in (EXAMPLES, tmp_path))
    assert shipped == made and len(shipped) == 4
