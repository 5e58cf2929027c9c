"""Detected instances that do not exist are no instances."""

import numpy as np
import pytest

from sightplan.grounding import BackendGrounder
from sightplan.grounding.instructions.existence import described, with_checks
from sightplan.model import Form, Instance, Observation, Region, Verdict
from sightplan.model.query import ModelByKind, answers
from sightplan.queries import Answer, Check, Detect, Detection, DetectReply

IMAGE = np.zeros((40, 60, 3), np.uint8)


def thing(name: str, left: float, exists: float, colour: str = 'red') -> Instance:
    kind = name.partition('_')[0]
    return Instance(name, Region(Form.BOX, ((left, 0.4), (left + 0.1, 0.6))), {kind: exists},
                    {colour: 1.0})


def test_a_check_decides_on_what_few_looks_saw():
    seen = (thing('mug_1', 0.1, 1 / 3), thing('mug_2', 0.3, 1 / 3), thing('can_1', 0.5, 1.0))
    yes_no_yes = with_checks(seen, 3, (Verdict.YES, Verdict.NO, Verdict.YES))
    assert [one.name for one in yes_no_yes] == ['mug_1', 'can_1']
    assert yes_no_yes[0].exists == pytest.approx(0.4 * 0.85 / (0.4 * 0.85 + 0.6 * 0.25))
    kept = with_checks(seen, 3, (Verdict.UNKNOWN, Verdict.UNPARSED, Verdict.NO))
    assert [(one.name, round(one.exists, 2)) for one in kept] == []
    kept = with_checks(seen, 3, (Verdict.UNKNOWN, Verdict.UNPARSED, Verdict.UNKNOWN))
    assert [(one.name, round(one.exists, 2)) for one in kept] == [('can_1', 0.8)]


def test_things_are_asked_about_by_colour_and_kind():
    assert described(thing('mug_1', 0.1, 1.0)) == 'red mug'
    drawer = Instance('drawer_top_1', thing('mug_1', 0.1, 1.0).region, {'drawer:top': 1.0}, {})
    assert described(drawer) == 'top drawer'


class Gullible(ModelByKind):
    """Sees a red mug and a mug that is not there."""

    name = 'gullible'

    @answers(Detect)
    def detect(self, query, deadline):
        return DetectReply(tuple(Detection(thing('mug_1', left, 1.0).region, {'mug': 1.0},
                                           {'red': 1.0}) for left in (0.1, 0.5)))

    @answers(Check)
    def check(self, query, deadline):
        return Answer('Yes' if query.region.points[0][0] < 0.3 else 'No')


class Foreign(Gullible):
    """Says that it cannot tell."""

    @answers(Detect)
    def detect(self, query, deadline):
        return DetectReply(cannot_tell='the picture is unlike a table')


def test_what_a_check_denies_is_no_instance():
    seen = BackendGrounder(Gullible()).tell_apart(Observation(IMAGE))
    assert [one.exists for one in seen.instances] == [1.0, 1.0]
    seen = BackendGrounder(Gullible()).tell_apart(Observation(IMAGE), checks=True)
    assert [one.name for one in seen.instances] == ['mug_1'] and seen.instances[0].exists > 0.8


def test_a_model_that_cannot_tell_detects_nothing_and_says_why():
    seen = BackendGrounder(Foreign()).tell_apart(Observation(IMAGE), looks=3)
    assert not seen.usable and not seen.unread
    assert seen.summary() == 'cannot tell: the picture is unlike a table'
