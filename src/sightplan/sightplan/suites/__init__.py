"""Published benchmarks: their splits and limits, and the numbers to compare with.

One folder a suite: ``README.md`` (paper, version, deviations, licence), ``suite.yaml`` and
``published.json``. Folders are discovered.
"""

from sightplan.suites.suite import (
    MethodRules,
    Published,
    Suite,
    load_suite,
    suite_for,
    suite_names,
)

__all__ = ['MethodRules', 'Published', 'Suite', 'load_suite', 'suite_for', 'suite_names']
