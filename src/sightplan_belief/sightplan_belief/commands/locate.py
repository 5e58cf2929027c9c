"""``sightplan locate``: where things are in a picture of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sightplan.commands.flags import argument, option, option_like
from sightplan.commands.frame import (
    DONE,
    FAILED,
    Result,
    add_command,
    print_table,
    read_numbers,
    read_options,
)
from sightplan.commands.shared_flags import backend_flag, settings_flag
from sightplan.model import Form, InputError, Region, user_path
from sightplan.model.plugins import part
from sightplan.model.pointer_settings import PointerSettings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sightplan_belief import Found

_EXAMPLES = """\
examples:
  sightplan locate desk.png 'the red mug'
  sightplan locate desk.png 'the red mug' 'the handle of the pan' --out marked.png
  sightplan locate desk.png 'the red mug' --form box --json
  sightplan locate desk.png 'slide the mug to the plate' --form trace --start 0.31,0.64
  sightplan locate desk.png 'the red mug' --depth desk.npy --camera 615,615,320,240
  sightplan locate desk.png 'the red mug' --backend openai --backend-option model=NAME \\
      --backend-option coordinates=permille_yx --max-askings 1

Unit coordinates: x from 0 at the left edge of the picture to 1 at the right one, y from 0 at the
top to 1 at the bottom. A model is asked to point several times, in other words and closer views,
whether a marked place is right, and whether there is such a thing, until the probability is as
large as --accept, nothing more is to be learned, or --max-askings are used up. The probability
is that the target exists and is at this place, or that it is not there. A place is sure if its
probability is at least --accept, a check confirmed that the target is there, and the model knows
every word of it; the note says what is missing.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocateArguments:
    """Arguments of ``sightplan locate``."""

    picture: str = argument('PNG or JPEG file', metavar='PICTURE')
    targets: tuple[str, ...] = argument('what to find, in words', metavar='TARGET')
    form: str = option(str(Form.POINT), 'what to find of it', choices=tuple(Form))
    start: str | None = option(None, 'where a trace begins, in unit coordinates', metavar='X,Y')
    backend: str = backend_flag()
    backend_option: tuple[str, ...] = settings_flag('the backend')
    depth: str | None = option(
        None, 'depth of the picture: .npy in metres, or 16-bit PNG in millimetres', metavar='FILE')
    camera: str | None = option(None, 'intrinsics of the camera [pixels]', metavar='FX,FY,CX,CY')
    max_askings: int = option_like(PointerSettings, 'max_askings')
    accept: float = option_like(PointerSettings, 'accept', metavar='P')
    no_checks: bool = option(False, 'do not ask whether a marked place is right, or whether '
                             'there is such a thing')
    prior_present: float = option_like(PointerSettings, 'prior_present', metavar='P')
    mark: str = option_like(PointerSettings, 'mark')
    out: str | None = option(None, 'write the picture with the places marked', metavar='PNG')
    record: str | None = option(None, 'write all queries and replies, for the backend replay',
                                metavar='FILE')


def add_parser(subparsers: Any) -> None:
    """Register ``sightplan locate``."""
    add_command(
        subparsers, 'locate', locate_things, 'find things in a picture of your own',
        'Where things are in a picture, with the probability that the place is right.',
        settings=LocateArguments, examples=_EXAMPLES,
        exits='0 done; 1 the model failed, or a reply could not be read; 2 '
        'bad usage or bad files')


