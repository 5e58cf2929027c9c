"""Sentences on why a path is the best of several; paths are numbered from 1 by default."""

from __future__ import annotations

from collections.abc import Sequence

from sightplan_belief.ranking import Ranking
from sightplan_suites.paths.descriptors import WORDS, Descriptors
from sightplan_suites.paths.exclusions import Exclusion
from sightplan_suites.paths.labels import Thresholds
from sightplan_suites.paths.limits import PathLimits
from sightplan_suites.paths.wishes import Wish, Wishes

_EQUAL = 1e-6


def reason(order: Sequence[int], best: Sequence[float], descriptors: Sequence[Descriptors],
           wishes: Wishes, thresholds: Thresholds, *, strict: bool = False,
           sure: float = 0.75, numbers: Sequence[int] = (), tied: Sequence[int] = (),
           worth: int | None = None) -> str:
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
        tied: indices of the paths that are the best as far as can be told; () if one is.
        worth: how many paths, the first of the order, are worth what they cost; None: all.
    """
    numbers = numbers or range(1, len(best) + 1)
    if len(order) == 1:
        return (f'Path {numbers[order[0]]} is the best with probability 1.00, the only one that '
                'is not out.')
    first, second = order[0], order[1]
    sentences = [_headline(order, best, numbers, tied)]
    if worth == 1:
        return sentences[0]
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


def _headline(order: Sequence[int], best: Sequence[float], numbers: Sequence[int],
              tied: Sequence[int] = ()) -> str:
    first = order[0]
    if tied:
        names = [numbers[at] for at in tied]
        low, high = (f'{pick(best[at] for at in tied):.2f}' for pick in (min, max))
        each = f'{high} each' if low == high else f'{low} to {high}'
        return (f'Paths {", ".join(map(str, names[:-1]))} and {names[-1]} are equally good as far '
                f'as can be told (probability {each}).')
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


def of_exclusions(exclusions: Sequence[Sequence[Exclusion]], numbers: Sequence[int]) -> str:
    """Sentences on the paths that are out, and why; '' if there are none.

    Args:
        exclusions: of each path.
        numbers: what the paths are called.
    """
    said = [f'Path {name} is out: it {" and it ".join(each.words for each in found)}.'
            for name, found in zip(numbers, exclusions, strict=True) if found]
    if len(said) == len(exclusions):
        said.insert(0, 'There is no best path: all are out.')
    return ' '.join(said)


def of_trade_offs(beyond: Sequence[int], worth: Sequence[int], descriptors: Sequence[Descriptors],
                  limits: PathLimits, numbers: Sequence[int]) -> str:
    """Sentences on paths that cost more than what is wanted is worth; '' if there are none."""
    said = []
    for at in beyond:
        for trade in limits.trade_offs:
            costs = {one: getattr(descriptors[one], trade.cost) for one in (*worth, *beyond)}
            cheapest = min(costs, key=lambda one: costs[one])
            more, most = costs[at] - costs[cheapest], trade.bound(costs[cheapest])
            if costs[at] > most:
                name, _, _, unit = WORDS[trade.cost]
                said.append(f'Path {numbers[at]} comes after them: its {name} is {more:.4g}{unit} '
                            f'more than that of path {numbers[cheapest]}, and '
                            f'{most - costs[cheapest]:.4g}{unit} '
                            'is the most that what is wanted is worth.')
    return ' '.join(said)


def of_nothing_told(reason: str) -> str:
    """Sentence on pictures that the model can tell nothing of."""
    return f'It cannot be told which path is the best: {reason}.'


def of_pictures(ranking: Ranking, unread: int, tied: Sequence[int] = (),
                silent: Sequence[str] = ()) -> str:
    """Sentences on a comparison by pictures alone."""
    pairs = len(ranking.asked)
    numbers = range(1, len(ranking.order) + 1)
    text = (f'{_headline(ranking.order, ranking.best, numbers, tied)} No map was known: {pairs} '
            f'{"pair" if pairs == 1 else "pairs"} of pictures compared, nothing measured; it was '
            'not checked whether a path crosses an obstacle, leaves the map or breaks a limit.')
    if unread:
        text += (f' {unread} {"reply" if unread == 1 else "replies"} could not be read and '
                 f'{"says" if unread == 1 else "say"} nothing.')
    if silent:
        text += (f' {len(silent)} {"pair" if len(silent) == 1 else "pairs"} could not be told '
                 f'apart: {silent[0]}.')
    return text


def of_wishes(properties: Sequence[tuple[str, int]]) -> str:
    """Describe a vector of preferences in words."""
    return 'a way with ' + ', '.join(
        f'{WORDS[name][2] if sign > 0 else WORDS[name][1]} ({WORDS[name][0]})'
        for name, sign in properties) + ' is wanted.'
