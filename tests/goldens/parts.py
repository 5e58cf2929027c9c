"""What the goldens run: for each part its cases, as data.

A case of ``RUNS`` is a name and the settings of a run (see ``adapter.run_items``); one of
``COMMANDS`` a name, command lines and the names of their results (see ``adapter.command_items``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Settings = dict[str, Any]

_ASKING = ('ground', 'ground_cot', 'ground_mem', 'ground_mem_cot', 'decode', 'belief', 'log_odds',
           'three_valued')
_BLIND = ('blind', 'oracle', 'astar', 'random', 'random_valid', 'idle')
_PLANNING = ('plan', 'plan_cot', 'action', 'action_cot')
_READING_GOALS = ('ground', 'ground_cot', 'ground_mem', 'ground_mem_cot', 'decode', 'belief')
_UNSEEN = {'world_options': {'pictures': 'none'}}
_SMALL = {'width': 160, 'height': 120, 'supersampling': 1}


def _of_methods(methods: Sequence[str], prefix: str = '', **settings: Any) -> dict[str, Settings]:
    return {f'{prefix}{method}': {**settings, 'method': method} for method in methods}


def _noisy(domain: str, split: str, table: str, **more: Any) -> Settings:
    return {'domain': domain, 'split': split, 'backend': 'noisy_oracle',
            'backend_options': {'table': table}, **_UNSEEN, **more}


def _options(name: str, **options: Any) -> dict[str, Settings]:
    """Cases of ``belief`` with one setting changed each."""
    return {f'belief {key}={value}': {**_noisy('blocksworld', name, 'gpt-4.1', episodes=1),
                                      'method': 'belief', 'method_options': {key: value}}
            for key, value in options.items()}


def _said(*actions: tuple[str, ...] | str) -> list[Any]:
    """Replies of a model that plans: texts as they are, and one action each."""
    return [one if isinstance(one, str) else
            {'plan': [{'action': one[0], 'parameters': list(one[1:])}]} for one in actions]


def _moves(*actions: tuple[str, ...] | str) -> list[Any]:
    """Replies of a model that says its next action."""
    return [one if isinstance(one, str) else {'action': one[0], 'parameters': list(one[1:])}
            for one in actions]


def _scripted(domain: str, split: str, *actions: tuple[str, ...] | str, **more: Any,
              ) -> dict[str, Settings]:
    """Plans and single actions by a script."""
    found = {}
    for method in _PLANNING:
        replies = (_said if method.startswith('plan') else _moves)(*actions)
        found[f'{domain} {split} {method}'] = {
            'domain': domain, 'split': split, 'method': method, 'backend': 'scripted',
            'script': {'replies': replies, 'repeat': 'last'}, 'episodes': 1, 'max_actions': 8,
            **more}
    return found


_ANSWERS = {'answers': {'default': {'text': 'No', 'p_yes': 0.2, 'p_no': 0.7}}}
_BOARD = 'Solution: a1 red cube, b2 blue sphere, c3 green pyramid'
_STEPS = {'actions': [{'action': 'grasp', 'target': 'the red mug'},
                      {'action': 'place', 'target': 'the tray'}]}
_MARKS = {'actions': [{'action': 'grasp', 'target': '1'}, {'action': 'place', 'target': '2'}]}
_POINTED = {'actions': [{'action': 'grasp', 'target': 'cup', 'bbox': [100, 200, 300, 400]},
                        {'action': 'place', 'target': 'tray', 'point': [500, 500]}]}


def _samples(suite: str, split: str, backend: str, methods: Sequence[str], episodes: int = 6,
             label: str = '', **more: Any) -> dict[str, Settings]:
    return {f'{split} {label or backend} {method}': {
        'suite': suite, 'split': split, 'backend': backend, 'method': method,
        'episodes': episodes, **more} for method in methods}


RUNS: Mapping[str, Mapping[str, Settings]] = {
    'blocksworld': {
        **_of_methods((*_ASKING, *_BLIND), 'gpt-4.1 ', **_noisy(
            'blocksworld', 'simple', 'gpt-4.1', episodes=2, failure_probability=0.2)),
        **_of_methods(_ASKING, 'InternVL3-8B ', **_noisy(
            'blocksworld', 'hard', 'InternVL3-8B', episodes=1, seed=7)),
        **_of_methods(('ground', 'belief'), 'medium ', **_noisy(
            'blocksworld', 'medium', 'gemma-3-27b-it', episodes=2, answers='prefix',
            stop_at_goal='yes')),
        **_options('medium', unknown=True, look_ahead=False, constraints=False, priors=False,
                   correlated=False, repeats='independent',
                   reliability='fixed', k=16),
        'factorised': {**_noisy('blocksworld', 'simple', 'gpt-4.1', episodes=1),
                       'method': 'belief', 'method_options': {'inference': 'factorised'}}},
    'blocksworld_pictures': {
        **_of_methods((*_ASKING, 'blind', 'oracle'), domain='blocksworld', split='simple',
                      backend='embedded', episodes=1),
        **_of_methods(('ground', 'belief'), 'hard ', domain='blocksworld', split='hard',
                      backend='embedded', episodes=1, seed=3, failure_probability=0.3)},
    'scripted': {
        **_scripted('blocksworld', 'simple', 'I think that', ('moveblock', 'g', 'c1'),
                    ('moveblock', 'nobody', 'c1'), ('fly', 'g'), '{"plan": []}', '[',
                    ('moveblock', 'p', 'c2')),
        **_scripted('household', 'simple', ('navigate-to', 'cabinet_1'),
                    ('open-container', 'cabinet_1'), ('grasp', 'bowl_1'),
                    ('navigate-to', 'sink_1'), ('place-on', 'bowl_1', 'sink_1'), 'done'),
        **_scripted('sliding', 'geoms', 'action: move red sphere down',
                    ('move', 'blue_sphere', 'down'), ('move', 'red_cube', 'left'), 'done',
                    world_options=_SMALL),
        **_scripted('tabletop', 'short', ('grasp', 'apple_1'), ('place-in', 'apple_1', 'bowl_1'),
                    ('open', 'bowl_1')),
        'sliding text action': {
            'domain': 'sliding', 'split': 'geoms', 'method': 'action', 'backend': 'scripted',
            'world_options': {'view': 'text'}, 'episodes': 1, 'max_actions': 4,
            'script': {'replies': ['action: move red sphere down', 'I am done?', 'action: done'],
                       'repeat': 'last'}},
        **_of_methods(_ASKING, 'blocksworld ', domain='blocksworld', split='simple', episodes=1,
                      backend='scripted', script=_ANSWERS, max_actions=6, **_UNSEEN),
        **_of_methods(('ground', 'belief', 'three_valued'), 'household ', domain='household',
                      split='simple', episodes=1, backend='scripted', script=_ANSWERS,
                      max_actions=6, **_UNSEEN),
        **_of_methods(('ground', 'belief'), 'tabletop ', domain='tabletop', split='short',
                      episodes=1, backend='scripted', script=_ANSWERS, max_actions=6)},
    'household': {
        **_of_methods((*_ASKING, *_BLIND), 'simple ', **_noisy(
            'household', 'simple', 'InternVL3-78B', episodes=1, failure_probability=0.1)),
        **_of_methods(('ground', 'belief', 'log_odds', 'three_valued', 'blind', 'oracle'),
                      'untold ', **_noisy('household', 'search', 'gpt-4.1', episodes=1,
                                          max_actions=10)),
        **_of_methods(('ground', 'belief'), 'initial ', **_noisy(
            'household', 'medium', 'gpt-4.1', episodes=1, privileged='initial')),
        'paths oracle': {
            'domain': 'household', 'split': 'simple', 'method': 'oracle', 'episodes': 1,
            'world_options': {'pictures': 'none', 'paths': 'planned',
                              'path_vector': 'minimum_clearance=1'}},
        'reference oracle': {
            'domain': 'household', 'split': 'hard', 'method': 'oracle', 'episodes': 1,
            'world_options': {'pictures': 'none', 'navigation': 'reference', 'home': 2}}},
    'household_pictures': _of_methods(
        ('ground', 'belief', 'decode'), domain='household', split='simple', backend='embedded',
        episodes=1, max_actions=6),
    'sliding': {
        **_of_methods(('ground', 'ground_mem', 'belief', 'moves', 'astar', 'oracle', 'random',
                       'random_valid', 'idle'), 'reader ',
                      domain='sliding', split='geoms', backend='noisy_reader', episodes=1,
                      backend_options={'table': 'gpt-4o'}, max_actions=8, **_UNSEEN),
        **_of_methods(_ASKING, 'told ', domain='sliding', split='geoms',
                      backend='noisy_reader', episodes=1, goal='told', max_actions=8, **_UNSEEN),
        'oracle_backend ground': {**_noisy('sliding', 'tiles', 'perfect', episodes=2),
                                  'method': 'ground'},
        'last look': {'domain': 'sliding', 'split': 'geoms', 'backend': 'noisy_reader',
                      'method': 'belief', 'episodes': 1, 'max_actions': 8, **_UNSEEN,
                      'method_options': {'memory': False, 'looks': 1, 'goal_looks': 1}},
        'invalid moves': {'domain': 'sliding', 'split': 'geoms', 'method': 'moves',
                          'episodes': 2, **_UNSEEN,
                          'method_options': {'sequence': 'random_invalid_move_sequence'}},
        'human': {'domain': 'sliding', 'split': 'geoms', 'episodes': 1,
                  'world_options': _SMALL, 'person': 3}},
    'sliding_pictures': {
        **_of_methods(_READING_GOALS, 'geoms ', domain='sliding', split='geoms',
                      backend='embedded', episodes=1),
        **_of_methods(('ground', 'belief'), 'tiles ', domain='sliding', split='tiles',
                      backend='embedded', episodes=1),
        **_of_methods(('ground',), '2d ', domain='sliding', split='geoms', backend='embedded',
                      episodes=1, world_options={'view': '2d', 'labels': 'edge'})},
    'tabletop': {
        **_of_methods((*_ASKING, *_BLIND), domain='tabletop', split='medium',
                      backend='noisy_oracle', backend_options={'table': 'gpt-4.1'}, episodes=1,
                      failure_probability=0.2)},
    'predicates': {
        **_samples('predicates', 'simple', 'noisy_oracle',
                   ('ask', 'ask_cot', 'oracle', 'random'), 8,
                   suite_options={'count': 1}, backend_options={'table': 'gpt-4.1'}),
        **_samples('predicates', 'simple', 'noisy_oracle', ('ask', 'votes'), 5, 'household',
                   suite_options={'count': 4, 'domain': 'household'},
                   backend_options={'table': 'gemma-3-27b-it'}),
        **_samples('predicates', 'simple', 'embedded', ('ask', 'blind'), 6,
                   suite_options={'count': 1}),
        **_samples('predicates', 'hard', 'scripted', ('ask', 'blind'), 4,
                   suite_options={'count': 1}, script=_ANSWERS)},
    'ivispar': {
        **_samples('ivispar', 'boards_3d', 'noisy_reader', ('ask', 'ask_cot', 'oracle', 'random'),
                   5),
        **_samples('ivispar', 'boards_2d', 'noisy_reader', ('ask',), 5,
                   backend_options={'table': 'gpt-4o'}),
        **_samples('ivispar', 'boards_3d', 'embedded', ('ask', 'blind'), 3),
        **_samples('ivispar', 'boards_2d', 'embedded', ('ask',), 3),
        **_samples('ivispar', 'boards_2d', 'scripted', ('ask', 'ask_cot', 'blind'), 3,
                   suite_options={'width': 160, 'height': 120},
                   script={'replies': [_BOARD, 'No idea.', 'Solution: a1 red cube'],
                           'repeat': 'last'})},
    'patheval': {
        **_samples('patheval', 'test', 'noisy_critic', ('ask', 'compare', 'oracle', 'random'), 5),
        **_samples('patheval', 'test', 'noisy_critic', ('compare',), 5, 'one order',
                   method_options={'orders': 'one', 'names': 'given'},
                   backend_options={'answers': 'hard', 'noise': 'shared'}),
        **_samples('patheval', 'segments', 'noisy_critic', ('ask', 'compare'), 4),
        **_samples('patheval', 'test', 'embedded', ('ask', 'compare'), 3),
        **_samples('patheval', 'test', 'embedded', ('ask',), 3, 'embedded 3d',
                   suite_options={'view': '3d', 'size': 320}),
        **_samples('patheval', 'test', 'scripted', ('ask', 'ask_cot', 'compare', 'blind'), 4,
                   script={'replies': ['Path 1', 'Path 2 is better.', 'Neither.'],
                           'repeat': 'last'}),
        **_samples('patheval', 'test', 'scripted', ('ask',), 3, 'perception',
                   suite_options={'variant': 'perception'},
                   script={'replies': ['Path 1', '{"answer": 2}'], 'repeat': 'last'}),
        **_samples('patheval', 'test', 'noisy_critic', ('ask',), 3, 'random names',
                   suite_options={'variant': 'random'})},
    'point_it_out': {
        **_samples('point_it_out', 's1', 'noisy_locator', ('ask', 'votes', 'oracle', 'random'), 4,
                   suite_options={'count': 1}),
        **_samples('point_it_out', 's2', 'noisy_locator', ('ask', 'votes'), 4,
                   suite_options={'count': 1, 'form': 'box'}),
        **_samples('point_it_out', 's1', 'embedded', ('ask', 'votes', 'blind'), 4,
                   suite_options={'count': 1}),
        **_samples('point_it_out', 's2', 'embedded', ('ask',), 4, suite_options={'count': 1}),
        **_samples('point_it_out', 's1', 'scripted', ('ask', 'votes'), 4,
                   suite_options={'count': 1, 'ticks': True},
                   script={'locate': {'default': ['[(0.5, 0.4)]', '[(0.2, 0.2)]', 'not there']},
                           'repeat': 'last', **_ANSWERS}),
        **_samples('point_it_out', 's3', 'scripted', ('ask', 'oracle', 'random'), 3,
                   suite_options={'count': 2},
                   script={'locate': {'default': '[(0.1, 0.1), (0.5, 0.4), (0.9, 0.2)]'}})},
    'grounded_plan': {
        **_samples('grounded_plan', 'short', 'embedded', ('grounded_plan', 'oracle', 'random'), 6,
                   suite_options={'count': 3}),
        **_samples('grounded_plan', 'long', 'embedded', ('grounded_plan',), 4,
                   suite_options={'count': 2}),
        **_samples('grounded_plan', 'medium', 'embedded', ('grounded_plan',), 4,
                   suite_options={'count': 2}, method_options={'looks': 1, 'accept': 0.5}),
        **_samples('grounded_plan', 'short', 'scripted', ('ask', 'ask_cot', 'blind'), 3,
                   suite_options={'count': 2}, script={'replies': [_POINTED], 'repeat': 'last'}),
        **_samples('grounded_plan', 'short', 'scripted', ('decoupled',), 3, 'words',
                   suite_options={'count': 2}, script={
                       'replies': [_STEPS], 'repeat': 'last',
                       'locate': {'default': '[(0.4, 0.6, 0.5, 0.7)]'}}),
        **_samples('grounded_plan', 'short', 'scripted', ('decoupled',), 3, 'words, embedded',
                   suite_options={'count': 2}, method_options={'grasps': 'embedded'},
                   script={'replies': [_STEPS], 'repeat': 'last'}),
        **_samples('grounded_plan', 'short', 'scripted', ('set_of_marks',), 3, 'marks',
                   suite_options={'count': 2}, method_options={'marks': 'embedded'},
                   script={'replies': [_MARKS], 'repeat': 'last'})},
    'arm': {
        'blocksworld belief': {'domain': 'blocksworld', 'split': 'simple', 'method': 'belief',
                               'backend': 'embedded', 'episodes': 1,
                               'world_options': {'execution': 'arm'}},
        'tabletop grounded_plan': {'domain': 'tabletop', 'split': 'short',
                                   'method': 'grounded_plan', 'backend': 'embedded',
                                   'episodes': 1, 'world_options': {'execution': 'arm'}},
        'sliding ground': {'domain': 'sliding', 'split': 'geoms', 'method': 'ground',
                           'backend': 'embedded', 'episodes': 1, 'max_actions': 2,
                           'world_options': {'execution': 'arm'}}},
}

_RECORDED = ['run', '--split', 'simple', '--episodes', '2', '--seed', '4', '--no-failure-images',
             '--bags', 'all', '--table', 'gpt-4.1', '--world-option', 'pictures=none']

COMMANDS: Mapping[str, Mapping[str, tuple[Sequence[Sequence[str]], Sequence[str]]]] = {
    'sweep': {'smoke': (
        [['sweep', 'config/sweeps/smoke.yaml', '--out', '{}/smoke', '--jobs', '1']], [''])},
    'replay': {
        'ground': ([
            [*_RECORDED, '--method', 'ground', '--out', '{}/ground'],
            ['replay', '{}/ground'],
            ['replay', '{}/ground', '--table', 'perfect', '--out', '{}/perfect', '--method',
             'ground', 'decode', 'belief'],
            ['replay', '{}/ground', '--table', 'InternVL3-8B', '--seed', '3', '--out',
             '{}/internvl']], ['', 'metrics', 'perfect', 'InternVL3-8B']),
        'belief': ([
            [*_RECORDED, '--method', 'belief', '--failure-probability', '0.2', '--out',
             '{}/belief'],
            ['replay', '{}/belief', '--method', 'belief', 'decode']], ['', 'estimators']),
        'pictures': ([
            ['run', '--split', 'simple', '--episodes', '1', '--method', 'ground', '--backend',
             'embedded', '--bags', 'all', '--record', '--no-failure-images', '--out', '{}/seen'],
            ['replay', '{}/seen', '--backend', 'embedded', '--out', '{}/again'],
            ['run', '--split', 'simple', '--episodes', '1', '--method', 'ground', '--backend',
             'replay', '--backend-option', 'path={}/seen/replies.jsonl', '--no-failure-images',
             '--out', '{}/replayed']], ['', 'embedded', '']),
        'household': ([
            ['run', '--domain', 'household', '--split', 'simple', '--episodes', '1', '--method',
             'ground', '--table', 'gpt-4.1', '--bags', 'all', '--no-failure-images', '--out',
             '{}/home', '--world-option', 'pictures=none'],
            ['replay', '{}/home', '--table', 'perfect', '--out', '{}/asked']],
            ['', 'perfect'])},
}
