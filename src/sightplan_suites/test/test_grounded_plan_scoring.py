"""GroundedPlanBench: scores of plans, by hand, by brute force, and as properties."""

from __future__ import annotations

import itertools
import json
import random
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounded_plan_cases import (
    BLUE,
    DRAWER,
    IN,
    RED,
    SIZE,
    TRAY,
    closed,
    grasp,
    opened,
    place,
    record,
    region,
    right,
    unit,
    write_lines,
)
from sightplan.model.grounded_plan import PlanBlock, PlanUnit, UnitKind
from sightplan.runs import load_suite
from sightplan_suites.grounded_plan import predictions, records, scoring
from sightplan_suites.grounded_plan.coordinates import Coords
from sightplan_suites.grounded_plan.reading import read_steps, units_of
from sightplan_suites.grounded_plan.records import entry_of, read_entries

OPEN_UNIT = PlanUnit(UnitKind.OPEN, 'drawer', region(DRAWER))
CLOSE_UNIT = PlanUnit(UnitKind.CLOSE, 'drawer', region(DRAWER))
BLOCKS = (PlanBlock((OPEN_UNIT,)), PlanBlock((unit(RED), unit(BLUE)), True),
          PlanBlock((CLOSE_UNIT,)))


def scored(actions, blocks=BLOCKS, criterion=scoring.IOU, things=()):
    steps = read_steps(actions, Coords.PIXEL_XYXY, SIZE)
    return scoring.score_plan(blocks, steps, criterion, [region(box) for box in things])


def values(found):
    return float(found.tsr), float(found.tsr_lenient), found.arr, found.precision


# ---------------------------------------------------------------------------------- by hand


@pytest.mark.parametrize(('name', 'actions', 'expected', 'cause'), [
    ('exact', right(), (1, 1, 1, 1), None),
    ('shuffled group', right(BLUE, RED), (1, 1, 1, 1), None),
    ('upper case verbs', [{**step, 'action': f' {step["action"].upper()} '} for step in right()],
     (1, 1, 1, 1), None),
    ('swapped blocks', [closed(), *right()[1:5], opened()], (0, 0, 1, 1), 'wrong_order'),
    ('extra step', [*right(), opened()], (0, 1, 1, 0.8), 'duplicate_grounding'),
    ('extra thing', [*right(), grasp([0, 0, 30, 30]), place(IN)], (0, 1, 1, 0.8), 'extra_unit'),
    ('extra in front', [closed(), *right()], (0, 1, 1, 0.8), 'duplicate_grounding'),
    ('extra and wrong order', [closed(), *right()[:5], opened()], (0, 0, 1, 0.8), 'wrong_order'),
    ('missing close', right()[:-1], (0, 0, 0.75, 1), 'missing_close'),
    ('missing open', right()[1:], (0, 0, 0.75, 1), 'missing_open'),
    ('missing pair', [opened(), grasp(RED), place(IN), closed()], (0, 0, 0.75, 1),
     'missing_unit'),
    ('duplicate grounding', right(RED, RED), (0, 0, 0.75, 0.75), 'duplicate_grounding'),
    ('point outside', [*right()[:2], place((10, 10)), *right()[3:]], (0, 0, 0.75, 0.75),
     'place_outside'),
    ('place given as a box', [*right()[:2], {'action': 'place', 'bbox': TRAY}, *right()[3:]],
     (0, 0, 0.75, 0.75), 'place_outside'),
    ('unpaired grasp', [opened(), grasp(RED), grasp(BLUE), place(IN), closed()],
     (0, 0, 0.75, 0.75), 'unpaired_grasp'),
    ('grasp at the end', [*right()[:3], *right()[5:], grasp(BLUE)], (0, 0, 0.75, 0.75),
     'unpaired_grasp'),
    ('place without grasp', [place(IN), *right()], (0, 1, 1, 0.8), 'unpaired_place'),
    ('unknown verb', [{'action': 'wipe', 'bbox': DRAWER}, *right()], (0, 1, 1, 0.8),
     'unknown_verb'),
    ('no verb at all', [3, *right()], (0, 1, 1, 0.8), 'unknown_verb'),
    ('box beside', [*right()[:1], grasp([120, 220, 180, 300]), *right()[2:]],
     (0, 0, 0.75, 0.75), 'grasp_region'),
    ('box elsewhere', [*right()[:1], grasp([0, 0, 60, 80]), *right()[2:]], (0, 0, 0.75, 0.75),
     'grasp_region'),
    ('drawer elsewhere', [opened([0, 0, 60, 80]), *right()[1:]], (0, 0, 0.75, 0.75),
     'open_region'),
    ('no region', [*right()[:1], {'action': 'grasp'}, *right()[2:]], (0, 0, 0.75, 0.75),
     'no_region'),
    ('degenerate box', [*right()[:1], grasp([100, 200, 100, 280]), *right()[2:]],
     (0, 0, 0.75, 0.75), 'grasp_region'),
    ('box out of order', [*right()[:1], grasp([160, 280, 100, 200]), *right()[2:]],
     (0, 0, 0.75, 0.75), 'grasp_region'),
    ('types differ', [closed(), *right()[1:]], (0, 0, 0.75, 0.75), 'missing_open'),
    ('nothing right', [grasp([0, 0, 9, 9]), place((1, 1))], (0, 0, 0, 0), 'missing_open')])
