"""The planner's worker process: a plain script that waits with everything loaded.

It reads requests from standard input and writes replies to standard output, one JSON object a
line. Each task is solved in a forked child, which translates the task and then becomes Fast
Downward's search itself, so that a task cannot spoil the next one and there is one process to
kill. Files are kept in memory (memfd): nothing is left behind, however the processes end. When
standard input ends, because the parent closed it or died, the whole process group is killed.

A request with a ``state`` is one of many about the same task: its problem text makes every atom
true that an action can make true, so that Fast Downward's translation of it keeps all of them, and
depends on the state by those alone that no action makes true. The translation is kept, and the
true state put into it.
"""

from __future__ import annotations

import collections
import ctypes
import fcntl
import importlib.util
import io
import json
import os
import resource
import select
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

Request = dict[str, Any]
Solve = Callable[[Request, int], int]
"""Solves a request: writes the plan's lines to a file and returns Fast Downward's exit code."""
Translations = collections.OrderedDict[tuple[str, str], str]
"""The translator's output by the texts of domain and problem, last used last."""

SOLVED, UNSOLVABLE, EXHAUSTED, OUT_OF_MEMORY, OUT_OF_TIME, CRITICAL = 0, 11, 12, 20, 23, 32
_PR_SET_PDEATHSIG = 1
_LOG_BYTES = 4000
_TRANSLATIONS = 32


def _fast_downward() -> Solve:
    """Fast Downward, called directly: its translator in this process, then its search."""
    package = importlib.util.find_spec('up_fast_downward')
    if package is None or not package.submodule_search_locations:
        raise ImportError('package up-fast-downward is missing (pip install up-fast-downward)')
    home = Path(package.submodule_search_locations[0]) / 'downward'
    binary = home / 'builds' / 'release' / 'bin' / 'downward'
    if not os.access(binary, os.X_OK):
        raise ImportError(f'{binary} cannot be run (install up-fast-downward again)')
    sys.path.append(str(home))
    from driver.aliases import ALIASES  # Fast Downward's names for its configurations
    from fast_downward.translate import main as translate
    from fast_downward.translate import options, pddl_parser
    options.set_options(['domain', 'problem'])

    def translated(request: Request) -> str:
        if request['translation'] is not None:
            return str(request['translation'])
        options.get_options().filter_unreachable_facts = 'state' not in request
        task = pddl_parser.open(domain_filename=_in_memory(request['domain']),
                                problem_filename=_in_memory(request['problem']))
        translate.normalize.normalize(task)
        text = io.StringIO()
        translate.pddl_to_sas(task).output(text)
        return text.getvalue()

    def solve(request: Request, plan_fd: int) -> int:  # noqa: RET503 (execv never returns)
        try:
            text = translated(request)
        except MemoryError:
            return OUT_OF_MEMORY
        os.write(request['begun_fd'], b'.')
        search = request['search']
        if 'state' in request:
            _keep(request['translation_fd'], text)
            text, axioms = _started_in(text, frozenset(request['state']))
            search = request['search_with_axioms'] if axioms else search
        arguments = ALIASES.get(search, ['--search', search])
        os.dup2(os.open(_in_memory(text), os.O_RDONLY), 0)
        os.set_inheritable(plan_fd, True)
        os.execv(binary, [str(binary), *arguments, '--internal-plan-file',
                          f'/proc/self/fd/{plan_fd}'])

    return solve


def _unified_planning(engine: str) -> Solve:
    """Plan with any engine of unified-planning, by its name there."""
    from unified_planning.engines import PlanGenerationResultStatus as Status
    from unified_planning.engines import pddl_planner
    from unified_planning.io import PDDLReader
    from unified_planning.shortcuts import OneshotPlanner, get_environment
    get_environment().credits_stream = None
    known = get_environment().factory.engines
    if engine not in known:
        raise ValueError(f'unified-planning has no engine {engine!r} (known: {", ".join(known)})')
    reader = PDDLReader()
    popen = pddl_planner.subprocess.Popen

    def solve(request: Request, plan_fd: int) -> int:
        os.write(request['begun_fd'], b'.')  # nobody knows when an engine begins to search

        def in_our_group(*args: Any, start_new_session: bool = False, **kwargs: Any) -> Any:
            return popen(*args, **kwargs)  # so that it is killed with this process

        pddl_planner.subprocess.Popen = in_our_group
        problem = reader.parse_problem_string(request['domain'], request['problem'])
        with OneshotPlanner(name=engine) as planner:
            result = planner.solve(problem)
        if result.plan is not None:
            lines = ['; found by unified-planning']
            lines += [f'({" ".join(str(part) for part in (a.action.name, *a.actual_parameters))})'
                      for a in result.plan.actions]
            os.write(plan_fd, '\n'.join(lines).encode())
        codes = {Status.SOLVED_SATISFICING: SOLVED, Status.SOLVED_OPTIMALLY: SOLVED,
                 Status.UNSOLVABLE_PROVEN: UNSOLVABLE, Status.UNSOLVABLE_INCOMPLETELY: EXHAUSTED,
                 Status.TIMEOUT: OUT_OF_TIME, Status.MEMOUT: OUT_OF_MEMORY}
        print(f'{engine}: {result.status.name}')
        return codes.get(result.status, CRITICAL)

    return solve


