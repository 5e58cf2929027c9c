"""The items that are shipped, the ways in which they are asked, and segments."""

from __future__ import annotations

import gzip
import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest

from sightplan.model import InputError
from sightplan.model.query import ask_one
from sightplan.model.sample import Picture, Sample
from sightplan.queries.choose import Choose, compare
from sightplan.runs import load_suite
from sightplan.runs.suite_parts import Samples
from sightplan_models import noisy_critic
from sightplan_suites.patheval import building, reading, samples, segments
from sightplan_suites.patheval.scenarios import read_task, scenario, vectors
from sightplan_suites.paths.descriptors import KEYS, NAMES
from sightplan_suites.paths.drawing import pair
from sightplan_suites.paths.generator import generate_map
from sightplan_suites.paths.labels import label_pair


def load(split: str = 'test', **options: Any) -> Samples:
    return samples.samples(split, options)


def texts(sample: Sample) -> str:
    return '\n'.join(part for part in sample.parts if isinstance(part, str))


def pictures(sample: Sample) -> list[Picture]:
    return [part for part in sample.parts if isinstance(part, Picture)]


def reddish(image: Any) -> Any:
    """Where the first channel is well above the others."""
    channels = image.astype(int)
    return channels[..., 0] - channels[..., 1:].max(axis=-1) > 70


# --------------------------------------------------------------------------- what is shipped


def test_there_are_seventy_items_of_each_task_half_of_them_first() -> None:
    found = load()
    tasks = Counter(sample.details['scenario'] for sample in found.items)
    assert tasks == dict.fromkeys(range(1, 16), 70)
    firsts = Counter(sample.details['scenario'] for sample in found.items
                     if found.truth(sample.id) == {'better': 0})
    assert firsts == dict.fromkeys(range(1, 16), 35)
    assert len({sample.id for sample in found.items}) == 1050
    assert {sample.details['family'] for sample in found.items} == {
        'maze', 'random', 'rings', 'waves'}


def test_items_of_one_map_are_neighbours() -> None:
    """So that a batch, which is a cluster, comes once."""
    clusters = [sample.cluster for sample in load().items]
    assert len(list(itertools.groupby(clusters))) == len(set(clusters)) > 30


def test_maps_and_values_are_what_they_say() -> None:
    items = building.read_file(building.SHIPPED)
    for one in items[::150]:
        family, number, variant = one.pair.map.name.removeprefix('Scene').split('_')
        value = int(''.join(filter(str.isdigit, number)))
        drawn = generate_map(family.lower(), value, int(variant), building.TEST_SEED)
        assert drawn.polygons == one.pair.map.polygons
        pairs = building.pairs_of(one.pair.map, [
            building.PathRun(path, 1.0) for path in one.pair.paths])
        assert pairs[0].values == one.pair.values


def test_a_file_of_items_is_the_same_again(tmp_path: Any) -> None:
    items = building.read_file(building.SHIPPED)
    building.write_file(items, tmp_path / 'again.gz')
    assert (tmp_path / 'again.gz').read_bytes() == building.SHIPPED.read_bytes()
    (tmp_path / 'again.gz').write_bytes(b'nothing')
    with pytest.raises(InputError, match=r'again\.gz.*build'):
        building.read_file(tmp_path / 'again.gz')
    for content in (gzip.compress(b'[' * 100_000), gzip.compress(b'[]'),
                    b'\x1f\x8b\x08' + bytes(50),
                    gzip.compress(bytes(1000))[:-20] + bytes(9),
                    gzip.compress(bytes(building.MOST_BYTES + 1), 1)):
        (tmp_path / 'again.gz').write_bytes(content)
        with pytest.raises(InputError, match=r'again\.gz: holds no items'):
            building.read_file(tmp_path / 'again.gz')