def test_by_hand(name, actions, expected, cause):
    found = scored(actions)
    assert values(found) == pytest.approx(expected)
    assert (found.causes[0] if found.causes else None) == cause


@pytest.mark.parametrize(('width', 'success'), [(30, True), (29, False), (120, True),
                                                (121, False)])
def test_boxes_just_below_and_at_a_half(width, success):
    """The true box is 60 wide: 30 / 60 and 60 / 120 are exactly .5."""
    found = scored([grasp([100, 200, 100 + width, 280]), place(IN)], [PlanBlock((unit(RED),))])
    assert found.tsr is success and found.arr == float(success)


def test_iou_of_degenerate_boxes_is_zero():
    assert scoring.iou((0, 0, 1, 1), (0, 0, 1, 1)) == 1.0
    assert scoring.iou((0, 0, 0, 1), (0, 0, 1, 1)) == scoring.iou((0, 0, 0, 0), (0, 0, 0, 0)) == 0
    assert scoring.iou((0, 0, 1, 1), (1, 0, 2, 1)) == 0.0
    assert scoring.iou((0, 0, 1e-200, 1e-200), (0, 0, 1e-200, 1e-200)) == 0.0


@pytest.mark.parametrize(('point', 'success'), [
    ((420, 310), True), ((580, 370), True), ((500, 310), True), ((419.99, 340), False),
    ((500, 370.01), False)])
def test_a_point_on_the_border_is_inside(point, success):
    assert scored([grasp(RED), place(point)], [PlanBlock((unit(RED),))]).tsr is success


def test_regions_are_scored_unclipped():
    """A box that reaches far beyond the picture is not cut down to one that fits."""
    blocks = [PlanBlock((unit([0, 0, 320, 480]),))]
    assert scored([grasp([0, 0, 320, 480]), place(IN)], blocks).tsr
    assert not scored([grasp([-900, 0, 320, 480]), place(IN)], blocks).tsr
    assert not scored([grasp([0, 0, 320, 2000]), place(IN)], blocks).tsr


def test_an_opening_between_grasp_and_place_leaves_them_a_pair():
    found = scored([grasp(RED), opened(), place(IN), grasp(BLUE), place(IN), closed()],
                   [PlanBlock((unit(RED), OPEN_UNIT, unit(BLUE), CLOSE_UNIT))])
    assert found.tsr and found.interleaved == 1 and found.measures['interleaved'] == 1.0
    assert scored(right()).measures['interleaved'] == 0.0


