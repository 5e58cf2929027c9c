"""Tiny puzzles that are played over HTTP, for tests of ``sightplan play``."""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
import time
from concurrent.futures import Future

from labelling_case import running
from sightplan.agent.methods.human import Policy, Settings
from sightplan.domains import load_domain
from sightplan.runs import RunSettings, run
from sightplan_report.playing import Game
from sightplan_report.playing.server import PlayServer

RED, BLUE = 'red_cube', 'blue_sphere'
KEYS = {'version', 'phase', 'player', 'puzzle', 'puzzles', 'solved', 'moves', 'budget', 'waiting',
        'pieces', 'example', 'now', 'goal', 'goal_beside', 'log', 'verdict', 'stops_at_goal',
        'rules'}
SMALL = {'view': '2d', 'width': 96, 'height': 72, 'supersampling': 1, 'look': 0.0}


def puzzle(red_goal):
    """A board of 2 x 2 cells: a red cube at a1, below a blue sphere that is to stay at a2."""
    return {'grid_size': 2, 'landmarks': [
        {'geom_nr': 1, 'body': 'cube', 'color': 'red', 'start_coordinate': [0, 0],
         'goal_coordinate': red_goal},
        {'geom_nr': 2, 'body': 'sphere', 'color': 'blue', 'start_coordinate': [0, 1],
         'goal_coordinate': [0, 1]}]}


def write_puzzles(folder):
    """One puzzle that is solved by one move, and one that takes two; the folder."""
    folder.mkdir()
    (folder / 'secret_c1_1.json').write_text(json.dumps(puzzle([1, 0])))
    (folder / 'secret_c1_2.json').write_text(json.dumps(puzzle([1, 1])))
    return folder


def settings_for(folder, **values):
    """Settings of a run of the puzzles of ``folder / 'puzzles'``."""
    if not (folder / 'puzzles').exists():
        write_puzzles(folder / 'puzzles')
    return RunSettings(**{
        'domain': 'sliding', 'problems': str(folder / 'puzzles'), 'method': 'human',
        'goal': 'pictured', 'stop_at_goal': 'yes', 'out': str(folder / 'run'),
        'world_options': SMALL, **values})


class Session:
    """A run that a person plays, and their requests."""

    def __init__(self, settings, player='ann', goal_beside=False):
        self.game = Game(load_domain('sliding'), player, goal_beside)
        self.server = PlayServer(self.game)
        self.summary: Future = Future()
        self.settings = settings

    def work(self):
        try:
            self.summary.set_result(run(
                self.settings, self.game, cancelled=lambda: self.game.closed,
                recorders=[self.game], policy=Policy(Settings(), self.game)))
        except BaseException as error:
            self.summary.set_exception(error)
        self.game.ended()

    def ask(self, where, content=None, token=None, **headers):
        """Status, media type and body of a reply; JSON is decoded."""
        connection = http.client.HTTPConnection('127.0.0.1', self.server.server_port, timeout=240)
        sent = {'Content-Type': 'application/json'} | headers
        body = content if content is None or isinstance(content, bytes) else (
            json.dumps(content).encode())
        try:
            connection.request('GET' if body is None else 'POST',
                               f'/{self.server.token if token is None else token}/{where}', body,
                               sent)
            reply = connection.getresponse()
            kind, data = reply.getheader('Content-Type'), reply.read()
            return reply.status, kind, json.loads(data) if 'json' in kind else data
        finally:
            connection.close()

    def say(self, where, **content):
        """Post about the puzzle that is shown; the reply must be a state."""
        status, _, told = self.ask(where, {'puzzle': self.state()['puzzle'], **content})
        assert status == 200, told
        return told

    def state(self, known=None):
        """The state, a later one than ``known``."""
        status, _, told = self.ask('state' if known is None else f'state/{known}')
        assert status == 200, told
        return told

    def until(self, wanted):
        """The first state that is as wanted; fails if none is within a minute."""
        told, give_up = self.state(), time.monotonic() + 60
        while not wanted(told):
            assert time.monotonic() < give_up, told
            told = self.state(told['version'])
        return told

    def settled(self):
        """The state once no move is under way."""
        return self.until(lambda told: not told['waiting'])

    def begin(self):
        """Begin the next puzzle; its first state."""
        before = self.until(lambda told: told['phase'] in ('ready', 'over'))
        self.say('go_on')
        return self.until(lambda told: told['phase'] == 'playing'
                          and told['version'] > before['version'])


@contextlib.contextmanager
def playing(settings, player='ann', goal_beside=False):
    """A session, while it runs."""
    session = Session(settings, player, goal_beside)
    thread = threading.Thread(target=session.work)
    with running(session.server):
        thread.start()
        try:
            yield session
        finally:
            session.game.close()
            thread.join()
