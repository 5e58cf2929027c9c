"""Scenes to tidy: instructions, their meaning, their plans, and the truth in the picture."""

from __future__ import annotations

import importlib.metadata
import itertools
import math
import re
from dataclasses import replace

import cv2
import numpy as np
import pytest

from sightplan.domains import load_domain
from sightplan.model import Action
from sightplan.model.errors import InputError
from sightplan.model.grounded_plan import UnitKind
from sightplan_sim.tabletop.arrangements import (
    BASE_M,
    FEWEST,
    HORIZONS,
    MOST,
    REACH_M,
    NoRoomError,
    arrange,
    confusable,
)
from sightplan_sim.tabletop.cabinet import CABINET, drawer_rooms, swept
from sightplan_sim.tabletop.graspable import is_graspable
from sightplan_sim.tabletop.grounded_scenes import (
    LEAST_SEEN,
    box_of,
    grounded,
    make_source,
)
from sightplan_sim.tabletop.instructions import instruction_words
from sightplan_sim.tabletop.intentions import intentions, names_place
from sightplan_sim.tabletop.meanings import Choice, FactKind
from sightplan_sim.tabletop.packing import APART_M, EDGE_M
from sightplan_sim.tabletop.references import arm_look
from sightplan_sim.tabletop.render import Painter
from sightplan_sim.tabletop.table import convex_gap, footprint, footprint_of, turned
from sightplan_sim.tabletop.tidy_problems import object_name, problem_of
from sightplan_sim.tabletop.tidying import tidying
from sightplan_sim.tabletop.visible import Visible
from sightplan_sim.tabletop.wants import want_table
from sightplan_sim.tabletop.world import _scene_of

SEEDS = (0,)
MOST_ENUMERATED = 5
"""Longest plan of an implicit instruction all of whose orders are searched for [units]."""
COMMON = ('the {this}', '{clause}.')
"""Templates that nobody could put in other words."""
FEW, SOME = (5, 3, 2), (12, 9, 4)
"""How many tables of each horizon and set."""
UPPER, LOWER = 'drawer 1', 'drawer 2'
HAND_OPENS_M = 0.075


@pytest.fixture(scope='module')
def source():
    with make_source() as made:
        yield made


@pytest.fixture(scope='module')
def scenes(source):
    return [(source.scene(seed, horizon, held_out=held_out, explicit=explicit),
             source.tidying(seed, horizon, held_out=held_out, explicit=explicit))
            for seed in SEEDS for horizon in HORIZONS for held_out in (True, False)
            for explicit in (True, False)]


def laid(horizon, count, held_out=True, start=100, draw=arrange):
    """Tables with tasks, none of them rendered."""
    found = []
    for seed in itertools.count(start):
        if len(found) == count:
            break
        for attempt in range(24 if draw is arrange else 2000):
            try:
                found.append(tidying(draw(seed, horizon, held_out, attempt)))
                break
            except NoRoomError:
                continue
    return found


@pytest.fixture(scope='module', params=[FEW, pytest.param(SOME, marks=pytest.mark.slow)],
                ids=['few', 'some'])
def many(request):
    return {(horizon, held_out): [*laid(horizon, count, held_out),
                                  *laid(horizon, count, held_out, draw=want_table)]
            for horizon, count in zip(HORIZONS, request.param, strict=True)
            for held_out in (True, False)}


@pytest.fixture(scope='module')
def all_of_them(many):
    return [one for group in many.values() for one in group]


# --- scenes -------------------------------------------------------------------------------------


def test_a_scene_is_complete(scenes):
    for scene, tidy in scenes:
        assert scene.image.shape == (480, 640, 3) and scene.image.dtype == np.uint8
        assert scene.depth_m.shape == (480, 640) and scene.depth_m.dtype == np.float32
        assert scene.camera[2:] == (320.0, 240.0) and scene.camera[0] == scene.camera[1] > 300
        things = tidy.arrangement.table.things
        assert (FEWEST if not tidy.arrangement.wants else 3) <= len(things) <= MOST
        names = [piece.name for piece in scene.pieces]
        assert len(set(names)) == len(names) and {one.name for one in things} <= set(names)
        assert [task.explicit for task in scene.tasks] in (
            ([False], [False, True]) if tidy.arrangement.wants else ([True],))
        assert {task.pair for task in scene.tasks} == {f'{scene.id}/1'}
        for other in scene.tasks[1:]:
            assert units_of(other) == [replace(unit, others=())
                                       for unit in units_of(scene.tasks[0])]
            assert other.instruction != scene.tasks[0].instruction
    assert len({scene.id for scene, _ in scenes}) == len(scenes)