def _started_in(translation: str, state: frozenset[str]) -> tuple[str, bool]:
    """A translated task with another initial state.

    Args:
        translation: Fast Downward's translator output, each atom a variable of its own.
        state: the true atoms (and perhaps others that never change), as ``on(r, g)``.

    Returns:
        the task, and whether it has axioms (derived variables keep their values).

    Raises:
        ValueError: a variable stands for several atoms.
    """
    head, begin, rest = translation.partition('\nbegin_state\n')
    values, end, tail = rest.partition('\nend_state\n')
    changed = values.split('\n')
    axioms = False
    for number, block in enumerate(head.split('\nbegin_variable\n')[1:]):
        _, layer, size, first, second = block.split('\n', 5)[:5]
        if layer != '-1':
            axioms = True
        elif (size, second) == ('2', f'Negated{first}'):
            changed[number] = '0' if first.removeprefix('Atom ') in state else '1'
        else:
            raise ValueError(f'variable {number} is not one atom: {first}, {second}')
    return head + begin + '\n'.join(changed) + end + tail, axioms


def _keep(fd: int, text: str) -> None:
    """Write a text to a file in memory; the seal tells that all of it is there."""
    if fd >= 0:
        with os.fdopen(os.dup(fd), 'w', encoding='utf-8') as file:
            file.write(text)
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)


def _kept(fd: int) -> str | None:
    """The text that ``_keep`` wrote, if it was completed; closes the file."""
    with os.fdopen(fd, encoding='utf-8') as file:
        if not fcntl.fcntl(fd, fcntl.F_GET_SEALS) & fcntl.F_SEAL_WRITE:
            return None
        file.seek(0)
        return file.read()


def _in_memory(text: str) -> str:
    """Path of a new file in memory with this text."""
    fd = os.memfd_create('task')
    with os.fdopen(os.dup(fd), 'w', encoding='utf-8') as file:
        file.write(text)
    return f'/proc/self/fd/{fd}'


def _child(solve: Solve, request: Request, plan_fd: int, log_fd: int, parent: int) -> None:
    """Solve in the forked child; never returns."""
    code = CRITICAL
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(code)
        os.dup2(log_fd, 1)
        os.dup2(log_fd, 2)
        limit = request['memory_bytes']
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        # These timers outlive execv; their signals end the process.
        signal.setitimer(signal.ITIMER_PROF, request.get('cpu_s', 0.0))
        signal.setitimer(signal.ITIMER_REAL, request.get('wall_s', 0.0))
        code = solve(request, plan_fd)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _serve(solve: Solve, request: Request, translations: Translations,
           begun: Callable[[], None]) -> dict[str, Any]:
    """Solve one request in a child, watching standard input meanwhile.

    Args:
        solve: function that the child runs.
        request: the request.
        translations: translations of earlier requests; one is added.
        begun: called when the task is instantiated and its search begins.
    """
    plan_fd = os.memfd_create('plan')
    key = request['domain'], request['problem']
    request['translation'] = translations.get(key) if 'state' in request else None
    request['translation_fd'] = translation_fd = (
        os.memfd_create('translation', os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        if 'state' in request and request['translation'] is None else -1)
    log_read, log_write = os.pipe()
    begun_read, request['begun_fd'] = os.pipe()
    worker = os.getpid()
    child = os.fork()
    if child == 0:
        os.close(log_read)
        os.close(begun_read)
        _child(solve, request, plan_fd, log_write, worker)
    os.close(log_write)
    os.close(request['begun_fd'])
    log, watched, searched = b'', [0, log_read, begun_read], False
    while True:
        ready, _, _ = select.select(watched, [], [])
        if 0 in ready:
            _die()  # a new request cannot come now: this is the end of the input
        if begun_read in ready:
            watched.remove(begun_read)
            searched = bool(os.read(begun_read, 1))
            if searched:
                begun()
        if log_read not in ready:
            continue
        data = os.read(log_read, 1 << 16)
        if not data:
            break
        log = (log + data)[-_LOG_BYTES:]
    os.close(log_read)
    _, status = os.waitpid(child, 0)
    searched = searched or bool(os.read(begun_read, 1))
    os.close(begun_read)
    with os.fdopen(plan_fd, 'rb') as file:
        file.seek(0)
        plan = file.read().decode()
    reused = request['translation'] is not None
    if translation_fd >= 0:
        request['translation'] = _kept(translation_fd)
    if request['translation'] is not None:
        translations[key] = request['translation']
        translations.move_to_end(key)
        if len(translations) > _TRANSLATIONS:
            translations.popitem(last=False)
    return {'code': os.waitstatus_to_exitcode(status), 'plan': plan,
            'log': log.decode(errors='replace'), 'reused': reused, 'searched': searched}


def _die() -> None:
    os.killpg(0, signal.SIGKILL)


def main() -> None:
    """Serve until standard input ends: ``_worker.py ENGINE``."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to end
    replies = os.fdopen(os.dup(1), 'w', encoding='utf-8')
    os.dup2(2, 1)  # whatever a library prints must not be taken for a reply

    def reply(**content: Any) -> None:
        replies.write(json.dumps(content) + '\n')
        replies.flush()

    engine = sys.argv[1]
    try:
        kind, _, name = engine.partition(':')
        if engine == 'fast-downward':
            solve = _fast_downward()
        elif kind == 'unified-planning':
            solve = _unified_planning(name)
        else:
            raise ValueError(f'engine {engine!r} is unknown (choose fast-downward or '
                             'unified-planning:NAME)')
    except Exception as error:
        reply(error=f'{type(error).__name__}: {error}')
        return
    reply(ready=True)
    buffer = b''
    translations: Translations = collections.OrderedDict()
    while True:
        data = os.read(0, 1 << 16)
        if not data:
            _die()
        buffer += data
        if buffer.endswith(b'\n'):
            request, buffer = json.loads(buffer), b''
            reply(**_serve(solve, request, translations, lambda: reply(searching=True)))


if __name__ == '__main__':
    main()
