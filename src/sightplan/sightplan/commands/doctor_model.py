"""The first-load check of a model: ``sightplan doctor --backend NAME``.

The model is loaded as a run would load it, and asked a few questions whose answers are known:
about plain red and blue pictures, or, where a model was made for the pictures of one domain, about
a picture of that domain. What comes back is judged as little as possible: that there are answers,
that probabilities are such, that the pictures make a difference, and that more answers are right
than wrong. A model that only points is asked for places (``doctor_pointing``).
"""

from __future__ import annotations

import importlib.util
import resource
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sightplan.commands.check import Check
from sightplan.commands.doctor_pointing import pointed
from sightplan.domains import Domain, load_domain
from sightplan.model import (
    Atom,
    EpisodeSpec,
    GroundingPrompt,
    InputError,
    Observation,
    Problem,
    Question,
    SightplanError,
    Verdict,
    World,
    excerpt,
)
from sightplan.model.query import (
    Model,
    ask_all,
    ask_plainly,
    can_ask,
    check_pictures,
    close,
    picture_check,
    pictures_lost,
    traits_of,
)
from sightplan.model.yes_no_text import parse_yes_no
from sightplan.queries import Answer, Locate, YesNo, yes_no_queries
from sightplan.vlm.api import backend_choices, backend_class, check_backend, make_backend

PROMPT = GroundingPrompt('doctor', system='Answer with one word, Yes or No.',
                         question='Question: {question}')
"""Words around the questions."""

COLOURS = {'red': (220, 20, 20), 'blue': (20, 20, 220)}
"""Colours of the plain pictures, RGB."""

_EDGE_PX = 224
"""Edge of the plain pictures [px]: large enough for the processors of all models."""
_MOST_ATOMS = 12
"""Most questions about a domain's picture, half of them with the answer yes."""
_LEAST_DIFFERENCE = 1e-4
"""Difference of probabilities that tells that a model saw two different pictures."""
_LEAST_MASS = 0.1
"""Total probability of yes and no below which a model means to say something else."""
_ROUNDING = 0.05
"""Difference of probabilities that rounding may make in half precision (measured: 0.023)."""
_RETRIES = 1
"""Retries of a request to a server, unless the settings say otherwise: a person waits."""
_KIB = 2**10


@dataclass(frozen=True)
class _Sight:
    """A picture, questions about it, and the true answers."""

    name: str
    observation: Observation
    questions: tuple[Question, ...]
    truths: tuple[bool, ...]


def check_model(name: str, values: Mapping[str, Any]) -> tuple[list[Check], dict[str, Any]]:
    """Load a model and ask it a few questions.

    Args:
        name: of the backend.
        values: its settings.

    Returns:
        The checks, in the order they were made, of which the first that fails for good is the
        last; and what was measured, as plain data.

    Raises:
        InputError: an unknown backend or setting, a bad value, or a backend that neither answers
            yes/no questions nor points, or knows the truth.
    """
    points = not can_ask(backend_class(name), YesNo) and can_ask(backend_class(name), Locate)
    check_backend(name, Locate if points else YesNo)
    if truth := traits_of(backend_class(name)).truth:
        raise InputError(f'backend {name!r} answers from the truth ({truth}), so that there is no '
                         'model to check; name another one')
    started = time.monotonic()
    model: Model | None = None
    checks: list[Check] = []
    measured: dict[str, Any] = {'backend': name}
    try:
        if backend_choices(name, values).retries is not None:
            values = {'retries': _RETRIES, **values}
        model = make_backend(name, values)
        measured |= {'model': model.name, 'load_s': round(time.monotonic() - started, 3)}
        checks.append(Check('loads', True, f'{model.name}, in {measured["load_s"]:.1f} s'))
        checks.extend(pointed(model, COLOURS, measured) if points else _asked(model, measured))
    except SightplanError as error:
        stage = 'loads' if model is None else 'answers'
        if isinstance(error, InputError) and model is None:
            raise
        checks.append(Check(stage, False, str(error), 'do as the message says'))
    finally:
        if model is not None:
            close(model)
    checks.append(_resources(model, measured))
    return checks, measured