def test_one_seed_gives_one_scene(scenes):
    with make_source() as other:
        for first, tidy in scenes[:4]:
            again = other.scene(tidy.arrangement.table.seed,
                                first.id.split('/')[2].removeprefix('implicit_'),
                                held_out=tidy.arrangement.table.held_out,
                                explicit=not tidy.arrangement.wants)
            assert first.image.tobytes() == again.image.tobytes()
            assert first.depth_m.tobytes() == again.depth_m.tobytes()
            assert first.tasks == again.tasks and first.camera == again.camera
            assert [(one.name, one.mask.tobytes()) for one in first.pieces] == [
                (one.name, one.mask.tobytes()) for one in again.pieces]


@pytest.mark.parametrize('horizon', HORIZONS)
def test_plans_are_as_long_as_their_horizon(horizon, many, scenes):
    low, high = HORIZONS[horizon]
    tasks = [task for held_out in (True, False) for one in many[horizon, held_out]
             for task in one.tasks]
    tasks += [task for scene, _ in scenes if f'{horizon}/' in scene.id for task in scene.tasks]
    lengths = {task.horizon for task in tasks}
    assert lengths <= set(range(low, high + 1))
    assert len(lengths) > 2


def test_a_horizon_is_refused_that_there_is_none_of(source):
    with pytest.raises(InputError, match='short, medium, long'):
        source.scene(0, 'endless')


def test_the_source_is_found_by_its_name():
    found = importlib.metadata.entry_points(group='sightplan.grounded_plan_scenes')
    assert found['tabletop'].load() is make_source


# --- what stands on the table -------------------------------------------------------------------


def test_what_is_moved_can_be_taken_and_reached(all_of_them):
    for tidy in all_of_them:
        table = tidy.arrangement.table
        for unit in units_of(tidy.tasks[0]):
            if unit.kind is UnitKind.PICK_PLACE:
                placed = table.named(unit.target)
                assert is_graspable(placed.thing)
                assert placed.thing.room is None
        for one in table.things:
            if one.thing.category != CABINET:
                outline = footprint_of(one)
                middle = (outline.min(axis=0) + outline.max(axis=0)) / 2
                assert REACH_M[0] <= math.dist(middle, BASE_M) <= REACH_M[1]


def test_things_stand_apart_and_drawers_have_room_to_open(all_of_them):
    for tidy in all_of_them:
        outlines = []
        for one in tidy.arrangement.table.things:
            shape = swept(one.thing) if one.thing.category == CABINET else footprint(one.thing)
            outlines.append(turned(shape, one.pose.yaw) + one.pose.position[:2])
        for one, other in itertools.combinations(outlines, 2):
            assert convex_gap(one, other) > 0.012


def test_there_are_identical_things_in_most_scenes(all_of_them):
    """The same kind and colour have the same shape, so that only places tell them apart."""
    with_twins = 0
    for tidy in all_of_them:
        if tidy.arrangement.wants:
            continue
        looks: dict[tuple[str, str], list] = {}
        for one in tidy.arrangement.table.things:
            looks.setdefault((one.thing.category, one.thing.colour), []).append(one.thing)
        assert all(same == [same[0]] * len(same) for same in looks.values())
        with_twins += any(len(same) > 1 for same in looks.values())
    assert with_twins > 0.3 * len(all_of_them)


def test_no_box_stands_beside_a_crate(all_of_them):
    """Somebody may call an open box a box."""
    for tidy in all_of_them:
        assert not {'box', 'crate'} <= {one.thing.category
                                        for one in tidy.arrangement.table.things}


def test_colours_of_a_kind_are_told_apart(all_of_them):
    for tidy in all_of_them:
        things = [one.thing for one in tidy.arrangement.table.things]
        for one, other in itertools.combinations(things, 2):
            if one.category == other.category and one.colour != other.colour:
                assert not confusable(one.colour, other.colour)


