"""The study of detected things that do not exist."""

import detections_study as study


def test_checks_leave_fewer_instances_on_nothing():
    without, with_checks = (study.measure('molmo-7b', 3, checks, 20) for checks in (False, True))
    assert with_checks.nothing < without.nothing / 1.5
    assert with_checks.found > without.found - 0.1
