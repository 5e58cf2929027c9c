"""Homes begin as their problems say, everything in them can be got at, no two are alike."""

from __future__ import annotations

import functools
import itertools
import math
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from sightplan.domains import load_domain
from sightplan.model import Atom, Literal, Problem, WorldError
from sightplan_sim.household import predicates
from sightplan_sim.household.homes import make_home
from sightplan_sim.household.homes_geometry import (
    crosses,
    gap,
    near_limit,
    placed_box,
    placed_boxes,
    swept_box,
    to_home,
)
from sightplan_sim.household.homes_stations import (
    ARM,
    RADIUS,
    Floor,
    approaches,
    reach_distance,
)
from sightplan_sim.household.robot import Robot, RobotBody
from sightplan_sim.household.scene import Scene
from sightplan_sim.household.shapes import Home, Placed

DOMAIN = load_domain('household')
PROBLEMS = [(split, problem) for split in DOMAIN.splits
            for problem in DOMAIN.split_problems(split)]


@functools.lru_cache(maxsize=1)
def homes() -> tuple[tuple[Problem, Home], ...]:
    return tuple((problem, make_home(problem)) for _, problem in PROBLEMS)


def layout(home: Home) -> str:
    """Rooms, and the furniture's categories and places, without shapes and colours."""
    return repr((home.rooms, [(p.name, p.model.category, p.position, p.yaw)
                              for p in home.furniture]))


def problem_of(objects: dict[str, str], init: str = '', goal: str = '', name: str = 'mine',
               ) -> Problem:
    def atoms(text: str) -> list[Atom]:
        return [Atom.parse(part) for part in text.split(';') if part.strip()]

    return Problem(name, 'household', objects, frozenset(atoms(init)),
                   tuple(Literal(atom) for atom in atoms(goal)))


def home_floor(home: Home) -> Floor:
    return Floor(home.rooms, (*home.structure, *home.decor, *home.furniture, *home.things))


def bodies(home: Home) -> dict[str, Placed]:
    return {p.name: p for p in (*home.decor, *home.furniture, *home.things)}


def truth(scene: Scene, home: Home, problem: Problem) -> frozenset[Atom]:
    return predicates.true_atoms(scene, Robot(RobotBody(), home.start), problem)


# --- the 100 problems ---------------------------------------------------------------------------

@pytest.mark.slow
def test_no_two_homes_are_alike() -> None:
    found = [home for _, home in homes()]
    assert len(found) == 100
    assert len(set(map(repr, found))) == len(set(map(layout, found))) == 100
    rooms = Counter(len(home.rooms) for home in found)
    assert set(rooms) == {1, 2, 3} and min(rooms.values()) >= 5
    assert len({home.rooms for home in found}) == 100
    assert len({tuple(room.kind for room in home.rooms) for home in found}) > 25


def test_a_variant_is_another_home_and_the_same_variant_the_same() -> None:
    problem = PROBLEMS[0][1]
    assert make_home(problem) == make_home(problem)
    assert len({layout(make_home(problem, variant)) for variant in range(4)}) == 4


def test_the_goal_and_the_init_matter() -> None:
    objects = {'apple_1': 'movable', 'table_1': 'object', 'fridge_1': 'container'}
    found = {layout(make_home(problem_of(objects, init, goal)))
             for init, goal in (('', ''), ('open fridge_1', ''), ('', 'inside apple_1,fridge_1'))}
    assert len(found) == 3


def test_homes_are_the_same_in_another_process() -> None:
    numbers = (3, 40, 71)
    code = ('from sightplan.domains import load_domain\n'
            'from sightplan_sim.household.homes import make_home\n'
            'd = load_domain("household")\n'
            'p = [p for s in d.splits for p in d.split_problems(s)]\n'
            f'print(*(make_home(p[i]) for i in {numbers}), sep="\\n")')
    out = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True,
                         env={'PYTHONPATH': ':'.join(sys.path), 'PYTHONHASHSEED': '7'})
    assert out.stdout.splitlines() == [repr(homes()[i][1]) for i in numbers]


def test_a_home_has_everything_the_problem_names() -> None:
    for problem, home in homes():
        assert {p.name for p in (*home.furniture, *home.things)} == set(problem.objects)
        assert {p.name for p in home.things} == set(problem.of_type('movable'))
        names = [p.name for p in (*home.structure, *home.decor, *home.furniture, *home.things)]
        assert len(set(names)) == len(names)


def test_the_init_holds_and_nothing_else() -> None:
    with Scene() as scene:
        for problem, home in homes()[::3]:
            scene.build(home)
            assert truth(scene, home, problem) == problem.init, problem.source
            before = {p.name: scene.position(p.name) for p in home.things}
            scene.settle(before)
            assert truth(scene, home, problem) == problem.init, problem.source
            for name, position in before.items():
                assert abs(scene.position(name) - position).max() < 0.02, (problem.source, name)


