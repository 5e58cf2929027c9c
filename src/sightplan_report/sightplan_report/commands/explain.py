"""``sightplan explain``: one episode, decision by decision, or one sample, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightplan.commands.flags import argument, option
from sightplan.commands.frame import (
    DONE,
    Result,
    add_command,
    file_to_write,
    note,
    read_options,
)
from sightplan.console.progress import EpisodeBar
from sightplan.model import InputError

if TYPE_CHECKING:
    from sightplan.records.recorded import RecordedEpisode
    from sightplan_report.episode_view import EpisodeView
    from sightplan_report.replay.episodes import Found

_EFFORT = 200

_EXAMPLES = """\
examples:
  sightplan explain runs/mine                    lists the episodes, if there are several
  sightplan explain runs/mine 3                  the third of them
  sightplan explain runs/mine problem_07 --all
  sightplan explain robot_bags/monday.mcap --out monday.html
  sightplan explain runs/mine 3 --json

Says for each action what was believed when it was decided, what was asked and what the answers
changed, which answer decided, why this action, and what became of it; and why the episode stopped.
What is true stands apart, at the end, where the record holds it; on the page beside each answer.

Which answer decided is found by running the method again on the recorded answers, with one of them
removed or reversed (no model is asked). That takes long for long episodes: --effort bounds
it, and --effort 0 names the answer with the greatest change of belief instead.

Of a sample, which is one request and one reply, it says what was asked, answered and true, how
that was scored and why it is wrong; its page has the picture with truth and answer.

Pictures, questions and beliefs are in bags (sightplan run --bags all; always on ROS); without one
only actions and plans are shown. A bag with a status log of a behaviour tree
(nav2_msgs/msg/BehaviorTreeLog) has that shown beside each action.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainArguments:
    """Arguments of ``sightplan explain``."""

    record: str = argument('run directory, bag, or a folder that holds some', metavar='BAG|RUN')
    episode: str = argument(
        'id of the episode or sample, its number, or a part of its id that no other has (may be '
        'left out if there is only one)', metavar='EPISODE', default='')
    out: str = option(
        '', 'the page to write (default: explained/EPISODE.html in the run, or EPISODE.html in '
        'the current folder for a bag without a run)', metavar='FILE.html')
    all: bool = option(
        False,
        'list all questions in the text, not only those that matter most (the page has all)')
    effort: int = option(
        _EFFORT, 'decisions, about, that are made again to find deciding answers', low=0)
    method_option: tuple[str, ...] = option(
        (), 'setting of the method (repeatable), for a bag without its run, which knows them',
        metavar='KEY=VALUE')


def add_parser(subparsers: Any) -> None:
    """Register ``sightplan explain``."""
    add_command(
        subparsers, 'explain', explain, 'why one episode went as it did, decision by decision',
        'Explain one episode: what it believed, what decided, why each action, why it stopped; or '
        'one sample.',
        settings=ExplainArguments, examples=_EXAMPLES,
        exits='0 done; 1 the page cannot be written; 2 bad usage, or no such '
        'episode')


def explain(arguments: ExplainArguments) -> Result:
    """Find, explain, print, write."""
    from sightplan_report.episode_page import page
    from sightplan_report.episode_reader import view
    from sightplan_report.episode_text import text_of
    from sightplan_report.html import write_page
    from sightplan_report.replay.episodes import choose, find_episodes
    out = file_to_write(arguments.out) if arguments.out else None
    if out is not None and out.suffix.lower() not in ('.html', '.htm'):
        raise InputError(f'--out {arguments.out}: the page is written there; let its name end in '
                         '.html')
    found = choose(find_episodes(arguments.record), arguments.episode, arguments.record)
    if found.is_sample:
        return _explain_sample(found, out)
    episode, why_not = found.read()
    if episode is None:
        assert found.line is not None
        explained = view(found.line, folder=found.folder, title=found.title, notes=(why_not,))
    else:
        explained = _explained(found, episode, arguments)
    print(text_of(explained, arguments.all), end='')
    path = out or _page_path(found)
    write_page(path, page(explained))
    note(f'page: {path}')
    return {**explained.to_json(), 'page': str(path), 'record': str(found.where)}, DONE


def _explain_sample(found: Found, out: Path | None) -> Result:
    """Print and write the page of a sample."""
    from sightplan_report import sample_page
    from sightplan_report.html import write_page
    assert found.run is not None and found.line is not None
    seen = sample_page.view(found.line, found.run.folder, found.run.info, found.run.suite,
                            sample_page.SamplesOfRuns())
    print(sample_page.text_of(seen), end='')
    path = out or _page_path(found)
    write_page(path, sample_page.page_alone(seen))
    note(f'page: {path}')
    return {**sample_page.to_json(seen), 'page': str(path), 'record': str(found.where)}, DONE


def _explained(found: Found, episode: RecordedEpisode, arguments: ExplainArguments,
               ) -> EpisodeView:
    from sightplan.records.bag_reading import open_bag
    from sightplan.records.behaviour_tree import read_tree
    from sightplan_report.deciding_answers import decide
    from sightplan_report.episode_reader import view
    from sightplan_report.replay.decisions import Decisions, NotRepeatedError
    from sightplan_report.replay.episodes import line_of
    tree, warnings = read_tree(open_bag(episode.bag))
    explained = view(line_of(found, episode), episode, folder=found.folder, title=found.title,
                     notes=warnings, tree=tree, live=found.line is not None)
    settings = _settings(found)
    options = {**settings.get('method_options', {}),
               **_method_options(episode.spec.method, arguments.method_option)}
    if not arguments.effort:
        return decide(explained, None, '--effort 0')
    with EpisodeBar(transient=True) as bar:
        try:
            with Decisions(episode, options, reads_prompt=_reads_prompt(settings),
                           search=settings.get('planner_search', 'lama-first')) as decisions:
                return decide(explained, decisions.test, effort=arguments.effort,
                              watch=lambda done, total: bar.stage('decisions', done, total))
        except NotRepeatedError as error:
            return decide(explained, None, str(error))


def _settings(found: Found) -> Mapping[str, Any]:
    """Settings with which the run was last started; empty if they are not known."""
    from sightplan.records import RunStore
    try:
        sessions = RunStore(found.folder).run_info()['sessions'] if found.folder else ()
        settings = sessions[-1]['settings'] if sessions else None
    except (InputError, LookupError, TypeError):
        settings = None
    return settings if isinstance(settings, dict) else {}


def _method_options(method: str, pairs: Sequence[str]) -> dict[str, Any]:
    from sightplan.agent import policy_settings
    if not pairs:
        return {}
    return read_options(pairs, type(policy_settings(method)), '--method-option')


def _reads_prompt(settings: Mapping[str, Any]) -> bool:
    from sightplan.vlm.api import backend_reads_prompt
    try:
        return backend_reads_prompt(settings['backend'])
    except (InputError, KeyError):
        return True


def _page_path(found: Found) -> Path:
    from sightplan.records.evidence import file_name
    name = file_name(found.id)
    if found.folder is None:
        return Path(f'{name}.html')
    if found.line is None:  # one of several attempts, maybe
        bag = found.where.name.lstrip('.')
        name = bag if bag.startswith(name) else f'{name}_{bag}'
    folder = found.folder / 'explained'
    folder.mkdir(exist_ok=True)
    return folder / f'{name}.html'
