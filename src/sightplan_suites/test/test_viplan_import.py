"""ViPlan: the authors' result files become runs."""

from __future__ import annotations

import dataclasses
import json
import math
import re
import subprocess
import sys

import pytest

import viplan_official_cases as cases
from report_cases import line as line_of
from report_cases import write_run
from sightplan import cli
from sightplan.metrics.paired import mcnemar_exact
from sightplan.model import InputError
from sightplan.runs import load_suite, summarise
from sightplan.runs.run import OpenRun
from sightplan.runs.settings import RunSettings
from sightplan_report.results import gather
from sightplan_report.tables import make_tables
from sightplan_suites.viplan.importing import import_folder
from sightplan_suites.viplan.official import PlanEntry, problem_name
from sightplan_suites.viplan.paper_figures import as_printed, enumerated, figures_of

GROUND = 'blocksworld-ground-simple-gpt-4.1'


@pytest.fixture(scope='module')
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp('viplan')
    done = import_folder(cases.write_by_hand(folder / 'final'), folder / 'runs')
    assert not done.skipped and all('figures are of a part' in note for note in done.notes)
    return folder / 'runs'


def lines_of(folder):
    return [json.loads(line) for line in (folder / 'episodes.jsonl').read_text().splitlines()]


def answers_of(folder):
    return [json.loads(line) for line in (folder / 'answers.jsonl').read_text().splitlines()]


def close(first, second):
    return first == pytest.approx(second, abs=1e-12)


# ------------------------------------------------------------------------------------- figures


def test_figures_are_those_counted_by_hand(runs):
    lines = lines_of(runs / GROUND)
    assert close(figures_of(lines).as_json(), cases.HAND.as_json())
    assert enumerated(lines) == cases.HAND_PREDICATES
    home = lines_of(runs / 'household-ground-simple-gpt-4.1')
    assert close(figures_of(home).as_json(), cases.HAND_HOUSEHOLD.as_json())


def test_the_summary_has_the_same_figures_and_their_errors(runs):
    found = summarise(lines_of(runs / GROUND), load_suite('viplan'))
    assert found['success_rate'] == 1 / 4 and close(found['sem'], math.sqrt(.25 * .75 / 4))
    accuracy = found['predicate_accuracy']
    assert close(accuracy['overall_unparsed_wrong'], 87 / 90)
    assert close(accuracy['overall'], 87 / 89)  # ours leaves the unreadable answer out
    assert close((accuracy['yes'], accuracy['no']), (28 / 30, 59 / 60))
    assert close(found['action_accuracy'], 1 / 7)
    assert (found['plans']['never_planned'], found['plans']['asked']) == (2, 6)
    assert json.loads((runs / GROUND / 'summary.json').read_text())['success_rate'] == 1 / 4


def test_answers_of_seven_values_count_like_those_of_two(tmp_path):
    long = json.loads(json.dumps(cases.TWO_BLOCKS))
    for entry in long.values():
        for table in (entry['initial_state_enum']['results'],
                      *(replan['enum_results'] for replan in entry['replans'])):
            for atom, (answer, truth) in table.items():
                table[atom] = cases.checked(answer, truth, truth)
    cases.write(tmp_path, 'blocksworld/final_no_cot/predicates/simple/m', long)
    import_folder(tmp_path, tmp_path / 'runs')
    lines = lines_of(tmp_path / 'runs' / 'blocksworld-ground-simple-m')
    assert close(figures_of(lines).as_json(), cases.HAND.as_json())


def test_a_figure_that_the_file_states_otherwise_is_named(tmp_path):
    wrong = dataclasses.replace(cases.HAND, action_accuracy=0.5)
    cases.write(tmp_path, 'blocksworld/final_no_cot/predicates/simple/m',
                cases.with_figures(cases.TWO_BLOCKS, wrong))
    note, part = import_folder(tmp_path, tmp_path / 'runs').notes
    assert "has 4 problems, and the paper's split has 25" in part
    assert 'action_accuracy is 0.5000 in the file, and its episodes give 0.1429' in note


