"""Results and readings with plausible random numbers, of any size, for the tests of the views."""

import json

import numpy as np
import xarray as xr
from numpy.typing import NDArray

CATEGORIES = ["cls", "sep", "punctuation", "other"]
QUERIES = ["all", *CATEGORIES]
MEASURES = ["weight", "norm", "effective"]


def survey_sample(
    layers: int = 6,
    heads: int = 8,
    *,
    special: bool = True,
    pruned: bool = False,
    corpus: str = "corpus.txt",
    seed: int = 0,
) -> xr.Dataset:
    """A survey of a model with ``layers`` x ``heads`` heads.

    Without ``special`` nothing was observed for [CLS] and [SEP]; with ``pruned`` some heads of
    some layers do not exist.
    """
    random = np.random.default_rng(seed)
    share = _shares(random, layers, heads)
    total = share.copy()
    total[1] *= random.uniform(1.5, 4, (layers, heads, 1, 1))
    entropy = random.beta(2.2, 1.6, (3, layers, heads, len(QUERIES))) * 4.2
    data = {
        "total": (("measure", "layer", "head", "query_category", "key_category"), total),
        "share": (("measure", "layer", "head", "query_category", "key_category"), share),
        "neighbour": (("measure", "layer", "head", "offset"), _neighbours(random, layers, heads)),
        "entropy": (("measure", "layer", "head", "query_category"), entropy),
        "entropy_uniform": ((), 4.61),
        "effective_correlation_by_head": (("layer", "head"), random.beta(6, 2, (layers, heads))),
        "rank": (("layer", "head"), random.uniform(24, 32, (layers, heads))),
        "token_share": (("key_category",), np.array([0.01, 0.02, 0.09, 0.88])),
        **_dispersion(random, layers, heads),
        **_correlation(random),
    }
    merged = _shares(random, layers, 1)[1, :, 0]
    data["merged_share"] = (("layer", "query_category", "key_category"), merged)
    data["merged_total"] = (("layer", "query_category", "key_category"), merged * 7.3)
    result = xr.Dataset(data, coords=_coordinates(layers, heads), attrs=_attributes(corpus))
    return _holes(result, special=special, pruned=pruned)


def reading_sample(
    layers: int = 2,
    heads: int = 3,
    tokens: tuple[str, ...] = ("[CLS]", "the", "cat", "sat", ".", "[SEP]"),
    seed: int = 0,
) -> xr.Dataset:
    """A reading of one short text with random attention."""
    random = np.random.default_rng(seed)
    n = len(tokens)
    weight = random.dirichlet(np.full(n, 0.4), (layers, heads, n))
    vector_norm = random.uniform(0.5, 3, (layers, heads, n))
    norm = weight * vector_norm[:, :, None, :]
    pairs = ("layer", "head", "query", "key")
    data = {
        "weight": (pairs, weight),
        "norm": (pairs, norm),
        "effective": (pairs, weight - random.uniform(0, 0.2, weight.shape)),
        "merged_norm": (("layer", "query", "key"), norm.sum(axis=1) * 0.8),
        "vector_norm": (("layer", "head", "key"), vector_norm),
        "input_norm": (("layer", "key"), random.uniform(10, 20, (layers, n))),
        "entropy": (("layer", "head", "query"), -(weight * np.log(weight + 1e-300)).sum(-1)),
        "rank": (("layer", "head"), np.full((layers, heads), float(min(n, 32)))),
    }
    coordinates = _token_coordinates(layers, heads, tokens)
    attributes = {**_attributes(""), "stage": "reading", "text": " ".join(tokens), "pair": ""}
    return counted(xr.Dataset(data, coords=coordinates, attrs=attributes))


def counted(reading: xr.Dataset) -> xr.Dataset:
    """A reading with statistics of its heads, computed of what it holds."""
    tokens = reading["key_token"].values.tolist()
    categories = reading["key_category"].values
    n = len(tokens)
    before = [[j + 1 for j in range(i) if tokens[j] == tokens[i]] for i in range(n)]
    rows: dict[str, list[tuple[int, list[int]]]] = {
        name: [(i, np.flatnonzero(categories == name).tolist()) for i in range(n)]
        for name in ("cls", "sep", "punctuation")
        if (categories == name).any()
    }
    rows |= {
        "first": [(i, [0]) for i in range(n)],
        "previous": [(i, [i - 1]) for i in range(1, n)],
        "current": [(i, [i]) for i in range(n)],
        "induction": [(i, keys) for i, keys in enumerate(before) if keys],
    }
    if reading.attrs["kind"] != "decoder" and "cls" in rows:
        del rows["first"]
    layers, heads = reading.sizes["layer"], reading.sizes["head"]
    numbers = np.full((len(rows) + 1, 4, layers, heads), np.nan)
    for at, measure in enumerate(MEASURES):
        sizes = np.maximum(reading[measure].values, 0)
        shares = sizes / sizes.sum(-1, keepdims=True)
        for row, cells in enumerate(rows.values()):
            if cells:
                given = [shares[:, :, query, keys].sum(-1) for query, keys in cells]
                numbers[row, at] = np.mean(given, axis=0)
        numbers[-1, at] = -(shares * np.log(shares + 1e-300)).sum(-1).mean(-1)
    return reading.drop_dims(["statistic"], errors="ignore").assign_coords(
        statistic=[*rows, "entropy"], measure=[*MEASURES, ""]
    ).assign(
        head_number=(("statistic", "measure", "layer", "head"), numbers),
        head_rows=("statistic", [*map(len, rows.values()), n]),
    )  # fmt: skip