def test_destinations_have_room_for_all_that_goes_there(all_of_them):
    for tidy in all_of_them:
        by_destination: dict[str, list] = {}
        table = tidy.arrangement.table
        for unit in units_of(tidy.tasks[0]):
            if unit.kind is UnitKind.PICK_PLACE:
                pose = tidy.spot_pose(unit.target)
                thing = table.named(unit.target).thing
                outline = turned(footprint(thing), pose.yaw) + pose.position[:2]
                by_destination.setdefault(unit.destination, []).append((outline, thing))
        for name, placed in by_destination.items():
            where = tidy.arrangement.destinations[name]
            for (one, a), (other, b) in itertools.combinations(placed, 2):
                close = convex_gap(one, other)
                least = APART_M if where.kind in ('tray', 'crate', 'drawer') else 0.002
                assert close > least - 0.002 or where.kind == 'bowl', (
                    name, a.category, b.category)
            holder = next(one for one in table.things if one.thing is where.thing)
            shape = footprint_of(holder)
            edge = -0.001
            if where.part:
                edge = EDGE_M - 0.001
                room = next(one for one in drawer_rooms(where.thing) if one.part == where.part)
                shape = turned(_corners(room), holder.pose.yaw) + holder.pose.position[:2]
                assert all(thing.size[2] <= room.height_m for _, thing in placed)
            for outline, _ in placed:
                inside = [cv2.pointPolygonTest(shape.astype(np.float32),
                                               (float(x), float(y)), True) for x, y in outline]
                assert min(inside) > edge


def _corners(drawer):
    """(4, 2) of what is seen of an open drawer's floor, in the cabinet's frame."""
    x, y = drawer.room.half_x, drawer.room.half_y
    middle = np.array(drawer.centre_m) + np.array(drawer.slide.axis[:2]) * drawer.slide.upper
    corners = np.array([(-x, -y), (x, -y), (x, y), (-x, y)]) + middle
    return np.minimum(corners, (np.inf, drawer.front_m))


# --- the truth in the picture -------------------------------------------------------------------


def unit_box(mask):
    rows, columns = np.nonzero(mask)
    height, width = mask.shape
    return ((columns.min() / width, rows.min() / height),
            ((columns.max() + 1) / width, (rows.max() + 1) / height))


def test_boxes_are_those_of_the_masks(scenes):
    for scene, _ in scenes:
        masks = {piece.name: piece.mask for piece in scene.pieces}
        for task in scene.tasks:
            for unit in units_of(task):
                assert unit.region.points == pytest.approx(np.array(
                    unit_box(masks[unit.target])), abs=1e-12)
                if unit.kind is UnitKind.PICK_PLACE:
                    assert np.array(unit.place.points) == pytest.approx(np.array(
                        unit_box(masks[unit.destination])), abs=1e-12)
                else:
                    assert unit.place is None and unit.target in (UPPER, LOWER)


def test_pieces_are_apart_but_for_drawers(scenes):
    for scene, _ in scenes:
        things = np.array([one.mask for one in scene.pieces if one.category != 'drawer'])
        assert things.sum(axis=0).max() == 1
        for one in scene.pieces:
            if one.category == 'drawer':
                cabinet = next(c.mask for c in scene.pieces if c.category == CABINET)
                assert one.mask.any() and not (one.mask & ~cabinet).any()


def test_everything_is_seen_from_both_cameras(scenes):
    with Painter() as painter:
        for scene, tidy in scenes[::4]:
            table = tidy.arrangement.table
            for look in (table.look, arm_look(table.look)):
                seen_by = type(table)(table.seed, table.held_out, table.things, look)
                visible = Visible(seen_by, painter.draw(seen_by))
                assert all(visible.shows_thing(one.name, LEAST_SEEN) for one in table.things)
                for one in table.things:
                    rows, columns = np.nonzero(visible.thing(one.name))
                    height, width = visible.frame.things.shape
                    assert one.thing.category == CABINET or (
                        rows.min() > 0 and rows.max() < height - 1
                        and columns.min() > 0 and columns.max() < width - 1), 'cut off'
                again = [grounded(task, tidy, visible, 'pair') for task in tidy.tasks]
                for task in again:
                    for one, other in itertools.combinations(
                            {unit.region.points for unit in units_of(task)}, 2):
                        assert _overlap(one, other) < 0.5
            assert [task.instruction for task in again] == [
                task.instruction for task in scene.tasks]