def test_units_of_a_sequential_block_keep_their_order():
    said = [grasp(RED), place(IN), grasp(BLUE), place(IN)]
    units = unit(BLUE), unit(RED)
    found = scored(said, [PlanBlock(units)])
    assert values(found) == (0.0, 0.0, 1.0, 1.0) and found.causes == ('wrong_order',)
    assert scored(said, [PlanBlock(units, True)]).tsr


def test_wrong_things_are_named_where_they_are_known():
    actions = [opened(), grasp([300, 100, 360, 180]), place(IN), *right()[3:]]
    assert scored(actions).causes[0] == 'grasp_region'
    assert scored(actions, things=([300, 100, 360, 180],)).causes[0] == 'wrong_thing'
    drawer = [opened(), grasp(DRAWER), place(IN), *right()[3:]]
    assert scored(drawer).causes[0] == 'wrong_thing'


def test_four_napkins_all_grounded_to_one():
    """The failure of figure 4: look-alikes, and all boxes on the same one."""
    napkins = [[40 * number, 10, 40 * number + 30, 40] for number in range(4)]
    blocks = [PlanBlock(tuple(unit(box) for box in napkins), True)]
    found = scored([step for _ in napkins for step in (grasp(napkins[2]), place(IN))], blocks)
    assert values(found) == (0.0, 0.0, 0.25, 0.25)
    assert found.causes == ('duplicate_grounding',) * 3


def test_one_prediction_never_matches_two_true_units():
    """Two true units at one place: one prediction is one of them, two are both."""
    blocks = [PlanBlock((unit(RED), unit(RED)), True)]
    assert scored([grasp(RED), place(IN)], blocks).arr == 0.5
    assert scored([grasp(RED), place(IN)] * 2, blocks).tsr


def test_matching_is_a_maximum_where_a_greedy_one_is_not():
    """The first prediction fits both things, the second one the first thing alone."""
    one, other = [100, 100, 200, 200], [140, 100, 240, 200]
    between, first = [120, 100, 220, 200], [90, 100, 190, 200]
    blocks = [PlanBlock((unit(one), unit(other)), True)]
    found = scored([grasp(between), place(IN), grasp(first), place(IN)], blocks)
    assert found.matched == (1, 0) and found.tsr


def test_the_two_criteria():
    point = [{'action': 'grasp', 'point': [130, 240]}, place(IN)]
    small = [grasp([125, 235, 135, 245]), place(IN)]
    blocks = [PlanBlock((unit(RED),))]
    for actions in (point, small):
        assert not scored(actions, blocks).tsr
        assert scored(actions, blocks, scoring.POINT_IN_BOX).tsr
    beside = [grasp([159, 200, 219, 280]), place(IN)]
    assert not scored(beside, blocks, scoring.POINT_IN_BOX).tsr
    both = [{'action': 'grasp', 'point': [1, 1], 'bbox': RED}, place(IN)]
    assert scored(both, blocks).tsr


def test_nothing_predicted_has_no_precision():
    found = scoring.score_plan(BLOCKS, [])
    assert values(found) == (0.0, 0.0, 0.0, 0.0) and found.f1 == 0.0


# ------------------------------------------------------------------------------- brute force


GRID = 8


def random_box(rng):
    """A box on a coarse grid, so that boxes often fit, and often are just at the threshold."""
    x, y = rng.randrange(0, 4), rng.randrange(0, 3)
    return [x, y, x + rng.randint(1, 4), y + rng.randint(1, 3)]


