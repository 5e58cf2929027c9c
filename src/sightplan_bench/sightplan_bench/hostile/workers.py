"""Worker processes that read spoilt input, and may hang, crash or use up memory.

A worker makes each input itself from the seed and the input's number, writes it below a folder,
reads it, and says what became of it. Where it ends, or is not done within the limit, the input
that it had begun is to blame, and another worker goes on.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import json
import multiprocessing
import os
import random
import resource
import shutil
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import connection
from pathlib import Path
from typing import Any

from sightplan_bench.hostile.catalogue import targets
from sightplan_bench.hostile.spoiling import draw_spoilt
from sightplan_bench.hostile.targets import KINDS, Outcome, Seed, Target

LIMIT_S = 5.0
"""Processor time that reading one input may take [s]."""
_PATIENCE = 20
"""Wall-clock limit as a multiple of the processor time's: other processes may keep it busy."""
MEMORY_MIB = 1024
"""Memory that reading one input may take in addition [MiB]."""
_MOST_WORDS = 5000
"""Characters of an error that a person still reads."""
_BATCH = 50
_REPLY = 'reply.txt'
_MIB = 1 << 20


@dataclass(frozen=True)
class Read:
    """Result of reading one input.

    Attributes:
        number: of the input; with the seed it says what the input is (``make_input``).
        target: name of the reader.
        kind: of it.
        outcome: what became of the input.
        ms: processor time of reading [ms].
        mib: memory that reading took in addition, at its peak [MiB].
        error: the reason of a refusal, or of a crash with where it happened.
    """

    number: int
    target: str
    kind: str
    outcome: Outcome
    ms: float = 0.0
    mib: float = 0.0
    error: str = ''

    @property
    def bad(self) -> bool:
        """Whether it must not happen."""
        return self.outcome in (Outcome.CRASHED, Outcome.HUNG)

    @property
    def good(self) -> bool:
        """Whether the input was a good one."""
        return self.number < 0


@dataclass(frozen=True)
class Work:
    """Settings from which workers make the inputs.

    Attributes:
        prepared: folder of ``catalogue.prepare``.
        kinds: of the inputs.
        seed: of all inputs.
        keep: folder for bad inputs; None: they are not kept.
        limit_s, memory_mib: see the module's constants.
    """

    prepared: Path
    kinds: tuple[str, ...] = KINDS
    seed: int = 0
    keep: Path | None = None
    limit_s: float = LIMIT_S
    memory_mib: int = MEMORY_MIB


def make_input(found: Sequence[Target], seed: int, number: int) -> tuple[Target, Seed]:
    """An input: kinds take turns, and the readers of each.

    Args:
        found: all readers.
        seed: of all inputs.
        number: of the input: from 0 of spoilt ones, from -1 downwards of the good ones.
    """
    if number < 0:
        return [(target, good) for target in found for good in target.seeds][number]
    slots = _slots(tuple((target.kind, target.turns) for target in found))
    at, before = slots[number % len(slots)]
    target = found[at]
    turn = number // len(slots) * target.turns + before
    rng = random.Random(f'{seed}/{target.name}/{turn}')
    one, other = rng.choice(target.seeds), rng.choice(target.seeds)
    return target, dataclasses.replace(
        one, content=draw_spoilt(target.form, one.content, other.content, rng.getrandbits(64)))


@functools.lru_cache(maxsize=4)
def _slots(turns: tuple[tuple[str, int], ...]) -> list[tuple[int, int]]:
    """Reader of each input of a round, and the number of its earlier inputs in the round."""
    most = max(count for _, count in turns)
    queues: dict[str, list[tuple[int, int]]] = {}
    for turn in range(most):
        for at, (kind, count) in enumerate(turns):
            if turn < count:
                queues.setdefault(kind, []).append((at, turn))
    return [slot for slots in itertools.zip_longest(*queues.values()) for slot in slots if slot]


# ------------------------------------------------------------------------------------- reading


class Desk:
    """Writes inputs into a folder and reads them.

    Args:
        folder: empty, for the files.
        memory_mib: see ``MEMORY_MIB``.
        limit_s: see ``LIMIT_S``.
    """

    def __init__(self, folder: Path, memory_mib: int = MEMORY_MIB, limit_s: float = LIMIT_S,
                 ) -> None:
        self._folder, self._memory_mib, self._limit_s = folder, memory_mib, limit_s
        self._places: dict[tuple[str, str, int], Path] = {}
        self._made = 0

    def read(self, number: int, target: Target, given: Seed, place: Path | None = None) -> Read:
        """Read one input, which ``write`` may have written to a place before."""
        what = _given(given, self.write(target, given) if place is None else place)
        before = _peak_mib(reset=True)
        begin = time.process_time()
        outcome, error = _outcome(target, given, what)
        ms = 1e3 * (time.process_time() - begin)
        mib = max(0.0, _peak_mib() - before)
        if ms > 1e3 * self._limit_s:
            outcome, error = Outcome.HUNG, f'took {ms / 1e3:.1f} s ({error or outcome})'
        if mib > self._memory_mib and outcome not in (Outcome.CRASHED, Outcome.HUNG):
            outcome, error = Outcome.CRASHED, f'took {mib:.0f} MiB ({error or outcome})'
        return Read(number, target.name, target.kind, outcome, round(ms, 3), round(mib, 1), error)

    def write(self, target: Target, given: Seed) -> Path:
        """Write an input; returns the folder with its files."""
        key = target.name, given.name, id(given.beside)
        place = self._folder / f'{self._made}'  # a new one, for readers that keep what they read
        self._made += 1
        if key in self._places:
            self._places[key].rename(place)
        else:
            write(place, given)
        self._places[key] = place
        (place / (given.name or _REPLY)).write_bytes(given.content)
        return place