def test_a_figure_equals_a_printed_one_after_rounding():
    assert as_printed(0.844999, 0.84) == as_printed(0.835, 0.84) == 'equal'
    assert (as_printed(0.48, 0.44), as_printed(0.4, 0.44)) == ('+0.04', '-0.04')


# ------------------------------------------------------------------------------------ episodes


def test_what_the_files_do_not_record_is_null(runs):
    one, two, three, four = lines_of(runs / GROUND)
    for line in (one, two, three, four):
        assert line['seconds'] is line['seed'] is line['observations'] is None
        assert line['privileged_facts'] is line['usage'] is None
    # The questions after the withheld action of the third were not written.
    assert [line['questions'] for line in (one, two, three, four)] == [46, 18, None, 18]
    assert all(line['privileged_facts'] == 0  # planners get none where all is in view
               for line in lines_of(runs / 'blocksworld-plan-simple-gpt-4.1'))
    summary = json.loads((runs / GROUND / 'summary.json').read_text())
    assert summary['seconds'] is summary['questions'] is summary['observations'] is None


def test_steps_of_a_grounder_are_judged(runs):
    one, _, three, four = lines_of(runs / GROUND)
    assert [step['status'] for step in one['actions']] == ['executed', 'executed']
    assert [step['right'] for step in one['actions']] == [False, True]
    assert one['actions'][0]['effects'] == 'false_positive' and one['stop'] == 'plan_done'
    assert one['enumerated_at'] == [0, 1] and one['enumerations'] == [True, False]
    assert ['effect', 'on r,g', 'yes', 1, '', 0, False] in one['wrong']
    assert (three['stop'], three['cause'], three['withheld']) == (
        'no_plan', 'precondition_judged_false', 1)
    assert three['actions'][0]['applicable'] is True and three['remaining'] == 2
    assert (four['stop'], four['cause']) == ('unparsed', 'unparsable')
    [failing] = lines_of(runs / 'blocksworld-ground-failures0.1-simple-InternVL3-78B')
    assert failing['failure_probability'] == 0.1
    assert (failing['stop'], failing['executed'], failing['rejected']) == (
        'repeated_illegal', 1, 2)
    assert [step['outcome'] for step in failing['actions']] == ['no_op', 'illegal', 'illegal']
    assert failing['enumerated_at'] == [0, 1, 2]


def test_steps_of_a_planner_count_once(runs):
    done, empty, budget, ended = lines_of(runs / 'blocksworld-plan-simple-gpt-4.1')
    assert [step['status'] for step in done['actions']] == ['invalid', 'rejected', 'executed']
    assert done['proposals'] == {'planned': 2, 'unknown_action': 1}
    assert [line['stop'] for line in (done, empty, budget, ended)] == [
        'goal_reached', 'empty_plan', 'budget', 'not_recorded']
    assert [line['steps'] for line in (done, empty, budget, ended)] == [3, 0, 10, 1]
    assert all(line['measures']['actions_counted'] is not None and line['questions'] == 0
               for line in (done, empty, budget, ended))


def test_repeated_actions_stay_where_the_history_has_them():
    again = {'action': 'moveblock(g, c2)', 'success': False, 'info': 'not legal'}
    tried = {'action': 'moveblock', 'parameters': {'block': 'g', 'column': 'c2'}}
    named = PlanEntry.model_validate({
        'completed': True, 'actions': [{'action': tried, 'success': True}]})
    assert named.attempts[0].action == 'moveblock(g, c2)'
    listed = {'action': 'moveblock', 'parameters': 7}
    entry = PlanEntry.model_validate({
        'completed': True, 'actions': [{'action': listed, 'success': True}]})
    assert entry.attempts[0].action == 'moveblock(7)'
    for history, count in (([tried] * 3, 3), ([tried] * 2, 2), (None, 3)):
        entry = PlanEntry.model_validate({
            'completed': False, 'plans': [], 'actions': [again] * 3, 'previous_actions': history})
        assert len(entry.attempts) == count


