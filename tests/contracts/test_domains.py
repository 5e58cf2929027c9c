"""What every domain folder must offer; a new folder is found and checked by itself.

The shipped ones, and those in ``domains/`` beside this file, which are there for tests only.
"""

from __future__ import annotations

import itertools
import random
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from unified_planning.io import PDDLReader
from unified_planning.shortcuts import OneshotPlanner, get_environment

from sightplan.domains import Domain, MemoryOf, domain_names, load_domain
from sightplan.domains.problem_keys import problem_key
from sightplan.model import Action, Atom, PlanningStatus, PlanningTask, Problem
from sightplan.planning.symbolic import FastDownwardPlanner
from sightplan_belief.constraints import instantiate, read_constraints
from sightplan_belief.observation_model import read_observation_model
from sightplan_belief.priors import known_rates
from sightplan_models.embedded import Backend as Embedded
from sightplan_models.embedded import Settings

get_environment().credits_stream = None
pytestmark = pytest.mark.filterwarnings('ignore::DeprecationWarning:unified_planning')
DOMAINS = [*(load_domain(name) for name in domain_names()),
           *(Domain(path.parent) for path in sorted(
               (Path(__file__).parent / 'domains').glob('*/domain.pddl')))]
READER = PDDLReader()


def _cases(domain: Domain) -> list[dict]:
    return yaml.safe_load((domain.folder / 'cases.yaml').read_text())['cases']


def _problem(domain: Domain, case: dict) -> Problem:
    return domain.parse_problem(case['problem'], 'case', f'cases.yaml: {case["name"]}')


CASES = [pytest.param(domain, case, id=f'{domain.name}: {case["name"]}')
         for domain in DOMAINS for case in _cases(domain)]
PROBLEMS = [pytest.param(domain, problem, id=f'{domain.name}/{split}/{problem.name}')
            for domain in DOMAINS for split in domain.splits
            for problem in domain.split_problems(split)]
every_domain = pytest.mark.parametrize('domain', DOMAINS, ids=lambda domain: domain.name)


@pytest.fixture(scope='module')
def planner():
    with FastDownwardPlanner() as found:
        yield found


def test_there_are_domains() -> None:
    assert DOMAINS


@every_domain
def test_unified_planning_reads_the_same_vocabulary(domain: Domain) -> None:
    theirs = READER.parse_problem_string(domain.pddl)
    assert theirs.name == domain.schema.name
    assert {f.name: tuple(p.type.name for p in f.signature) for f in theirs.fluents} == {
        p.name: p.types for p in domain.schema.predicates.values()}
    assert {a.name: tuple(p.type.name for p in a.parameters) for a in theirs.actions} == {
        a.name: tuple(p.type for p in a.parameters) for a in domain.schema.actions.values()}


@every_domain
def test_every_predicate_has_a_question_of_its_own(domain: Domain) -> None:
    texts = set()
    for predicate in domain.schema.predicates.values():
        names = tuple(f'x{number}' for number in range(len(predicate.parameters)))
        for args in {names, names[::-1]}:
            question = domain.question(Atom(predicate.name, args))
            assert question.atom == Atom(predicate.name, args)
            assert question.text.endswith('?') and '{' not in question.text
            texts.add(question.text)
    assert len(texts) == sum(2 if len(p.parameters) > 1 else 1
                             for p in domain.schema.predicates.values())


