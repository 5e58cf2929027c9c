"""The scores of a run as a table for the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sightplan.console.tables import table_lines, terminal_width

_ACCURACY = 'predicate_accuracy'


def show(summary: Mapping[str, Any]) -> None:
    """Print a run's scores as a table."""
    print(summary['out'])
    for lines in table_lines((), rows(summary), left=2, width=terminal_width()):
        print(*lines, sep='\n')


def rows(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The lines of the final table: of any suite, then what only episodes have."""
    episodes = summary['episodes'] is not None
    lines = [('episodes' if episodes else 'samples',
              f'{summary["items"]} of {summary["planned"]}')]
    if not episodes and summary.get('model'):
        lines.append(('answered by', summary['model']))
    if summary['success_rate'] is not None:
        low, high = summary['interval95']
        text = f'{summary["solved"]} of {summary["scored"]}: {summary["success_rate"]:.3f}'
        text += f', 95 % interval {low:.3f} to {high:.3f}'
        if summary['sem'] is not None:
            text += f', standard error {summary["sem"]:.3f}'
        lines.append(('solved', text))
    for split, success in summary.get('splits', {}).items():
        if success['success_rate'] is not None:
            low, high = success['interval95']
            lines.append((f'  {split}', f'{success["success_rate"]:.3f}, {low:.3f} to {high:.3f}'))
    lines += [(name.replace('_', ' '), measure_text(found)
               + (_over(summary) if name == _ACCURACY else ''))
              for name, found in summary['measures'].items()
              if name != 'solved' and found['value'] is not None]
    if episodes:
        lines += _episode_rows(summary)
    if summary.get('causes'):
        lines.append(('wrong, by cause', ', '.join(
            f'{cause.replace("_", " ")} {n}' for cause, n in summary['causes'].items())))
    if summary['unread']:
        replies = 'reply' if summary['unread'] == 1 else 'replies'
        lines.append(('unread', f'{summary["unread"]} {replies} (counted as wrong)'
                      + _reasons(summary, 'unread')))
    if summary['usage']:
        used = summary['usage']
        cost = '' if used['cost_usd'] is None else f', {used["cost_usd"]:.4f} USD'
        tokens = f'{used["prompt_tokens"]} tokens in, {used["completion_tokens"]} out'
        lines.append(('usage', f'{used["requests"]} requests, {tokens}{cost}'))
    if summary['errors']:
        items = 'episodes' if episodes else 'samples'
        lines.append(('errors', f'{summary["errors"]} {items} (not scored)'
                      + _reasons(summary, 'errors')))
    if summary['repeated_lines']:
        lines.append(('repeated lines', f'{len(summary["repeated_lines"])} left out: '
                      + ', '.join(summary['repeated_lines'][:5])))
    if summary['problems_skipped']:
        lines.append(('skipped problems', '\n'.join(summary['problems_skipped'])))
    stages = ', '.join(f'{stage} {seconds:.1f}'
                       for stage, seconds in summary.get('stage_seconds', {}).items())
    lines.append(('seconds', f'{summary["seconds"]:.1f}' + (f' ({stages})' if stages else '')))
    return lines


def _reasons(summary: Mapping[str, Any], kind: str) -> str:
    """Return the most frequent reasons with their counts, each on a line of its own."""
    return ''.join(f'\n{count} x {why}' for why, count in summary['reasons'][kind].items())


def measure_text(found: Mapping[str, Any]) -> str:
    """An aggregated measure in words: value and 95 % interval."""
    if found['value'] is None:
        return '-'
    text = f'{found["value"]:.4g}'
    if found['interval95'] is not None:
        low, high = found['interval95']
        text += f', 95 % interval {low:.4g} to {high:.4g}'
    return text


def _over(summary: Mapping[str, Any]) -> str:
    """Over which questions the predicate accuracy is, and that of all where it differs."""
    if not summary['predicate_accuracy']:
        return ''
    enumerated, every = (sum(
        counts['asked'] - counts['unparsed'] - counts['unknown']
        for purpose, table in summary['predicates'].items() for counts in table.values()
        if purpose in purposes) for purposes in (('enumeration',), tuple(summary['predicates'])))
    text = f'\nover {enumerated} answers to enumerations of the state'
    accuracy = summary['predicate_accuracy']
    return text if every == enumerated or accuracy['all_questions'] is None else (
        f'{text}; {accuracy["all_questions"]:.4g} over all {every}')


def _episode_rows(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    lines = []
    for predicate, counts in summary['predicates'].get('enumeration', {}).items():
        every, yes, no = (_rate(counts[key])
                          for key in ('accuracy', 'yes_accuracy', 'no_accuracy'))
        lines.append((f'  {predicate}', f'{every} (true atoms {yes}, false atoms {no})'))
    if summary['proposals']:
        kinds = ', '.join(f'{k} {v}' for k, v in summary['proposals'].items())
        lines.append(('proposals', kinds + (f' ({summary["repaired"]} after a repair)'
                                            if summary['repaired'] else '')))
        lines.append(('executable actions', f'{_rate(summary["executable"])}'))
    if summary['questions']:
        lines.append(('all questions', f'{summary["questions"]}'
                      + (f', {summary["unparsed"]} unreadable answers'
                         if summary['unparsed'] else '')
                      + (f', {summary["unknown"]} unknown' if summary['unknown'] else '')))
    if cut := summary.get('cut_off'):
        limits = ' or '.join(map(str, cut['limits']))
        lines.append(('cut off', (
            f'{cut["cut"]} of {cut["replies"]} replies, at their limit of {limits} tokens '
            f'({cut["unreadable"]} unreadable)')))
    if summary['privileged_facts']:
        facts = summary['privileged_facts_per_episode'] or 0
        lines.append(('provided', f'{facts:.1f} privileged facts per episode'))
    lines.append(('ended by', ', '.join(f'{k} {v}' for k, v in summary['stops'].items()) or '-'))
    if summary['failures']['causes']:
        lines.append(('failed by', ', '.join(
            f'{cause} {n}' for cause, n in summary['failures']['causes'].items())))
    return lines


def _rate(value: float | None) -> str:
    return '-' if value is None else f'{value:.4f}'