def test_homes_are_named_by_scene_and_instance(runs):
    one, two = lines_of(runs / 'household-ground-simple-gpt-4.1')
    assert one['problem'] == 'cleaning_out_drawers_0_Beechwood_0_int_0'
    assert one['id'] == f'household/simple/{one["problem"]}#0'
    assert one['actions'][1]['outcome'] == 'executed but failed'
    assert one['actions'][1]['effects'] == 'true_positive' and one['actions'][1]['right']
    assert two['stop'] == 'not_recorded' and two['remaining'] == 1
    assert 'out of view' in two['message']
    assert problem_name('a/b/problem_12.pddl') == 'problem_12'


def test_instances_of_a_scene_are_one_statistical_cluster(tmp_path):
    home = 'a/cleaning_out_drawers_0.pddl_Beechwood_0_int'
    names = [f'{home}_0', f'{home}_1', 'a/cleaning_out_drawers_0.pddl_Rs_int_0', 'a/other_1.pddl']
    cases.write(tmp_path, 'igibson/final_no_cot/predicates/simple/m',
                dict.fromkeys(names, cases.HOUSEHOLD[cases.HOME]))
    import_folder(tmp_path, tmp_path / 'runs')
    lines = lines_of(tmp_path / 'runs' / 'household-ground-simple-m')
    assert len({line['problem'] for line in lines}) == 4
    assert [line['cluster'] for line in lines] == 2 * [
        'household/simple/cleaning_out_drawers_0_Beechwood_0_int'] + [
            'household/simple/cleaning_out_drawers_0_Rs_int', 'household/simple/other_1']


def test_answers_have_their_probabilities_only_without_reasons(runs):
    plain = [one for one in answers_of(runs / GROUND) if one['purpose'] == 'precondition']
    assert {(one['p_yes'], one['p_no']) for one in plain} == {(.75, .125), (.125, .75)}
    reasoned = answers_of(runs / 'blocksworld-ground_cot-simple-gpt-4.1')
    assert {(one['p_yes'], one['p_no']) for one in reasoned} == {(None, None)}
    unread = [one for one in answers_of(runs / GROUND) if one['answer'] is None]
    assert [(one['atom'], one['truth']) for one in unread] == [('incolumn r,c1', True)]
    effects = [one for one in answers_of(runs / GROUND) if one['purpose'] == 'effect']
    assert {(one['step'], one['image']) for one in effects} == {(1, '1'), (2, '2')}


def test_the_identity_says_that_nobody_here_ran_it(runs):
    identity = json.loads((runs / GROUND / 'run.json').read_text())['identity']
    assert identity['backend'] == {'name': 'imported'} and identity['protocol'] == 'paper'
    assert identity['imported']['file'] == (
        'blocksworld/final_no_cot/predicates/simple/gpt-4.1/results_2025-05-01_10-00-00.json')
    assert len(identity['imported']['sha256']) == 64
    assert (identity['model'], identity['seed']) == ('gpt-4.1', None)


def test_an_imported_run_is_not_resumed(runs):
    before = (runs / GROUND / 'episodes.jsonl').read_text()
    with pytest.raises(InputError, match=r'imported from blocksworld/final_no_cot.*another --out'):
        OpenRun(RunSettings(method='oracle', out=str(runs / GROUND),
                            world_options={'pictures': 'none'}))
    assert (runs / GROUND / 'episodes.jsonl').read_text() == before


# --------------------------------------------------------------------------------------- files


def test_the_last_of_several_files_counts(tmp_path, capsys):
    folder = cases.write_by_hand(tmp_path / 'final')
    cases.write(folder, 'blocksworld/final_no_cot/predicates/simple/gpt-4.1/.ipynb_checkpoints',
                {}, 'results_2026-checkpoint.json')  # of no account: a hidden folder
    assert cli.main(['suite', 'viplan', 'import', str(folder), '--out', str(tmp_path / 'r')]) == 0
    out, err = capsys.readouterr()
    assert '6 runs with 13 episodes' in out
    assert 'results_2025-04-01_10-00-00.json: does not count' in err
    assert len(lines_of(tmp_path / 'r' / 'blocksworld-ground_cot-simple-gpt-4.1')) == 1


