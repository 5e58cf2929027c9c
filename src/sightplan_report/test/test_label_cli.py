"""``sightplan label``: the command line."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from labelling_case import IDS, ON
from sightplan import cli
from sightplan.model import InfrastructureError
from sightplan_report.labelling import Label, LabelValue, read_labels

HERE = Path(__file__).parent
PROGRAM = """
import sys
from labelling_case import three_pictures
from sightplan import cli
from sightplan_report.labelling import tasks
tasks.find_bags = lambda path: [path]
tasks.read_episodes = lambda bag: iter([three_pictures()])
sys.exit(cli.main(['label', 'bags', '--no-browser', *sys.argv[1:]]))
"""


@pytest.fixture
def labels(tmp_path):
    path = tmp_path / 'labels.jsonl'
    path.write_text(''.join(json.dumps(Label(
        image=image, atom=ON, label=value, who=who).to_json()) + '\n' for who, image, value in (
        ('ann', 'a', LabelValue.YES), ('ann', 'b', LabelValue.NO), ('bob', 'a', LabelValue.YES),
        ('bob', 'b', LabelValue.UNCLEAR))) + '{"image": "torn')
    return path


def test_a_session_from_the_shell(tmp_path):
    command = [sys.executable, '-c', PROGRAM, '--json', '--who', 'ann', '--out', 'mine.jsonl',
               '--limit', '2']
    with subprocess.Popen(command, cwd=tmp_path, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE,
                          env=os.environ | {'PYTHONPATH': os.pathsep.join(
                              [str(HERE), os.environ.get('PYTHONPATH', '')])}) as process:
        try:
            told = ''
            for line in process.stderr:
                told += line
                found = re.search(r'open (http://127\.0\.0\.1:\d+/\S+/)$', line)
                if found:
                    break
            assert '4 questions about 2 pictures; 0 labelled by ann already' in told
            body = json.dumps({'image': IDS[0], 'atom': 'on r,g', 'label': 'no'}).encode()
            with urllib.request.urlopen(urllib.request.Request(
                    f'{found[1]}label', body, {'Content-Type': 'application/json'}),
                    timeout=240) as reply:
                assert json.load(reply)['labelled'] == 1
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=240)
        finally:
            process.kill()
    assert process.returncode == 0, err
    assert json.loads(out.splitlines()[-1]) == {
        'labelled': 1, 'questions': 4, 'images': 2, 'who': 'ann', 'file': 'mine.jsonl'}
    assert '1 of 4 questions are labelled: mine.jsonl' in err
    assert read_labels(tmp_path / 'mine.jsonl').truth(IDS[0], ON) is False


def test_summary(labels, capsys):
    assert cli.main(['label', '--summary', str(labels)]) == 0
    out, err = capsys.readouterr()
    assert '4 labels on 2 questions about 2 pictures; 1 questions are decided' in out
    assert re.search(r'ann, bob\s+2\s+1\s+0\.333', out)
    assert 'its last line was cut off' in err


def test_summary_as_json(labels, capsys):
    assert cli.main(['label', '--summary', str(labels), '--json']) == 0
    summary = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert summary['people'] == {'ann': {'yes': 1, 'no': 1, 'unclear': 0},
                                 'bob': {'yes': 1, 'no': 0, 'unclear': 1}}
    assert summary['agreement'][0]['n'] == 2
    assert len(summary['warnings']) == 1


@pytest.mark.parametrize(('arguments', 'words'), [
    ([], 'name at least one bag'),
    (['nowhere'], 'nowhere'),
    (['bags', '--limit', '-1'], '--limit -1 is out of bounds'),
    (['bags', '--sample', '-1'], '--sample -1 is out of bounds'),
    (['bags', '--port', '65536'], '--port 65536 is out of bounds'),
    (['bags', '--who', 'a\nb'], '--who'),
    (['--summary', 'none.jsonl'], 'none.jsonl: cannot be read'),
    (['bags', '--summary', 'none.jsonl'], 'leave the bags out'),
])
def test_bad_usage_is_met_with_words(tmp_path, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(tmp_path)
    assert cli.main(['label', *arguments]) == 2
    out, err = capsys.readouterr()
    assert words in err and not out
    assert not list(tmp_path.iterdir())


def test_what_fails_is_met_with_words(tmp_path, monkeypatch, capsys):
    def fail(*_):
        raise InfrastructureError('the disk is on fire')
    monkeypatch.setattr('sightplan_report.labelling.tasks.collect_bags', fail)
    assert cli.main(['label', str(tmp_path)]) == 1
    out, err = capsys.readouterr()
    assert err == 'sightplan label: the disk is on fire\n' and not out