def test_building_is_a_function_of_the_seed(monkeypatch: Any) -> None:
    """With paths that need no planner: other seeds have other maps and draws."""
    def runs(item: Any, seed: int) -> Any:
        rng = np.random.default_rng(len(item.name) + seed)
        return tuple(building.PathRun(tuple(map(tuple, np.round(
            rng.uniform(-39, 39, (6, 2)), 4).tolist())), 1.0) for _ in range(12))
    monkeypatch.setattr(building, 'planned', runs)
    first, again, other = (building.build(3, seed, vectors()) for seed in (0, 0, 9))
    for built in (first, again, other):
        assert Counter(one.scenario for one in built.items) == dict.fromkeys(range(1, 16), 3)
    keys = [[(one.pair.name, one.scenario, one.swapped) for one in built.items]
            for built in (first, again, other)]
    assert keys[0] == keys[1] != keys[2]
    for one in first.items:
        label = label_pair(*one.pair.values, vectors()[one.scenario])
        assert label.choice in (1, 2)
    firsts = Counter(one.scenario for one in first.items if one.swapped is (label_pair(
        *one.pair.values, vectors()[one.scenario]).choice == 2))
    assert firsts == {number: 1 + number % 2 for number in range(1, 16)}


# ----------------------------------------------------------------------------------- variants


def test_flipped_items_show_the_other_order() -> None:
    plain, flipped = load(size=64), load(size=64, variant='flipped')
    one, other = plain.items[3], flipped.items[3]
    assert one.id == other.id and texts(one) == texts(other)
    assert plain.truth(one.id)['better'] == 1 - flipped.truth(one.id)['better']
    assert one.choices[0].subjects == other.choices[0].subjects[::-1]
    seen, turned = pictures(one)[0].load(), pictures(other)[0].load()
    assert (turned == np.hstack([seen[:, 64:], seen[:, :64]])).all() and (seen != turned).any()


@pytest.mark.parametrize('view', ['2d', '3d'])
def test_both_views_show_two_paths_side_by_side(view: str) -> None:
    image = pictures(load(view=view, size=128).items[0])[0].load()
    assert image.shape == ((128, 256, 3) if view == '2d' else (72, 256, 3))
    red = reddish(image)
    assert red[:, :128].sum() > 20 and red[:, 128:].sum() > 20
    assert (red[:, :128] != red[:, 128:]).any()


def test_values_are_told_in_the_order_shown() -> None:
    told = load(variant='descriptors')
    sample = told.items[0]
    assert told.shown is not None
    swapped = told.shown(sample, True, False)
    lines, turned = ([line for line in texts(one).splitlines() if line.startswith('Path ')
                      and '{' in line] for one in (sample, swapped))
    assert len(lines) == 2 and all(key in lines[0] for key in KEYS)
    assert [line[8:] for line in lines] == [line[8:] for line in turned[::-1]]
    assert lines != turned


def test_random_names_are_fresh_and_stay_at_their_places() -> None:
    found = load(variant='random')
    names = [sample.choices[0].options for sample in found.items]
    assert len(set(names)) > 1000 and all(len(name) == 4 for pair in names for name in pair)
    assert all(f'Path {name}' in texts(sample) for sample, pair in zip(
        found.items, names, strict=True) for name in pair)
    assert 'Path 1' not in texts(found.items[0])
    again = load(variant='random', seed=1)
    assert again.items[0].choices[0].options != names[0]


def test_without_images_there_is_the_task_and_no_picture() -> None:
    sample = load(variant='no_images').items[0]
    assert not pictures(sample) and 'left half' not in texts(sample)
    assert scenario(sample.details['scenario']).abstract[0] in texts(sample)
    blank = load(variant='no_images', blank=True).items[0]
    assert pictures(blank)[0].load().min() == 255


def test_perception_asks_about_every_pair_once_without_ties() -> None:
    together, alone = load(variant='perception'), load(variant='perception_fine')
    ties = sum(value is None for sample in together.items
               for value in together.truth(sample.id)['lower'].values())
    assert len({sample.details['pair'] for sample in together.items}) == len(together.items)
    assert len(alone.items) == 7 * len(together.items) - ties
    assert together.identity['ties'] == alone.identity['ties'] == ties > 0
    sample = together.items[0]
    assert [choice.properties for choice in sample.choices] == [((name, -1),) for name in NAMES]
    assert alone.items[0].details['descriptors'] == ['minimum_clearance']


