"""Reading problems: naming, order of columns, and what is impossible."""

import dataclasses

import pytest

from sightplan.domains import load_domain
from sightplan.model import Atom, EpisodeSpec, Problem, WorldError
from sightplan_sim.blocksworld.initial import read_scenario
from sim_cases import atoms, problem

STACKS = {'c1': ['r', 'g'], 'c2': [], 'c3': ['b']}


def parsed(*facts):
    return frozenset(Atom.parse(fact) for fact in facts)


def test_stacks_and_columns():
    scenario = read_scenario(problem(STACKS))
    assert scenario.columns == ('c1', 'c2', 'c3')
    assert scenario.stacks == (('r', 'g'), (), ('b',))
    assert dict(scenario.colours) == {'r': 'r', 'g': 'g', 'b': 'b'}


@pytest.mark.parametrize('spelling', [
    {'r': 'red', 'g': 'green', 'b': 'blue'},
    {'r': 'red_block', 'g': 'green_block', 'b': 'blue_block'},
    {'r': 'block_red', 'g': 'block_green', 'b': 'block_blue'},
    {'r': 'b_red', 'g': 'b_green', 'b': 'b_blue'},
    {'r': 'block-r', 'g': 'block-g', 'b': 'block-b'},
])
def test_names_of_blocks(spelling):
    stacks = {column: [spelling[b] for b in pile] for column, pile in STACKS.items()}
    scenario = read_scenario(problem(stacks))
    assert scenario.stacks == (('r', 'g'), (), ('b',))
    assert scenario.names == spelling


@pytest.mark.parametrize('names', [['a'], ['b1', 'b2'], ['red', 'r'], ['red_blue']])
def test_names_without_a_single_colour(names):
    with pytest.raises(WorldError, match='problem p'):
        read_scenario(problem({'c1': names, 'c2': []}))


@pytest.mark.parametrize(('facts', 'order'), [
    (('leftof west,mid', 'leftof mid,east'), ('west', 'mid', 'east')),
    (('rightof east,mid', 'rightof mid,west'), ('west', 'mid', 'east')),
    (('leftof west,mid', 'rightof east,mid'), ('west', 'mid', 'east')),
    ((), ('east', 'west', 'mid')),
    (('leftof mid,east',), ('west', 'mid', 'east')),
])
def test_order_of_columns(facts, order):
    objects = {'east': 'column', 'west': 'column', 'mid': 'column'}
    made = Problem('p', 'blocksworld', objects, parsed(*facts), ())
    assert read_scenario(made).columns == order


def test_column_and_clear_facts_may_be_left_to_geometry():
    init = parsed('incolumn r,c1', 'on g,r', 'incolumn b,c3', 'leftof c1,c2', 'leftof c2,c3')
    assert read_scenario(problem(STACKS, init=init)).stacks == (('r', 'g'), (), ('b',))


@pytest.mark.parametrize(('facts', 'words'), [
    (('incolumn r,c1', 'incolumn r,c2'), 'r is in two columns, c1 and c2'),
    (('incolumn r,c1', 'incolumn g,c1', 'incolumn b,c2'), 'both stand at the bottom of c1'),
    (('incolumn r,c1', 'on g,r', 'on b,r'), 'g and b are both on r|b and g are both on r'),
    (('incolumn r,c1', 'incolumn b,c1', 'on g,r', 'on g,b'), 'g is on both'),
    (('on r,g', 'on g,r', 'incolumn b,c1'), 'cannot be above itself'),
    (('on r,r', 'incolumn b,c1', 'incolumn g,c2'), 'cannot be above itself'),
    (('on r,g', 'on g,b', 'on b,g'), 'g and r are both|b and r are both|above itself'),
    (('incolumn r,c1', 'on g,r', 'incolumn g,c2', 'incolumn b,c3'), 'g is in c2'),
    (('incolumn r,c1', 'incolumn g,c2'), 'in which column b is'),
    (('incolumn r,c1', 'on g,r', 'clear r', 'incolumn b,c2'), 'r is clear, but g is on it'),
    (('incolumn r,c1', 'incolumn g,c2', 'incolumn b,c3', 'leftof c1,c2', 'leftof c2,c1'),
     'circle among c1, c2'),
    (('incolumn r,c1', 'incolumn g,c2', 'incolumn b,c3', 'leftof c1,c1'), 'circle'),
    (('incolumn r,c1', 'incolumn g,c2', 'incolumn b,c3', 'leftof c1,c2', 'rightof c1,c2'),
     'circle'),
    (('incolumn r,c9',), 'incolumn r,c9'),
    (('incolumn c1,r',), 'incolumn c1,r'),
    (('clear r,g',), 'clear r,g'),
    (('holding r',), 'unknown fact .holding r'),
])
def test_impossible_facts_are_named(facts, words):
    with pytest.raises(WorldError, match=words):
        read_scenario(problem(STACKS, init=parsed(*facts)))


def test_too_many_and_too_few_columns():
    with pytest.raises(WorldError, match='9 columns'):
        read_scenario(problem({f'c{k}': [] for k in range(9)}))
    with pytest.raises(WorldError, match='0 columns'):
        read_scenario(problem({}))


def test_other_types_are_refused():
    with pytest.raises(WorldError, match='object t is a table'):
        read_scenario(Problem('p', 'blocksworld', {'t': 'table', 'c1': 'column'}, frozenset(), ()))


def test_problems_of_all_splits_are_shown_as_written(world):
    domain = load_domain('blocksworld')
    for split in domain.splits:
        for made in domain.split_problems(split)[::5]:
            world.reset(EpisodeSpec('e', made, 'none'))
            assert world.state() == made.init


def test_foreign_file_in_capitals_with_adjacent_facts_only(world):
    text = '''(define (problem X) (:domain BLOCKSWORLD)
      (:objects RED_BLOCK Blue_Block - block LEFT MID RIGHT - column)
      (:init (inColumn RED_BLOCK MID) (onN RED_BLOCK))
      (:goal (inColumn RED_BLOCK LEFT)))'''.replace(
        '(onN RED_BLOCK)', '(On Blue_Block RED_BLOCK) (inColumn Blue_Block MID) '
        '(CLEAR blue_block) (leftOf LEFT MID) (rightOf RIGHT MID)')
    made = load_domain('blocksworld').parse_problem(text, 'x')
    world.reset(EpisodeSpec('e', made, 'none'))
    assert world.state() == atoms({'left': [], 'mid': ['red_block', 'blue_block'], 'right': []})
    assert world.observe().image is not None


def test_messages_name_the_file():
    impossible = problem(STACKS, init=parsed('on r,g', 'on g,r', 'incolumn b,c3'))
    with pytest.raises(WorldError, match=r'^dir/p\.pddl: problem p: .*cannot be above itself'):
        read_scenario(dataclasses.replace(impossible, source='dir/p.pddl'))
