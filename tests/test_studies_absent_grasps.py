"""The study of what is grasped for absent things: what is asked for, and how it is counted."""

import json
from collections import Counter

import absent_grasps_study as study


def line(number, kind, taken, outcome=None, cause=''):
    return {'number': number, 'kind': kind, 'text': f'the {number}', 'cause': cause,
            'taken': dict(zip(study.RULES, taken, strict=True)),
            **({} if outcome is None else {'outcome': outcome})}


LINES = [line(0, 'there', (True, True, True), 'lifted'),
         line(1, 'there', (True, True, False), 'lifted', 'abstained'),
         line(2, 'colour', (True, True, False), 'wrong', 'abstained'),
         line(3, 'there', (True, False, False), 'dropped', 'abstained'),
         line(5, 'unknown', (False, False, False), cause='abstained'),
         line(8, 'kind', (True, False, False), cause='not_found'),
         {'number': 9, 'skipped': 'nothing on the table can be named and grasped'}]


def test_each_rule_counts_what_it_took_and_says_why_it_took_nothing():
    def figures(rule):
        return {row['kind']: (row['lifted'], row['n']) for row in study.rows(LINES, rule)}
    assert figures('half') == {'there': (2, 3), 'absent': (1, 3), 'colour': (1, 1),
                               'kind': (0, 1), 'unknown': (0, 1)}
    assert figures('sure')['there'] == (2, 3) and figures('sure')['absent'] == (1, 3)
    assert figures('choice')['there'] == (1, 3) and figures('choice')['absent'] == (0, 3)
    outcomes = {row['kind']: row['outcomes'] for row in study.rows(LINES, 'choice')}
    assert outcomes['absent'] == {'abstained': 2, 'not_found': 1}
    assert outcomes['there'] == {'lifted': 1, 'abstained': 2}
    assert '| absent | choice | 3 | 0 (' in study.table(LINES)


def test_half_of_what_is_absent_looks_like_something_that_is_there():
    kinds = Counter(study.ABSENT_KINDS)
    assert kinds['colour'] + kinds['similar'] == len(study.ABSENT_KINDS) / 2
    assert kinds['kind'] == kinds['unknown'] == len(study.ABSENT_KINDS) / 4


def test_a_line_that_was_broken_off_is_measured_again(tmp_path):
    file = tmp_path / 'lines.jsonl'
    file.write_text('\n'.join(map(json.dumps, LINES[:2])) + '\n{"number": 2, "ki')
    assert study.read(file) == LINES[:2]