def random_case(rng):
    """True blocks and predicted actions on a grid; often nearly the same."""
    blocks, flat = [], []
    for _ in range(rng.randint(1, 3)):
        size = min(rng.choice((1, 1, 2, 3)), 4 - len(flat))
        if size < 1:
            break
        units = [(rng.choice(('pick_place', 'pick_place', 'open', 'close')), random_box(rng),
                  random_box(rng)) for _ in range(size)]
        blocks.append((rng.random() < 0.6, units))
        flat += units
    said = []
    order = [one for free, units in blocks for one in (
        rng.sample(units, len(units)) if free else units)]
    if rng.random() < 0.3:
        rng.shuffle(order)
    for kind, box, there in order:
        if rng.random() < 0.12:
            continue
        said.append((kind, random_box(rng) if rng.random() < 0.3 else box,
                     (rng.randrange(0, 8), rng.randrange(0, 6)) if rng.random() < 0.15 else
                     (there[0], there[3])))
        if rng.random() < 0.15:
            said.append(rng.choice((said[-1], ('pick_place', random_box(rng), (1, 1)))))
    return blocks, said[:5]


def brute_iou(one, other):
    """By counting cells of the grid."""
    wide, high = (len(range(max(one[at], other[at]), min(one[at + 2], other[at + 2])))
                  for at in (0, 1))
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, other)]
    return Fraction(wide * high, sum(areas) - wide * high)


def brute_succeeds(said, true):
    (kind, box, point), (true_kind, true_box, there) = said, true
    return kind == true_kind and brute_iou(box, true_box) >= Fraction(1, 2) and (
        kind != 'pick_place'
        or (there[0] <= point[0] <= there[2] and there[1] <= point[1] <= there[3]))


def brute_score(blocks, said):
    """By trying all right sequences of true units, all parts of the plan, and all pairings."""
    true = [one for _, units in blocks for one in units]
    fits = [[brute_succeeds(one, other) for other in true] for one in said]
    ends = list(itertools.accumulate(len(units) for _, units in blocks))
    numbers = [range(end - len(units), end) for end, (_, units) in zip(ends, blocks, strict=True)]
    orders = [tuple(itertools.chain(*parts)) for parts in itertools.product(*(
        list(itertools.permutations(part)) if free else [tuple(part)]
        for part, (free, _) in zip(numbers, blocks, strict=True)))]

    def goes(some, order):
        return len(some) == len(order) and all(fits[one][at] for one, at in zip(
            some, order, strict=True))
    everything = tuple(range(len(said)))
    strict = any(goes(everything, order) for order in orders)
    lenient = any(goes(some, order) for some in itertools.combinations(everything, len(true))
                  for order in orders)

    def best(at, taken):
        if at == len(true):
            return 0
        return max([best(at + 1, taken), *(1 + best(at + 1, taken | {one}) for one in everything
                                           if one not in taken and fits[one][at])])
    return strict, lenient, Fraction(best(0, frozenset()), len(true))


def grid_region(box):
    return region(box, Coords.PIXEL_XYXY, (GRID, GRID))


def as_plan(blocks, said):
    true = [PlanBlock(tuple(
        PlanUnit(UnitKind(kind), 'x', grid_region(box), 'y',
                 grid_region(there) if kind == 'pick_place' else None)
        for kind, box, there in units), free and len(units) > 1) for free, units in blocks]
    actions = []
    for kind, box, point in said:
        if kind == 'pick_place':
            actions += [grasp(box), place(point)]
        else:
            actions.append({'action': kind, 'bbox': list(box)})
    return true, read_steps(actions, Coords.PIXEL_XYXY, (GRID, GRID)) if actions else []


