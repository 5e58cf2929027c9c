"""Sentences on why a path is the best of several; paths are numbered from 1 by default."""

from __future__ import annotations

from collections.abc import Sequence

from sightplan_belief.ranking import Ranking
from sightplan_suites.paths.descriptors import Descriptors
from sightplan_suites.paths.labels import Thresholds
from sightplan_suites.paths.wishes import Wish, Wishes

WORDS = {
    # descriptor: its name, what less of it is called, what more of it is called, its unit
    'average_clearance': ('average clearance', 'less', 'more', ''),
    'minimum_clearance': ('least clearance', 'less', 'more', ''),
    'maximum_clearance': ('greatest clearance', 'less', 'more', ''),
    'path_length': ('length', 'shorter', 'longer', ''),
    'sharp_turns': ('sharp turns', 'fewer', 'more', ''),
    'maximum_angle': ('sharpest turn', 'gentler', 'sharper', '°'),
    'smoothness': ('turning in total', 'less', 'more', '°'),
}
_EQUAL = 1e-6


def reason(order: Sequence[int], best: Sequence[float], descriptors: Sequence[Descriptors],
           wishes: Wishes, thresholds: Thresholds, *, strict: bool = False,
           sure: float = 0.75, numbers: Sequence[int] = ()) -> str:
    """Explain why the first path of an order comes before the second.

    Args:
        order: indices from 0, the best first.
        best: probability of each path to be the best.
        descriptors: of each path.
        wishes: what is wanted.
        thresholds: from which difference on a descriptor counts.
        strict: as ``labels.label_pair``.
        sure: probability below which it is not known whether a descriptor matters.
        numbers: what the paths are called; (): they are counted from 1.
    """
    first, second = order[0], order[1]
    numbers = numbers or range(1, len(order) + 1)
    sentences = [_headline(order, best, numbers)]
    decided = {wish.name: wish for wish in wishes.wishes if wish.sure >= sure}
    wanted = [wish for wish in decided.values() if wish.sign]
    sides: dict[int, list[str]] = {1: [], -1: [], 0: []}
    net = 0.0
    for wish in wanted:
        here, there = (getattr(descriptors[number], wish.name) for number in (first, second))
        counts = here != there and thresholds.significant(wish.name, here - there, strict=strict)
        side = (1 if (here - there) * wish.sign > 0 else -1) if counts else 0
        net += (here - there) * wish.sign / getattr(thresholds, wish.name) if counts else 0.0
        sides[side].append(_difference(wish, here, there) if counts else WORDS[wish.name][0])
    other = f'path {numbers[second]}'
    if sides[1]:
        sentences.append(f'For it, compared with {other}: {"; ".join(sides[1])}.')
    if sides[-1]:
        sentences.append(f'For {other}: {"; ".join(sides[-1])}.')
    if sides[1] and sides[-1] and net > _EQUAL:
        sentences.append('They conflict; the larger sum of differences, in thresholds, decided.')
    elif sides[-1]:
        sentences.append(_outweighed(numbers[first], other, len(order), abs(net) <= _EQUAL))
    if sides[0]:
        sentences.append(f'Too little difference to count: {", ".join(sides[0])}.')
    doubtful = [wish for wish in wishes.wishes if wish.name not in decided]
    if doubtful:
        sentences.append('It is not known what is wanted of '
                         f'{", ".join(_doubt(wish) for wish in doubtful)}.')
    if not wanted and not doubtful:
        sentences.append('The task gives no reason to prefer any.')
    return ' '.join(sentences)


def _outweighed(first: int, other: str, count: int, equal: bool) -> str:
    """Sentence on a path that is first although the other one of the two has the larger sum."""
    if count == 2:
        why = 'what is doubtful decides, or nothing does'
    else:
        why = f'compared with all others path {first} does as well or better'
    return (f'In thresholds the sum of differences is {"equal" if equal else f"for {other}"}; '
            f'{why}.')


def _headline(order: Sequence[int], best: Sequence[float], numbers: Sequence[int]) -> str:
    first = order[0]
    equal = [numbers[at] for at in sorted(order) if best[at] > best[first] - _EQUAL]
    if len(equal) > 1:
        return (f'Paths {", ".join(map(str, equal[:-1]))} and {equal[-1]} are equally good as far '
                f'as can be told (probability {best[first]:.2f} each).')
    among = (f' of {len(order)}' if list(numbers) == list(range(1, len(order) + 1)) else
             f', of {len(order)} that are compared,')
    return f'Path {numbers[first]}{among} is the best with probability {best[first]:.2f}.'


def _difference(wish: Wish, here: float, there: float) -> str:
    name, less, more, unit = WORDS[wish.name]
    word = more if wish.sign > 0 else less
    sure = '' if wish.sure == 1 else f', {wish.sure:.2f}'
    return (f'{name} {here:.4g}{unit} against {there:.4g}{unit} ({word} is better{sure})')


def _doubt(wish: Wish) -> str:
    name, less, more, _ = WORDS[wish.name]
    return f'{name} ({less} {wish.less:.2f}, {more} {wish.more:.2f})'


def of_crossing(crossing: Sequence[int], free: Sequence[int]) -> str:
    """Sentence on paths that touch or cross an obstacle.

    Args:
        crossing: what those paths are called.
        free: what the others are called.

    Returns:
        '' if there are none.
    """
    if not crossing:
        return ''
    if not free:
        return ('There is no best path: each of them touches or crosses an obstacle, or cells '
                'of the map that are unknown and count as one.')
    names = ', '.join(map(str, crossing))
    said = (f'Path {names} touches or crosses an obstacle and cannot be the best.'
            if len(crossing) == 1 else
            f'Paths {names} touch or cross an obstacle and cannot be the best.')
    if len(free) > 1:
        return said
    return f'Path {free[0]} is the best with probability 1.00, the only one that is free. {said}'


def of_pictures(ranking: Ranking, unread: int) -> str:
    """Sentences on a comparison by pictures alone."""
    pairs = len(ranking.asked)
    numbers = range(1, len(ranking.order) + 1)
    text = (f'{_headline(ranking.order, ranking.best, numbers)} No map was known: {pairs} '
            f'{"pair" if pairs == 1 else "pairs"} of pictures compared, nothing measured; it was '
            'not checked whether a path crosses an obstacle or leaves the map.')
    if unread:
        text += (f' {unread} {"reply" if unread == 1 else "replies"} could not be read and '
                 f'{"says" if unread == 1 else "say"} nothing.')
    return text


def of_wishes(properties: Sequence[tuple[str, int]]) -> str:
    """Describe a vector of preferences in words."""
    return 'a way with ' + ', '.join(
        f'{WORDS[name][2] if sign > 0 else WORDS[name][1]} ({WORDS[name][0]})'
        for name, sign in properties) + ' is wanted.'
