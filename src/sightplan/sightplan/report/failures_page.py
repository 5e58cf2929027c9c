"""One HTML page, without any other file, that shows why episodes failed."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from sightplan.metrics import RULES, Cause, wilson
from sightplan.records.evidence import failure_picture
from sightplan.report.failures import Column, FailedEpisode, history
from sightplan.report.failures_picture import about_another_look, for_page

_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Why episodes failed</title>
<style>
body {{ font: 15px/1.45 system-ui, sans-serif; color: #232323; background: #fafaf8;
        max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }}
h1 {{ font-size: 1.5rem; }}
h2 {{ font-size: 1.15rem; margin-top: 2.2rem; }}
table {{ border-collapse: collapse; }}
th, td {{ text-align: left; padding: .25rem .7rem .25rem 0; vertical-align: top; }}
th {{ font-weight: 600; }}
thead th {{ border-bottom: 1px solid #bbb; }}
td.bar {{ min-width: 13rem; }}
.track {{ position: relative; height: .55rem; background: #e9e9e4; }}
.fill {{ position: absolute; left: 0; top: 0; bottom: 0; background: #0072b2; }}
.range {{ position: absolute; top: .23rem; height: .09rem; background: #232323; }}
.faint {{ color: #6e6e6e; }}
.wrong {{ color: #b04a00; font-weight: 600; }}
.right {{ color: #00704f; }}
.failure {{ display: flex; flex-wrap: wrap; gap: 1.5rem; border-top: 1px solid #d5d5d0;
            padding: 1.2rem 0; }}
.failure img {{ width: 26rem; max-width: 100%; }}
.failure > div {{ flex: 1 1 26rem; min-width: 0; }}
.failure h3 {{ margin: 0 0 .3rem; font-size: 1rem; }}
tr.here {{ background: #fdebd9; }}
code {{ font-size: .92em; overflow-wrap: anywhere; }}
details {{ margin-top: .6rem; }}
</style>
</head>
<body>
<h1>Why episodes failed</h1>
<p class="faint">Each failed episode has one cause: that of the first rule that applies. Shares
are of the failed episodes; the thin line is their 95 % Wilson interval.</p>
{counts}
<details><summary>The rules, in their order</summary>
<table><thead><tr><th>cause</th><th>applies when</th></tr></thead><tbody>
{rules}
</tbody></table></details>
<h2>{heading}</h2>
{failures}
</body>
</html>
"""


def page(columns: Sequence[Column], chosen: Sequence[tuple[Column, FailedEpisode]]) -> str:
    """Make the page.

    Args:
        columns: what is counted.
        chosen: the failures that are shown one by one.

    Returns:
        HTML; pictures are embedded.
    """
    rules = '\n'.join(f'<tr><td><code>{escape(rule.cause.value)}</code></td>'
                      f'<td>{escape(rule.when)}</td></tr>' for rule in RULES)
    number = len(chosen)
    return _PAGE.format(
        counts='\n'.join(map(_counts, columns)), rules=rules,
        heading=f'{number} failed episode{"" if number == 1 else "s"}',
        failures='\n'.join(_failure(column, failed) for column, failed in chosen))


def _counts(column: Column) -> str:
    n = len(column.failed)
    rows = []
    for cause, k in column.counts().items():
        low, high = wilson(k, n)
        rows.append(
            f'<tr><td><code>{escape(cause)}</code></td><td>{k}</td>'
            f'<td class="bar"><div class="track">'
            f'<div class="fill" style="width:{100 * k / n:.1f}%"></div>'
            f'<div class="range" style="left:{100 * low:.1f}%;width:{100 * (high - low):.1f}%">'
            f'</div></div></td><td>{k / n:.2f}</td>'
            f'<td class="faint">{low:.2f} to {high:.2f}</td></tr>')
    title = ', '.join(filter(None, (column.method, column.model, column.split)))
    table = ('<table><tbody>\n' + '\n'.join(rows) + '\n</tbody></table>') if rows else ''
    return (f'<h2>{escape(title)}</h2>\n<p class="faint">{escape(column.run)}: {column.episodes} '
            f'episodes, {column.solved} solved, {n} failed</p>\n{table}')


def _failure(column: Column, failed: FailedEpisode) -> str:
    line, failure = failed.line, failed.failure
    evidence = failure['evidence']
    data = failure_picture(failed.folder, line)
    picture = ('<p class="faint">no picture</p>' if data is None else
               f'<img alt="{escape(evidence["text"])}" '
               f'src="data:image/jpeg;base64,{base64.b64encode(for_page(data)).decode()}">')
    number = failure['step']
    known = failure['cause'] in {cause.value for cause in Cause}
    return f"""\
<section class="failure" id="{escape(column.run)}/{escape(line['episode_id'])}">
<div>{picture}</div>
<div>
<h3><code>{escape(failure['cause'])}</code>{'' if known else ' (no cause of this version)'}</h3>
<p>{escape(evidence['text'])}</p>
<p class="faint">{escape(line['episode_id'])}, step {number}, ended by
{escape(str(line.get('stop', '')))}; {escape(column.method)} {escape(column.model)};
{escape(column.run)}; image {escape(failure['image_id'] or 'unknown')}</p>
{_answers(failure)}
{_texts(line)}
{_steps(history(line, number), number)}
{_all_steps(line, number)}
</div>
</section>"""


def _answers(failure: Mapping[str, Any]) -> str:
    rows, evidence = [], failure['evidence']
    for answer in evidence['answers']:
        other = ' (another image)' if about_another_look(answer, failure) else ''
        truth = {True: 'yes', False: 'no'}.get(answer['truth'], 'not known')
        rows.append(f'<tr><td>{escape(answer["purpose"])}{other}</td>'
                    f'<td>{escape(answer.get("question") or answer["atom"])}</td>'
                    f'<td class="wrong">{escape(answer["answer"])}</td>'
                    f'<td class="right">{truth}</td></tr>')
    if not rows:
        return ''
    more = evidence['answer_count'] - len(rows)
    rest = f'<p class="faint">and {more} more wrong answers</p>' if more > 0 else ''
    return ('<table><thead><tr><th>asked for</th><th>question</th><th>answer</th><th>truth</th>'
            '</tr></thead><tbody>' + '\n'.join(rows) + f'</tbody></table>{rest}')


def _texts(line: Mapping[str, Any]) -> str:
    texts = line.get('unreadable') or ()
    if not texts:
        return ''
    return ('<details><summary>replies that could not be read</summary>'
            + ''.join(f'<p><code>{escape(text)}</code></p>' for text in texts) + '</details>')


def _steps(steps: Sequence[tuple[int, Mapping[str, Any]]], here: int) -> str:
    if not steps:
        return '<p class="faint">no action was taken</p>'
    rows = []
    for number, step in steps:
        became = step.get('outcome') or step.get('proposal') or ''
        mark = ' class="here"' if number == here else ''
        rows.append(f'<tr{mark}><td>{number}</td><td>{escape(step.get("action") or "-")}</td>'
                    f'<td>{escape(step.get("status") or "")}</td><td>{escape(became)}</td></tr>')
    return ('<table><thead><tr><th>step</th><th>action</th><th>status</th><th>in truth</th></tr>'
            '</thead><tbody>' + '\n'.join(rows) + '</tbody></table>')


def _all_steps(line: Mapping[str, Any], here: int) -> str:
    every = history(line)
    if len(every) == len(history(line, here)):
        return ''
    return f'<details><summary>all {len(every)} steps</summary>{_steps(every, here)}</details>'
