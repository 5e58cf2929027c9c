"""Episodes in the Rerun viewer, while they run or out of a bag: image, belief, plan, answers.

Rerun (``make extras``) shows what was logged along time lines: ``world_time`` (of the world, in
one line over all episodes of a recording), ``step`` (actions so far, over all of them, too),
``event`` (one more each time something happens) and the wall clock, ``log_time``.

==================  ===========================================================================
entity              what it is
==================  ===========================================================================
``episode``         problem, goal, method; how it ended
``camera/image``    the picture of the last observation, as models were shown it
``belief/atoms``    P(true) of each atom, those most in doubt first
``belief/state``    the state that the agent acts on
``belief/doubt``    what is left to learn: sum of the atoms' binary entropies [bit]
``answers/last``    questions about the last picture, with answers and P(yes)
``answers/log``     one line per question; one that went against expectation is a warning
``plan``            the planner's plan, or the model's proposal
``action``          the last action and what the world said to it
``log``             one line per event
``truth``           true atoms at the last observation; only where it is asked for
==================  ===========================================================================

Texts that come from models are data: their Markdown is escaped.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from sightplan.model import (
    Asked,
    Atom,
    BeliefUpdated,
    EpisodeEnded,
    EpisodeEvent,
    EpisodeStarted,
    FeedbackStatus,
    GoalAdopted,
    InfrastructureError,
    InputError,
    ModelKnown,
    Observed,
    Planned,
    PlanningStatus,
    ProblemAdopted,
    Proposed,
    Stepped,
    TruthSource,
    Verdict,
    counted,
    user_path,
)
from sightplan.model.event_handler import EventHandler

if TYPE_CHECKING:
    from sightplan.records.recorded import RecordedEpisode

_LOG = logging.getLogger(__name__)

APPLICATION = 'sightplan'
SPAWN = 'spawn'
SUFFIX = '.rrd'
PORT = 9876
TARGETS = f'FILE{SUFFIX}, "{SPAWN}" (a viewer on this machine) or the URL of one that runs'

WORLD_TIME, STEP, EVENT = 'world_time', 'step', 'event'
EPISODE, IMAGE, PLAN, ACTION, LOG, TRUTH = (
    'episode', 'camera/image', 'plan', 'action', 'log', 'truth')
BELIEF_ATOMS, BELIEF_STATE, BELIEF_DOUBT = 'belief/atoms', 'belief/state', 'belief/doubt'
ANSWERS, ANSWERS_LOG = 'answers/last', 'answers/log'

_URL = re.compile(r'rerun(\+https?)?://')
_GAP_S = 1.0  # between episodes whose worlds start their time anew
_FLUSH_S = 5.0
_START_S, _SETTLE_S = 20.0, 2.0
_SURE = 0.02
_MARKDOWN = re.compile(r'([\\`*_{}\[\]()#+!|<>~-])')


def check_target(target: str) -> str:
    """Check the destination of a log, and return it; see ``TARGETS``.

    Raises:
        InputError: it is neither, or the file is there already.
    """
    if target == SPAWN or _URL.match(target):
        return target
    if not target.endswith(SUFFIX):
        raise InputError(f'rerun {target!r}: must be {TARGETS}, for example '
                         'rerun+http://127.0.0.1:9876/proxy')
    if user_path(target).exists():
        raise InputError(f'{target}: exists already; remove it, or choose another file')
    return target


class RerunLog(EventHandler):
    """Recorder that logs events to Rerun. Use as a context manager, or call ``close``.

    A file is readable at any time, whatever happens to this process: it is written after each
    event. A viewer that goes away, or a full disk, disturbs no episode.
    """

    def __init__(self, target: str, truth: TruthSource | None = None) -> None:
        """Open the file, start the viewer, or connect to one.

        Args:
            target: see ``TARGETS``.
            truth: ground truth to log beside what the agent knows; None (as it should be, unless
                somebody is looking for a mistake): it is not logged.

        Raises:
            InputError: a wrong target, or rerun-sdk is not installed.
            InfrastructureError: the file cannot be written, or the viewer cannot be started.
        """
        check_target(target)
        self._rr = _rerun()
        self._truth, self._target = truth, target
        self._to_file = target.endswith(SUFFIX)
        self._stream = self._opened(target)
        self._broken, self._empty = False, True
        self._event = self._step = 0
        self._time_s = self._offset_s = 0.0
        self._new_episode = False
        self._image_id = ''
        self._about: list[str] = []

    def __enter__(self) -> RerunLog:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _opened(self, target: str) -> Any:
        stream = self._rr.RecordingStream(APPLICATION)
        blueprint = _blueprint(self._truth is not None)
        try:
            if self._to_file:
                path = user_path(target)
                path.parent.mkdir(parents=True, exist_ok=True)
                stream.save(str(path), default_blueprint=blueprint)
            else:
                stream.connect_grpc(_viewer() if target == SPAWN else _reachable(target),
                                    default_blueprint=blueprint)
        except (OSError, RuntimeError, ValueError) as error:
            raise InfrastructureError(f'rerun {target!r}: {error}') from error
        return stream

    def record(self, event: EpisodeEvent) -> None:
        """Log one event of the episode loop."""
        self._empty = False
        super().record(event)
        if self._to_file:
            self._flush()

    def close(self) -> None:
        """Finish the file, or let go of the viewer; a file without an event is removed."""
        self._flush()
        self._stream.disconnect()
        if self._to_file and self._empty:
            user_path(self._target).unlink(missing_ok=True)

    def _flush(self) -> None:
        if self._broken:
            return
        try:
            self._stream.flush(timeout_sec=_FLUSH_S)
        except Exception as error:
            self._broken = True
            _LOG.warning('rerun: what follows is not shown: %s', error)

    # The time lines.

    def _at(self, stamp_ns: int = 0) -> None:
        """Set the time lines of the next entry; 0 keeps the world's time."""
        if stamp_ns:
            now_s = stamp_ns * 1e-9
            if self._new_episode:
                if now_s + self._offset_s < self._time_s:
                    self._offset_s = self._time_s + _GAP_S - now_s
                self._new_episode = False
            self._time_s = max(self._time_s, now_s + self._offset_s)
        self._stream.set_time(WORLD_TIME, duration=self._time_s)
        self._stream.set_time(STEP, sequence=self._step)
        self._stream.set_time(EVENT, sequence=self._event)
        self._event += 1

    def _text(self, entity: str, lines: Iterable[str]) -> None:
        self._stream.log(entity, self._rr.TextDocument('\n'.join(lines),
                                                       media_type='text/markdown'))

    def _line(self, text: str, level: str = 'INFO', entity: str = LOG) -> None:
        self._stream.log(entity, self._rr.TextLog(text, level=level))

    # The events.

    def on_started(self, event: EpisodeStarted) -> None:
        """Start an episode: clear what the last one showed."""
        self._new_episode = True
        self._image_id = ''
        spec = event.spec
        self._at()
        for entity in (BELIEF_ATOMS, BELIEF_STATE, ANSWERS, PLAN, ACTION):
            self._stream.log(entity, self._rr.Clear(recursive=False))
        goal = ', '.join(map(str, spec.problem.goal))
        self._about = [
            f'**{_plain(spec.id)}**', '',
            (f'{_plain(spec.problem.domain_name)}, problem {_plain(spec.problem.name)}, method '
             f'{_plain(spec.method)}, at most {spec.max_actions} actions'), '',
            f'Goal: {_plain(goal)}', '']
        self._text(EPISODE, [*self._about, 'Under way.'])
        self._line(f'episode {spec.id} begins')

    def on_observed(self, event: Observed) -> None:
        """Log the observation and its picture."""
        observation = event.observation
        self._at(observation.stamp_ns)
        if observation.image is not None and observation.image_id != self._image_id:
            self._image_id = observation.image_id
            self._stream.log(IMAGE, self._rr.Image(observation.image))
        visible = observation.visible_objects
        self._line('observation' + (
            '' if visible is None else f': {len(visible)} objects in view'))
        if self._truth is not None:
            state = self._truth.state(observation.stamp_ns)
            self._text(TRUTH, _listed(sorted(state)))

    def on_asked(self, event: Asked) -> None:
        """Log questions and answers, or other queries and replies."""
        self._at(event.observation.stamp_ns)
        if not event.yes_no:
            for query, reply in zip(event.queries, event.replies, strict=True):
                self._line(f'{query.summary()}: {reply.summary()}, {event.seconds:.2f} s',
                           'INFO' if reply.usable else 'WARN')
            return
        what = event.purpose.value + (f' of {event.action}' if event.action else '')
        rows, counts = [], dict.fromkeys(Verdict, 0)
        for question, answer, expected in zip(event.questions, event.answers, event.expected,
                                              strict=True):
            counts[answer.verdict] += 1
            against = expected is not None and answer.verdict is not (
                Verdict.YES if expected else Verdict.NO)
            rows.append(f'| {_plain(question.text)} | {answer.verdict.value}'
                        f'{" (!)" if against else ""} | {answer.p_yes_text(missing="")} | '
                        f'{"" if expected is None else "yes" if expected else "no"} |')
            self._line(f'{question.text} {answer.verdict.value} '
                       f'{answer.p_yes_text(missing="")}',
                       'WARN' if against or answer.verdict is Verdict.UNPARSED else 'INFO',
                       ANSWERS_LOG)
        self._text(ANSWERS, [
            f'{what}, {_plain(event.model)}, {event.seconds:.2f} s', '',
            '| question | answer | P(yes) | expected |', '|---|---|---|---|', *rows])
        given = ', '.join(f'{n} {verdict.value}' for verdict, n in counts.items() if n)
        self._line(f'{what}: {len(event.questions)} questions ({given}), {event.seconds:.2f} s')

    def on_believed(self, event: BeliefUpdated) -> None:
        """Log the belief as a table of atoms."""
        self._at()
        belief = event.belief
        chances = sorted(belief.probabilities.items(),
                         key=lambda item: (1.0 if _certain(item[1]) else abs(item[1] - 0.5),
                                           -item[1], item[0]))
        doubtful = sum(not _certain(p) for _, p in chances)
        self._text(BELIEF_ATOMS, [
            f'{len(chances)} atoms, {doubtful} in doubt', '', '| atom | P(true) | |',
            '|---|---|---|', *(f'| {_plain(str(atom))} | {p:.3f} | {_bar(p)} |'
                               for atom, p in chances)])
        self._text(BELIEF_STATE, _listed(sorted(belief.state)))
        doubt = sum(_entropy_bits(p) for _, p in chances)
        self._stream.log(BELIEF_DOUBT, self._rr.Scalars(doubt))
        self._line(f'belief: {len(belief.state)} atoms true, {doubtful} in doubt')

    def on_planned(self, event: Planned) -> None:
        """Log the plan, or that there is none."""
        self._at()
        result = event.result
        if result.status is PlanningStatus.SOLVED:
            head = f'Plan of {counted(len(result.plan), "action")}' + (
                ', kept' if result.cached else f', {result.seconds:.2f} s')
        else:
            head = f'No plan: {result.status.value}. {result.message}'
        self._text(PLAN, [_plain(head), '', *_numbered(result.plan)])
        self._line(head, 'INFO' if result.status is PlanningStatus.SOLVED else 'WARN')

    def on_proposed(self, event: Proposed) -> None:
        """Log the model's proposed actions."""
        self._at(event.observation.stamp_ns)
        proposal = event.proposal
        head = (f'{proposal.status.value}: {len(proposal.actions)} actions by '
                f'{proposal.model or "the model"}, {proposal.seconds:.2f} s')
        self._text(PLAN, [_plain(head), '', *_numbered(proposal.actions),
                          *(f'\n{_plain(text)}' for text in (proposal.message,
                                                             proposal.explanation) if text)])
        self._line(head, 'INFO' if proposal.actions else 'WARN')

    def on_model_known(self, event: ModelKnown) -> None:
        """Log the model whose error rates are used."""
        self._at()
        self._line(f'answers are judged by the error rates known of {event.model}')

    def on_goal_adopted(self, event: GoalAdopted | ProblemAdopted) -> None:
        """Log the goal, and where it was read."""
        self._at()
        goal = ', '.join(map(str, event.goal))
        self._about[-2] = f'Goal: {_plain(goal)}'
        self._text(EPISODE, [*self._about, 'Under way.'])
        self._line(f'goal adopted, from {event.source}: {goal}')

    def on_problem_adopted(self, event: ProblemAdopted) -> None:
        """Log the goal, and where it was read."""
        self.on_goal_adopted(event)

    def on_stepped(self, event: Stepped) -> None:
        """Log the action and the world's feedback."""
        self._step += 1
        self._at(event.feedback.stamp_ns)
        status = event.feedback.status
        outcome = f'{event.action or "no action"}: {status.value}' + (
            f' ({event.feedback.message})' if event.feedback.message else '')
        self._text(ACTION, [f'Step {event.index + 1}: {_plain(outcome)}, {event.seconds:.2f} s'])
        self._line(f'step {event.index + 1}: {outcome}',
                   'INFO' if status is FeedbackStatus.EXECUTED else 'WARN')

    def on_ended(self, event: EpisodeEnded) -> None:
        """Log how the episode ended."""
        self._at(event.stamp_ns)
        text = f'{event.reason.value}' + (f': {event.message}' if event.message else '')
        head = f'Ended after {event.steps} actions and {event.seconds:.1f} s: '
        self._text(EPISODE, [*self._about, head + _plain(text)])
        self._line(f'episode ended after {event.steps} actions: {text}',
                   'INFO' if event.reason.scored else 'ERROR')