@every_domain
def test_prompts_describe_every_action_and_name_every_object(domain: Domain) -> None:
    problem = domain.split_problems(domain.splits[0])[0]
    for name in domain.prompt_names:
        if not name.startswith(('plan', 'action')):
            assert domain.grounding_prompt(name).system
            continue
        prompt = domain.planning_prompt(name, problem)
        text = '\n'.join((prompt.system, *prompt.parts('')))
        for action, words in domain.prompts.actions.items():
            called = f'{action}({", ".join(words.parameters)})' in text
            assert called or f'\n{action} ' in text  # or in a template's own form of replies
            assert all(sentence in text for sentence in (
                words.about, *(words.parameters.values() if called else ()),
                *words.preconditions, *words.effects))
            assert len(words.parameters) == len(domain.schema.actions[action].parameters)
            assert words.effects
        for thing in (*problem.objects, *domain.schema.constants):
            assert re.search(rf'^- {thing} \((?!{thing}\)).+\)$', text, re.MULTILINE) or (
                f'\n- {thing.replace("_", " ")}\n' in text.lower())
        assert domain.goal_text(problem) in text
        assert not re.search(r'\{[a-z_]+\}', text)


@every_domain
def test_every_action_can_be_remembered_in_words(domain: Domain) -> None:
    actions = domain.model(domain.split_problems(domain.splits[0])[0]).actions
    for outcome in MemoryOf:
        texts = {domain.memory('ground_mem', outcome, action, [('Is it?', 'Yes')])
                 for action in actions}
        assert len(texts) == len(actions)
        assert all('Is it?' in text and '{' not in text for text in texts)


@every_domain
def test_splits_have_problems_with_known_optimal_lengths(domain: Domain) -> None:
    assert domain.splits
    for split in domain.splits:
        problems = domain.split_problems(split)
        assert problems
        assert len({p.name for p in problems}) == len(problems)
        assert domain.instances or len({(p.init, p.goal) for p in problems}) == len(problems)
        assert all(p.optimal_length is not None for p in problems)


@pytest.mark.parametrize(('domain', 'problem'), PROBLEMS)
def test_split_problem(domain: Domain, problem: Problem) -> None:
    """Written and read again it is the same; its goal has words; it is not solved yet."""
    text = domain.write_problem(problem)
    again = domain.parse_problem(text, problem.name, problem.source)
    assert (again.objects, again.init, again.goal) == (
        problem.objects, problem.init, problem.goal)
    assert list(again.objects) == list(problem.objects)
    assert domain.write_problem(again) == text
    assert not problem.goal_met(problem.init)
    assert '{' not in domain.goal_text(problem)
    model = domain.model(problem)
    assert problem.init <= set(model.atoms)
    assert {literal.atom for literal in problem.goal} <= set(model.atoms)
    assert len(set(model.atoms)) == len(model.atoms)
    assert len({domain.question(atom).text for atom in model.atoms}) == len(model.atoms)


@every_domain
def test_a_policy_is_told_nothing_of_what_a_problem_is_called_and_how_it_is_solved(
        domain: Domain) -> None:
    for problem in (p for split in domain.splits for p in domain.split_problems(split)[:5]):
        for pictured in (False, True):
            told = problem.for_agent(pictured)
            other = replace(problem, name='other_c1_99', source='elsewhere', optimal_length=99,
                            plans={}, init=problem.known)
            assert told == other.for_agent(pictured)
            assert problem.name.lower() not in (repr(told) + domain.write_problem(told)).lower()


@pytest.mark.parametrize(('domain', 'case'), CASES)
def test_valid_plans_reach_the_goal_and_others_are_refused(domain: Domain, case: dict) -> None:
    problem = _problem(domain, case)
    model = domain.model(problem)

    def flaw(texts: list[str]) -> str | None:
        plan = [Action.parse(text) for text in texts]
        return model.first_flaw(plan, problem.init, problem.goal)

    for texts in case['valid']:
        assert flaw(texts) is None
    for texts in case['invalid']:
        assert flaw(texts) is not None, texts


@pytest.mark.parametrize(('domain', 'case'), CASES)
def test_planner_agrees_on_solvability(domain: Domain, case: dict,
                                       planner: FastDownwardPlanner) -> None:
    problem = _problem(domain, case)
    result = planner.plan(PlanningTask(domain.pddl, domain.write_problem(problem)), 60.0)
    expected = PlanningStatus.SOLVED if case['solvable'] else PlanningStatus.UNSOLVABLE
    assert result.status is expected, result.message


