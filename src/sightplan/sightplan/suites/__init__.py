"""Published benchmarks: their splits and limits, and the numbers to compare with.

One folder a suite: ``README.md`` (paper, version, deviations, licence), ``suite.yaml`` and
``published.json``. Folders are discovered.
"""

from sightplan.suites.suite import (
    DomainRules,
    MethodRules,
    Published,
    Suite,
    load_suite,
    read_suite,
    suite_for,
    suite_names,
)

__all__ = ['DomainRules', 'MethodRules', 'Published', 'Suite', 'load_suite', 'read_suite',
           'suite_for', 'suite_names']