@pytest.mark.parametrize('count', [1_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_random_plans_equal_brute_force(count: int):
    rng, seen = random.Random(0), {'strict': 0, 'lenient only': 0, 'some': 0, 'none': 0}
    for _ in range(count):
        blocks, said = random_case(rng)
        true, steps = as_plan(blocks, said)
        found = scoring.score_plan(true, steps)
        strict, lenient, arr = brute_score(blocks, said)
        assert (found.tsr, found.tsr_lenient) == (strict, lenient), (blocks, said)
        assert found.arr == pytest.approx(float(arr)), (blocks, said)
        assert found.right == arr * len(found.matched)
        seen['strict' if strict else 'lenient only' if lenient else 'some' if arr else 'none'] += 1
    assert min(seen.values()) > 0.03 * count, seen


# ------------------------------------------------------------- several plans, partial orders


FRONT, TRAY_2 = [20, 300, 120, 380], [20, 20, 120, 80]
AT_ANY_TIME = (PlanBlock((OPEN_UNIT,), after=()), PlanBlock((unit(RED),), after=(0,)),
               PlanBlock((CLOSE_UNIT,), after=(1,)), PlanBlock((unit(BLUE, TRAY_2),), after=()))
"""Open the drawer, put the red cup in, close it; the blue cup goes elsewhere at any time."""
ELSEWHERE = (70, 50)


@pytest.mark.parametrize('at', range(4))
def test_a_block_after_none_may_come_at_any_time(at):
    steps = [[opened()], [grasp(RED), place(IN)], [closed()]]
    steps.insert(at, [grasp(BLUE), place(ELSEWHERE)])
    assert values(scored([one for some in steps for one in some], AT_ANY_TIME)) == (1, 1, 1, 1)


def test_blocks_that_come_after_others_keep_that_order():
    swapped = [grasp(BLUE), place(ELSEWHERE), grasp(RED), place(IN), opened(), closed()]
    found = scored(swapped, AT_ANY_TIME)
    assert values(found) == (0, 0, 1, 1) and found.causes == ('wrong_order',)
    needless = [opened(), opened(FRONT), grasp(RED), place(IN), closed(), grasp(BLUE),
                place(ELSEWHERE)]
    assert values(scored(needless, AT_ANY_TIME))[:2] == (0, 1)


def test_any_of_several_places_is_right():
    first = unit(RED)
    both = PlanUnit(first.kind, 'it', first.region, 'there', first.place, (
        ('elsewhere', region(TRAY_2)),))
    for point, right_there in ((IN, 1.0), (ELSEWHERE, 1.0), ((5, 470), 0.0)):
        said = [grasp(RED), place(point)]
        assert scored(said, [PlanBlock((both,))]).arr == right_there
    assert scored([grasp(RED), place(ELSEWHERE)], [PlanBlock((first,))]).arr == 0.0


def test_the_best_of_several_plans_counts():
    plans = [BLOCKS, (PlanBlock((unit(RED, TRAY_2),)),)]
    steps = read_steps([grasp(RED), place(ELSEWHERE)], Coords.PIXEL_XYXY, SIZE)
    found = scoring.best_score(plans, steps)
    assert found.tsr and found.plan == 1 and not found.causes
    steps = read_steps(right(), Coords.PIXEL_XYXY, SIZE)
    assert (found := scoring.best_score(plans, steps)).tsr and found.plan == 0
    assert scoring.best_score(plans, []).plan == 0


def in_order(blocks, order):
    """Whether numbers of units come in an order that partly ordered blocks allow."""
    numbers, ends = itertools.count(), []
    before = {}
    for block in blocks:
        earlier = set().union(*(ends[one] for one in block.after)) if block.after else set()
        own = [next(numbers) for _ in block.units]
        for index, one in enumerate(own):
            before[one] = earlier | (set() if block.unordered else set(own[:index]))
        ends.append(earlier | set(own))
    return all(before[one] <= set(order[:place]) for place, one in enumerate(order))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32))