def _asked(model: Model, measured: dict[str, Any]) -> Iterator[Check]:
    """Ask the questions, and judge the replies."""
    check_pictures(model)
    if lost := pictures_lost(model):
        yield Check('pictures', False, lost, 'do as the message says')
        return
    sights, plain = _sights(model)
    replies: list[list[Answer]] = []
    seconds = []
    for sight in sights:
        started = time.monotonic()
        replies.append(ask_all(model, _queries(sight)))
        seconds.append(time.monotonic() - started)
    measured |= {'first_s': round(seconds[0], 3), 'next_s': round(seconds[-1], 3),
                 'questions': len(sights[-1].questions)}
    every = [reply for batch in replies for reply in batch]
    verdicts = [[parse_yes_no(reply.text) for reply in batch] for batch in replies]
    yield _readable(every, [verdict for batch in verdicts for verdict in batch])
    yield _probabilities(every, measured)
    yield _pictures(sights, replies, picture_check(model))
    yield _right(sights, replies, verdicts, plain, measured)
    yield from _shared(model, sights, replies, measured)
    yield Check('seconds', True, f'{len(sights[0].questions)} questions about the first picture '
                f'{seconds[0]:.2f}, about the next {seconds[-1]:.2f}')


def _sights(model: Model) -> tuple[list[_Sight], bool]:
    """Pictures to ask about, and whether they are the plain ones."""
    traits = traits_of(model)
    if traits.domain and importlib.util.find_spec('sightplan_sim') is not None:
        return _of_domain(traits.domain), False
    questions = tuple(Question(Atom('colour', (colour,)), f'Is the picture {colour}?')
                      for colour in COLOURS)
    return [_Sight(f'a {colour} picture',
                   Observation(np.full((_EDGE_PX, _EDGE_PX, 3), rgb, np.uint8)),
                   questions, tuple(colour == asked for asked in COLOURS))
            for colour, rgb in COLOURS.items()], True


def _of_domain(name: str) -> list[_Sight]:
    """Two pictures of a domain, with questions of which half are true."""
    from sightplan.runs import make_world

    domain = load_domain(name)
    problems = domain.split_problems(sorted(domain.splits)[-1])[:2]
    world = make_world(name)
    try:
        return [_scene(domain, world, problem) for problem in problems]
    finally:
        close(world)


