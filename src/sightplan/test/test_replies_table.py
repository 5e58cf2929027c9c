"""One table of replies for all readers: what a careful person takes each for, and what we read."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from doubles import TWO_BLOCKS
from sightplan.domains import load_domain
from sightplan.domains.sliding import proposals as moves
from sightplan.domains.sliding.readings import read_answer
from sightplan.grounding import parse_yes_no
from sightplan.model import Form, ProposalStatus, Verdict
from sightplan.planning.visual import read_proposal
from sightplan.queries.choose import read_choice
from sightplan.queries.coordinates import Coordinates
from sightplan.queries.pointing_replies import read_regions
from sightplan.runs.suite_parts import Unread
from sightplan_suites.grounded_plan.coordinates import Coords
from sightplan_suites.grounded_plan.reading import read_text
from sightplan_suites.point_it_out.judging import read_better, read_rating

TABLE: list[dict[str, str]] = yaml.safe_load(
    (Path(__file__).parent / 'replies.yaml').read_text('utf-8'))
SIZE = (1000, 1000)


def yes_no(text: str) -> str:
    said = parse_yes_no(text)
    return said.value if said in (Verdict.YES, Verdict.NO) else 'unread'


def three_valued(text: str) -> str:
    said = parse_yes_no(text)
    return 'unread' if said is Verdict.UNPARSED else said.value


def choose(text: str) -> str:
    chosen = read_choice(text, ('Path 1', 'Path 2')).chosen
    return 'unread' if chosen is None else str(chosen + 1)


@functools.cache
def _task(prompt: str) -> tuple[Any, ...]:
    domain = load_domain('blocksworld')
    text = re.sub(r'\bg\b', 'green', re.sub(r'\br\b', 'red', TWO_BLOCKS))
    problem = domain.parse_problem(text, 'two')
    return (domain.planning_prompt(prompt, problem, (), None, False, False),
            domain.prompts.actions, domain.model(problem))


def planned(text: str, prompt: str) -> str:
    proposal = read_proposal(text, *_task(prompt))
    if proposal.status is ProposalStatus.EMPTY:
        return 'done' if prompt == 'action' else 'empty'
    assert proposal.status in (ProposalStatus.PLANNED, ProposalStatus.UNPARSED), proposal
    return '; '.join(f'{one.name} {" ".join(one.args)}' for one in proposal.actions) or 'unread'


def pointed_plan(text: str) -> str:
    try:
        steps = read_text(text, Coords.PIXEL_XYXY, SIZE)
    except Unread:
        return 'unread'
    return '; '.join(' '.join([step.action, *(
        f'{1000 * number:.0f}' for point in step.region.points for number in point)])
        for step in steps if step.region is not None) or 'empty'


def point(text: str, coordinates: Coordinates, scale: float) -> str:
    reply = read_regions(text, Form.POINT, coordinates, SIZE, centre_of_box=True)
    if reply.unread:
        return 'unread'
    return ' '.join(f'{scale * number:.6g}' for region in reply.regions
                    for pair in region.points for number in pair) or 'nothing'


def board(text: str) -> str:
    items = read_answer(text)
    return ', '.join(map(str, items.placed)) if items.marked else 'unread'


@functools.cache
def _board() -> tuple[Any, ...]:
    domain = load_domain('sliding')
    problem = next(one for one in domain.split_problems('geoms')
                   if {'red_cube', 'blue_sphere'} <= set(one.objects))
    return (domain.planning_prompt('action', problem, (), None, False, False),
            domain.model(problem))


def move(text: str) -> str:
    proposal = moves.read_proposal(text, *_board())
    if proposal.status is ProposalStatus.EMPTY:
        return 'done'
    assert proposal.status in (ProposalStatus.PLANNED, ProposalStatus.UNPARSED), proposal
    return ' '.join(proposal.actions[0].args).replace('_', ' ') if proposal.actions else 'unread'


def rated(text: str, read: Callable[[str], Any]) -> str:
    try:
        return str(read(text).value)
    except Unread:
        return 'unread'


READERS: Mapping[str, Callable[[str], str]] = {
    'yes_no': yes_no, 'three_valued': three_valued, 'choose': choose,
    'plan': functools.partial(planned, prompt='plan'),
    'action': functools.partial(planned, prompt='action'), 'pointed_plan': pointed_plan,
    'point_json': functools.partial(point, coordinates=Coordinates.PERMILLE_XY, scale=1000),
    'point_tuples': functools.partial(point, coordinates=Coordinates.UNIT_XY, scale=1),
    'point_xml': functools.partial(point, coordinates=Coordinates.PERCENT_XY, scale=100),
    'board': board, 'move': move, 'rating': functools.partial(rated, read=read_rating),
    'better': functools.partial(rated, read=read_better)}


def test_the_table_is_large_and_of_all_kinds() -> None:
    assert len(TABLE) >= 150
    assert {row['kind'] for row in TABLE} == {*READERS}


@pytest.mark.parametrize('row', TABLE, ids=lambda row: f'{row["kind"]}: {row["reply"][:40]!r}')
def test_a_reply_is_taken_for_what_a_careful_person_takes_it_for(row: dict[str, str]) -> None:
    assert READERS[row['kind']](row['reply']) == row['expected']
