"""``sightplan ask``: questions to a model about a picture of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightplan.commands.flags import argument, option
from sightplan.commands.frame import DONE, Result, add_command, print_table, read_options
from sightplan.commands.shared_flags import backend_flag, domain_flag, settings_flag
from sightplan.domains import read_objects
from sightplan.model import Answer, InputError, Question, Verdict, user_path
from sightplan.model.plugins import part
from sightplan_belief.one_picture import PROMPT

if TYPE_CHECKING:
    from sightplan_belief import Seen

_LEAST_SHOWN = 0.01
"""Belief above which a fact is shown although the model denies it."""
_VERDICTS = {Verdict.UNKNOWN: 'cannot tell'}

_EXAMPLES = """\
examples:
  sightplan ask table.png --problem my_problem.pddl
  sightplan ask table.png --domain blocksworld --objects red:block,green:block,c1:column,c2:column
  sightplan ask table.png --problem my_problem.pddl --out marked.png --json
  sightplan ask table.png --question 'Is the red block on top of the green block?'
  sightplan ask table.png --question 'What is on the table?' --backend openai \\
      --backend-option model=NAME

All questions of the domain about the objects are asked. The belief weighs the answers against each
other by the rules of the domain (constraints.yaml): the probability that each fact holds, and the
most probable state. Of a problem only the objects count.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskArguments:
    """Arguments of ``sightplan ask``."""

    picture: str = argument('PNG or JPEG file', metavar='PICTURE')
    domain: str | None = domain_flag(
        'name of an installed domain, or the path of its folder (default: the one that the '
        'problem names)', optional=True)
    problem: str | None = option(
        None, 'problem file with the objects that are in the picture', metavar='FILE',
        exclusive='objects')
    objects: str | None = option(
        None, 'the objects themselves', metavar='NAME:TYPE,...', exclusive='objects')
    question: str | None = option(
        None, "a question of your own instead of the domain's: a model that can write answers "
        "freely, another one yes or no; one made for a domain's questions refuses all others",
        metavar='TEXT')
    backend: str = backend_flag()
    backend_option: tuple[str, ...] = settings_flag('the backend')
    calibration: str | None = option(
        None, 'file of "sightplan calibrate"; without one, those of the domain, else generic ones',
        metavar='CAL')
    prompt: str = option(
        PROMPT, 'prompt around the questions, for models that read one', metavar='NAME')
    out: str | None = option(
        None, 'write the picture with questions, answers and belief beside it', metavar='PNG')
    all: bool = option(
        False, 'show every question, not only those whose facts are affirmed or believed')


def add_parser(subparsers: Any) -> None:
    """Register ``sightplan ask``."""
    add_command(
        subparsers, 'ask', ask_model, 'ask a model about a picture of your own',
        'What a vision-language model answers about a picture, and the belief that follows.',
        settings=AskArguments, examples=_EXAMPLES,
        exits='0 done; 1 the model failed; 2 bad usage or bad files')


def ask_model(arguments: AskArguments) -> Result:
    """Ask about a picture, and print the answers or the estimated state."""
    if arguments.question is None:
        return _scene(arguments), DONE
    return _question(arguments, arguments.question), DONE


def _options(arguments: AskArguments) -> dict[str, Any]:
    from sightplan.vlm.api import backend_settings
    return read_options(arguments.backend_option, type(backend_settings(arguments.backend)),
                        '--backend-option')


def _question(arguments: AskArguments, question: str) -> dict[str, Any]:
    from sightplan_belief import ask_freely
    for name in ('problem', 'objects', 'calibration', 'out'):
        if getattr(arguments, name) is not None:
            raise InputError(f'--{name} does not go with --question: leave it out')
    model, answer, read_as = ask_freely(
        arguments.picture, question, domain=arguments.domain or '',
        backend=arguments.backend, backend_options=_options(arguments))
    if answer.verdict is Verdict.UNKNOWN:
        print('cannot tell' + (f': {answer.reason}' if answer.reason else ''))
    else:
        print(answer.text + ('' if answer.p_yes is None else f' (P(yes) {answer.p_yes_text()})'))
    if read_as and read_as != question.strip():
        print(f'The question was read as: {read_as}')
    return {'picture': arguments.picture, 'model': model, 'question': question,
            **({'read_as': read_as} if read_as else {}), **_answer(answer)}


def _scene(arguments: AskArguments) -> dict[str, Any]:
    from sightplan_belief import ask
    drawing = None if arguments.out is None else part('picture', 'sightplan_report')
    objects = () if arguments.objects is None else arguments.objects.split(',')
    seen = ask(arguments.picture, arguments.domain, objects=read_objects(objects, '--objects'),
               problem=arguments.problem, backend=arguments.backend,
               backend_options=_options(arguments), calibration=arguments.calibration,
               prompt=arguments.prompt)
    shown = seen.notable(-1.0 if arguments.all else _LEAST_SHOWN)
    if drawing is not None and arguments.out is not None:
        try:
            drawing.save_png(str(user_path(arguments.out)), drawing.draw_answers(
                seen.image, [question for question, _ in shown], [answer for _, answer in shown],
                belief=seen.estimate.marginals))
        except OSError as error:
            raise InputError(f'--out {arguments.out}: cannot be written: {error.strerror} (choose '
                             'another file)') from error
    show(seen, shown)
    if arguments.out is not None:
        print(f'picture: {arguments.out}')
    return as_json(arguments.picture, seen)


def _answer(answer: Answer) -> dict[str, Any]:
    return {'answer': answer.verdict.value, 'text': answer.text, 'p_yes': answer.p_yes,
            'p_no': answer.p_no, 'p_unknown': answer.p_unknown,
            **({'bounded': True} if answer.bounded else {}),
            **({'reason': answer.reason} if answer.reason else {})}


def as_json(picture: str | Path, seen: Seen) -> dict[str, Any]:
    """All that was answered and is believed, as plain JSON data."""
    return {
        'picture': str(picture), 'model': seen.model, 'cannot_tell': seen.cannot_tell,
        'answers': [{'atom': str(question.atom), 'question': question.text, **_answer(answer),
                     'belief': seen.estimate.marginals[question.atom]}
                    for question, answer in zip(seen.questions, seen.answers, strict=True)],
        'state': [str(atom) for atom in sorted(seen.estimate.state)],
        'log_evidence': seen.estimate.log_evidence, 'complete': seen.estimate.complete}


def show(seen: Seen, shown: Sequence[tuple[Question, Answer]]) -> None:
    """Print answers and belief as a table, or why nothing can be told of the picture.

    Rows that are not shown are counted.
    """
    if seen.cannot_tell:
        print(f'cannot tell: {seen.cannot_tell}')
        return
    believed, marginals = seen.estimate.state, seen.estimate.marginals
    print_table(('question', 'answer', 'P(yes)', 'belief'), [
        (question.text, _VERDICTS.get(answer.verdict, answer.verdict.value), answer.p_yes_text(),
         f'{marginals[question.atom]:.3f}') for question, answer in shown], seen.model,
        bold={n for n, (question, _) in enumerate(shown) if question.atom in believed})
    if len(shown) < len(seen.questions):
        print(f'{len(seen.questions) - len(shown)} more answers are no, with a belief of at most '
              f'{_LEAST_SHOWN} (--all shows them)')
    print('most probable state: ' + ', '.join(map(str, sorted(believed))))
    if seen.estimate.caveat:
        print(seen.estimate.caveat)