def _overlap(one, other):
    (a, b), (c, d) = one
    (e, f), (g, h) = other
    both = max(0.0, min(c, g) - max(a, e)) * max(0.0, min(d, h) - max(b, f))
    return both / ((c - a) * (d - b) + (g - e) * (h - f) - both)


def test_an_open_drawer_is_seen_open(source, many):
    """Its box holds the drawer's floor, which a closed one hides."""
    found = next(tidy for tidy in many['short', True] if any(
        one.opened for one in tidy.arrangement.table.things))
    table = found.arrangement.table
    (cabinet,) = (one for one in table.things if one.thing.category == CABINET)
    ((drawer, out),) = cabinet.opened
    room = next(one for one in drawer_rooms(cabinet.thing) if one.part == drawer)
    assert out == pytest.approx(room.slide.upper)
    closed = tuple(type(one)(one.name, one.thing, one.pose) for one in table.things)
    areas = []
    with Painter() as painter:
        for things in (table.things, closed):
            shown = type(table)(table.seed, table.held_out, things, arm_look(table.look))
            mask = Visible(shown, painter.draw(shown)).part(cabinet.name, drawer)
            areas.append(int(mask.sum()))
    assert areas[0] > 1.3 * areas[1]


def test_an_empty_mask_has_no_box():
    with pytest.raises(ValueError, match='empty'):
        box_of(np.zeros((4, 4), bool))


# --- words --------------------------------------------------------------------------------------


def test_wordings_are_in_one_set_only():
    words = instruction_words()
    tuning, held_out = (words.wordings(which) for which in (False, True))
    texts = [[text for text in one.templates() if text not in COMMON]
             for one in (tuning, held_out)]
    assert len(texts[0]) > 60 and len(texts[1]) > 55
    assert not set(texts[0]) & set(texts[1])
    for name in ('drawers', 'one', 'things', 'clauses'):
        assert getattr(tuning, name).keys() == getattr(held_out, name).keys()


def test_no_text_of_one_kind_is_a_text_of_the_other(many):
    texts = {held_out: {task.instruction for (_, which), group in many.items()
                        if which is held_out for one in group for task in one.tasks}
             for held_out in (True, False)}
    assert not texts[True] & texts[False]
    tables = sum(len(group) for group in many.values())
    assert all(len(found) > 0.6 * tables for found in texts.values())


def test_texts_are_sentences(all_of_them):
    for tidy in all_of_them:
        for task in tidy.tasks:
            text = task.instruction
            assert text[0].isupper() and text[-1] in '.!?'
            assert not re.search(r'[{}]|  |\.\.|,,|\bdrawer \d', text)


def test_explicit_words_name_every_opening_and_closing(all_of_them):
    for tidy in all_of_them:
        for task in tidy.tasks:
            if task.explicit:
                kinds = [unit.kind for unit in units_of(task)]
                for kind, words in ((UnitKind.OPEN, 'open'), (UnitKind.CLOSE, r'close|shut')):
                    assert len(re.findall(words, task.instruction.lower())) >= kinds.count(kind)


# --- what is wanted ------------------------------------------------------------------------------


def serving(use, table):
    return {one.name for one in table.things if one.thing.category in use.things}


@pytest.fixture(scope='module')
def wanting(many):
    """Tables by intention: some, or where many tables are drawn those of nearly every one."""
    found, kinds = {}, set(intentions().kinds)
    few = len(many['short', True]) == 2 * FEW[0]
    for seed in range(2 if few else 60):
        for horizon, held_out in itertools.product(('short', 'medium'), (True, False)):
            tidy, = laid(horizon, 1, held_out, seed, want_table)
            for want in tidy.arrangement.wants:
                found.setdefault(want.name, []).append((tidy, want))
        if found.keys() == kinds:
            break
    assert len(found) >= (8 if few else 48), 'nearly every intention is drawn'
    return found