def test_partly_ordered_plans_equal_brute_force(seed):
    rng = random.Random(seed)
    boxes = [[60 * number, 10, 60 * number + 40, 50] for number in range(5)]
    sizes = rng.choice([(1, 2, 2), (2, 1, 1, 1), (1, 1, 1, 1, 1), (3, 2)])
    left, blocks = iter(boxes), []
    for number, size in enumerate(sizes):
        after = tuple(sorted(rng.sample(range(number), rng.randint(0, number))))
        blocks.append(PlanBlock(tuple(unit(next(left)) for _ in range(size)),
                                rng.random() < 0.5, after))
    for order in itertools.permutations(range(5)):
        said = [step for one in order for step in (grasp(boxes[one]), place(IN))]
        found = scored(said, blocks)
        assert found.tsr is found.tsr_lenient is in_order(blocks, order)
        more = scored([opened(), *said, closed()], blocks)
        assert not more.tsr and more.tsr_lenient is found.tsr


def test_alike_units_of_a_partly_ordered_plan_are_exchanged():
    twins = PlanBlock((unit(RED),) * 12, True, ())
    said = [grasp(RED), place(IN)] * 12
    assert scored(said, [twins]).tsr and not scored(said[:-2], [twins]).tsr


# -------------------------------------------------------------------------------- properties


@st.composite
def cases(draw):
    return random_case(random.Random(draw(st.integers(0, 2**32))))


@settings(max_examples=100, deadline=None)
@given(cases())
def test_invariants(case):
    found = scoring.score_plan(*as_plan(*case))
    assert found.tsr <= found.tsr_lenient
    if found.tsr:
        assert found.arr == found.precision == found.f1 == 1.0 and not found.causes
    else:
        assert found.causes and all(found.causes)
    if found.tsr_lenient:
        assert found.arr == 1.0
    assert 0.0 <= found.arr <= 1.0 and 0.0 <= found.precision <= 1.0
    matched = [one for one in found.matched if one is not None]
    assert len(set(matched)) == len(matched)


@settings(max_examples=80, deadline=None)
@given(cases(), st.integers(0, 2**32))
def test_permuting_inside_a_block_changes_nothing(case, seed):
    blocks, said = case
    rng = random.Random(seed)
    shuffled = [(free, rng.sample(units, len(units)) if free else units) for free, units in blocks]
    one, other = (scoring.score_plan(*as_plan(some, said)) for some in (blocks, shuffled))
    assert values(one) == values(other)


@settings(max_examples=80, deadline=None)
@given(cases(), st.integers(0, 2**32))
def test_what_is_exact_is_right_in_any_allowed_order(case, seed):
    blocks, _ = case
    rng = random.Random(seed)
    said = [(kind, box, (there[0], there[1])) for free, units in blocks
            for kind, box, there in (rng.sample(units, len(units)) if free else units)]
    assert values(scoring.score_plan(*as_plan(blocks, said))) == (1.0, 1.0, 1.0, 1.0)


@settings(max_examples=50, deadline=None)
@given(st.permutations(list(range(5))))
def test_units_out_of_the_order_of_blocks_fail_and_leave_recall(order):
    boxes = [[50 * number, 10, 50 * number + 40, 50] for number in range(5)]
    blocks = [PlanBlock((unit(box),)) for box in boxes]
    found = scored([step for number in order for step in (grasp(boxes[number]), place(IN))],
                   blocks)
    assert found.tsr is found.tsr_lenient is (order == sorted(order)) and found.arr == 1.0
    assert found.causes == (() if found.tsr else ('wrong_order',))


# ------------------------------------------------------------------------ pairs of predictions


def test_units_of_a_plan():
    steps = read_steps([grasp(RED), opened(), place(IN), place(IN), grasp(RED), grasp(BLUE),
                        {'action': 'fly'}], Coords.PIXEL_XYXY, SIZE)
    units, interleaved = units_of(steps)
    assert [(one.kind, one.steps, one.wrong) for one in units] == [
        (UnitKind.PICK_PLACE, (0, 2), ''), (UnitKind.OPEN, (1,), ''),
        (None, (3,), 'unpaired_place'), (None, (4,), 'unpaired_grasp'),
        (None, (5,), 'unpaired_grasp'), (None, (6,), 'unknown_verb')]
    assert interleaved == 1


