"""The map, the tree and the names of heads."""

import math
from itertools import pairwise

import numpy as np
import pytest
import xarray
from scipy.cluster import hierarchy

from headlight.errors import UsageError
from headlight.findings.head_behaviours import BEHAVIOURS, behaviours
from headlight.findings.hierarchical_clustering import tree
from headlight.findings.multidimensional_scaling import embedding

QUERIES = ["all", "cls", "sep", "punctuation", "other", "not_sep"]
KEYS = ["cls", "sep", "punctuation", "other"]


def made(layers=(0, 1), heads=2) -> xarray.Dataset:
    """A survey in which every head does the same; tests change what they need."""
    shape = (2, len(layers), heads)
    dims = ("measure", "layer", "head")
    return xarray.Dataset(
        {
            "share": ((*dims, "query_category", "key_category"), np.full((*shape, 6, 4), 0.25)),
            "neighbour": ((*dims, "offset"), np.full((*shape, 3), 0.2)),
            "entropy": ((*dims, "query_category"), np.full((*shape, 6), 2.0)),
            "entropy_uniform": 4.8,
        },
        coords={
            "measure": ["weight", "norm"],
            "layer": list(layers),
            "head": list(range(heads)),
            "query_category": QUERIES,
            "key_category": KEYS,
            "offset": [-1, 0, 1],
        },
    )


def put(result: xarray.Dataset, name: str, value: float, **place: object) -> None:
    result[name].loc[place] = value


