"""Who is deaf, by what nodes say of whom they hear."""

from __future__ import annotations

import json
import os
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightplan.graphs.hearing import HEARD_S, LOST_S, Hearing, Lost, deaf, in_words
from sightplan.graphs.keeping import PIPE_VARIABLE, RESTARTS, SILENT_S, Keeper, Pipe, Reporter

NODES = ('agent', 'arm', 'eyes', 'planner', 'recorder')


class Clock:
    """A time that is set."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def say(take, clock: Clock, hears: dict[str, set[str]], seconds: float) -> None:
    """All nodes say for so long whom they hear."""
    for _ in range(round(seconds)):
        clock.now += 1.0
        for node, heard in hears.items():
            take(node, heard)


def all_hear(nodes=NODES) -> dict[str, set[str]]:
    return {node: set(nodes) - {node} for node in nodes}


def test_nobody_is_lost_where_all_hear_each_other() -> None:
    clock = Clock()
    hearing = Hearing(clock)
    say(hearing.note, clock, all_hear(), 3 * LOST_S)
    assert hearing.missing() == hearing.lost() == []
    assert hearing.table() == all_hear()


def test_who_is_not_heard_for_long_is_lost_and_found_again() -> None:
    clock, hears = Clock(), all_hear()
    hearing = Hearing(clock)
    hears['eyes'].remove('agent')
    say(hearing.note, clock, hears, LOST_S)
    assert hearing.lost() == [] and hearing.missing() == [Lost('eyes', 'agent', LOST_S - 1)]
    say(hearing.note, clock, hears, 2)
    assert hearing.lost() == [Lost('eyes', 'agent', LOST_S + 1)]
    assert str(hearing.lost()[0]) == 'eyes has not heard agent for 21 s'
    say(hearing.note, clock, all_hear(), 1)
    assert hearing.missing() == []
    say(hearing.note, clock, hears, LOST_S)
    assert hearing.lost() == [], 'counted from when it began again'


def test_who_ended_or_hangs_is_not_lost() -> None:
    clock, hears = Clock(), all_hear()
    hearing = Hearing(clock)
    say(hearing.note, clock, hears, 2)
    without = all_hear(NODES[1:])
    say(hearing.note, clock, without, 3 * LOST_S)
    assert hearing.missing() == [] and set(hearing.table()) == set(NODES[1:])
    assert hearing.stale_nodes(SILENT_S) == [NODES[0]]
    hearing.forget(NODES[0])
    assert hearing.stale_nodes(SILENT_S) == []


def test_who_is_heard_by_one_is_there_for_all() -> None:
    """As a node sees it that gets nothing of the one that it does not hear."""
    clock = Clock()
    hearing = Hearing(clock)
    say(hearing.note, clock, {'me': {'other'}, 'other': {'me', 'third'}}, LOST_S + 2)
    assert [(one.listener, one.speaker) for one in hearing.lost()] == [('me', 'third')]


def test_a_node_that_starts_again_has_its_time() -> None:
    clock, hears = Clock(), all_hear()
    hearing = Hearing(clock)
    hears['eyes'].clear()
    say(hearing.note, clock, hears, LOST_S + 2)
    assert len(hearing.lost()) == 4
    hearing.forget('eyes')
    assert hearing.missing() == []
    say(hearing.note, clock, hears, LOST_S)
    assert hearing.lost() == []


def pairs_of(listener_deaf: str, nodes) -> list[Lost]:
    return [Lost(listener_deaf, other, LOST_S) for other in nodes if other != listener_deaf]


@given(st.permutations(NODES), st.integers(3, 5), st.booleans())
def test_who_hears_nobody_or_is_heard_by_nobody_is_the_one(nodes, count, dumb) -> None:
    nodes = nodes[:count]
    lost = pairs_of(nodes[0], nodes)
    if dumb:
        lost = [Lost(one.speaker, one.listener, one.for_s) for one in lost]
    assert deaf(lost) == nodes[0]
    assert deaf(lost, dict.fromkeys(nodes, 2)) == nodes[0]


@given(st.sets(st.tuples(st.sampled_from(NODES), st.sampled_from(NODES)).filter(
    lambda pair: pair[0] != pair[1]), min_size=1),
    st.dictionaries(st.sampled_from(NODES), st.integers(0, 3)), st.sets(st.sampled_from(NODES)))
def test_restarting_one_after_another_leaves_nothing_lost(pairs, restarted, fixed) -> None:
    left = [Lost(*pair, LOST_S) for pair in pairs]
    for _ in NODES:
        if not left:
            break
        node = deaf(left, restarted, fixed)
        part = [one for one in left if node in (one.listener, one.speaker)]
        assert part and all(len(part) >= sum(other in (one.listener, one.speaker) for one in left)
                            for other in NODES)
        assert node in in_words(node, part)
        left = [one for one in left if one not in part]
    assert not left


def test_of_two_it_is_who_was_not_restarted_in_vain_then_who_may_be_then_who_hears_less() -> None:
    lost = [Lost('eyes', 'agent', LOST_S)]
    assert deaf(lost) == 'eyes'
    assert deaf(lost, fixed=['eyes']) == 'agent'
    assert deaf(lost, {'eyes': 1}) == 'agent'
    assert deaf(lost, {'agent': 1}, fixed=['eyes']) == 'eyes', 'the other one was, in vain'


def test_words() -> None:
    lost = [Lost('eyes', 'agent', 25.0), Lost('eyes', 'arm', 30.0), Lost('arm', 'eyes', 21.0),
            Lost('arm', 'agent', 40.0)]
    assert in_words('eyes', lost) == (
        'eyes does not hear agent, arm and is not heard by arm, for 21 s, though all of them are '
        'there')


# The keeper.

def told(keeper: Keeper, pids: dict[str, int]):
    """What nodes write into the pipe."""
    return lambda node, hears: keeper.read(json.dumps(
        {'node': node, 'pid': pids[node], 'hears': sorted(hears)}).encode())


def kept(clock: Clock, **may: bool) -> tuple[Keeper, dict[str, int]]:
    keeper = Keeper({node: may.get(node, True) for node in NODES}, clock)
    pids = {node: number for number, node in enumerate(NODES, 1)}
    for node, pid in pids.items():
        keeper.started(node, pid)
    return keeper, pids


def test_a_keeper_restarts_a_deaf_node_and_gives_up_in_the_end() -> None:
    clock, hears = Clock(), all_hear()
    keeper, pids = kept(clock)
    hears['eyes'].clear()
    for number in range(1, RESTARTS + 1):
        say(told(keeper, pids), clock, hears, LOST_S)
        assert keeper.verdict() is None and not keeper.whole()
        say(told(keeper, pids), clock, hears, 1)
        verdict = keeper.verdict()
        assert verdict and (verdict.node, verdict.restart) == ('eyes', True)
        assert 'eyes does not hear agent, arm, planner, recorder, for 20 s' in verdict.words
        assert verdict.words.endswith(f'restarting it ({number} of {RESTARTS})')
        pids['eyes'] += 10
        keeper.started('eyes', pids['eyes'])
        assert keeper.verdict() is None
    say(told(keeper, pids), clock, hears, LOST_S + 1)
    verdict = keeper.verdict()
    assert verdict and not verdict.restart
    assert f'{RESTARTS} restarts have not helped' in verdict.words


def test_what_is_missing_since_a_node_started_later_tells_as_well_who_is_deaf() -> None:
    """By the first pair alone it might be the agent."""
    clock, hears = Clock(), {'agent': {'eyes'}, 'eyes': set()}
    keeper, pids = kept(clock, eyes=False)
    say(told(keeper, pids), clock, hears, 5)
    later = all_hear(('agent', 'arm', 'eyes', 'planner')) | {'eyes': set()}
    say(told(keeper, pids), clock, later, LOST_S - 4)
    verdict = keeper.verdict()
    assert verdict and (verdict.node, verdict.restart) == ('eyes', False)
    assert 'eyes does not hear agent, arm, planner' in verdict.words


def test_a_keeper_is_content_with_a_whole_graph() -> None:
    clock = Clock()
    keeper, pids = kept(clock)
    assert not keeper.whole(), 'nobody has said anything'
    say(told(keeper, pids), clock, all_hear(), 1)
    assert keeper.whole() and keeper.verdict() is None and keeper.stale_nodes() == []
    clock.now += HEARD_S + 1
    assert not keeper.whole()
    clock.now += SILENT_S
    assert keeper.stale_nodes() == sorted(NODES)


def test_what_must_not_be_restarted_ends_the_graph() -> None:
    clock, hears = Clock(), all_hear()
    keeper, pids = kept(clock, arm=False)
    hears['arm'].clear()
    say(told(keeper, pids), clock, hears, LOST_S + 1)
    verdict = keeper.verdict()
    assert verdict and (verdict.node, verdict.restart) == ('arm', False)
    assert 'must not be restarted' in verdict.words


def test_where_an_arm_and_another_do_not_meet_the_other_is_restarted_first() -> None:
    clock, hears = Clock(), all_hear()
    keeper, pids = kept(clock, arm=False)
    hears['arm'].remove('eyes')
    say(told(keeper, pids), clock, hears, LOST_S + 1)
    verdict = keeper.verdict()
    assert verdict and (verdict.node, verdict.restart) == ('eyes', True)
    keeper.started('eyes', pids['eyes'])
    say(told(keeper, pids), clock, hears, LOST_S + 1)
    verdict = keeper.verdict()
    assert verdict and (verdict.node, verdict.restart) == ('arm', False)


def test_who_is_no_node_of_the_graph_is_nothing_to_a_keeper() -> None:
    clock, hears = Clock(), all_hear()
    keeper, pids = kept(clock)
    for node in ('agent', 'arm'):
        hears[node].add('console')
    say(told(keeper, pids), clock, hears, LOST_S + 5)
    assert keeper.whole() and keeper.verdict() is None


# Each node with a launcher of its own, as in containers.

class Apart:
    """Nodes whose launchers know of the others what their own node passes on."""

    def __init__(self, **may: bool) -> None:
        self.clock, self.hears = Clock(), all_hear()
        self.keepers = {node: Keeper({name: may.get(name, True) for name in NODES}, self.clock)
                        for node in NODES}
        for node, keeper in self.keepers.items():
            keeper.started(node, 1)

    def say(self, seconds: float) -> None:
        def take(node: str, hears: set[str]) -> None:
            self.keepers[node].read(json.dumps({
                'node': node, 'pid': 1, 'hears': sorted(hears),
                'others': {one: sorted(self.hears[one]) for one in hears}}).encode())
        say(take, self.clock, self.hears, seconds)

    def verdicts(self) -> dict[str, bool]:
        """Which node is to be restarted, or ends, by its own launcher."""
        found = {}
        for node, keeper in self.keepers.items():
            verdict = keeper.verdict()
            if verdict is not None:
                assert verdict.node == node
                found[node] = verdict.restart
        return found


def test_launchers_of_one_node_each_are_content_with_a_whole_graph() -> None:
    graph = Apart()
    graph.say(3 * LOST_S)
    assert graph.verdicts() == {}
    graph.hears = {node: heard - {'arm'} for node, heard in graph.hears.items() if node != 'arm'}
    graph.say(3 * LOST_S)  # it has ended, or is cut off: nobody hears it
    assert graph.verdicts() == {} and graph.keepers['agent'].stale_nodes() == []


@given(st.sampled_from(NODES), st.data())
def test_who_does_not_meet_the_others_is_found_by_its_own_launcher(bad: str, data) -> None:
    graph = Apart(arm=False, agent=False)
    others = [node for node in NODES if node != bad]
    deaf_to = data.draw(st.sets(st.sampled_from(others), max_size=len(others) - 1))
    dumb_for = data.draw(st.sets(st.sampled_from(others), min_size=not deaf_to))
    graph.hears[bad] -= deaf_to
    for node in dumb_for:
        graph.hears[node].remove(bad)
    graph.say(LOST_S)
    assert graph.verdicts() == {}, 'not yet'
    graph.say(2)
    found = graph.verdicts()
    # Who does not hear it does not know what else it lacks, and may find itself at fault, too.
    assert found and found.keys() <= {bad} | deaf_to | dumb_for
    assert all(restart is (node not in ('arm', 'agent')) for node, restart in found.items())
    if len(deaf_to) > 1 or (not dumb_for & deaf_to and len(deaf_to | dumb_for) > 1):
        assert bad in found


def test_of_two_that_do_not_meet_one_is_restarted() -> None:
    graph = Apart(arm=False, agent=False)
    graph.hears['agent'].remove('planner')
    graph.hears['planner'].remove('agent')
    graph.say(LOST_S + 2)
    assert graph.verdicts() == {'planner': True}


def test_launchers_that_restart_in_vain_give_up() -> None:
    """They choose the same node each time: none of them knows how often another was restarted."""
    graph = Apart(arm=False, agent=False)
    graph.hears['planner'].remove('agent')
    for _ in range(RESTARTS):
        graph.say(LOST_S + 2)
        assert graph.verdicts() == {'planner': True}
        graph.keepers['planner'].started('planner', 1)
    graph.say(LOST_S + 2)
    assert graph.verdicts() == {'planner': False}


def alone(may_restart: bool = True) -> tuple[Clock, Keeper]:
    """A launcher of the planner, which hears nobody from the start."""
    clock = Clock()
    keeper = Keeper(dict.fromkeys(NODES, False) | {'planner': may_restart}, clock)
    keeper.started('planner', 1)
    return clock, keeper


def planner_hears(keeper: Keeper, clock: Clock, seconds: float, hears=frozenset()) -> None:
    say(told(keeper, {'planner': 1}), clock, {'planner': set(hears)}, seconds)


OTHERS = {node: set(NODES) - {node, 'planner'} for node in NODES if node != 'planner'}


@pytest.mark.parametrize('may_restart', [True, False])
def test_who_hears_nobody_is_deaf_if_others_are_heard_beside_it(may_restart) -> None:
    clock, keeper = alone(may_restart)
    planner_hears(keeper, clock, LOST_S)
    assert not keeper.alone()
    planner_hears(keeper, clock, 1)
    assert keeper.alone() and not keeper.alone(), 'one at a time'
    keeper.heard_beside(OTHERS)
    planner_hears(keeper, clock, LOST_S - 1)
    assert keeper.verdict() is None, 'they may have started just now'
    planner_hears(keeper, clock, 1)
    verdict = keeper.verdict()
    assert verdict and (verdict.node, verdict.restart) == ('planner', may_restart)
    assert ('planner does not hear agent, arm, eyes, recorder and is not heard by agent, arm, '
            'eyes, recorder, for 40 s') in verdict.words
    keeper.started('planner', 1)
    keeper.heard_beside(OTHERS)  # of a listening that ended after the restart
    planner_hears(keeper, clock, LOST_S)
    assert keeper.verdict() is None and not keeper.alone()
    planner_hears(keeper, clock, 1)
    assert keeper.verdict() is None and keeper.alone(), 'it is listened for it anew'


def test_who_hangs_is_not_deaf() -> None:
    clock, keeper = alone()
    planner_hears(keeper, clock, LOST_S + 1)
    keeper.heard_beside(OTHERS)
    clock.now += 2 * LOST_S
    assert keeper.verdict() is None and keeper.stale_nodes() == ['planner']


def test_who_hears_nobody_is_not_deaf_if_nobody_is_there_or_is_heard_in_time() -> None:
    clock, keeper = alone()
    times = []
    for _ in range(3600):
        planner_hears(keeper, clock, 1)
        if keeper.alone():
            times.append(round(clock.now - 100.0))
            keeper.heard_beside({'console': {'rviz'}, 'planner': set()})  # none of the graph
        assert keeper.verdict() is None
    assert times[:4] == [21, 41, 81, 161] and times[-1] - times[-2] == 600, 'ever more seldom'
    keeper.heard_beside(OTHERS)
    planner_hears(keeper, clock, LOST_S - 1)
    planner_hears(keeper, clock, 1, {'agent'})
    planner_hears(keeper, clock, LOST_S - 1)
    assert keeper.verdict() is None and not keeper.alone()


def test_a_launcher_of_several_nodes_or_of_a_whole_graph_need_not_listen() -> None:
    clock = Clock()
    keeper, pids = kept(clock)
    single = Keeper({'eyes': True}, clock)
    single.started('eyes', 1)
    say(told(keeper, pids), clock, {node: set() for node in NODES}, 3 * LOST_S)
    say(told(single, {'eyes': 1}), clock, {'eyes': set()}, 3 * LOST_S)
    assert not keeper.alone() and not single.alone()


@pytest.mark.parametrize('line', [
    b'', b'\n', b'{', b'[]', b'3', b'{"node": "eyes"}', b'{"node": [], "pid": 3, "hears": []}',
    b'{"node": "eyes", "pid": 3, "hears": 7}', b'\xff\xfe',
    b'{"node": "eyes", "pid": 3, "hears": [], "others": []}',
    b'{"node": "eyes", "pid": 99, "hears": ["agent", "arm", "planner", "recorder"]}'])
def test_what_is_not_said_by_a_node_of_now_is_dropped(line: bytes) -> None:
    clock, hears = Clock(), all_hear()
    keeper, pids = kept(clock)
    del hears['eyes']
    say(told(keeper, pids), clock, hears, 1)
    keeper.read(line)
    assert not keeper.whole()


def has_said(keeper: Keeper, node: str) -> bool:
    with keeper._lock:
        return node in keeper._hearing.table()


def test_the_pipe() -> None:
    keeper = Keeper({'eyes': True, 'agent': True})
    for node in ('eyes', 'agent'):
        keeper.started(node, os.getpid())
    with Pipe(keeper) as pipe:
        reporter = Reporter({PIPE_VARIABLE: str(pipe.writing)})
        reporter.tell('eyes', ['agent'] * 2000, {})  # too long to be whole
        reporter.tell('agent', [], {'eyes': {str(k) for k in range(2000)}})  # without the rest
        while not has_said(keeper, 'agent'):
            time.sleep(0.01)
        reporter.tell('agent', ['eyes'], {'eyes': {'agent'}})
        while not has_said(keeper, 'agent'):
            time.sleep(0.01)
        assert not keeper.whole()
        reporter.tell('eyes', ['agent'], {})
        while not keeper.whole():
            time.sleep(0.01)


def test_without_a_pipe_nothing_is_told(tmp_path) -> None:
    with open(tmp_path / 'file', 'w') as file:
        for given in ('', 'x', '-1', '987654', str(file.fileno())):
            Reporter({PIPE_VARIABLE: given}).tell('eyes', ['agent'], {})
    assert (tmp_path / 'file').read_text() == ''
    Reporter({}).tell('eyes', ['agent'], {})