# ------------------------------------------------------------------------------- conventions


def test_five_conventions_give_identical_scores(tmp_path):
    """Also where a box is exactly at the threshold and a point exactly on the border."""
    rng = random.Random(3)
    base = read_entries('x', [('1', record(), '')]).items[0]
    sets = {}
    for coords in Coords:
        data = tmp_path / f'{coords}.jsonl'
        write_lines(data, entry_of(base, coords))
        rng.seed(3)
        rows = []
        for number in range(40):
            x, y = rng.choice((420, 580, 500, 419)), rng.choice((310, 370, 340, 371))
            width, height = rng.choice(((30, 80), (29, 80), (120, 80), (60, 40)))
            left = rng.choice((100, 101))
            box = [left, 200, left + width, 200 + height]
            actions = [opened(), grasp(box), place((x, y)), grasp(BLUE), place(IN), closed()]
            rows.append({'id': 'a', 'coords': str(coords),
                         'actions': [converted(step, coords) for step in actions],
                         'model': str(number)})
        scores = []
        for row in rows:
            path = write_lines(tmp_path / 'p.jsonl', row)
            found = predictions.score_file(records.read_records(data, pictures=False), path)
            scores.append(found['items'][0])
        sets[coords] = scores
    assert all(scores == sets[Coords.PIXEL_XYXY] for scores in sets.values())
    assert {item['tsr'] for item in sets[Coords.UNIT_XYXY]} == {0.0, 1.0}
    assert len({json.dumps(item['causes']) for item in sets[Coords.UNIT_XYXY]}) > 2


def converted(step, coords):
    """A step in pixels in another convention, by arithmetic of its own."""
    width, height = SIZE

    def scaled(x, y):
        if coords.startswith('pixel'):
            return x, y
        top = 1 if coords is Coords.UNIT_XYXY else 1000
        return x / width * top, y / height * top
    found = dict(step)
    if 'point' in step:
        x, y = scaled(*step['point'])
        found['point'] = [y, x] if coords is Coords.PERMILLE_YXYX else [x, y]
    if 'bbox' in step:
        x1, y1 = scaled(*step['bbox'][:2])
        x2, y2 = scaled(*step['bbox'][2:])
        found['bbox'] = {Coords.PERMILLE_YXYX: [y1, x1, y2, x2],
                         Coords.PIXEL_XYWH: [x1, y1, x2 - x1, y2 - y1]}.get(
                             coords, [x1, y1, x2, y2])
    return found


def test_matching_is_not_by_trial_where_everything_fits():
    """200 identical things in one block, one missing: trying all ways would never end."""
    blocks = [PlanBlock((unit(RED),) * 150 + (unit(BLUE),), True)]
    found = scored([grasp(RED), place(IN)] * 200, blocks)
    assert found.arr == 150 / 151 and not found.tsr_lenient


# --------------------------------------------------------------------------------- published


def test_every_success_rate_of_table_1_is_a_whole_count():
    suite = load_suite('grounded_plan')
    rows = json.loads((suite.folder / 'published.json').read_text())['rows']
    tsr = [row for row in rows if row['measure'] == 'tsr']
    assert len(tsr) == 13 * 6 and len(rows) == 13 * 12
    for row in tsr:
        percent = round(100 * row['value'], 1)
        assert any(round(100 * count / row['n'], 1) == percent
                   for count in range(row['n'] + 1)), row
    counts = {(row['where']['instruction'], row['where']['split']): row['n'] for row in rows}
    assert sum(counts.values()) == 1009
    assert [sum(n for (_, split), n in counts.items() if split == one)
            for one in ('short', 'medium', 'long')] == [345, 381, 283]
    assert suite.published.find('Qwen/Qwen3-VL-4B-Instruct', 'tsr', split='short',
                           instruction='explicit', system='end_to_end').value == 0.395