def test_the_first_level_has_no_paths() -> None:
    found = load(variant='level1')
    assert len(found.items) == 75 and not any(sample.choices for sample in found.items)
    assert found.truth('level1/s05/4') == {'needed': ['minimum_clearance', 'path_length']}
    assert found.identity['granted'] == 'nothing' and load().identity['granted'] == 'vector'


def test_what_is_told_does_not_depend_on_the_answer() -> None:
    """Subjects, details and names of items whose better path is first and second look alike."""
    found = load()
    for sample in found.items[:200]:
        assert sample.choices[0].subjects == (f'{sample.id}/a', f'{sample.id}/b')
        assert set(sample.details) == {'asks', 'variant', 'view', 'map', 'family', 'pair',
                                       'scenario', 'descriptors', 'level', *sample.told}
        assert sample.told == ('task', 'first', 'second')
        wanted = dict(sample.choices[0].properties)
        assert set(sample.details['descriptors']) <= set(wanted)


def test_tasks_are_abstract_unless_they_are_to_be_spelled_out() -> None:
    abstract, spelled = load(), load(form='spelled')
    assert abstract.identity['form'] == 'abstract' and spelled.identity['form'] == 'spelled'
    assert abstract.identity['words_sha256'] != spelled.identity['words_sha256']
    for one, other in zip(abstract.items[::97], spelled.items[::97], strict=True):
        task = scenario(one.details['scenario'])
        assert texts(one).startswith(task.abstract[0]) and texts(other).startswith(task.text)
        assert one.id == other.id and abstract.truth(one.id) == spelled.truth(one.id)
    asked = {form: texts(load(variant='level1', form=form).items[0])
             for form in ('abstract', 'spelled')}
    assert all(text.startswith(scenario(1).wordings(form)[0]) for form, text in asked.items())
    assert 'form' not in load(variant='perception').identity, 'no task is asked about'


def test_what_decides_is_granted_only_if_it_is_to_be() -> None:
    told, found = load(), load(granted='nothing')
    assert found.identity['granted'] == 'nothing'
    assert found.identity['words_sha256'] != told.identity['words_sha256']
    for sample in found.items[::31]:
        task = scenario(sample.details['scenario'])
        read = read_task(task.abstract[0])
        assert sample.choices[0].properties == (read or (('path_length', -1),))
    assert read_task('The pelican met a tuba.') == (), 'then the shorter path is taken'
    assert dict(read_task('Keep it short and far from the walls.'))['path_length'] == -1
    perceived = load(variant='perception', granted='nothing')
    assert perceived.items[0].choices[0].properties, 'the question itself says which'


@pytest.mark.parametrize('variant', ['none', 'descriptors', 'perception', 'perception_fine'])
def test_no_more_is_explained_than_the_papers_prompts_do(variant: str) -> None:
    full, short = (texts(load(variant=variant, explained=how).items[0])
                   for how in ('all', 'paper'))
    assert 'the frame is no obstacle' in full and 'walls' not in full
    assert 'frame' not in short and 'red' not in short and 'left half' in short
    if variant == 'descriptors':
        assert '- Minimum clearance' in short and '- Average clearance' not in short
        assert '"Average clearance"' in short and '- Average clearance' in full


# ---------------------------------------------------------------------- both orders, and truth


def test_shown_the_other_way_round_under_neutral_names() -> None:
    found = load(size=64)
    assert found.shown is not None
    sample = found.items[0]
    one, other = (found.shown(sample, swap, True) for swap in (False, True))
    assert one.choices[0].options == other.choices[0].options != ('Path 1', 'Path 2')
    assert one.choices[0].subjects == other.choices[0].subjects[::-1]
    assert one.choices[0].properties == sample.choices[0].properties
    seen, turned = pictures(one)[0].load(), pictures(other)[0].load()
    assert (pair(turned[:, 64:], turned[:, :64]) == seen).all()
    given = found.shown(sample, False, False)
    assert texts(given) == texts(sample) and given.choices == sample.choices


def test_which_is_better_is_known_of_pairs_alone() -> None:
    found = load()
    sample = found.items[0]
    source = found.preference_source(sample)
    assert source is not None
    first, second = sample.choices[0].subjects
    sign = 1 if found.truth(sample.id)['better'] == 0 else -1
    assert (source.better(first, second), source.better(second, first)) == (sign, -sign)
    with pytest.raises(InputError, match='nothing is known'):
        source.better(first, 'x')
    with pytest.raises(InputError, match='never compared'):
        source.better(first, found.items[1].choices[0].subjects[0])