@pytest.mark.parametrize(('content', 'said'), [
    ('{"a.pddl": {"goal_reached": tr', 'no whole JSON .* copy it again'),
    ('[]', 'no mapping of problems'), ('{"metadata": {}}', 'holds no problem'),
    ('{"a.pddl": {}}', r"problem 'a.pddl': goal_reached is missing"),
    ('{"a.pddl": null, "seed": 1}', r"problem 'a.pddl': the content = None"),
    ('{"a.pddl": {"goal_reached": true, "initial_state_enum": {"results": {"on r,g": ["yes"]}}}}',
     r'initial_state_enum.results.on r,g = .*must be \[answer, truth\]'),
    (('{"a.pddl": {"goal_reached": true, "initial_state_enum": {"results": {"on r,g": '
      '[["yes", 0.9], true]}}}}'), r"the answer is \['yes', 0.9\]; it must be .* or a text"),
    (('{"a.pddl": {"goal_reached": true, "initial_state_enum": {"results": {"on r,g": [1, true], '
      '"clear r": [0, true]}}}}'), r"^problem 'a.pddl': [^']*the answer is 1;[^']*answer is 0;"),
    ('{"no_problem": {"a": 1}}', 'holds no problem'),
    (('{"a.pddl": {"goal_reached": true, "initial_state_enum": {"results": {"by r,g": '
      '["yes", true]}}}}'), r"'by r,g' is no atom of blocksworld; write"),
    ('{"x/a.pddl": {"goal_reached": true}, "y/a.pddl": {"goal_reached": true}}', 'there twice'),
    (('{"a.pddl": {"goal_reached": true, "action_results": [{"action": "a()", '
      '"preconditions_results": {"clear r": ["yes", 1, 0, null, "so", "yes", true]}}]}}'),
     'matches PDDL is .so.'),
])
def test_wrong_files_are_named_and_the_others_done(tmp_path, capsys, content, said):
    cases.write(tmp_path / 'f', 'blocksworld/final_no_cot/predicates/simple/a', None)
    bad = next((tmp_path / 'f').rglob('*.json'))
    bad.write_text(content)
    cases.write(tmp_path / 'f', 'blocksworld/final_no_cot/predicates/simple/z', cases.TWO_BLOCKS)
    assert cli.main(['suite', 'viplan', 'import', str(tmp_path / 'f'), '--out',
                     str(tmp_path / 'r'), '--json']) == 1
    out, err = capsys.readouterr()
    found = json.loads(out.splitlines()[-1])
    assert [one['file'] for one in found['skipped']] == [str(bad)]
    assert re.search(said, found['skipped'][0]['reason'])
    assert found['episodes'] == 4 and str(bad) in err
    assert sorted(path.name for path in (tmp_path / 'r').iterdir()) == [
        'blocksworld-ground-simple-z']


def test_files_in_wrong_places_and_empty_folders_are_named(tmp_path, capsys):
    cases.write(tmp_path, 'blocksworld/final_best/predicates/simple/a', cases.TWO_BLOCKS)
    assert cli.main(['suite', 'viplan', 'import', str(tmp_path), '--out', str(tmp_path / 'r')]
                    ) == 2
    assert 'SETTING one of final_no_cot, final_cot' in capsys.readouterr().err
    assert cli.main(['suite', 'viplan', 'import', str(tmp_path / 'no'), '--out', str(tmp_path)]
                    ) == 2
    assert 'no such folder (give the authors' in capsys.readouterr().err


def test_memory_does_not_grow_with_the_number_of_files(tmp_path):
    """Measured in a process of its own: the peak after one large file, and after eight more."""
    cases.write_many(tmp_path / 'one', 1)
    cases.write_many(tmp_path / 'more', 8)
    script = (
        'import re, sys\nfrom pathlib import Path\n'
        'from sightplan_suites.viplan.importing import import_folder\n'
        'for name in ("one", "more"):\n'
        '    done = import_folder(Path(sys.argv[1], name), Path(sys.argv[1], "runs", name))\n'
        '    assert not done.skipped\n'
        # Not ru_maxrss: that begins with what the process that started this one had used.
        '    status = Path("/proc/self/status").read_text()\n'
        '    print(int(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1]) // 1024)\n')
    (tmp_path / 'runs').mkdir()
    first, last = map(int, subprocess.run(
        [sys.executable, '-c', script, str(tmp_path)], check=True, capture_output=True,
        text=True).stdout.split())
    assert last < 300 and last - first < 60  # MiB