def _given(given: Seed, place: Path) -> Any:
    """Argument for a reader: a path, or a text as a model would reply it."""
    if not given.name:
        return _text(given.content)
    return place / (given.name if given.given is None else given.given)


def write(folder: Path, given: Seed) -> None:
    """Write an input with all that is beside it."""
    for name, content in {**given.beside, given.name or _REPLY: given.content}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def _text(content: bytes) -> str:
    try:
        return content.decode('utf-8', 'surrogatepass')
    except UnicodeDecodeError:
        return content.decode('utf-8', 'surrogateescape')


def _outcome(target: Target, given: Seed, what: Any) -> tuple[Outcome, str]:
    try:
        return target.read(what) or Outcome.ACCEPTED, ''
    except target.refusals as error:
        unclear = _unclear(str(error), given, what)
        return (Outcome.CRASHED, f'{unclear}: {str(error)[:_MOST_WORDS]!r}') if unclear else (
            Outcome.REFUSED, str(error))
    except Exception as error:
        return Outcome.CRASHED, f'{_place(error)}{type(error).__name__}: {str(error)[:2000]}'


def _unclear(words: str, given: Seed, what: Any) -> str:
    """Explain why an error message does not help a person; '' if it does."""
    if not words.strip():
        return 'an error without words'
    if len(words) > _MOST_WORDS:
        return f'an error of {len(words)} characters'
    try:
        words.encode()
    except UnicodeEncodeError:
        return 'an error that cannot be printed'
    if given.name and not any(name and name in words for name in (
            Path(given.name).name, Path(given.name).stem, Path(str(what)).name)):
        return 'an error that does not name the file'
    return ''


def _place(error: BaseException) -> str:
    """Our lines and the last one of where an error came from."""
    found = traceback.extract_tb(error.__traceback__)
    ours = [line for line in found if f'{os.sep}sightplan' in line.filename
            and f'{os.sep}hostile{os.sep}' not in line.filename]
    shown = [*ours[-3:], *found[-1:]]
    return ''.join(dict.fromkeys(
        f'{Path(line.filename).name}:{line.lineno} ' for line in shown))


def _peak_mib(reset: bool = False) -> float:
    """Largest memory of this process so far, or since it was last reset [MiB]."""
    if reset:
        with contextlib.suppress(OSError):
            Path('/proc/self/clear_refs').write_text('5')
    for line in Path('/proc/self/status').read_text().splitlines():
        if line.startswith('VmHWM:'):
            return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


# ------------------------------------------------------------------------------------- workers


