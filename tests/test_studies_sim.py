"""What the documents show of the simulated worlds, and the meshes that are made for them."""

import cv2
import numpy as np
import pytest

import arm_film
import household_actions
import household_catalog
from panda_meshes import simplified_panda
from sightplan.domains import load_domain
from sightplan_sim.arm.meshes import panda_meshes
from sightplan_sim.household import make_world
from sightplan_sim.household.render import Painter

pytestmark = pytest.mark.slow


def test_a_film_shows_arm_and_table_from_the_side(tmp_path):
    file = tmp_path / 'sheet.png'
    assert arm_film.main(['--out', str(file), '--frames', '3', '--columns', '2',
                          '--width', '96']) == 0
    picture = cv2.imread(str(file))
    assert picture.shape == (2 * (72 + 4), 2 * (96 + 4), 3)
    tiles = [picture[:76, :100], picture[:76, 100:], picture[76:, :100]]
    assert all(tile.std() > 20 for tile in tiles)
    assert np.abs(tiles[0].astype(int) - tiles[1]).mean() > 3
    for bad in (['--out', str(tmp_path / 'nowhere' / 'sheet.png')],
                ['--out', str(file), '--frames', '1']):
        with pytest.raises(SystemExit) as error:
            arm_film.main(bad)
        assert error.value.code == 2


def test_what_is_seen_of_the_arm_is_the_meshes_of_pybullet_data_simplified():
    made = {(m.link, m.shade): m for m in simplified_panda()}
    shipped = {(m.link, m.shade): m for m in panda_meshes()}
    assert set(made) == set(shipped)
    assert sum(len(m.triangles) for m in shipped.values()) < 9000
    for key, mesh in made.items():
        assert np.array_equal(mesh.triangles, shipped[key].triangles)
        assert np.allclose(mesh.vertices_m, shipped[key].vertices_m, atol=1e-5)
        assert np.allclose(np.linalg.norm(shipped[key].normals, axis=1), 1.0, atol=0.02)


def test_a_tile_of_the_catalog_shows_a_model_on_a_floor():
    bowl = household_catalog.catalog.make_model('bowl', 'movable', np.random.default_rng(0))
    with Painter() as painter:
        tile = household_catalog.picture(painter, bowl, 0.0, 64)
    assert tile.shape == (64, 64, 3) and tile.std() > 10


def test_actions_of_a_walk_are_counted():
    problem = load_domain('household').split_problems('simple')[0]
    tallies, costs_s = {}, []
    with make_world(pictures='none') as world:
        assert household_actions.walk(world, problem, 0, 2, tallies, costs_s)
    counted = sum(tally.n for tally in tallies.values())
    assert counted == len(costs_s) >= problem.optimal_length + 2
    assert counted == sum(t.succeeded + sum(t.failed.values()) for t in tallies.values())
    assert f'| all | {counted} |' in household_actions.report(tallies)
