"""Instructions as wishes, wishes as goals over what is seen, and plans for them."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sightplan.agent.grounded_plans import grounded_steps
from sightplan.domains import load_domain
from sightplan.grounding.instructions import (
    Hold,
    Instance,
    Relation,
    Stage,
    UnreadError,
    UnresolvedError,
    clear_part,
    instances_of,
    read_instruction,
    resolve,
)
from sightplan.grounding.instructions.words import lexicon
from sightplan.model import InputError
from sightplan.model.region import Form, Region
from sightplan.planning.symbolic import FastDownwardPlanner
from sightplan.queries.detect import Detection, DetectReply

WORDS = [
    'the',
    'both',
    'all',
    'red',
    'mug',
    'mugs',
    'tray',
    'drawer',
    'top',
    'nearest',
    'to',
    'but',
    'one',
    'with',
    'handle',
    ',',
    ';',
    '.',
    ':',
    'on',
    'in',
]


def box(x: float, y: float, half: float = 0.03) -> Region:
    return Region(Form.BOX, ((x - half, y - half), (x + half, y + half)))


def thing(name: str, colour: str, x: float, y: float = 0.5, sure: float = 1.0) -> Instance:
    return Instance(name, box(x, y), {name.rpartition('_')[0]: sure}, {colour: 1.0})


def drawer(level: str, opened: float, y: float) -> Instance:
    return Instance(f'drawer_{level}', box(0.8, y), {f'drawer:{level}': 1.0}, {}, opened)


SCENE = (
    thing('mug_1', 'red', 0.1),
    thing('mug_2', 'red', 0.3),
    thing('mug_3', 'blue', 0.5),
    thing('apple_1', 'green', 0.2, 0.7),
    thing('tray_1', 'grey', 0.4, 0.8),
    thing('crate_1', 'white', 0.6, 0.2),
    drawer('top', 0.02, 0.3),
    drawer('bottom', 0.9, 0.4),
)


Said = list[tuple[list[tuple[str, str, str]], str, bool | None]]
"""Of each wish: things, how and where they go; the drawer, and whether it ends closed."""


def said(text: str) -> Said:
    return [
        (
            [(things.said, place.hold.value, place.of.said) for things, place in wish.goods],
            wish.drawer.said if wish.drawer else '',
            wish.closed,
        )
        for wish in read_instruction(text)
    ]


@pytest.mark.parametrize(
    ('text', 'wishes'),
    [
        ('Put both red mugs onto the tray.', [([('both red mugs', 'on', 'the tray')], '', None)]),
        (
            'All mugs but the blue one belong in the white crate.',
            [([('all mugs but the blue one', 'in', 'the white crate')], '', None)],
        ),
        (
            'Open the upper drawer, put the leftmost of the three forks into it and close it.',
            [
                (
                    [('the leftmost of the three forks', 'in', 'the upper drawer')],
                    'the upper drawer',
                    True,
                )
            ],
        ),
        (
            'First put the fruit into the crate. Then open the bottom drawer and leave it open.',
            [([('the fruit', 'in', 'the crate')], '', None), ([], 'the bottom drawer', False)],
        ),
        (
            'Put the apple onto the tray and both cans into the crate, in any order.',
            [([('the apple', 'on', 'the tray'), ('both cans', 'in', 'the crate')], '', None)],
        ),
        (
            'Put all the napkins into the top drawer and do not close it.',
            [([('all the napkins', 'in', 'the top drawer')], 'the top drawer', False)],
        ),
        (
            'cups on the tray, boxes in the top drawer pls',
            [
                ([('cups', 'on', 'the tray')], '', None),
                ([('boxes', 'in', 'the top drawer')], 'the top drawer', None),
            ],
        ),
        (
            'Right, would you mind popping the knife in the bottom drawer and shutting it, love?',
            [([('the knife', 'in', 'the bottom drawer')], 'the bottom drawer', True)],
        ),
        (
            'Hide the ball in the lower drawer.',
            [([('the ball', 'in', 'the lower drawer')], 'the lower drawer', True)],
        ),
        (
            'See the red ball by the bowl? Toss it in.',
            [([('the red ball', 'in', 'the bowl')], '', None)],
        ),
        ('Set the cup next to the plate.', [([('the cup', 'beside', 'the plate')], '', None)]),
        (
            'Make sure both drawers are closed.',
            [([], 'top drawer', True), ([], 'bottom drawer', True)],
        ),
        (
            'Clear the table: jars in the box, balls in the bowl.',
            [([('jars', 'in', 'the box'), ('balls', 'in', 'the bowl')], '', None)],
        ),
    ],
)
def test_instructions_are_read(text: str, wishes: Said) -> None:
    assert said(text) == wishes


def test_what_is_said_of_things_is_read() -> None:
    (wish,) = read_instruction(
        'Put the two spoons with red handles nearest to the tray into the '
        'crate, all but the one at the front.'
    )
    ((things, place),) = wish.goods
    assert (things.kinds, things.colours) == ((('spoon',),), ('red',))
    assert [where.relation for where in things.where] == [Relation.NEAREST]
    assert things.where[0].anchors[0].kinds[0] == ('tray',)
    assert [where.relation for where in things.but[0].where] == [Relation.FRONT]
    assert (place.hold, place.of.kinds) == (Hold.IN, (('crate',),))


READ = [
    'Put both red mugs onto the tray.',
    'All mugs but the blue one belong in the white crate.',
    'Open the upper drawer, put the leftmost of the three forks into it and close it.',
    'Open the top drawer.',
    'Cups on the tray, boxes in the crate.',
    'Put all the napkins into the top drawer and do not close it.',
    'Hide the ball in the lower drawer, would you?',
]


NONSENSE = st.text('bcdfghjklmnpqrstvwxz', min_size=5, max_size=9)


@given(st.sampled_from(READ), st.data(), NONSENSE)
def test_an_unknown_word_is_named(text: str, data: st.DataObject, word: str) -> None:
    words = text.removesuffix('.').split()
    words.insert(data.draw(st.integers(0, len(words))), word)
    with pytest.raises(UnreadError) as raised:
        read_instruction(' '.join(words) + '.')
    assert word in str(raised.value).split(': ', 1)[1] or word in str(raised.value)


@given(st.sampled_from(['Put both red mugs on the tray.', 'Close the top drawer.']),
       st.sampled_from(sorted(lexicon().idle)))
def test_what_carries_nothing_changes_nothing(text: str, phrase: str) -> None:
    assert said(f'{text.removesuffix(".")}, {phrase}.') == said(text)


@pytest.mark.parametrize('remark', [
    'before the kids come', "because I can't see", 'so nobody trips', "I've got my hands full",
    'my back hurts today', 'the boys love it when you do that', 'we have guests tonight'])
def test_a_remark_is_set_aside_unless_it_names_something(remark: str) -> None:
    assert said(f'Put the apple on the tray, {remark}.') == said('Put the apple on the tray.')
    with contextlib.suppress(UnreadError):
        assert said(f'Put the apple on the tray, {remark} with the zebra mug.') != said(
            'Put the apple on the tray.')


@given(
    st.sampled_from(READ),
    st.data(),
    st.sampled_from(
        [
            'not',
            'no',
            'never',
            "don't",
            'nothing',
            'neither',
            'without',
            'avoid',
            'unless',
            'or',
            'stop',
            'half',
            'under',
            'smallest',
            'upside',
            'zebra',
            'glasses',
            'pretend',
            'twice',
            '77',
            '%',
        ]
    ),
)
def test_no_word_is_read_over_that_is_not_known(text: str, data: st.DataObject, word: str) -> None:
    read_instruction(text)
    words = text.removesuffix('.').split()
    words.insert(data.draw(st.integers(0, len(words))), word)
    known = ('would not you', 'never close', "don't close")
    assume(not any(one in ' '.join(words) for one in known))
    with pytest.raises(UnreadError):
        read_instruction(' '.join(words) + '.')


@pytest.mark.parametrize(
    'text',
    [
        'The mug should not be on the tray.',
        'The mug shouldn\u2019t be on the tray.',
        'No mug belongs on the tray.',
        'Nothing but the mug goes on the tray.',
        'I do not want the mug on the tray.',
        'Do not open the top drawer.',
        'Stop putting the mug on the tray.',
        'Which mug is on the tray?',
        'Put the mug without a handle on the tray.',
        'Put the left two of the four mugs on the tray.',
        'Put the mug in the left drawer and close it.',
        'Put the left mugs but the red one on the tray.',
        # Places: what "it" is, what goes where.
        'Put the mug in the cabinet.',
        'Put the mug on the table.',
        'Put the mug behind the bowl.',
        'Put a mug in each drawer.',
        'Put the mug or the cup on the tray.',
        'Put it on the tray.',
        # What takes away, asks, or only says how things are.
        'Clear the tray of all mugs.',
        'Take the mug lying on the tray away.',
        'Pick up the apple in the bowl.',
        'Open the top drawer and fetch the mug in it.',
        'Take the apple away and put the mug on the tray.',
        'Put away the cups, and set the tray.',
        'Take the apple, put the mug on the tray.',
        'Empty the tray.',
        'Hand me the mug.',
        'Keep all mugs away; put the apple on the tray.',
        'Can you see the mug on the tray?',
        'Have you put the mug on the tray',
        'The mug is on the tray.',
        'Swap the mugs.',
        # Drawers that are to be both.
        'Not close the top drawer.',
        'Put the mug into the top drawer, close it and leave it open.',
        'Nobody should be able to look into the top drawer, so open the top drawer.',
        # Descriptions that contradict themselves.
        'Put the mug right there on the tray.',
        'Put the left right mug on the tray.',
        'Put the red blue mug on the tray.',
        'Put two mugs but the red one on the tray.',
        'Put all mugs but the left right one on the tray.',
        'Put one two mugs on the tray.',
    ],
)
def test_what_would_be_done_wrongly_is_refused(text: str) -> None:
    with pytest.raises(UnreadError):
        read_instruction(text)


def test_one_more_thing_goes_to_the_same_place() -> None:
    for text, things in (
        ('Put the cup on the tray and the apple.', ['the cup', 'the apple']),
        ('Put the cup on the tray and the plate, too.', ['the cup', 'the plate']),
        ('Put the pink cups and the cans on the tray.', ['the pink cups', 'the cans']),
        ('Put the pink cups and red cans on the tray.', ['the pink cups', 'red cans']),
    ):
        goods = [pair for wish in read_instruction(text) for pair in wish.goods]
        assert [one.said for one, _ in goods] == things
        assert {place.of.said for _, place in goods} == {'the tray'}


def test_questions_that_ask_for_something_are_read() -> None:
    for asked in (
        'Could you put every mug onto the tray?',
        'Please put each mug on the tray',
        'Please can you just put all mugs on the tray now.',
    ):
        ((things, place),) = read_instruction(asked)[0].goods
        assert (things.kinds[0], things.plural, things.where) == (('mug',), True, ())
        assert (place.hold, place.of.kinds[0]) == (Hold.ON, ('tray',))


@pytest.mark.parametrize(
    ('text', 'why'),
    [
        ('', 'is empty'),
        ('Tidy up.', "to go .'tidy up'"),
        ('Put it there.', "what 'it' is"),
        ('Put both mugs away.', "to go .'both mugs'"),
        ('Put my glasses on the tray.', "'glasses'"),
        ('Put all mugs but that one onto the tray.', "which 'that one' is"),
        ('Do not put the mug onto the tray.', 'do not put the mug'),
        ('Put the mug to the left of the plate.', "to go .'the mug to the left of the plate'"),
        ('Remove the apple from the bowl.', "to go .'the apple'"),
        ('Put the mug or the cup onto the tray.', "'or'"),
        ('Put the tallest mug onto the tray.', "'tallest'"),
        ('Put the mug behind the bowl.', 'the mug behind the bowl'),
        ('Put 77 mugs onto the tray.', "'77' is too large"),
        ('Put the mug into the middle drawer and close it.', 'the middle drawer'),
        ('Put the red mugs on the tray and the plate.', "whether 'the plate' is one more place"),
        ('Put the pink cups and cans on the tray.', "whether 'cans' are pink, too"),
        ('a' * 3000, 'at most 2000'),
    ],
)
def test_what_cannot_be_read_is_said(text: str, why: str) -> None:
    with pytest.raises(UnreadError, match=why):
        read_instruction(text)


@given(st.text(max_size=300) | st.lists(st.sampled_from(WORDS), max_size=30).map(' '.join))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(UnreadError):
        assert read_instruction(text)


def placements(text: str, seen: tuple[Instance, ...] = SCENE) -> list[set[tuple[str, str]]]:
    return [
        set(stage.placements)
        for stage in resolve(read_instruction(text), seen)
        if stage.placements
    ]


@pytest.mark.parametrize(
    ('text', 'meant'),
    [
        ('Put both red mugs onto the tray.', {'mug_1', 'mug_2'}),
        ('Put all mugs but the blue one onto the tray.', {'mug_1', 'mug_2'}),
        ('Put the rightmost of the two red mugs onto the tray.', {'mug_2'}),
        ('Put the mug nearest to the crate onto the tray.', {'mug_3'}),
        ('Put all mugs except the leftmost one onto the tray.', {'mug_2', 'mug_3'}),
        ('Put the fruit onto the tray.', {'apple_1'}),
        ('Put the mug that is not red onto the tray.', {'mug_3'}),
        ('Everything red goes on the tray.', {'mug_1', 'mug_2'}),
        ('Put the mugs on the tray, but leave the leftmost one alone.', {'mug_2', 'mug_3'}),
        ('The blue mug stays where it is. The other mugs go on the tray.', {'mug_1', 'mug_2'}),
        ('Put the mug next to the crate on the tray.', {'mug_3'}),
        ('If there is a blue mug put it on the tray, otherwise use a red one.', {'mug_3'}),
        ('Put the cup next to the crate on the tray.', {'mug_3'}),
    ],
)
def test_wishes_are_about_instances(text: str, meant: set[str]) -> None:
    assert placements(text) == [{(name, 'tray_1') for name in meant}]


def test_a_count_decides_where_the_eyes_are_unsure() -> None:
    """Of four napkins one looks more like a box; no number said, it would be left behind."""
    seen = (
        *(thing(f'napkin_{k}', 'white', k / 10) for k in (1, 2, 3)),
        thing('napkin_4', 'white', 0.4, sure=0.3),
        thing('napkin_5', 'white', 0.5, sure=0.1),
        thing('tray_1', 'grey', 0.5, 0.8),
    )
    assert len(placements('Put all four napkins onto the tray.', seen)[0]) == 4
    assert len(placements('Put all napkins onto the tray.', seen)[0]) == 3
    (stage,) = resolve(read_instruction('Put all four napkins onto the tray.'), seen)
    assert stage.probability == pytest.approx(0.3 * 0.9)


def test_no_thing_is_meant_by_two_descriptions() -> None:
    """What looks most like a mug and most like a cup is one thing, not both."""
    seen = (
        Instance('a', box(0.1, 0.5), {'mug': 0.6, 'cup': 0.4}, {}),
        Instance('b', box(0.3, 0.5), {'mug': 0.2, 'cup': 0.3}, {}),
        SCENE[4],
        SCENE[5],
    )
    (found,) = placements(
        'Put the mug onto the tray and the cup into the crate, in any order.', seen
    )
    assert found == {('a', 'tray_1'), ('b', 'crate_1')}


def test_what_is_not_seen_is_said() -> None:
    with pytest.raises(UnresolvedError, match='no fork|0 fork seen'):
        placements('Put the fork onto the tray.')
    with pytest.raises(UnresolvedError, match='no plate is seen'):
        placements('Put the apple onto the plate.')
    with pytest.raises(UnresolvedError, match='speaks of 3'):
        placements('Put the three red mugs onto the tray.')


@pytest.mark.parametrize(
    ('text', 'why'),
    [
        ('Put the red mug onto the tray.', 'more than 1 red mug'),
        ('Put the two mugs onto the tray.', 'more than 2 mug'),
        ('Put the big mugs onto the tray.', 'which are big'),
        ('Put the mugs on the left onto the tray.', 'how many'),
        ('Put a mug onto the tray and the rest into the crate.', 'is of all things'),
        ('Put the mug in the crate and the mug on the tray.', 'more than 1'),
        ('Put all mugs on the tray, but leave the mugs alone.', 'left alone'),
        ('Put the mug in the drawer.', 'more than 1 mug'),
        ('Put the blue mug on the tray and the other mug in the crate.', 'which is meant'),
        ('Put the blue mug in the apple.', 'nothing is put in a apple'),
    ],
)
def test_what_is_not_told_is_not_guessed(text: str, why: str) -> None:
    with pytest.raises(UnresolvedError, match=why):
        placements(text)


@pytest.mark.parametrize('looks', range(1, 10))
def test_what_every_look_is_sure_of_is_certain(looks: int) -> None:
    """Nine times a ninth is a little more than 1."""
    sure = DetectReply(
        (
            Detection(box(0.3, 0.5), {'mug': 1.0}, {'red': 1.0}),
            Detection(box(0.8, 0.3), {'drawer:top': 1.0}, opened=1.0),
        )
    )
    _, mug = sorted(instances_of([sure] * looks), key=lambda one: one.name)
    assert mug.categories == {'mug': pytest.approx(1.0)}
    assert mug.colours == {'red': pytest.approx(1.0)}


def test_looks_are_matched_one_to_one() -> None:
    def saw(*boxes: tuple[float, float]) -> DetectReply:
        return DetectReply(
            tuple(
                Detection(box(x, 0.5), {'can': chance}, {'red': 1.0}, 0.8) for x, chance in boxes
            )
        )

    found = instances_of([saw((0.2, 1.0), (0.4, 0.5)), saw((0.41, 0.9), (0.7, 1.0))])
    assert [one.name for one in found] == ['can_1', 'can_2', 'can_3']
    assert [one.categories['can'] for one in found] == pytest.approx([0.4, 0.56, 0.4])
    with pytest.raises(UnresolvedError, match='no JSON'):
        instances_of([DetectReply(unread='no JSON')])


@pytest.fixture(scope='module')
def plan():
    with FastDownwardPlanner() as planner:
        yield lambda task: planner.plan(task, 60.0)


def test_a_step_has_the_place_of_its_instance(plan) -> None:
    stages = resolve(
        read_instruction(
            'First open the top drawer, put both red mugs into it and close it. Then put the '
            'green apple onto the tray.'
        ),
        SCENE,
    )
    steps = grounded_steps(stages, SCENE, load_domain('tabletop'), plan)
    said = [(step.primitive.value, step.target) for step in steps]
    assert said[0] == ('open', 'drawer_top')
    assert {said[1], said[3]} == {('grasp', 'mug_1'), ('grasp', 'mug_2')}
    assert said[2] == said[4] == ('place', 'drawer_top')
    assert said[5:] == [('close', 'drawer_top'), ('grasp', 'apple_1'), ('place', 'tray_1')]
    assert steps[0].region == SCENE[6].region
    assert steps[7].region == Region(Form.POINT, (SCENE[4].region.centre,))


def test_an_open_upper_drawer_is_closed_first(plan) -> None:
    seen = (*SCENE[:6], drawer('top', 0.9, 0.3), drawer('bottom', 0.1, 0.4))
    stages = resolve(
        read_instruction('Put the apple into the bottom drawer and leave it open.'), seen
    )
    said = [
        (step.primitive.value, step.target)
        for step in grounded_steps(stages, seen, load_domain('tabletop'), plan)
    ]
    assert sorted(said[:2]) == [('close', 'drawer_top'), ('open', 'drawer_bottom')]


def test_words_tell_how_a_drawer_is(plan) -> None:
    """Who wants it opened has seen it closed, whatever the eyes say."""
    for text, said in (
        ('Open the bottom drawer.', [('open', 'drawer_bottom')]),
        ('Close the top drawer.', [('close', 'drawer_top')]),
    ):
        steps = grounded_steps(
            resolve(read_instruction(text), SCENE), SCENE, load_domain('tabletop'), plan
        )
        assert [(step.primitive.value, step.target) for step in steps] == said


def test_only_the_first_stage_tells_how_a_drawer_was(plan) -> None:
    """The first one leaves it to the eyes, which see it open; then it is shut, and opened."""
    steps = grounded_steps(
        resolve(
            read_instruction(
                'Put the apple into the bottom drawer and close it. Then open the bottom drawer.'
            ),
            SCENE,
        ),
        SCENE,
        load_domain('tabletop'),
        plan,
    )
    assert [step.primitive.value for step in steps] == ['grasp', 'place', 'close', 'open']


def test_of_two_drawers_the_upper_one_is_higher() -> None:
    found = instances_of(
        [
            DetectReply(
                tuple(
                    Detection(box(0.5, y), {'drawer:top': 0.6, 'drawer:bottom': 0.4}, opened=0.0)
                    for y in (0.6, 0.3)
                )
            )
        ]
    )
    assert {one.name: one.region.centre[1] for one in found} == pytest.approx(
        {'drawer_top_1': 0.3, 'drawer_bottom_1': 0.6}
    )


def test_goals_that_make_no_sense_are_refused(plan) -> None:
    with pytest.raises(InputError, match='apple_1 cannot be|mug_1 cannot be'):
        grounded_steps(
            [Stage((('mug_1', 'apple_1'),), '', None, 1.0)], SCENE, load_domain('tabletop'), plan
        )


@pytest.mark.parametrize(
    ('text', 'placements'),
    [
        ('Put all mugs on the tray.', {'mug_1', 'mug_3'}),
        ('Put the three mugs on the tray.', {'mug_1', 'mug_3'}),
        ('Put the leftmost mug on the tray.', set()),
        ('Put the blue mug on the tray.', {'mug_3'}),
        ('Put the apple in the bowl and the blue mug on the tray.', {'mug_3'}),
    ],
)
def test_the_clear_part_leaves_out_what_is_unsure(text: str, placements: set[str]) -> None:
    """One of three mugs may be something else: no choice among them is clear."""
    seen = tuple(
        thing(one.name, 'red', 0.3, sure=0.6) if one.name == 'mug_2' else one for one in SCENE
    )
    (stage,) = clear_part(read_instruction(text), seen)
    assert {name for name, _ in stage.placements} == placements