def test_everything_can_be_approached_and_nothing_is_in_reach_at_the_start() -> None:
    for problem, home in homes():
        floor, placed = home_floor(home), bodies(home)
        for name in problem.objects:
            assert next(approaches(placed, floor, name), None), (problem.source, name)
        start = home.start
        assert floor.free(start.x, start.y, RADIUS)
        for name in problem.objects:
            box = placed_box(placed[name])
            bearing = math.atan2(box.centre[1] - start.y, box.centre[0] - start.x) - start.yaw
            if abs((bearing + math.pi) % (2 * math.pi) - math.pi) < math.radians(60):
                assert reach_distance(start.x, start.y, box) > ARM, (problem.source, name)


def test_the_first_look_shows_something_of_the_problem() -> None:
    for problem, home in homes():
        floor, placed, start = home_floor(home), bodies(home), home.start
        shown = [name for name in problem.objects
                 if abs((math.atan2(placed_box(placed[name]).centre[1] - start.y,
                                    placed_box(placed[name]).centre[0] - start.x)
                         - start.yaw + math.pi) % (2 * math.pi) - math.pi) < math.radians(45)
                 and floor.sees((start.x, start.y, 1.2), placed_box(placed[name]).centre,
                                (name, placed[name].inside, placed[name].ontop))]
        assert shown, problem.source


def test_bodies_do_not_overlap_and_leaves_have_room_to_move() -> None:
    for problem, home in homes():
        fixed = [p for p in (*home.decor, *home.furniture)
                 if not p.name.startswith('yard') and placed_box(p).high[2] > 0.02]
        floor_things = [p for p in home.things if p.position[2] == 0.0]
        standing = [(p, placed_box(p)) for p in (*fixed, *floor_things)]
        for (one, box), (other, beside) in itertools.combinations(standing, 2):
            assert not box.meets(beside), (problem.source, one.name, other.name)
        for leaf in home.furniture:
            if leaf.model.openable:
                sweep = to_home(swept_box(leaf.model), leaf)
                for other, beside in standing:
                    assert other is leaf or not sweep.meets(beside), (
                        problem.source, leaf.name, other.name)
        walls = [box for p in home.structure if p.name.startswith('wall')
                 for box in placed_boxes(p) if box.high[2] > 0.1]
        for body, box in standing:
            assert body.model.in_wall or not any(box.meets(wall, -0.005) for wall in walls), (
                problem.source, body.name)


def test_furniture_never_comes_next_to_furniture_however_it_opens() -> None:
    for problem, home in homes():
        sweeps = [(p.name, to_home(swept_box(p.model), p)) for p in home.furniture]
        for (one, a), (other, b) in itertools.combinations(sweeps, 2):
            assert gap(a, b) > near_limit(a, b), (problem.source, one, other)


def test_doors_and_windows_sit_in_holes() -> None:
    seen = 0
    for _, home in homes():
        walls = [box for p in home.structure if p.name.startswith('wall')
                 for box in placed_boxes(p)]
        for placed in (*home.furniture, *home.decor):
            if not placed.model.in_wall:
                continue
            seen += 1
            x, y, z = placed.position
            normal = (-math.sin(placed.yaw), math.cos(placed.yaw))
            for height in (0.1, 0.5, 0.9):
                at = z + height * placed.model.size[2]
                start = (x - 0.5 * normal[0], y - 0.5 * normal[1], at)
                end = (x + 0.5 * normal[0], y + 0.5 * normal[1], at)
                assert not any(crosses(start, end, wall) for wall in walls)
    assert seen > 75


# --- problems from elsewhere --------------------------------------------------------------------

def test_unknown_categories_get_a_home() -> None:
    problem = problem_of(
        {'zorb.n.01_1': 'movable', 'chest_n_01_2': 'container', 'altar_1': 'object',
         'porthole_1': 'container', 'zorb.n.01_2': 'movable', 'hat_1': 'movable'},
        'inside zorb.n.01_1,chest_n_01_2; ontop zorb.n.01_2,altar_1; open porthole_1')
    home = make_home(problem)
    with Scene() as scene:
        scene.build(home)
        assert truth(scene, home, problem) == problem.init