def _serve(work: Work, folder: Path, line: Any) -> None:
    """Worker process: read inputs as ordered, until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter('ignore')
    sys.stdout = sys.stderr = open(os.devnull, 'w')  # noqa: SIM115 - for good
    for number in (1, 2):  # libraries in C write there
        os.dup2(sys.stdout.fileno(), number)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        found = targets(work.prepared, work.kinds)
    except Exception:
        line.send(traceback.format_exc())
        return
    desk = Desk(folder, work.memory_mib, work.limit_s)
    for target in found:  # load it now, so that its memory counts for no input
        desk.read(-1, target, target.seeds[0])
    used = int(Path('/proc/self/statm').read_text().split()[0]) * resource.getpagesize()
    most = used + (work.memory_mib + 256) * _MIB
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    line.send(len(found))
    with contextlib.suppress(EOFError):
        while True:
            for number in line.recv():
                try:
                    target, given = make_input(found, work.seed, number)
                    place = desk.write(target, given)
                except Exception:
                    line.send(f'input {number} cannot be made: {traceback.format_exc()}')
                    return
                line.send(_Begun(number, target.name, target.kind, place, given.name,
                                 given.given))
                line.send(desk.read(number, target, given, place))
            line.send(None)


@dataclass(frozen=True)
class _Begun:
    """Announcement of a worker: the input that it is about to read, its reader and place."""

    number: int
    target: str
    kind: str
    place: Path
    file: str
    given: str | None


class _Worker:
    """A process that reads inputs, and its present input."""

    def __init__(self, work: Work, folder: Path) -> None:
        self._work, self._folder = work, folder
        folder.mkdir(parents=True)
        context = multiprocessing.get_context('spawn')
        self.line, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(work, folder, theirs), daemon=True)
        self._process.start()
        theirs.close()
        self.ready = False
        self.left: list[int] = []
        self._begun: _Begun | None = None
        self.reading = False
        self._since = 0.0

    def give(self, numbers: Sequence[int]) -> None:
        """Let it read inputs."""
        self.left = list(numbers)
        self.line.send(self.left)

    def take(self) -> Read | None:
        """Next message of the worker; None if it is not a result.

        Raises:
            EOFError: it has ended.
            RuntimeError: it could not begin, or could not make an input.
        """
        said = self.line.recv()
        if isinstance(said, str):
            raise RuntimeError(f'a worker cannot go on: {said}')
        if isinstance(said, Read):
            self.reading = False
            self.left.remove(said.number)
            return self._kept(said)
        if isinstance(said, _Begun):
            self._begun, self.reading = said, True
            self._since = time.monotonic()
        else:
            self.ready = True
        return None

    @property
    def late(self) -> bool:
        """Whether it has not been done with an input within the limit and some patience."""
        return self.reading and (time.monotonic() - self._since
                                 > _PATIENCE * self._work.limit_s)

    def end(self, outcome: Outcome) -> Read | None:
        """End the process; returns the result of the input that it was reading."""
        self._process.kill() if outcome is Outcome.HUNG else self._process.join(10)
        self._process.join()
        self.line.close()
        code = self._process.exitcode or 0
        bad = None
        if self.reading and self._begun is not None:
            self.left.remove(self._begun.number)
            ms = 1e3 * (time.monotonic() - self._since)
            why = ('is not done within the limit' if outcome is Outcome.HUNG else
                   f'the process ended with {signal.Signals(-code).name if code < 0 else code}')
            bad = self._kept(Read(self._begun.number, self._begun.target, self._begun.kind,
                                  outcome, round(ms, 3), error=why))
        shutil.rmtree(self._folder, ignore_errors=True)
        return bad

    def _kept(self, read: Read) -> Read:
        """Return a result; the input of a bad one is kept."""
        begun, folder = self._begun, self._work.keep
        if read.bad and folder is not None and begun is not None:
            number = f'good{-read.number:05}' if read.good else f'{read.number:06}'
            place = folder / f'{number}-{read.target.replace("/", "-").replace(" ", "_")}'
            shutil.copytree(begun.place, place / 'input', dirs_exist_ok=True)
            (place / 'read.json').write_text(json.dumps({
                **dataclasses.asdict(read), 'file': begun.file, 'given': begun.given},
                indent=1) + '\n')
        return read


def read_all(work: Work, numbers: Sequence[int], scratch: Path, workers: int = 1,
             ) -> Iterator[Read]:
    """Read inputs, in no order.

    Args:
        work: what they are.
        numbers: of the inputs.
        scratch: folder for what the workers write.
        workers: how many read at the same time.
    """
    waiting = [list(numbers[at:at + _BATCH]) for at in range(0, len(numbers), _BATCH)][::-1]
    made, busy = 0, list[_Worker]()
    try:
        while waiting or busy:
            while waiting and len(busy) < workers:
                busy.append(_Worker(work, scratch / f'worker{made}'))
                made += 1
            ready = connection.wait([worker.line for worker in busy], timeout=0.2)
            for worker in list(busy):
                read = None
                if worker.line in ready:
                    try:
                        read = worker.take()
                    except (EOFError, ConnectionError):
                        if not worker.ready:
                            raise RuntimeError('a worker ended before it began') from None
                        if not worker.reading:
                            raise RuntimeError('a worker ended while it read nothing') from None
                        read = _over(worker, Outcome.CRASHED, busy, waiting)
                elif worker.late:
                    read = _over(worker, Outcome.HUNG, busy, waiting)
                if read is not None:
                    yield read
                elif worker in busy and worker.ready and not worker.left:
                    if waiting:
                        worker.give(waiting.pop())
                    else:
                        busy.remove(worker)
                        worker.line.send([])
                        worker.end(Outcome.HUNG)
    finally:
        for worker in busy:
            worker.end(Outcome.HUNG)


def _over(worker: _Worker, outcome: Outcome, busy: list[_Worker],
          waiting: list[list[int]]) -> Read | None:
    """End a worker; its unread inputs go to another one."""
    busy.remove(worker)
    read = worker.end(outcome)
    if worker.left:
        waiting.append(worker.left)
    return read


def read_again(folder: Path, prepared: Path) -> list[Read]:
    """Read kept inputs again, in this process.

    Args:
        folder: where workers kept them (``Work.keep``).
        prepared: folder of ``catalogue.prepare``, for all kinds.
    """
    known = {target.name: target for target in targets(prepared)}
    found = []
    for about in sorted(folder.glob('*/read.json')):
        data, place = json.loads(about.read_text()), about.parent / 'input'
        target = known.get(data['target'])
        if target is None:
            continue
        given = Seed((place / (data['file'] or _REPLY)).read_bytes(), data['file'], {},
                     data['given'])
        what = _given(given, place)
        begin = time.process_time()
        outcome, error = _outcome(target, given, what)
        found.append(Read(data['number'], target.name, target.kind, outcome,
                          round(1e3 * (time.process_time() - begin), 3), error=error))
    return found