@pytest.mark.parametrize(('domain', 'case'), CASES)
def test_unified_planning_agrees_on_solvability(domain: Domain, case: dict, tmp_path,
                                                monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)  # where its Fast Downward writes the translated task
    problem = _problem(domain, case)
    theirs = READER.parse_problem_string(domain.pddl, domain.write_problem(problem))
    with OneshotPlanner(name='fast-downward') as engine:
        result = engine.solve(theirs, timeout=60.0)
    assert (result.plan is not None) is case['solvable']
    if result.plan is not None:
        plan = [Action(step.action.name, tuple(str(p) for p in step.actual_parameters))
                for step in result.plan.actions]
        assert domain.model(problem).first_flaw(plan, problem.init, problem.goal) is None


@every_domain
def test_cases_hold_valid_and_invalid_plans(domain: Domain) -> None:
    cases = _cases(domain)
    assert any(case['valid'] for case in cases) and any(case['invalid'] for case in cases)
    assert {case['solvable'] for case in cases} == {True, False}


@every_domain
def test_another_domain_file_of_the_same_vocabulary_is_taken(domain: Domain, tmp_path) -> None:
    path = tmp_path / 'theirs.pddl'
    path.write_text('; another one\n' + domain.pddl.upper())
    other = Domain(domain.folder, path)
    assert other.schema == domain.schema and other.pddl != domain.pddl


@every_domain
def test_constraints_hold_on_random_walks(domain: Domain) -> None:
    """Hard rules in every state, soft ones not much more often broken than they say.

    And nothing is ever true that is not worth a question.
    """
    constraints = read_constraints(domain)
    broken: Counter[int] = Counter()
    clauses: Counter[int] = Counter()
    for split in domain.splits:
        for problem in domain.split_problems(split)[:4]:
            model, rng, state = domain.model(problem), random.Random(problem.name), problem.init
            worth = set(domain.worth_asking(problem))
            theory = instantiate(constraints, domain.schema,
                                 {**domain.schema.constants, **problem.objects})
            soft = Counter(clause.rule for clause in theory.clauses if not clause.hard)
            for _ in range(100):
                faults = list(theory.broken(state))
                assert theory.possible(state), faults
                assert state - problem.known <= worth
                broken.update(fault.rule for fault in faults)
                clauses.update(soft)
                state = model.apply(next(
                    action for action in rng.sample(model.actions, len(model.actions))
                    if model.applicable(action, state)), state)
    for number, rule in enumerate(constraints.rules):
        assert broken[number] <= 2 * rule.violation_rate * clauses[number], rule.name


@every_domain
def test_generator_if_any(domain: Domain) -> None:
    if domain.part('generator') is None:
        pytest.skip('this domain has no generator')
    settings = domain.generator.Settings()
    first = list(domain.generator.generate(domain, settings, 3))
    again = list(itertools.islice(domain.generator.generate(domain, settings, 3), 3))
    assert first == again and len({seed for seed, _ in first}) == 3


@every_domain
def test_calibrations_that_come_with_a_domain_are_about_its_questions(domain: Domain) -> None:
    measured = {problem_key(p) for split in domain.splits for p in domain.split_problems(split)}
    for path in sorted(domain.folder.glob('calibrations/*.json')):
        rates = read_observation_model(path)
        assert (rates.domain, rates.questions_sha256) == (domain.name, domain.question_hash), path
        assert known_rates(domain, rates.model, rates.prompt or '') == rates, path
        assert not measured.intersection(rates.problems), path


def test_embedded_has_a_calibration_for_the_weights_that_are_shipped() -> None:
    shipped = Embedded(Settings(domain='household')).name
    assert known_rates(load_domain('household'), shipped), (
        f'answers of {shipped} are believed as those of any model: make '
        f'domains/household/calibrations/embedded.json anew with "sightplan calibrate"')