def distances(square: np.ndarray, heads: int = 4) -> xarray.DataArray:
    number = np.arange(len(square))
    places = {"layer": number // heads, "head": number % heads}
    return xarray.DataArray(
        square,
        dims=("first", "second"),
        coords={
            **{name: ("first", values) for name, values in places.items()},
            **{f"second_{name}": ("second", values) for name, values in places.items()},
        },
    )


def planted(groups: int = 3, size: int = 6, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Heads in groups: near within, far between; mixed up."""
    generator = np.random.default_rng(seed)
    group = generator.permutation(np.repeat(np.arange(groups), size))
    same = group[:, None] == group
    noise = generator.uniform(0, 0.04, same.shape)
    square = np.where(same, 0.05, 0.5) + np.triu(noise, 1) + np.triu(noise, 1).T
    np.fill_diagonal(square, 0)
    return square, group


def on_the_plane(seed: int = 1) -> np.ndarray:
    """Distances that a map can keep exactly."""
    points = np.random.default_rng(seed).normal(size=(12, 2)) * [3.0, 1.0]
    return np.sqrt(((points[:, None] - points) ** 2).sum(-1))


def test_planted_clusters_are_apart_on_the_map():
    square, group = planted()
    points = embedding(distances(square))
    between = np.sqrt(((points.values[:, None] - points.values) ** 2).sum(-1))
    same = group[:, None] == group
    assert between[same].max() < between[~same].min() / 2
    assert 0 < points.attrs["stress"] < 0.2


def test_distances_of_a_plane_are_kept():
    square = on_the_plane()
    points = embedding(distances(square))
    between = np.sqrt(((points.values[:, None] - points.values) ** 2).sum(-1))
    np.testing.assert_allclose(between, square, atol=1e-2)
    assert points.attrs["stress"] < 1e-3
    assert points.dims == ("index", "axis")
    assert points["layer"].values.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert points["head"].values.tolist() == [0, 1, 2, 3] * 3
    assert list(points["axis"].values) == ["x", "y"]
    np.testing.assert_allclose(points.mean("index"), 0, atol=1e-12)
    assert float(points.sel(axis="x").std()) > float(points.sel(axis="y").std())
    assert float((points.sel(axis="x") * points.sel(axis="y")).sum()) == pytest.approx(0, abs=1e-9)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_map_and_another_nearly():
    square = on_the_plane()
    first, again, other = (embedding(distances(square), seed) for seed in (0, 0, 3))
    xarray.testing.assert_identical(first, again)
    assert not np.array_equal(first.values, other.values)
    np.testing.assert_allclose(np.abs(first.values), np.abs(other.values), atol=0.05)


def test_stress_by_hand():
    """Three heads at distance 1 fit a plane; the corners of a tetrahedron do not."""
    for heads, exact in ((3, True), (4, False)):
        square = 1.0 - np.eye(heads)
        points = embedding(distances(square))
        between = [
            math.dist(points.values[one], points.values[other])
            for one in range(heads)
            for other in range(heads)
        ]
        lost = sum((a - b) ** 2 for a, b in zip(between, square.ravel(), strict=True))
        expected = math.sqrt(lost / sum(a**2 for a in between))
        assert points.attrs["stress"] == pytest.approx(expected, rel=1e-9, abs=1e-12)
        assert (points.attrs["stress"] < 1e-4) == exact


@pytest.mark.slow
def test_the_map_is_that_of_scikit_learn():
    manifold = pytest.importorskip("sklearn.manifold")
    square, _ = planted()
    expected, _ = manifold.smacof(square, n_init=5, max_iter=1000, eps=1e-10, random_state=7)
    between = np.sqrt(((expected[:, None] - expected) ** 2).sum(-1))
    points = embedding(distances(square), seed=7).values
    ours = np.sqrt(((points[:, None] - points) ** 2).sum(-1))
    np.testing.assert_allclose(ours, between, rtol=1e-3, atol=1e-6)


def test_planted_clusters_are_branches_of_the_tree():
    square, group = planted(seed=4)
    joined = tree(distances(square))
    assert joined.shape == (17, 4)
    found = hierarchy.fcluster(joined, 3, "maxclust")
    for label in set(found):
        assert len(set(group[found == label])) == 1
    leaves = hierarchy.leaves_list(joined)
    assert len({tuple(sorted(group[leaves[i : i + 6]])) for i in (0, 6, 12)}) == 3


def test_average_linkage_by_hand():
    square = np.array([[0.0, 1.0, 4.0], [1.0, 0.0, 6.0], [4.0, 6.0, 0.0]])
    joined = tree(distances(square))
    assert joined[0].tolist()[2:] == [1.0, 2.0]
    assert joined[1].tolist()[2:] == [5.0, 3.0]


def test_neighbours_in_the_tree_are_as_near_as_it_allows():
    """Of all ways to turn the merges round, the one with the shortest walk along the leaves."""
    square = on_the_plane(seed=6)[:6, :6]
    joined = tree(distances(square))

    def orders(node):
        if node < 6:
            return [[int(node)]]
        left, right = joined[int(node) - 6, :2]
        pairs = [(a, b) for a in orders(left) for b in orders(right)]
        return [a + b for a, b in pairs] + [b + a for a, b in pairs]

    def walk(order):
        return sum(square[a, b] for a, b in pairwise(order))

    walks = [walk(order) for order in orders(10)]
    assert walk(hierarchy.leaves_list(joined)) == pytest.approx(min(walks), rel=1e-9)
    assert max(walks) > 1.1 * min(walks)


def test_what_is_no_square_of_distances_is_refused():
    square = on_the_plane()
    several = distances(square).expand_dims(measure=["weight", "norm"])
    broken = distances(np.where(square > 2, np.nan, square))
    for function in (embedding, tree):
        with pytest.raises(UsageError, match=r"select one measure first.*sel\(measure='weight'\)"):
            function(several)
        with pytest.raises(UsageError, match="some of the distances are missing"):
            function(broken)
    with pytest.raises(UsageError, match="two heads at least"):
        tree(distances(np.zeros((1, 1))))


# Names


def test_every_rule_and_which_overrides_which():
    result = made(layers=(2, 4), heads=4)
    everyone = {"measure": "weight", "query_category": "all"}
    put(result, "neighbour", 0.6, measure="weight", offset=1, layer=2, head=0)
    put(result, "neighbour", 0.6, measure="weight", offset=-1, layer=2, head=1)
    put(result, "entropy", 4.0, **everyone, layer=2, head=1)  # broad is the later rule
    put(result, "entropy", 3.9, **everyone, layer=2, head=2)
    put(result, "share", 0.61, **everyone, key_category="cls", layer=2, head=3)
    put(result, "share", 0.61, **everyone, key_category="sep", layer=4, head=0)
    put(result, "entropy", 4.0, **everyone, layer=4, head=0)
    put(result, "share", 0.61, **everyone, key_category="punctuation", layer=4, head=1)
    put(result, "neighbour", 0.5, measure="weight", offset=1, layer=4, head=2)  # not above
    put(result, "share", 0.6, **everyone, key_category="sep", layer=4, head=2)
    for name in ("share", "neighbour", "entropy"):
        result[name].loc[{"layer": 4, "head": 3}] = np.nan
    found = behaviours(result)
    assert found.dims == ("layer", "head")
    assert found.values.tolist() == [
        ["next", "broad", "broad", "cls"],
        ["sep", "punctuation", "other", ""],
    ]
    assert set(found.values.ravel()) - {"other", ""} <= set(BEHAVIOURS)
    named = behaviours(result, linguistic={(2, 0): "coreference", (4, 2): "det"})
    assert named.sel(layer=2, head=0) == "coreference"
    assert named.sel(layer=4, head=2) == "det"
    assert (named == found).sum() == 6


def test_names_by_another_measure():
    result = made()
    put(result, "share", 0.7, measure="norm", query_category="all", key_category="cls", layer=1)
    assert behaviours(result, measure="norm").values.tolist() == [["other"] * 2, ["cls"] * 2]
    assert (behaviours(result) == "other").all()


def test_what_is_broad_can_follow_the_length_of_the_texts():
    result = made()
    result["entropy"][:] = 3.0
    result["entropy_uniform"] = math.log(32)
    assert (behaviours(result) == "other").all()
    assert (behaviours(result, broad=None) == "broad").all()  # above 3.8 ln 32 / ln 128 = 2.71
    result["entropy_uniform"] = math.log(64)
    assert (behaviours(result, broad=None) == "other").all()  # below 3.26
    assert (behaviours(result, broad=2.9) == "broad").all()


def test_names_that_cannot_be_given_are_refused():
    with pytest.raises(UsageError, match="no measure 'effective'; it has: weight, norm"):
        behaviours(made(), measure="effective")
    with pytest.raises(UsageError, match="head 2 of layer 0 is named, and is not in the survey"):
        behaviours(made(), linguistic={(0, 2): "det"})