def _shares(random: np.random.Generator, layers: int, heads: int) -> NDArray[np.float64]:
    depth = np.linspace(0, 1, layers)[:, None, None]
    pull = np.stack(
        [0.6 * (1 - depth), 6 * np.sin(np.pi * depth) ** 2, 0.5 + depth, 3 + 0 * depth], axis=-1
    )
    alpha = np.broadcast_to(pull, (layers, heads, len(QUERIES), 4)) + 0.15
    weight = random.standard_gamma(alpha) + 1e-4
    damped = weight * np.array([0.5, 0.12, 0.5, 1.0])
    weight, norm = (x / x.sum(axis=-1, keepdims=True) for x in (weight, damped))
    effective = weight - random.uniform(-0.05, 0.2, weight.shape) * weight
    return np.stack([weight, norm, effective])


def _neighbours(random: np.random.Generator, layers: int, heads: int) -> NDArray[np.float64]:
    share = random.dirichlet([0.35, 0.3, 0.3, 1.8], (layers, heads))[..., :3]
    return np.stack([share, np.clip(share * 1.15, 0, 1), share * 0.9])


def _dispersion(random: np.random.Generator, layers: int, heads: int) -> dict[str, object]:
    data: dict[str, object] = {}
    for name, shape in (("vector_norm", (layers, heads)), ("input_norm", (layers,))):
        mean = random.uniform(3, 8, shape)
        cv = random.uniform(0.08, 0.4, shape)
        dims = ("layer", "head")[: len(shape)]
        fields = {"mean": mean, "std": mean * cv, "cv": cv, "min": mean / 3, "max": mean * 2}
        data |= {f"{name}_{field}": (dims, value) for field, value in fields.items()}
    by_category = random.uniform(1, 8, (layers, heads, 4)) * np.array([0.6, 0.3, 0.5, 1.0])
    data["vector_norm_by_category"] = (("layer", "head", "key_category"), by_category)
    return data


def _correlation(random: np.random.Generator) -> dict[str, object]:
    mean = np.linspace(1, 0.55, 9) + random.normal(0, 0.02, 9)
    count = np.array([3, 12, 40, 81, 120, 90, 33, 5, 0], float)
    mean[-1] = np.nan
    return {
        "effective_correlation": (("length",), np.minimum(mean, 1)),
        "effective_correlation_std": (("length",), random.uniform(0.02, 0.08, 9)),
        "effective_correlation_count": (("length",), count),
    }


def _coordinates(layers: int, heads: int) -> dict[str, object]:
    return {
        "measure": MEASURES,
        "layer": np.arange(layers),
        "head": np.arange(heads),
        "query_category": QUERIES,
        "key_category": CATEGORIES,
        "offset": [-1, 0, 1],
        "length": np.arange(9) * 16,
    }


def _token_coordinates(layers: int, heads: int, tokens: tuple[str, ...]) -> dict[str, object]:
    special = {"[CLS]": "cls", "[SEP]": "sep", ".": "punctuation", ",": "punctuation"}
    categories = [special.get(token, "other") for token in tokens]
    words, word = [], -1
    for category in categories:
        word += category not in ("cls", "sep")
        words.append(-1 if category in ("cls", "sep") else word)
    coordinates: dict[str, object] = {"layer": np.arange(layers), "head": np.arange(heads)}
    for side in ("query", "key"):
        coordinates[f"{side}_token"] = (side, list(tokens))
        coordinates[f"{side}_category"] = (side, categories)
        coordinates[f"{side}_word"] = (side, words)
    return coordinates


def _attributes(corpus: str) -> dict[str, object]:
    return {
        "title": "A survey of attention",
        "model": "bert-base-uncased",
        "revision": "86b5e0934494bd15c9632b12f734a8a67f723594",
        "kind": "encoder",
        "corpus": corpus,
        "corpus_digest": "sha256:3b5d5c3712955042212316173ccf37be800a1c2f7a5b0d5a7f5a1f3c0d9e8b7a",
        "examples": 992,
        "tokens": 121134,
        "created": "2026-01-02T03:04:05+00:00",
        "command": f"headlight survey {corpus} --model bert-base-uncased --out run",
        "versions": json.dumps({"headlight": "0.1.0", "torch": "2.13.0", "transformers": "5.23.0"}),
        "settings": json.dumps({"pairs": True, "max_examples": 992, "value_bias": "include"}),
        "format": "2",
        "stage": "survey",
    }


def _holes(result: xr.Dataset, *, special: bool, pruned: bool) -> xr.Dataset:
    if not special:
        for name in [name for name in result if "key_category" in result[name].dims]:
            result[name] = result[name].where(~result["key_category"].isin(["cls", "sep"]))
        for name in [name for name in result if "query_category" in result[name].dims]:
            result[name] = result[name].where(~result["query_category"].isin(["cls", "sep"]))
    if pruned:
        missing = (result["layer"] % 2 == 1) & (result["head"] >= result.sizes["head"] // 2)
        for name in [name for name in result if {"layer", "head"} <= set(result[name].dims)]:
            result[name] = result[name].where(~missing)
    return result