def log_episode(episode: RecordedEpisode, log: RerunLog) -> None:
    """Log an episode out of a bag, with its pictures.

    Args:
        episode: as read from its bag.
        log: where to; opened with ``episode.truth`` if that is to be shown.
    """
    for moment in episode.timeline.moments:
        log.record(moment.event if moment.kind is not Observed or moment.observation is None
                   else Observed(episode.with_image(moment.observation)))


def _rerun() -> Any:
    try:
        import rerun
    except ImportError as error:
        raise InputError('the Rerun viewer needs rerun-sdk, which is not installed; '
                         'run "make extras" or pip install "sightplan_report[rerun]"'
                         ) from error
    return rerun


def _viewer() -> str:
    """Start a viewer, if none listens on this machine yet; returns its URL.

    Rerun's own ``spawn`` listens on all network interfaces; this one on the loopback only.

    Raises:
        InfrastructureError: it does not come up (no display, for example).
    """
    url = f'rerun+http://127.0.0.1:{PORT}/proxy'
    if _listens('127.0.0.1', PORT):
        return url
    process = subprocess.Popen(
        [sys.executable, '-m', 'rerun', '--bind', '127.0.0.1', '--port', str(PORT),
         '--hide-welcome-screen', '--expect-data-soon'],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True)  # it stays when this process ends
    began, listening = time.monotonic(), False
    while time.monotonic() < began + (_SETTLE_S if listening else _START_S):
        if process.poll() is not None:  # which may come after it has begun to listen
            listening = False
            break
        if not listening and _listens('127.0.0.1', PORT):
            began, listening = time.monotonic(), True
        time.sleep(0.05)
    if not listening:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        raise InfrastructureError(
            'the Rerun viewer did not start; is there a display? Give the URL of a viewer on '
            f'another machine instead, or a file: FILE{SUFFIX}')
    return url


