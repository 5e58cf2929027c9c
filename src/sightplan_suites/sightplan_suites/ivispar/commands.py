"""Verbs of ``sightplan suite ivispar``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sightplan.commands.flags import REQUIRED, option
from sightplan.commands.frame import DONE, FAILED, Result, add_command, note, print_table
from sightplan.model import InputError, user_path
from sightplan.model.reading import Record

if TYPE_CHECKING:
    from sightplan.domains.sliding.boards import Arrangement
    from sightplan.domains.sliding.configs import Config
    from sightplan_suites.ivispar.classes import Distances

SUITE = 'ivispar'


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseArguments:
    """Arguments of ``sightplan suite ivispar parse``."""

    replies: Path = option(
        REQUIRED, 'JSON lines {"id", "reply", "modality"} (3d, the default, 2d or text; in 2d '
        '"square" is a cube, and so on), optionally with "config" (the object of a puzzle file, '
        'or its path, relative to FILE) and "state" ([x, y] of each landmark; default: its start)',
        metavar='FILE')
    strict: bool = option(False, "iVISPAR's own rules alone, without repairs")


class _Reply(Record):
    """A line of a file of replies; see the verb ``parse``."""

    id: str
    reply: str
    modality: Literal['3d', '2d', 'text'] = '3d'
    config: str | dict[str, Any] | None = None
    state: tuple[tuple[int, int], ...] | None = None


def parse(arguments: ParseArguments) -> Result:
    """Read replies as commands, and classify the moves they attempt."""
    from sightplan.model.journal import read_lines
    from sightplan.model.reading import validated
    path = user_path(arguments.replies)
    reader = _Reader(path.parent, arguments.strict)
    found = [reader.read(validated(_Reply, line.data, line.where), line.where)
             for line in read_lines(path, strict=True).lines]
    if not found:
        note(f'sightplan suite: {path}: holds no reply; write one object a line, such as '
             '{"id": "1", "reply": "action: move red cube left", "modality": "3d"}')
        return {'suite': SUITE, 'replies': [], 'classes': {}, 'repairs': {}}, FAILED
    classes = Counter(one for line in found for one in line['classes'])
    repairs = Counter(one for line in found for one in line['repairs'])
    print_table(('id', 'command', 'class', 'reason', 'repairs'), [
        (line['id'], line['command'] or '-', ' '.join(line['classes']) or '-',
         line['reason'] or '-', ' '.join(line['repairs']) or '-') for line in found], left=5)
    for name, count in (*sorted(classes.items()), *sorted(repairs.items())):
        print(f'{name:24} {count}')
    return {'suite': SUITE, 'replies': found, 'classes': dict(sorted(classes.items())),
            'repairs': dict(sorted(repairs.items()))}, DONE


class _Reader:
    """Reads replies; puzzle files and distances are kept, as many replies are about one puzzle."""

    def __init__(self, folder: Path, strict: bool) -> None:
        """Names of puzzle files are relative to ``folder``."""
        self._folder, self._strict = folder, strict
        self._configs: dict[str, Config] = {}
        self._distances: dict[tuple[int, Arrangement], Distances] = {}

    def read(self, line: _Reply, where: str) -> dict[str, Any]:
        """Read one line's reply; the verb's description states the fields of the result.

        Raises:
            InputError: its puzzle or state cannot be used; names file, line, field and remedy.
        """
        from sightplan.domains.sliding.replies import MOVE, read_reply
        from sightplan_suites.ivispar.classes import ILLEGAL, Distances, attempts
        command = read_reply(line.reply, self._strict, flat=line.modality == '2d')
        reason = command.reason
        if line.config is None:
            if line.state is not None:
                raise InputError(f'{where}: state is there without a puzzle (add config, or '
                                 'remove state)')
            kinds = [ILLEGAL if reason else MOVE] if reason or command.verb == MOVE else []
        else:
            config = self._config(line.config, where)
            distances = self._distances.setdefault(
                (config.size, config.goal), Distances(config.size, config.goal))
            made = attempts(command, config.pieces, _state(line, config, where), distances)
            kinds = [one.kind for one in made if one.kind is not None]
            reason = made[0].reason if kinds else ''
        return {'id': line.id, 'command': command.text, 'reason': reason,
                'class': kinds[0] if kinds else None, 'classes': kinds,
                'repaired': command.repaired, 'repairs': list(command.repairs)}

    def _config(self, given: str | Mapping[str, Any], where: str) -> Config:
        from sightplan.domains.sliding.configs import load_config, read_config
        if not isinstance(given, str):
            return read_config(given, f'{where}: config')
        if given not in self._configs:
            self._configs[given] = load_config(self._folder / user_path(Path(given)))
        return self._configs[given]


def _state(line: _Reply, config: Config, where: str) -> Arrangement:
    """Cells of a line's pieces; without a state those of the start.

    Raises:
        InputError: they are not one cell of the board for each piece, all different.
    """
    if line.state is None:
        return config.start
    if len(line.state) != len(config.pieces):
        raise InputError(f'{where}: state has {len(line.state)} coordinates, and the puzzle '
                         f'{len(config.pieces)} pieces (give one [x, y] for each landmark)')
    for x, y in line.state:
        if not (0 <= x < config.size and 0 <= y < config.size):
            raise InputError(f'{where}: state: [{x}, {y}] is outside of the board (0 to '
                             f'{config.size - 1})')
    if len(set(line.state)) < len(line.state):
        raise InputError(f'{where}: state: two pieces have the same coordinates (move one)')
    return tuple(x + config.size * y for x, y in line.state)


def add_parsers(verbs: Any) -> None:
    """Register the verbs that this suite has of its own."""
    add_command(
        verbs, 'parse', parse, 'read replies as commands, and classify the moves they attempt',
        settings=ParseArguments,
        description='Read replies as commands, and classify the moves they attempt: EM '
        'effective, IM ineffective, OD\ndestination occupied, OB out of bounds, IC illegal '
        'command; without a puzzle: move or IC; start, done and\nreset have no class. For a '
        'repeated move, "class" is that of the first attempt, and "classes" lists all.',
        exits='0 done; 1 there is no reply; 2 bad usage or bad files')