def test_things_are_all_those_and_only_those_that_serve(wanting):
    """Worked out anew from the catalogue and the table alone."""
    catalogue = intentions()
    for name, tables in wanting.items():
        kind = catalogue.kinds[name]
        for tidy, want in tables:
            table = tidy.arrangement.table
            moved = {one.name for one in table.things if one.thing.room is None
                     and one.thing.category != CABINET}
            there = {one.thing.category for one in table.things}
            picked = [set()]
            for one in kind.take:
                if isinstance(one, dict):
                    (quantity, use), = one.items()
                    use = catalogue.uses[use]
                    assert not there & set(use.doubtful), name
                    fit = serving(use, table)
                    options = {'all': [fit], 'rest': [moved - fit],
                               'one': [{thing} for thing in fit],
                               'two': map(set, itertools.combinations(sorted(fit), 2))}[quantity]
                elif one == 'everything':
                    options = [moved]
                elif one == 'middle':
                    options = [{thing for thing in moved if math.hypot(
                        *table.named(thing).pose.position[:2]) < 0.15}]
                else:
                    colour = table.named(want.choices[0][0]).thing.colour
                    options = [{thing.name for thing in table.things
                                if confusable(thing.thing.colour, colour)}]
                picked = [some | more for some, more in itertools.product(picked, options)]
            assert sorted(map(sorted, picked)) == sorted(map(sorted, want.choices)), name


def test_places_are_all_those_that_serve(wanting):
    catalogue = intentions()
    for name, tables in wanting.items():
        purpose = catalogue.places[catalogue.kinds[name].place]
        for tidy, want in tables:
            places = tidy.arrangement.destinations
            if want.drawers:
                assert set(want.drawers) == set(purpose.kinds) or name == 'shut'
                continue
            if not names_place(want.sentence):
                assert not {one.thing.category for one in tidy.arrangement.table.things} & set(
                    purpose.unless), name
            for thing, home in want.homes:
                others = dict(want.others).get(thing, ())
                assert {places[place].kind for place in (home, *others)} <= {
                    *purpose.kinds, *purpose.also}, name
                assert not (others and names_place(want.sentence)), name


def test_intentions_of_one_instruction_are_about_other_things(all_of_them):
    joined = 0
    for tidy in all_of_them:
        wants = tidy.arrangement.wants
        named = [{name for choice in want.choices for name in choice} for want in wants]
        assert sum(map(len, named)) == len(set().union(*named))
        joined += len(wants) > 1
    assert joined


# --- what the words mean ------------------------------------------------------------------------


def fitting(table, categories, colour):
    return [one for one in table.things if one.thing.category in categories
            and colour in ('', one.thing.colour)]


def meant(table, reference, look):
    """Which things a reference means, worked out anew in the picture of a camera."""
    options = fitting(table, reference.categories, reference.colour)
    view = look.view()

    def middle(placed):
        outline = footprint_of(placed)
        return (outline.min(axis=0) + outline.max(axis=0)) / 2

    def column(placed):
        at = view.position_m + np.array([0, 0, 0])
        right = view.axes[:2, 0]
        return float((middle(placed) - at[:2]) @ right)

    match reference.choice:
        case Choice.ALL:
            return {one.name for one in options}
        case Choice.ALL_BUT:
            return {one.name for one in options} - meant(table, reference.but, look)
        case Choice.NEAREST:
            anchor = middle(table.named(reference.anchor))
            order = sorted(options, key=lambda one: math.dist(middle(one), anchor))
            far = [math.dist(middle(one), anchor) for one in order]
            count = len(reference.names)
            assert far[count - 1] < 0.75 * far[count]
            return {one.name for one in order[:count]}
        case Choice.LEFTMOST | Choice.RIGHTMOST:
            sign = 1 if reference.choice is Choice.LEFTMOST else -1
            order = sorted(options, key=lambda one: sign * column(one))
            assert abs(column(order[0]) - column(order[1])) > 0.035
            return {order[0].name}


def test_words_mean_just_what_is_moved(all_of_them):
    """Every reference fits its things and no others, for the picture's camera and the arm's."""
    choices = set()
    for tidy in all_of_them:
        table = tidy.arrangement.table
        moved = {unit.target for unit in units_of(tidy.tasks[0])
                 if unit.kind is UnitKind.PICK_PLACE}
        for task in (one for one in tidy.tasks if one.explicit):
            for reference in task.meaning.references:
                choices.add(reference.choice)
                for look in (table.look, arm_look(table.look)):
                    assert meant(table, reference, look) == set(reference.names)
            names = [name for one in task.meaning.references for name in one.names]
            assert sorted(names) == sorted(moved)
    assert choices == set(Choice)