def _reachable(url: str) -> str:
    """URL of a viewer, after checking that one listens there.

    Raises:
        InputError: the URL is none.
        InfrastructureError: nothing listens.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or PORT
    except ValueError as error:
        raise InputError(f'rerun {url!r}: {error}') from error
    if not host or not _listens(host, port):
        raise InfrastructureError(f'no Rerun viewer listens at {url}; start one there ("rerun"), '
                                  f'or give a file: FILE{SUFFIX}')
    return url


def _listens(host: str, port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection((host, port), 2.0):
        return True
    return False


def _blueprint(truth: bool) -> Any:
    """The windows: image left, belief and plan right, answers below."""
    import rerun.blueprint as rrb

    def text(origin: str, name: str) -> Any:
        return rrb.TextDocumentView(origin=origin, name=name)

    beliefs = [text(BELIEF_ATOMS, 'Belief'), text(BELIEF_STATE, 'State'),
               rrb.TimeSeriesView(origin=BELIEF_DOUBT, name='Doubt [bit]')]
    return rrb.Blueprint(
        rrb.Vertical(
            rrb.Horizontal(
                rrb.Spatial2DView(origin=IMAGE, name='Camera'),
                rrb.Vertical(text(EPISODE, 'Episode'), text(ACTION, 'Action'),
                             row_shares=[3, 1]),
                rrb.Vertical(rrb.Tabs(*beliefs, *([text(TRUTH, 'Truth')] if truth else [])),
                             text(PLAN, 'Plan'), row_shares=[3, 2]),
                column_shares=[5, 2, 3]),
            rrb.Horizontal(
                text(ANSWERS, 'Answers'),
                rrb.Tabs(rrb.TextLogView(origin=LOG, name='Log'),
                         rrb.TextLogView(origin=ANSWERS_LOG, name='All answers'))),
            row_shares=[3, 2]),
        rrb.TimePanel(timeline=EVENT), collapse_panels=True)


def _plain(text: str) -> str:
    """A text as Markdown shows it unchanged, in one line."""
    return _MARKDOWN.sub(r'\\\1', ' '.join(text.split()))


def _listed(atoms: Sequence[Atom]) -> list[str]:
    return [f'- {_plain(str(atom))}' for atom in atoms] or ['(none)']


def _numbered(plan: Sequence[object]) -> list[str]:
    return [f'{number}. {_plain(str(action))}' for number, action in enumerate(plan, start=1)]


def _certain(p: float) -> bool:
    return min(p, 1.0 - p) < _SURE


def _bar(p: float) -> str:
    return '=' * round(20 * p)


def _entropy_bits(p: float) -> float:
    return -sum(q * math.log2(q) for q in (p, 1.0 - p) if q > 0.0)