def test_what_is_there_already_is_kept_and_what_changed_is_read_again(tmp_path):
    folder, out = cases.write_by_hand(tmp_path / 'final'), tmp_path / 'runs'
    first = import_folder(folder, out)
    second = import_folder(folder, out)
    assert (second.runs, second.kept) == ([], first.runs)
    cases.write(folder, 'blocksworld/final_no_cot/predicates/simple/gpt-4.1',
                dict(list(cases.TWO_BLOCKS.items())[:1]))
    third = import_folder(folder, out)
    assert [run.name for run in third.runs] == [GROUND] and third.episodes == 1
    assert len(lines_of(out / GROUND)) == 1
    next((folder / 'blocksworld/final_no_cot/predicates').rglob('*.json')).write_text('{"a')
    fourth = import_folder(folder, out)
    assert len(fourth.skipped) == 1 and len(lines_of(out / GROUND)) == 1  # nothing is lost


def test_a_run_of_ones_own_is_never_replaced(tmp_path):
    folder, out = cases.write_by_hand(tmp_path / 'final'), tmp_path / 'runs'
    (out / GROUND).mkdir(parents=True)
    (out / GROUND / 'run.json').write_text('{"format": 3, "identity": {}, "sessions": []}')
    done = import_folder(folder, out)
    assert 'holds a run that was not imported' in done.skipped[0]['reason']
    assert len(done.runs) == 5 and not (out / GROUND / 'episodes.jsonl').exists()


# ---------------------------------------------------------------------------------- other commands


def test_failures_calibrate_and_estimate_take_imported_runs(runs, tmp_path, capsys):
    assert cli.main(['failures', str(runs / GROUND)]) == 0
    assert 'precondition_judged_false' in capsys.readouterr().out
    cal = tmp_path / 'cal.json'
    assert cli.main(['calibrate', '--run', str(runs / GROUND), '--out', str(cal), '--json']) == 0
    report = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (report['model'], report['learned']) == ('gpt-4.1', 'labels')
    assert report['predicates']['clear']['answers'] > 10
    scene = tmp_path / 'scene.jsonl'
    scene.write_text(''.join(
        json.dumps(one) + '\n' for one in answers_of(runs / GROUND)
        if one['episode'].endswith('problem_2#0')))
    problem = tmp_path / 'p.pddl'
    problem.write_text('(define (problem p) (:domain blocksworld) (:objects r g - block c1 c2 - '
                       'column) (:init) (:goal (and (on r g))))')
    assert cli.main(['estimate', '--domain', 'blocksworld', '--problem', str(problem),
                     '--answers', str(scene), '--calibration', str(cal), '--json']) == 0
    state = json.loads(capsys.readouterr().out.splitlines()[-1])['state']
    assert 'clear r' in state and 'on r,g' in state  # although the model said that r is not clear


# ------------------------------------------------------------------------------------- the report


def tables_of(*folders):
    return {table.name: table for table in make_tables(gather(folders))}


@pytest.fixture(scope='module')
def three_splits(tmp_path_factory):
    """Files of one model on three splits, with other problems on each."""
    folder = tmp_path_factory.mktemp('splits')
    problems = list(cases.TWO_BLOCKS.items())
    for split, count in (('simple', 4), ('medium', 3), ('hard', 1)):
        cases.write(folder / 'final', f'blocksworld/final_no_cot/predicates/{split}/gpt-4.1',
                    dict(problems[:count]))
    import_folder(folder / 'final', folder / 'runs')
    return tables_of(folder / 'runs')


def test_three_splits_are_one_row_beside_the_papers_numbers(three_splits):
    [row] = three_splits['model_table'].rows
    assert [row[f'{split}_success'] for split in ('simple', 'medium', 'hard')] == [
        1 / 4, 1 / 3, 1.0]
    [first] = three_splits['success'].rows[:1]
    assert [first[f'{split}_paper'] for split in ('simple', 'medium', 'hard')] == [1.0, .76, .48]
    for row in three_splits['models'].rows:
        assert not row['paper_apart'] and not row['paper_differs']
        # These are no others than the paper's episodes: in standard errors nothing lies between.
        assert row['success_errors'] is None and 'own episodes' in row['success_unlike']


