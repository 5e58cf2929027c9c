"""``sightplan plan``: a plan for a picture of one's own whose every step has its place in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sightplan.commands.flags import argument, option
from sightplan.commands.frame import (
    DONE,
    FAILED,
    Result,
    add_command,
    file_to_write,
    print_table,
    read_options,
)
from sightplan.commands.shared_flags import backend_flag, settings_flag
from sightplan.model import InputError
from sightplan_suites.grounded_plan.coordinates import Coords

if TYPE_CHECKING:
    from sightplan_suites.grounded_plan.own_picture import PicturePlan

_EXAMPLES = """\
examples:
  sightplan plan table.png 'put the red mug on the tray' --out plan.png
  sightplan plan kitchen.jpg 'clear the table' --out plan.png --backend openai \\
      --backend-option model=NAME --backend-option base_url=http://localhost:8000/v1
  sightplan plan kitchen.jpg 'clear the table' --method ask --coords permille_yxyx --json \\
      --backend openai --backend-option model=NAME
  sightplan plan desk.jpg 'put the pens away' --method set_of_marks \\
      --method-option 'marks=boxes file=segments.json' --backend openai ...

A plan is a list of grasp, place, open and close, each with a box or a point in the picture;
nothing is carried out. The method grounded_plan has the model find all things, reads the sentence
as a goal over them (a model that writes reads it; without one a reader of ordinary English about
tables does), and plans with a planner. ask has the model write the plan with its places; decoupled
has it write the plan in words, and locates each thing; set_of_marks draws numbers on things and
has it plan by these. A step that cannot be carried out as it stands is named: an unknown action, a
place that lies outside the picture or is missing, a grasp without a place.
"""
_MOST_TEXT = 600
"""Most characters of a reply that are shown where it holds no plan."""


def _methods() -> tuple[str, ...]:
    from sightplan_suites.grounded_plan.own_picture import METHODS
    return METHODS


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanArguments:
    """Arguments of ``sightplan plan``."""

    picture: str = argument('PNG or JPEG file', metavar='PICTURE')
    sentence: str = argument('what is to be done, in words', metavar='SENTENCE')
    backend: str = backend_flag()
    backend_option: tuple[str, ...] = settings_flag('the backend')
    method: str = option('grounded_plan', 'how the plan is made, see below', choices=_methods)
    method_option: tuple[str, ...] = settings_flag('the method')
    coords: str = option(str(Coords.PERMILLE_XYXY), 'convention of boxes and points that a model '
                         'that plans is asked for', choices=tuple(map(str, Coords)))
    depth: str | None = option(
        None, 'depth of the picture: .npy in metres, or 16-bit PNG in millimetres', metavar='FILE')
    out: str | None = option(None, 'write the picture with the plan drawn on it', metavar='PNG')
    record: str | None = option(None, 'write all queries and replies, for the backend replay',
                                metavar='FILE')


def add_parser(subparsers: Any) -> None:
    """Register ``sightplan plan``."""
    add_command(
        subparsers, 'plan', plan, 'plan for a picture of your own; each step points at it',
        'A plan for a picture of your own, whose every step has its place in the picture.',
        settings=PlanArguments, examples=_EXAMPLES,
        exits='0 done; 1 no plan, or one that cannot be carried out as it stands; 2 bad usage or '
        'bad files')


def plan(arguments: PlanArguments) -> Result:
    """Plan, print and draw."""
    from sightplan.agent import answerer_settings
    from sightplan.model import user_path
    from sightplan.model.picture_files import read_image
    from sightplan.runs.dataset import write_file
    from sightplan.vlm.api import backend_settings
    from sightplan_suites.grounded_plan.drawing import draw_plan
    from sightplan_suites.grounded_plan.own_picture import plan_picture
    from sightplan_suites.grounded_plan.scenes import png
    if arguments.picture == '-' or '://' in arguments.picture:
        raise InputError(f'{arguments.picture}: a picture is read from a file (save it, and give '
                         'its path)')
    out = None if arguments.out is None else file_to_write(arguments.out)
    image = read_image(user_path(arguments.picture))
    found = plan_picture(
        image, arguments.sentence, backend=arguments.backend, method=arguments.method,
        backend_options=read_options(arguments.backend_option, type(backend_settings(
            arguments.backend)), '--backend-option'),
        method_options=read_options(arguments.method_option, type(answerer_settings(
            arguments.method)), '--method-option'),
        coords=arguments.coords, depth=arguments.depth, record=arguments.record)
    show(found)
    if out is not None and found.steps:
        write_file(out, png(draw_plan(
            image, found.instruction, found.steps,
            [found.fault_of(number) for number in range(1, len(found.steps) + 1)],
            [f'by {found.model}', *found.notes])))
        print(f'picture: {out}')
    return as_json(arguments.picture, found), DONE if found.usable else FAILED


def show(found: PicturePlan) -> None:
    """Print a plan as a table, and what there is to say about it."""
    from sightplan_suites.grounded_plan.own_picture import pixels_of
    if found.steps:
        print_table(('step', 'target', 'place (pixels)', 'note'), [
            (f'{number} {step.action}', step.target, '-' if step.region is None else
             ','.join(f'{value:.0f}' for value in pixels_of(step.region, found.size)),
             found.fault_of(number)) for number, step in enumerate(found.steps, 1)],
            f'{found.model}, {found.method}', left=4)
    else:
        print(f'no plan ({found.model}, {found.method}): {found.missing}')
        if found.text:
            print(f'the reply: {found.text[:_MOST_TEXT]}'
                  + (' ...' if len(found.text) > _MOST_TEXT else ''))
        if 'declare coords' in found.missing:
            print('declare the convention that the model uses with --coords')
    if found.probability is not None:
        print(f'probability that these things are meant: {found.probability:.3f}')
    if found.faults:
        print('this plan cannot be carried out as it stands: '
              + '; '.join(f'step {fault.step}: {fault.reason}' for fault in found.faults))
    for text in found.notes:
        print(f'note: {text}')


def as_json(picture: str, found: PicturePlan) -> dict[str, Any]:
    """A plan as plain JSON data."""
    from sightplan_suites.grounded_plan.own_picture import pixels_of
    return {
        'picture': picture, 'width': found.size[0], 'height': found.size[1],
        'instruction': found.instruction, 'model': found.model, 'method': found.method,
        'usable': found.usable,
        'steps': [{'action': step.action, 'target': step.target, 'region': None
                   if step.region is None else {
                       **step.region.to_json(), 'pixels': pixels_of(step.region, found.size)}}
                  for step in found.steps],
        'faults': [{'step': fault.step, 'reason': fault.reason} for fault in found.faults],
        'notes': list(found.notes), 'probability': found.probability, 'text': found.text,
        'missing': found.missing}