def _scene(domain: Domain, world: World, problem: Problem) -> _Sight:
    """A picture of a problem, with as many true as false atoms."""
    world.reset(EpisodeSpec('doctor', problem, 'doctor'))
    asked = domain.worth_asking(problem)
    true = [atom for atom in asked if atom in problem.init]
    false = [atom for atom in asked if atom not in problem.init]
    each = min(_MOST_ATOMS // 2, len(true), len(false))
    chosen = [*true[:each], *false[::max(1, len(false) // max(1, each))][:each]]
    return _Sight(f'a picture of {domain.name}', world.observe(),
                  tuple(domain.question(atom) for atom in chosen),
                  tuple(atom in problem.init for atom in chosen))


def _queries(sight: _Sight) -> list[YesNo]:
    return yes_no_queries(sight.observation, sight.questions, PROMPT)


def _readable(replies: Sequence[Answer], verdicts: Sequence[Verdict]) -> Check:
    said = [verdict in (Verdict.YES, Verdict.NO) for verdict in verdicts]
    detail = f'{sum(said)} of {len(said)} replies are yes or no'
    if all(said):
        return Check('answers', True, detail)
    strange = replies[said.index(False)].text
    return Check('answers', any(said), f'{detail}; one is {excerpt(strange)!r}',
                 'a model that thinks first must be told not to (transformers: '
                 'template_options={"enable_thinking": false}; a server: its own switch, or more '
                 'tokens), or be asked by a method in which it may (ground_cot)')


def _probabilities(replies: Sequence[Answer], measured: dict[str, Any]) -> Check:
    given = [reply for reply in replies if reply.p_yes is not None]
    masses = [sum(p for p in (r.p_yes, r.p_no, r.p_unknown) if p is not None) for r in given]
    measured['with_probabilities'] = len(given)
    if not given:
        return Check('probabilities', True, 'none: answers count as they are written',
                     'methods that weigh answers (belief) do better with them: transformers '
                     'reads them; a server must offer logprobs')
    if max(masses) > 1 + 1e-3:
        return Check('probabilities', False, f'yes and no have {max(masses):.3g} together',
                     'no probability: the server is at fault')
    mass = statistics.median(masses)
    measured['mass'] = round(mass, 6)
    return Check('probabilities', mass >= _LEAST_MASS, f'of {len(given)} of {len(replies)} '
                 f'replies; yes and no have {mass:.3g} together (median)',
                 '' if mass >= _LEAST_MASS else 'the model means to say something else first: '
                 'switch its thinking off, or use its instruction-tuned version')


def _pictures(sights: Sequence[_Sight], replies: Sequence[Sequence[Answer]],
              known: str) -> Check:
    """Whether two pictures get different answers to the same questions.

    ``known`` is what the model itself found out; '' if nothing.
    """
    known = f'; {known}' if known else ''
    if [q.text for q in sights[0].questions] != [q.text for q in sights[1].questions]:
        return Check('pictures', True, f'two pictures of its domain were taken{known}')
    pairs = list(zip(*replies, strict=True))
    gap = max((abs(a.p_yes - b.p_yes) for a, b in pairs
               if a.p_yes is not None and b.p_yes is not None), default=0.0)
    differ = gap > _LEAST_DIFFERENCE or any(a.text != b.text for a, b in pairs)
    return Check('pictures', differ, f'{sights[0].name} and {sights[1].name} get '
                 f'{"other" if differ else "the same"} answers (P(yes) differs by {gap:.2g})'
                 f'{known}',
                 '' if differ else 'the pictures do not reach the model: name a vision-language '
                 'model, or start the server such that it takes pictures')


def _right(sights: Sequence[_Sight], replies: Sequence[Sequence[Answer]],
           verdicts: Sequence[Sequence[Verdict]], plain: bool, measured: dict[str, Any]) -> Check:
    right = total = 0
    told = []
    for sight, batch, read in zip(sights, replies, verdicts, strict=True):
        for question, truth, reply, verdict in zip(sight.questions, sight.truths, batch, read,
                                                   strict=True):
            said = (reply.p_yes > (reply.p_no or 0.0) if reply.p_yes is not None
                    else verdict is Verdict.YES)
            right += said == truth and (reply.p_yes is not None or verdict in (Verdict.YES,
                                                                               Verdict.NO))
            total += 1
            if plain:
                value = reply.text if reply.p_yes is None else f'{reply.p_yes:.3f}'
                told.append(f'{sight.name}: "{question.text}" {value}')
    measured |= {'right': right, 'asked': total}
    # A model that guesses is right half the time; plain colours are known to every model.
    ok = right == total if plain else right >= 0.75 * total
    return Check('sense', ok, f'{right} of {total} answers right' + (
        f' ({"; ".join(told)})' if told else ''), '' if ok else
        'the weights are random, damaged or of another model, the chat template is not the '
        "model's, or the model is too small for this; ask it by hand: sightplan ask")


def _shared(model: Model, sights: Sequence[_Sight], replies: Sequence[Sequence[Answer]],
            measured: dict[str, Any]) -> Iterator[Check]:
    """Compare with the answers to one prompt at a time, where the model can be asked so."""
    started = time.monotonic()
    alone = ask_plainly(model, _queries(sights[-1]))
    if alone is None:
        return
    pairs = [(getattr(a, field), getattr(b, field)) for a, b in zip(replies[-1], alone,
                                                                      strict=True)
             for field in ('p_yes', 'p_no')]
    gap = max((abs(a - b) for a, b in pairs if a is not None and b is not None), default=0.0)
    measured |= {'shared_gap': float(gap), 'plain_s': round(time.monotonic() - started, 3)}
    ok = gap <= _ROUNDING
    yield Check('shared = plain', ok, 'answers that share the encoded picture differ from those '
                f'of one prompt at a time by {gap:.1e}', '' if ok else
                'choose mechanism=plain, and report this model')


def _resources(model: Model | None, measured: dict[str, Any]) -> Check:
    """Memory of this process and the GPU, and what was spent at a server."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _KIB
    measured['memory_mib'] = round(peak)
    parts = [f'{peak:.0f} MiB at most in this process']
    torch = sys.modules.get('torch')
    if torch is not None and torch.cuda.is_available():
        gpu = torch.cuda.max_memory_allocated() / _KIB**2
        measured['gpu_mib'] = round(gpu)
        parts.append(f'{gpu:.0f} MiB on the GPU')
    usage = None if model is None else model.usage
    if usage is not None and usage.requests:
        measured |= {'requests': usage.requests, 'prompt_tokens': usage.prompt_tokens,
                     'completion_tokens': usage.completion_tokens}
        parts.append(f'{usage.requests} requests, {usage.prompt_tokens} tokens in, '
                     f'{usage.completion_tokens} out')
    return Check('memory', True, ', '.join(parts))