@pytest.mark.parametrize('init', [
    ('ontop apple_1,table_1; ontop apple_2,table_1; ontop plate_1,table_1; '
     'nextto apple_1,apple_2; nextto apple_2,apple_1'),
    'nextto apple_1,apple_2; nextto apple_2,apple_1',
    'nextto plate_1,cabinet_1',
    'nextto plate_1,carton_1; open carton_1',
    'ontop apple_1,plate_1; ontop plate_1,table_1',
    'ontop carton_1,table_1; inside apple_1,carton_1; open carton_1',
    'inside apple_1,cabinet_1; inside apple_2,cabinet_1; open cabinet_1',
])
def test_rarer_beginnings(init: str) -> None:
    problem = problem_of(
        {'apple_1': 'movable', 'apple_2': 'movable', 'plate_1': 'movable', 'table_1': 'object',
         'cabinet_1': 'container', 'carton_1': 'container'}, init)
    with Scene() as scene:
        for variant in range(3):
            home = make_home(problem, variant)
            scene.build(home)
            assert truth(scene, home, problem) == problem.init


@pytest.mark.parametrize(('init', 'message'), [
    ('inside a_1,box_1; inside a_1,box_2', 'is inside box_1 and box_2 at once'),
    ('inside a_1,box_1; ontop a_1,table_1', 'is inside box_1 and on top of table_1 at once'),
    ('ontop a_1,a_1', 'cannot be ontop itself'),
    ('nextto a_1,a_1', 'cannot be next to itself'),
    ('ontop a_1,b_1; ontop b_1,a_1', 'in a circle'),
    ('inside box_1,box_2', 'does not fit into box_2'),
    ('inside a_1,door_1', 'nothing can be inside door_1'),
    ('ontop door_1,table_1', 'door_1 sits in a wall'),
    ('open table_1', 'table_1 is a table and does not open'),
    ('ontop a_1,ball_1', 'nothing stays on ball_1'),
    ('holding a_1', 'begins with an empty hand'),
    ('reachable a_1', 'nothing in reach'),
    ('flying a_1', 'which no home shows'),
    ('ontop a_1,b_1; inside b_1,box_1', 'on top of b_1, which is inside box_1'),
])
def test_what_cannot_be_housed_is_refused_with_a_reason(init: str, message: str) -> None:
    objects = {'a_1': 'movable', 'b_1': 'movable', 'ball_1': 'movable', 'box_1': 'container',
               'box_2': 'container', 'door_1': 'container', 'table_1': 'object'}
    with pytest.raises(WorldError, match='^mine: no home can be made: .*\\(') as caught:
        make_home(problem_of(objects, init))
    assert message in str(caught.value)


def test_too_many_objects_are_refused() -> None:
    with pytest.raises(WorldError, match='61 objects are too many'):
        make_home(problem_of({f'apple_{k}': 'movable' for k in range(61)}))
    crowd = {f'plate_{k}': 'movable' for k in range(25)}
    with pytest.raises(WorldError, match=r'no home has room for plate_\d+ on top of table_1 \('):
        make_home(problem_of({**crowd, 'table_1': 'object'},
                             ';'.join(f'ontop {name},table_1' for name in crowd)))


MOVABLES = ('apple', 'plate', 'bowl', 'book', 'sock', 'zorb', 'gym_shoe', 'ball', 'document',
            'plaything', 'spoon.n.01', 'hat_n_01', 'saucepan', 'bottle')
CONTAINERS = ('cabinet', 'fridge', 'carton', 'door', 'window', 'zarg', 'cabinet.n.01')
OBJECTS = ('table', 'shelf', 'sink', 'bed', 'sofa', 'altar')


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Up to 30 objects; at most two things in each container and on each support."""
    objects: dict[str, str] = {}
    init: set[str] = set()
    load: Counter[str] = Counter()
    for number in range(draw(st.integers(1, 30))):
        kind = draw(st.sampled_from(('movable', 'movable', 'container', 'object')))
        names = {'movable': MOVABLES, 'container': CONTAINERS, 'object': OBJECTS}[kind]
        name = f'{draw(st.sampled_from(names))}_{number}'
        objects[name] = kind
        if kind == 'container' and draw(st.booleans()):
            init.add(f'open {name}')
        if kind == 'movable':
            places = [other for other, k in objects.items() if k != 'movable' and load[other] < 2
                      and not other.startswith(('door', 'window'))]
            where = draw(st.sampled_from(['', *places]))
            if where:
                load[where] += 1
                how = 'inside' if objects[where] == 'container' else 'ontop'
                init.add(f'{how} {name},{where}')
    return problem_of(objects, ';'.join(sorted(init)))


@given(problems())
@settings(max_examples=12, deadline=None, derandomize=True, phases=(Phase.generate,))
@pytest.mark.slow
def test_any_reasonable_problem_gets_a_home_that_begins_like_it(problem: Problem) -> None:
    home = make_home(problem)
    floor, placed = home_floor(home), bodies(home)
    assert all(next(approaches(placed, floor, name), None) for name in problem.objects)
    with Scene() as scene:
        scene.build(home)
        assert truth(scene, home, problem) == problem.init
