"""Wishes that name no thing: what they take, how many, and where it comes to."""

from __future__ import annotations

import pytest

from sightplan.domains.tabletop.uses import uses
from sightplan.grounding.instructions import Instance, read_instruction, resolve
from sightplan.grounding.instructions.ideas import ideas, read_ideas
from sightplan.model import InputError
from sightplan.model.region import Form, Region


def thing(name: str, x: float, y: float = 0.5, half: float = 0.03,
          colour: str = 'red') -> Instance:
    region = Region(Form.BOX, ((x - half, y - half), (x + half, y + half)))
    return Instance(name, region, {name.rpartition('_')[0]: 1.0}, {colour: 1.0})


def drawer(level: str, y: float) -> Instance:
    region = Region(Form.BOX, ((0.8, y), (0.95, y + 0.1)))
    return Instance(level, region, {f'drawer:{level}': 1.0}, {}, 0.0)


TABLE = (
    thing('apple_1', 0.1), thing('banana_1', 0.2, colour='yellow'), thing('spoon_1', 0.3),
    thing('spoon_2', 0.4), thing('mug_1', 0.5), thing('mug_2', 0.6), thing('hammer_1', 0.7),
    thing('ball_1', 0.15, 0.2, colour='green'), thing('napkin_1', 0.25, 0.2, colour='white'),
    thing('tray_1', 0.3, 0.8, 0.1, 'blue'), thing('crate_1', 0.6, 0.8, 0.08, 'brown'),
    drawer('top', 0.1), drawer('bottom', 0.3))


def ends(text: str) -> dict[str, str]:
    """Places of the things that are moved, and how drawers are left."""
    found = {}
    for stage in resolve(read_instruction(text), TABLE):
        found |= dict(stage.placements)
        if stage.drawer:
            found[stage.drawer] = 'closed' if stage.closed else 'open'
    return found


@pytest.mark.parametrize(('text', 'wanted'), [
    ("I'm starving. Get me all there is to eat.", {'apple_1': 'tray_1', 'banana_1': 'tray_1'}),
    ('Everybody gets porridge, so bring everything one eats it with.',
     {'spoon_1': 'tray_1', 'spoon_2': 'tray_1'}),
    ('My sister and I want cocoa. Get us something to drink it from.',
     {'mug_1': 'tray_1', 'mug_2': 'tray_1'}),
    ('Take the toys along to the beach.', {'ball_1': 'crate_1'}),
    ('The puppy goes wild at the sight of toys. Hide them.', {'ball_1': 'top', 'top': 'closed'}),
    ('Store what one wipes the mouth with right at the bottom, and close it.',
     {'napkin_1': 'bottom', 'bottom': 'closed'}),
    ('Everything that has the colour of grass belongs in the brown crate.', {'ball_1': 'crate_1'}),
    ('Let me see what is in the upper one.', {'top': 'open'}),
    ('There is a nail to be driven in. Bring me something for it. Also, keep the snacks hidden.',
     {'hammer_1': 'tray_1', 'apple_1': 'top', 'banana_1': 'top', 'top': 'closed'}),
])
def test_wishes_are_understood_by_their_ideas(text: str, wanted: dict[str, str]) -> None:
    assert ends(text) == wanted


def test_one_of_several_is_taken_where_one_is_asked_for() -> None:
    (placed,) = ends('My soup is ready. Bring me something to eat it with.').items()
    assert placed[0] in ('spoon_1', 'spoon_2')


@pytest.mark.parametrize('text', [
    'I am hungry.', 'Feed the chimpanzee: bring what it loves.',
    'Do not bring me anything to eat.', 'Bring me my phone.',
    'If it rains, bring all that one eats.', 'Bring me everything edible but the apple.',
    'The toys should not be in the brown crate.', 'Let nobody look into the upper one.'])
def test_what_is_not_clear_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        ends(text)


def test_what_a_use_doubtfully_means_is_asked_back() -> None:
    wishes = read_ideas('I am hungry. Bring me everything edible.')
    with pytest.raises(InputError, match='jar_1'):
        resolve(wishes, (*TABLE, thing('jar_1', 0.45, 0.2)))


def test_ideas_name_uses_classes_and_places_that_there_are() -> None:
    known = ideas()
    special = {'COLOUR', 'TWO', 'BRING', 'EATWITH'}
    for idea in known.ideas:
        assert {*filter(None, (idea.use, *idea.several, *idea.twos, idea.rest))} <= {*uses().uses}
        assert {one for option in (*idea.when, *idea.unless) for one in option.split()} <= {
            *known.words, *special}
        assert idea.place in ('', *uses().purposes)
    assert {*known.places} <= {*uses().purposes}


@pytest.mark.parametrize(('text', 'word'), [
    ('I am hungry. Bring me the flamingo.', 'flamingo'),
    ('I am thirsty, bring me the newspaper.', 'newspaper'),
    ('The baby sleeps: bring me the telephone and something to drink from.', 'telephone'),
    ('Put the wrench I used to repair the shelf on the tray.', 'wrench'),
    ('We are moving house next year. Bring me the phone book.', 'phone'),
    ('I am not hungry. Bring me a chair.', 'chair'),
])
def test_an_idea_beside_an_unknown_thing_that_is_asked_for_is_no_wish(text: str, word: str,
                                                                       ) -> None:
    with pytest.raises(InputError, match=word):
        read_instruction(text)


def test_what_somebody_is_not_tells_no_idea() -> None:
    assert read_ideas('I am hungry. Bring me all there is.') is not None
    assert read_ideas('I am not hungry. Bring me all there is.') is None


@pytest.mark.parametrize('text', [
    'What do you want to eat?', 'Do you know what one eats soup with?',
    'Why should I bring you something to drink from?', 'Leave the fruit on the table.',
    'Let the food stay where it is.', 'I like the toys on the table, leave them.',
    'Nothing should be moved, I only want to eat here.'])
def test_questions_and_what_is_to_stay_are_no_wishes(text: str) -> None:
    assert read_ideas(text) is None
    with pytest.raises(InputError):
        read_instruction(text)


def test_a_question_may_stand_before_a_wish() -> None:
    assert ends('What shall I eat my soup with? Bring me all there is.') == {
        'spoon_1': 'tray_1', 'spoon_2': 'tray_1'}
