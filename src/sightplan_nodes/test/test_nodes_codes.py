"""What the documents say about error codes, reasons to stop, stages and topics is true."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from sightplan.model import AskPurpose, StopReason
from sightplan.records import topics
from sightplan_nodes import agent, names
from sightplan_nodes.failures import BY_CODE

SOURCES = Path(__file__).resolve().parents[2]
README = (SOURCES / 'sightplan_nodes' / 'README.md').read_text('utf-8')


def test_the_table_of_error_codes_is_that_of_the_classes() -> None:
    rows = re.findall(r'^\| (\d+) \| `(\w+)` \| (.+) \|$', README, re.MULTILINE)
    assert rows == [(str(code), BY_CODE[code].__name__, BY_CODE[code].__doc__.splitlines()[0])
                    for code in sorted(BY_CODE)]


def test_the_table_of_reasons_to_stop_has_all_of_them() -> None:
    table = README.partition('| `stop_reason` |')[2].partition('\n\n')[0]
    rows = re.findall(r'^\| `(\w+)` \| .+ \| (yes|no) \|$', table, re.MULTILINE)
    assert rows == [(one.value, 'yes' if one.scored else 'no') for one in StopReason]


def test_the_agent_s_topics_are_all_named_and_no_others() -> None:
    published = {name.removeprefix('agent/') for name in vars(topics).values()
                 if isinstance(name, str) and name.startswith('agent/')}
    pages = [README, (SOURCES.parent / 'docs' / 'graph.md').read_text('utf-8')]
    for row in (next(re.finditer(r'^\| `agent` \|.*', page, re.MULTILINE))[0] for page in pages):
        assert set(re.findall(r'~/(\w+)', row)) - {'run_episode'} == published
    said = set(re.findall(r'``~/(\w+)``', inspect.getdoc(agent.AgentNode)))
    assert said - {'run_episode'} == published
    graph = (SOURCES.parent / 'docs' / 'images' / 'graph.svg').read_text('utf-8')
    drawn = re.search(r'>([\w, ]*belief, [\w, ]+)<', graph)[1].split(', ')
    assert set(drawn) <= published


def test_the_action_s_comment_lists_all_stages() -> None:
    """The comment names each stage that there is, and no other."""
    action = (SOURCES / 'sightplan_interfaces' / 'action' / 'RunEpisode.action').read_text('utf-8')
    source = inspect.getsource(agent)
    stages = {*(one.value for one in AskPurpose), *re.findall(r"\breport\('([^']+)'", source),
              *(getattr(names, name) for name in re.findall(r'\breport\(names\.(\w+)\)', source))}
    assert {'reset', 'act', 'waiting for the other nodes'} <= stages
    comment = ' '.join(action.partition('string stage')[2].replace('#', ' ').split())
    listed = comment.replace(' or the purpose of a question:', '').split(', ')
    assert sorted(listed) == sorted(stages)