def test_destinations_are_named_without_doubt(all_of_them):
    """Each has a kind or a colour of its own, and so has whatever something is near to."""
    for tidy in all_of_them:
        table = tidy.arrangement.table
        names = {unit.destination for unit in units_of(tidy.tasks[0])} | {
            one.anchor for task in tidy.tasks for one in task.meaning.references}
        for name in names - {'', UPPER, LOWER}:
            thing = table.named(name).thing
            assert len(fitting(table, (thing.category,), thing.colour)) == 1


# --- plans --------------------------------------------------------------------------------------


def units_of(task):
    return [unit for block in task.blocks for unit in block.units]


class Cupboard:
    """What can be done on a table, by the meaning alone: a search for all right plans."""

    def __init__(self, tidy):
        table = tidy.arrangement.table
        self.things = [one.name for one in table.things
                       if one.thing.room is None and one.thing.category != CABINET]
        self.places = list(tidy.arrangement.destinations)
        self.start = (frozenset(), frozenset(
            name for one in table.things for name, _ in one.opened))

    def moves(self, state):
        at, opened = state
        where = dict(at)
        for drawer in {UPPER, LOWER} & set(self.places):
            if drawer in opened:
                yield (UnitKind.CLOSE, drawer, ''), (at, opened - {drawer})
            else:
                yield (UnitKind.OPEN, drawer, ''), (at, opened | {drawer})
        for thing in self.things:
            if not self.reached(where.get(thing, ''), opened):
                continue
            for place in self.places:
                if place != where.get(thing) and self.reached(place, opened):
                    yield ((UnitKind.PICK_PLACE, thing, place),
                           (frozenset({**where, thing: place}.items()), opened))

    @staticmethod
    def reached(place, opened):
        """Whether things can be put there: the lower drawer is below the upper one."""
        if place not in (UPPER, LOWER):
            return True
        return place in opened and not (place == LOWER and UPPER in opened)

    @staticmethod
    def lacking(state, facts):
        at, opened = state
        return sum(not {FactKind.IN: any((fact.target, place) in at for place in (
                            fact.destination, *fact.others)),
                        FactKind.OPEN: fact.target in opened,
                        FactKind.CLOSED: fact.target not in opened}[fact.kind] for fact in facts)

    def shortest(self, state, facts):
        """All shortest sequences that make facts hold, with the state after each."""
        lengths = itertools.count()
        while not (found := list(self.sequences(state, facts, next(lengths)))):
            pass
        return found

    def sequences(self, state, facts, length):
        lacking = self.lacking(state, facts)
        if lacking > length:
            return
        if length == 0:
            yield (), state
            return
        for move, after in self.moves(state):
            for rest, end in self.sequences(after, facts, length - 1):
                yield (move, *rest), end

    def right_plans(self, meaning):
        found = set()
        for steps in (meaning.steps, *meaning.others):
            plans = {(): self.start}
            for facts in steps:
                plans = {plan + more: end for plan, state in plans.items()
                         for more, end in self.shortest(state, facts)}
            found |= set(plans)
        return found


def accepted(blocks):
    """All sequences that the groups accept."""
    return {tuple((unit.kind, unit.target, place)
                  for unit, place in zip(plan, places, strict=True))
            for plan in sequences(blocks, frozenset(), len(blocks) * [()])
            for places in itertools.product(*(
                (unit.destination, *unit.others) for unit in plan))}


def sequences(blocks, ended, begun):
    """All sequences of units: ``begun`` has those of each block that are done."""
    if len(ended) == len(blocks):
        yield ()
    for number, block in enumerate(blocks):
        after = range(number) if block.after is None else block.after
        if number in ended or not set(after) <= ended:
            continue
        left = [unit for unit in block.units if unit not in begun[number]]
        for unit in left if block.unordered else left[:1]:
            done = [*begun[:number], (*begun[number], unit), *begun[number + 1:]]
            over = len(done[number]) == len(block.units)
            for rest in sequences(blocks, ended | {number} if over else ended, done):
                yield (unit, *rest)