def test_compounding_is_over_all_episodes_not_over_those_solved_without_error(three_splits):
    [row] = three_splits['compounding_predicted'].rows
    assert (row['left_out'], row['exact'], row['success_n']) == (0, 0, 8)
    assert row['success'] == 3 / 8


def test_the_papers_tables_are_made_again_and_say_what_is_equal(three_splits):
    rows = {(row['split'], row['measure']): row
            for row in three_splits['suite_viplan_printed'].rows}
    solved = rows['simple', 'solved']
    assert (solved['table'], solved['printed'], solved['difference']) == (6, 1.0, '-0.75')
    assert close(solved['value_sem'], math.sqrt(.25 * .75 / 4)) and solved['n'] == 4
    left = rows['simple', 'predicate_accuracy.leftof']
    assert (left['table'], left['n'], left['difference']) == (16, 20, 'equal')
    [six] = three_splits['suite_viplan_table_6'].rows
    assert six['solved, simple'] == 1 / 4 and six['compared'] == 6
    assert 'solved, hard +0.52' in six['difference']
    assert 'equal' not in six['difference']
    assert three_splits['suite_viplan_table_16'].title.startswith('Table 16 of the paper')
    [figures] = [row for row in three_splits['suite_viplan_figures'].rows
                 if row['split'] == 'simple']
    assert close(figures['macro_predicate_accuracy'], .96) and figures['fail_ratio'] == .5


def test_pages_of_episodes_show_no_none_and_ask_for_no_recording(runs, tmp_path, capsys):
    out = tmp_path / 'episode.html'
    assert cli.main(['explain', str(runs / GROUND), 'problem_1', '--out', str(out)]) == 0
    said = capsys.readouterr().out
    assert 'found a plan\n' in said and '--bags' not in said
    text = re.sub(r'<(style|script).*?</\1>', '', out.read_text(), flags=re.DOTALL)
    assert 'None' not in text and '--bags' not in text and 'The results were imported' in text


def test_a_report_of_all_forms_is_whole(runs, tmp_path, capsys):
    assert cli.main(['report', str(runs), '--out', str(tmp_path), '--episodes', 'none']) == 0
    assert 'sightplan report:' not in capsys.readouterr().err  # no warning
    names = {path.stem for path in (tmp_path / 'tables').glob('suite_viplan_*.csv')}
    assert names == {f'suite_viplan_{name}' for name in (
        'figures', 'printed', *(f'table_{number}' for number in (6, 9, 10, 11, 14, 16, 17, 18)))}


def test_runs_of_ones_own_add_none_of_these_tables(tmp_path):
    out = tmp_path / 'own'
    assert cli.main(['run', '--method', 'oracle', '--episodes', '1', '--out', str(out),
                     '--world-option', 'pictures=none']) == 0
    assert not [name for name in tables_of(out) if name.startswith('suite_viplan')]


# ------------------------------------------------------------------ paired with runs of one's own

OWN_FILES = {'count': 4, 'sha256': 'of files'}


def own_run(folder, solved, **fields):
    """A run on problem files that are called as the authors' are, from ``problem_1`` on."""
    lines = [line_of(number, good, problem=f'problem_{number}')
             for number, good in enumerate(solved, start=1)]
    return write_run(folder, lines, **{'problems': OWN_FILES, **fields})


def test_a_run_on_the_authors_problems_is_paired_by_problem(runs, tmp_path, capsys):
    own_run(tmp_path / 'own', (False, True, True, True))
    [row] = [row for row in tables_of(runs, tmp_path / 'own')['paired'].rows
             if row['compared'] == 'run']
    assert (row['first_backend'], row['second_backend']) == ('imported', 'noisy_oracle')
    assert (row['both'], row['only_first'], row['only_second'], row['neither']) == (0, 1, 3, 0)
    assert (row['n'], row['problems'], row['difference']) == (4, 4, -0.5)
    assert row['p'] == pytest.approx(mcnemar_exact(1, 3))
    assert cli.main(['report', str(runs), str(tmp_path / 'own'), '--out', str(tmp_path / 'r'),
                     '--episodes', 'none']) == 0
    assert 'not paired' not in capsys.readouterr().err