def locate_things(arguments: LocateArguments) -> Result:
    """Locate, show and draw."""
    from sightplan.console.progress import EpisodeBar
    from sightplan.model.picture_files import read_image
    from sightplan.vlm.api import backend_settings
    from sightplan_belief import locate
    options = read_options(arguments.backend_option, type(backend_settings(arguments.backend)),
                           '--backend-option')
    camera = read_numbers(arguments.camera, '--camera', ('FX', 'FY', 'CX', 'CY'))
    start = read_numbers(arguments.start, '--start', ('X', 'Y'))
    image = read_image(user_path(arguments.picture))
    with EpisodeBar(transient=True) as bar:
        bar.begin('targets', len(arguments.targets), 0)
        found = locate(
            image, arguments.targets, form=arguments.form, backend=arguments.backend,
            backend_options=options, depth=arguments.depth, camera=camera, start=start,
            max_askings=arguments.max_askings, accept=arguments.accept,
            checks=not arguments.no_checks, mark=arguments.mark,
            prior_present=arguments.prior_present, record=arguments.record,
            progress=bar.update)
    if arguments.out is not None:
        _draw(arguments.out, image, found)
    show(found, (image.shape[1], image.shape[0]))
    if arguments.out is not None:
        print(f'picture: {arguments.out}')
    return (as_json(arguments.picture, (image.shape[1], image.shape[0]), found),
            FAILED if any(thing.unread for thing in found) else DONE)


def _draw(path: str, image: NDArray[np.uint8], found: Sequence[Found]) -> None:
    drawing, marking = (part(name, 'sightplan_report') for name in ('picture', 'marks'))
    marks = [marking.Mark(_label(thing), _shown(thing)) for thing in found]
    try:
        drawing.save_png(str(user_path(path)), marking.draw_marks(image, marks))
    except OSError as error:
        raise InputError(f'--out {path}: cannot be written: {error.strerror} (choose another '
                         'file)') from error


def _shown(thing: Found) -> tuple[Region, ...]:
    """The best place, or all where several were asked for."""
    return thing.regions if thing.target.form is Form.POINTS else thing.regions[:1]


def _label(thing: Found) -> str:
    """Text beside the mark of a found thing."""
    text = thing.target.text
    return text if thing.probability is None else f'{text} {thing.probability:.2f}'


def _chance(value: float | None) -> str:
    return '-' if value is None else f'{value:.3f}'


def show(found: Sequence[Found], size: tuple[int, int]) -> None:
    """Print where things are as a table.

    Args:
        found: what was found.
        size: width and height of the picture.
    """
    rows: list[tuple[str, ...]] = []
    for number, thing in enumerate(found, 1):
        places = _shown(thing)
        for region in places:
            rows.append((
                f'{number} {thing.target.text}',
                ' '.join(f'{x},{y}' for x, y in region.pixels(*size)),
                ' '.join(f'{x:.3f},{y:.3f}' for x, y in region.points),
                str(thing.whereabouts) if region is places[0] else '',
                _chance(thing.probability if region is places[0] else region.probability),
                ('yes' if thing.sure else 'no') if region is places[0] else '',
                thing.reason or thing.doubt if region is places[0] else ''))
        if not places:
            rows.append((f'{number} {thing.target.text}', '-', '-', str(thing.whereabouts),
                         _chance(thing.probability),
                         'yes' if thing.sure else 'no', thing.reason or thing.doubt))
    print_table(('target', 'pixels', 'unit', 'answer', 'probability', 'sure', 'note'), rows,
                found[0].model)


def as_json(picture: str, size: tuple[int, int], found: Sequence[Found]) -> dict[str, Any]:
    """All that was found, as plain JSON data; see ``show`` for the arguments."""
    return {
        'picture': picture, 'width': size[0], 'height': size[1], 'model': found[0].model,
        'found': [{
            'target': thing.target.text, 'form': str(thing.target.form),
            'regions': [{**region.to_json(), 'pixels': [list(p) for p in region.pixels(*size)]}
                        for region in thing.regions],
            'answer': str(thing.whereabouts), 'reason': thing.reason,
            'present': thing.present, 'probability': thing.probability, 'sure': thing.sure,
            'doubt': thing.doubt, 'unread': thing.unread, 'unknown': list(thing.unknown),
            'text': thing.text, 'askings': thing.askings, 'checks': thing.checks}
            for thing in found]}