def test_right_plans_are_exactly_those_that_the_groups_accept(many):
    checked, several, openings = 0, 0, 0
    for tidy in itertools.chain(*many.values()):
        for task in tidy.tasks:
            if not task.explicit and len(units_of(task)) > MOST_ENUMERATED:
                continue
            right = Cupboard(tidy).right_plans(task.meaning)
            plans = (task.blocks, *task.others)
            assert right == set().union(*map(accepted, plans)), task.instruction
            checked += 1
            several += len(right) > 1
            openings += any(unit.kind is not UnitKind.PICK_PLACE for unit in units_of(task))
    assert checked > 1.2 * len(many) and min(several, openings) > 0.15 * checked


def test_the_enumeration_tells_wrong_groups(many):
    """Blocks in another order, or an order where there is none, are not what is meant."""
    told = 0
    tables = [*many['medium', True], *many['long', True]]
    for tidy in tables:
        for task in (one for one in tidy.tasks if one.explicit):
            right = Cupboard(tidy).right_plans(task.meaning)
            if len(task.blocks) > 1:
                assert right != accepted(task.blocks[::-1])
                told += 1
            for block in task.blocks:
                if block.unordered:
                    assert right != accepted([type(block)(block.units, False)
                                              if one is block else one for one in task.blocks])
                    told += 1
    assert told > 0.4 * len(tables)


def test_a_drawer_that_is_open_needs_no_opening(all_of_them):
    seen = set()
    for tidy in all_of_them:
        opened = {name for one in tidy.arrangement.table.things for name, _ in one.opened}
        units = units_of(tidy.tasks[0])
        for drawer in {UPPER, LOWER}:
            kinds = [unit.kind for unit in units if drawer in (unit.target, unit.destination)]
            if kinds:
                assert (kinds[0] is UnitKind.OPEN) is (drawer not in opened)
                seen.add(drawer in opened)
    assert seen == {True, False}


# --- as planning problems -----------------------------------------------------------------------


@pytest.fixture(scope='module')
def domain():
    return load_domain('tabletop')


def test_implicit_problems_have_one_right_goal(domain, source):
    made = {seed: source.problem(domain, seed, 'short', explicit=False) for seed in range(4)}
    for seed, problem in made.items():
        tidy = source.tidying(seed, 'short', explicit=False)
        assert (problem is None) is tidy.has_several_goals
        if problem is not None:
            assert problem.name == f'implicit_short_{seed}' and problem.goal
            assert problem.instruction == tidy.tasks[0].instruction
            assert _scene_of(problem) == ('short', seed, False)
    assert any(problem is not None for problem in made.values())


def test_plans_of_a_scene_solve_its_problem(domain, all_of_them):
    for tidy in all_of_them[::3]:
        problem = problem_of(tidy, domain, 'problem')
        places, plan = tidy.arrangement.destinations, []
        for unit in units_of(tidy.tasks[0]):
            target, where = object_name(unit.target), object_name(unit.destination)
            if unit.kind is UnitKind.PICK_PLACE:
                kind = 'place-on' if places[unit.destination].kind in ('tray', 'plate') else (
                    'place-in')
                plan += [Action('grasp', (target,)), Action(kind, (target, where))]
            else:
                plan.append(Action(f'{unit.kind}-drawer', (target,)))
        assert len(plan) == problem.optimal_length
        assert domain.model(problem).first_flaw(plan, problem.init, problem.goal) is None
        for k in range(len(plan)):
            assert domain.model(problem).first_flaw(
                plan[:k] + plan[k + 1:], problem.init, problem.goal) is not None


def test_the_splits_are_problems_of_scenes(domain, source):
    """The first of each is what its name says; else make the splits anew by the generator."""
    for horizon in HORIZONS:
        written = next(one for one in domain.split_problems(horizon)
                       if one.name == f'{horizon}_0')
        made = source.problem(domain, 0, horizon)
        assert dict(made.objects) == dict(written.objects)
        assert (made.init, made.goal, made.optimal_length, made.known) == (
            written.init, written.goal, written.optimal_length, written.known)