def test_a_real_run_on_problem_files_is_paired(runs, tmp_path, capsys):
    """With ``--problems`` on a folder that is called like the split."""
    (tmp_path / 'simple').mkdir()
    facts = ' '.join(f'({atom.replace(",", " ")})' for atom in cases.STACK)
    for number in range(1, 5):
        (tmp_path / 'simple' / f'problem_{number}.pddl').write_text(
            f'(define (problem problem_{number}) (:domain blocksworld) (:objects r g - block '
            f'c1 c2 - column) (:init {facts}) (:goal (and (incolumn r c2) (on g r) (clear g))))')
    assert cli.main(['run', '--suite', 'viplan', '--problems', str(tmp_path), '--split', 'simple',
                     '--method', 'ground', '--table', 'perfect', '--protocol', 'paper',
                     '--world-option', 'pictures=none', '--out', str(tmp_path / 'own')]) == 0
    [row] = [row for row in tables_of(runs, tmp_path / 'own')['paired'].rows
             if row['second_backend'] == 'noisy_oracle']
    assert (row['n'], row['both'], row['only_second']) == (4, 1, 3)
    assert row['p'] == pytest.approx(mcnemar_exact(0, 3)) == 0.25


def test_imported_methods_are_paired_although_their_rules_differ(runs):
    compared = {(row['first_method'], row['second_method']): row
                for row in tables_of(runs)['paired'].rows if row['domain'] == 'blocksworld'}
    row = compared['ground', 'plan']
    assert (row['compared'], row['n'], row['both'], row['neither']) == ('method', 4, 1, 3)
    # Facts of the other domain tell nothing apart here.
    assert (row['first_variant'], row['second_variant']) == (None, None)


def test_another_model_is_paired_as_another(runs, tmp_path):
    own_run(tmp_path / 'own', (False, True), model='noisy_oracle(aya-vision-8b/plain, seed 0)')
    [row] = [row for row in tables_of(runs, tmp_path / 'own')['paired'].rows
             if row['second_backend'] == 'noisy_oracle']
    assert (row['compared'], row['n'], row['second_model']) == (
        'model and run', 2, 'AyaVision 8B')


@pytest.mark.parametrize(('own', 'said'), [
    ({}, 'it is of the shipped problems .run it with --problems'),
    ({'problems': OWN_FILES, 'method': 'ground_mem'}, 'its method is ground_mem')])
def test_a_run_that_is_not_paired_is_named(runs, tmp_path, capsys, own, said):
    write_run(tmp_path / 'own', [line_of(n, problem=f'problem_{n}') for n in (1, 2)], **own)
    assert cli.main(['report', str(runs), str(tmp_path / 'own'), '--out', str(tmp_path / 'r'),
                     '--episodes', 'none']) == 0
    err = capsys.readouterr().err
    assert re.search(f'own: is not paired with imported results: {said}', err)
    assert not [row for row in tables_of(runs, tmp_path / 'own')['paired'].rows
                if 'noisy_oracle' in (row['first_backend'], row['second_backend'])]


def test_runs_without_a_common_problem_are_named(runs, tmp_path, capsys):
    write_run(tmp_path / 'own', [line_of(7)], problems=OWN_FILES)
    assert cli.main(['report', str(runs), str(tmp_path / 'own'), '--out', str(tmp_path / 'r'),
                     '--episodes', 'none']) == 0
    assert ('no problem of it is one of theirs, by split and name (simple p7 here, simple '
            'problem_1 there') in capsys.readouterr().err


def test_other_methods_beside_a_paired_run_are_no_fault(runs, tmp_path, capsys):
    own_run(tmp_path / 'own' / 'ground', (True, True))
    own_run(tmp_path / 'own' / 'memory', (True, True), method='ground_mem')
    assert cli.main(['report', str(runs), str(tmp_path / 'own'), '--out', str(tmp_path / 'r'),
                     '--episodes', 'none']) == 0
    assert 'not paired' not in capsys.readouterr().err