def test_published_counts_come_out() -> None:
    """GPT-4o-mini names the first path 34 times of 1,050; in both orders it is right more often.

    Expected are .52 and .72; the standard errors are .015 and .014.
    """
    found = load()
    assert found.shown is not None
    source = found.preference_source(found.items[0])
    assert source is not None
    model = noisy_critic.Backend(noisy_critic.Settings(table='gpt-4o-mini'), source)

    def request(sample: Sample) -> Choose:
        one = sample.choices[0]
        return Choose((), one.options, one.subjects, one.properties)
    firsts = right = both = 0
    for sample in found.items:
        better = found.truth(sample.id)['better']
        chosen = ask_one(model, request(sample)).chosen
        firsts, right = firsts + (chosen == 0), right + (chosen == better)
        shown = [request(found.shown(sample, swap, True)) for swap in (False, True)]
        both += (compare(model, lambda first, second, shown=shown: shown[first]).probability
                 > 0.5) is (better == 0)
    assert abs(firsts - 34) < 18
    assert abs(right / 1050 - 0.52) < 0.045 and abs(both / 1050 - 0.72) < 0.045


# ----------------------------------------------------------------------------------- segments


def test_segments_are_as_near_as_they_say() -> None:
    found = load('segments', size=64)
    kinds = Counter(sample.details['kind'] for sample in found.items)
    assert kinds == {'point': 100, 'line': 100, 'curve': 100}
    for one in segments.segment_pairs(5, 3):
        near = [min(segments.BESIDE.clearances([points[0], points[-1]]))
                for points in one.points]
        assert tuple(near) == one.distances and min(near) >= 1
        assert max(abs(value) for points in one.points for point in points for value in point
                   ) <= 40
    gaps = [sample.details['difference'] for sample in found.items]
    assert 12 < sum(gaps) / len(gaps) < 17
    assert segments.segment_pairs(5, 3)[2].points == segments.segment_pairs(5, 3)[2].points


@pytest.mark.parametrize(('view', 'kind'), [
    (view, kind) for view in ('2d', '3d') for kind in segments.KINDS])
def test_a_segment_is_all_that_is_red(view: Any, kind: str) -> None:
    one = next(one for one in segments.segment_pairs(1, 0, 256) if one.kind == kind)
    for image in one.halves(view):
        red, blue = reddish(image), reddish(image[..., ::-1])
        assert 5 < red.sum() < 0.05 * red.size and not blue.any()


def test_segments_have_names_of_their_own_and_three_variants() -> None:
    sample = load('segments').items[0]
    assert sample.choices[0].options == ('Point 1', 'Point 2')
    assert sample.choices[0].properties == (('minimum_clearance', -1),)
    assert reading.write({'better': 1}, sample) == 'Answer: Point 2'
    left_out = load('segments', variant='descriptors')
    assert not left_out.items and 'flipped' in left_out.skipped[0]


@pytest.mark.parametrize(('options', 'said'), [
    ({'variant': 'nope'}, 'variant'), ({'view': '4d'}, 'view'), ({'size': 3}, 'size'),
    ({'data': '/nowhere/at/all'}, '/nowhere/at/all'), ({'colour': 1}, 'colour')])
def test_bad_options_are_named(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        load(**options)


def test_the_papers_numbers_are_there() -> None:
    suite = load_suite('patheval')
    found = suite.published.find('gpt-4o-mini', 'solved', split='test', view='2d', variant='none')
    assert found is not None and found.value == 0.52 and found.n == 1050
    first, second = (suite.published.find('LLaMA-3.2-11b', f'{place}_count', split='test',
                                          view='2d', variant='none')
                     for place in ('first', 'second'))
    assert first is not None and second is not None
    assert (first.value, second.value, first.n) == (601, 251, 852)
    low = suite.published.find('GPT-4o', 'perceived', set='delta3', view='3d',
                          descriptor='minimum_clearance')
    assert low is not None and low.value == 0.74
