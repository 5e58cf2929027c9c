"""What is grasped that is named, and what is said to be like it where nothing is."""

from collections.abc import Mapping, Sequence

import pytest

from sightplan.model import DeadlineError, Form, Region, Target
from sightplan.model.pointer_settings import PointerSettings
from sightplan_belief import Found
from sightplan_belief.grasp_choice import (
    ABSTAINED,
    NOT_FOUND,
    choose_grasp,
    colour_in,
    kind_of,
    kinds_like,
)

MUG, CUP = (0.2, 0.3), (0.7, 0.6)


class Scene:
    """A model that answers what it is told to; whatever else it is asked for is not there.

    Args:
        there: place, probability and presence by target.
        checks: number of checks that it says it was asked.
        unknown: words that it does not know.
    """

    def __init__(self, there: Mapping[str, tuple[tuple[float, float], float, float]],
                 checks: int = 0, unknown: Sequence[str] = ()) -> None:
        self.there, self.checks, self.unknown = there, checks, unknown
        self.asked: list[str] = []

    def __call__(self, targets: Sequence[Target],
                 settings: PointerSettings | None) -> list[Found]:
        self.asked += [target.text for target in targets]
        return [self._found(target) for target in targets]

    def _found(self, target: Target) -> Found:
        words = tuple(word for word in self.unknown if word in target.text)
        if words:
            return Found(target, (Region(Form.POINT, (CUP,)),), 0.3, doubt=(
                f'the model does not know {words[0]!r}; the probability is below 0.9'),
                unknown=words, present=0.9)
        if target.text not in self.there:
            return Found(target, (), 0.97, True, checks=self.checks, present=0.03)
        (x, y), chance, present = self.there[target.text]
        high = 0.01 if 'blue' in target.text else 0.05  # a part of the same thing
        points = ((x, y),) if target.form is Form.POINT else (
            (x - 0.05, y - high), (x + 0.05, y + high))
        return Found(target, (Region(target.form, points),), chance, chance >= 0.9,
                     checks=self.checks, present=present)


def test_what_is_there_is_grasped_where_it_is() -> None:
    choice = choose_grasp('the mug', Scene({'the mug': (MUG, 0.95, 0.98)}))
    assert choice.region == Region(Form.POINT, (MUG,), probability=0.95)
    assert (choice.cause, choice.message, choice.present) == ('', '', 0.98)


def test_an_absent_thing_is_not_found_and_the_same_in_another_colour_is_named() -> None:
    scene = Scene({'the mug': (MUG, 0.95, 0.98), 'the red mug': (MUG, 0.93, 0.97),
                   'the orange mug': (MUG, 0.6, 0.7)})
    choice = choose_grasp('the blue mug', scene)
    assert (choice.region, choice.cause) == (None, NOT_FOUND)
    assert choice.message == ('there is no blue mug (P = 0.97); what is like it: a red mug '
                              '(P = 0.93 at 0.20,0.30)')


def test_where_its_kind_is_not_there_kinds_that_are_alike_are_named() -> None:
    scene = Scene({'the teapot': (CUP, 0.9, 0.95), 'the mug': (MUG, 0.9, 0.95)})
    choice = choose_grasp('the white kettle', scene)
    assert choice.message.endswith('what is like it: a teapot (P = 0.90 at 0.70,0.60)')
    assert not choose_grasp('the white kettle', Scene({})).like


def test_of_an_unknown_word_nothing_is_said_to_be_like_it() -> None:
    choice = choose_grasp('the unicorn', Scene({'the mug': (MUG, 0.9, 0.9)},
                                               unknown=['unicorn']))
    assert (choice.cause, choice.like) == (ABSTAINED, ())
    assert choice.message == ("it cannot be told whether there is a unicorn: the model does not "
                              "know 'unicorn'")


def test_where_nobody_answers_what_is_like_it_the_answer_stands() -> None:
    scene = Scene({})

    def ask(targets: Sequence[Target], settings: PointerSettings | None) -> list[Found]:
        if scene.asked:
            raise DeadlineError('the time is up')
        return scene(targets, settings)
    choice = choose_grasp('the white kettle', ask)
    assert (choice.cause, choice.message) == (NOT_FOUND, 'there is no white kettle (P = 0.97)')


@pytest.mark.parametrize(('present', 'taken'), [(0.6, True), (0.99, False)])
def test_a_thing_that_is_rather_of_another_colour_is_not_grasped(present, taken) -> None:
    """Both colours are said to be at the same place; the thing has one of them."""
    scene = Scene({'the blue mug': (MUG, 0.95, 0.94), 'the red mug': (MUG, 0.9, present),
                   'the green mug': (CUP, 0.9, 0.99), 'the mug': (MUG, 0.9, 0.95)})
    choice = choose_grasp('the blue mug', scene)
    assert (choice.region is not None) is taken
    if not taken:
        assert 'it may as well be the red mug' in choice.message
        assert [one.target.text for one in choice.like] == ['the red mug', 'the green mug']


def test_a_model_that_checks_places_is_not_asked_for_all_colours() -> None:
    scene = Scene({'the blue mug': (MUG, 0.95, 0.98)}, checks=1)
    assert choose_grasp('the blue mug', scene).region is not None
    assert scene.asked == ['the blue mug']


@pytest.mark.parametrize(('chance', 'present', 'words'), [
    (0.85, 0.99, 'the probability is below 0.9'),
    (0.91, 0.89, 'the probability that it exists is below 0.9')])
def test_both_place_and_existence_must_be_sure(chance, present, words) -> None:
    choice = choose_grasp('the mug', Scene({'the mug': (MUG, chance, present)}))
    assert (choice.region, choice.cause) == (None, ABSTAINED)
    assert words in choice.message


@pytest.mark.parametrize(('text', 'colour', 'kind'), [
    ('the red mug', 'red', 'mug'), ('the fork that has the gray handle', 'gray', 'fork'),
    ('the mug', '', 'mug'), ('the orange', '', ''),
    ('a pair of scissors on the table', '', 'pair of scissors')])
def test_colour_and_kind_are_read_from_the_words(text, colour, kind) -> None:
    assert (colour_in(text), kind_of(text)) == (colour, kind)


def test_kinds_that_are_alike() -> None:
    assert kinds_like('coffee mug') == ['cup', 'glass']
    assert kinds_like('unicorn') == []
