"""What the rules of all papers say of numbers: that they hold, do not, or are inconclusive."""

import inspect
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas
import pytest
import xarray

from headlight.result.estimate import Estimate
from headlight_papers.papers.answers import (
    all_of,
    any_of,
    correlation,
    difference,
    mean_of,
    median_of,
    provided,
    within,
)
from headlight_papers.papers.brunner2020 import claims as brunner2020_claims
from headlight_papers.papers.claims import Claim, claims_content
from headlight_papers.papers.clark2019 import claims as clark2019_claims
from headlight_papers.papers.jain2019 import claims as jain2019_claims
from headlight_papers.papers.kobayashi2020 import alignment_claims, norm_claims
from headlight_papers.papers.kobayashi2020.other_aligners import OtherAligner
from headlight_papers.papers.kobayashi2020.translator_results import SMOOTHGRADS, InputMethod
from headlight_papers.papers.kobayashi2021 import claims as kobayashi2021_claims
from headlight_papers.papers.kobayashi2021.mixing_results import METHODS
from headlight_papers.papers.token_maps import exhibits
from headlight_papers.papers.token_maps.ferrando2022 import Ferrando2022
from headlight_papers.papers.wiegreffe2019 import claims as wiegreffe2019_claims
from headlight_papers.papers.yang2020 import Settings as Yang2020, claims as yang2020_claims
from papers.material import ended, separators

NAN = float("nan")
MODULES = {
    "brunner2020": brunner2020_claims,
    "clark2019": clark2019_claims,
    "jain2019": jain2019_claims,
    "kobayashi2020": alignment_claims,
    "kobayashi2020_norms": norm_claims,
    "kobayashi2021": kobayashi2021_claims,
    "token_maps": exhibits,
    "wiegreffe2019": wiegreffe2019_claims,
    "yang2020": yang2020_claims,
}
NOTHING_MEASURED = Estimate.with_ends(NAN, NAN, NAN)


# ---------------------------------------------------------------- one function


@pytest.mark.parametrize(
    ("low", "high", "answer"),
    [(0.1, 0.2, True), (-0.1, 0.2, None), (-0.2, -0.1, False), (NAN, 0.2, None), (0.1, 0.1, None)],
)
def test_an_interval_lies_above_0_as_a_whole_or_not_at_all(low, high, answer):
    assert within(Estimate.with_ends((low + high) / 2, low, high), above=0) is answer


def test_a_number_of_everything_is_off_by_nothing():
    assert within(0.1, above=0) is True
    assert within(0.0, above=0) is False
    assert within(NAN, above=0) is None


def test_a_margin_holds_the_whole_interval():
    assert within(Estimate.with_ends(0.0, -0.01, 0.01), least=-0.01, most=0.01) is True
    assert within(Estimate.with_ends(0.0, -0.02, 0.01), least=-0.01, most=0.01) is None
    assert within(Estimate.with_ends(0.03, 0.02, 0.04), least=-0.01, most=0.01) is False


def test_nothing_holds_of_nothing():
    assert all_of() is any_of() is within(NOTHING_MEASURED, above=0) is None
    assert all_of(True, None) is any_of(False, None) is provided(None, True) is None
    assert all_of(None, False) is any_of(False, False) is False
    assert any_of(None, True) is all_of(True, True) is True
    words = [Claim("", "", "", "", answer).verdict for answer in (True, False, None)]
    assert words == ["holds", "does not hold", "inconclusive"]


def test_intervals_by_hand():
    assert mean_of([0.8, 0.9, 1.0, NAN]).high == pytest.approx(0.9 + 4.302653 * 0.1 / 3**0.5)
    assert np.isnan(mean_of([0.5]).low)
    assert np.isnan(mean_of([0.5] * 3).low), "equal values do not tell how far off they are"
    # Squares 0.02 and 0.02 over 4 degrees of freedom, of 3 and 3 values.
    found = difference([0.8, 0.9, 1.0], [0.4, 0.5, 0.6])
    half = 2.776445 * (0.04 / 4 * (2 / 3)) ** 0.5
    assert (found.low, found.high) == pytest.approx((0.4 - half, 0.4 + half))
    # A single value beside three, of two degrees of freedom.
    single = difference([0.5], [0.8, 0.9, 1.0])
    assert single.low == pytest.approx(-0.4 - 4.302653 * (0.01 * (4 / 3)) ** 0.5)
    assert np.isnan(difference([0.5], [0.4]).low)
    # 10 values: 1 or fewer below the median in 2.1% of cases, 2 or fewer in 5.5%.
    found = median_of(np.arange(10))
    assert (found.value, found.low, found.high) == (4.5, 1.0, 8.0)
    assert np.isnan(median_of(np.arange(5)).low)
    found = correlation(0.5, 103)
    half = 1.959964 * (1.125 / 100) ** 0.5
    assert found.low == pytest.approx(np.tanh(np.arctanh(0.5) - half))


# ------------------------------------------------------- numbers of which all rules hold


def yang() -> pandas.DataFrame:
    """Three seeds of each model; λ times 28.9 is that of the paper."""
    models = [
        ("base", NAN, 0.905, NAN, 0.2, NAN),
        ("adversary", 0.0, 0.904, 4.0, 0.2, 0.3),
        ("adversary", 6.92e-3, 0.903, 6.0, 0.2, 0.6),
        ("adversary", 0.03, 0.80, 8.0, 0.5, 0.65),
        ("adversary", 0.104, 0.75, 14.0, 0.6, 0.69),
        ("seed", NAN, 0.905, 2.0, 0.2, 0.2),
        ("uniform", NAN, 0.6, 5.0, 0.8, 0.4),
    ]
    return pandas.DataFrame(
        [
            {
                "kind": kind,
                "guide": "",
                "seed": seed,
                "weight": weight,
                "f1": f1 + noise,
                "kl": kl + noise,
                "nll": nll + noise,
                "jsd": jsd + noise,
                "tvd": 0.05 + noise,
                "accuracy": 0.9 + noise,
            }
            for kind, weight, f1, kl, nll, jsd in models
            for seed, noise in enumerate((-0.001, 0.0, 0.001))
        ]
    )


def yang_classifiers() -> dict[str, pandas.DataFrame]:
    """Whose attention is moved as far as it can be at little cost, unlike that of the tagger."""
    rows = yang()
    return {"SST": rows.assign(jsd=rows.jsd * 1.2)}


def yang_guided() -> pandas.DataFrame:
    f1 = {("base", NAN): 0.9, ("adversary", 0.104): 0.901, ("uniform", NAN): 0.7}
    f1 |= {("identity", NAN): 0.68}
    return pandas.DataFrame(
        [
            {"kind": "guided", "guide": guide, "weight": weight, "f1": value + noise}
            for (guide, weight), value in f1.items()
            for noise in (-0.001, 0.0, 0.001)
        ]
    )


def wiegreffe() -> pandas.DataFrame:
    """Two sets of which all conclusions hold; adversaries are single runs."""
    models = [
        ("base", "lstm", "", NAN, 0.80, NAN, NAN), ("base", "transformer", "", NAN, 0.8, NAN, NAN),
        ("guided", "lstm", "uniform", NAN, 0.79, 0.05, 0.1),
        ("guided", "average", "uniform", NAN, 0.70, NAN, NAN),
        ("guided", "average", "base", NAN, 0.79, NAN, NAN),
        ("seed", "lstm", "", NAN, 0.8, 0.06, 0.1), ("seed", "transformer", "", NAN, 0.8, 0.06, 0.1),
    ]  # fmt: skip
    singles = [
        ("guided", "average", "adversary", 0.0, 0.79, NAN, NAN),
        ("guided", "average", "adversary", 0.1, 0.60, NAN, NAN),
        *(("adversary", encoder, "", 0.0, 0.8, 0.06, 0.12) for encoder in ("lstm", "transformer")),
        *(("adversary", encoder, "", 0.1, 0.8, 0.07, 0.5) for encoder in ("lstm", "transformer")),
    ]
    names = ("kind", "encoder", "guide", "weight", "f1", "tvd", "jsd")
    return pandas.DataFrame(
        [
            {
                "set": title,
                **dict(zip(names, model, strict=True)),
                "accuracy": 0.8 + noise,
                "f1": model[4] + noise,
                "tvd": model[5] + noise,
                "jsd": model[6] + noise,
            }
            for title in ("SST", "IMDb")
            for rows, noises in ((models, (-0.001, 0.0, 0.001)), (singles, (0.0,)))
            for model in rows
            for noise in noises
        ]
    )


def instances(tvd: float = 0.04, jsd: float = 0.6) -> dict[str, dict[str, np.ndarray]]:
    noise = np.array([-0.001, 0.0, 0.001, NAN])
    return {title: {"tvd": tvd + noise, "jsd": jsd + noise} for title in ("SST", "IMDb")}


def jain() -> dict[tuple[str, str], pandas.DataFrame]:
    taus = {"lstm": (0.3, 0.3, 0.65), "average": (0.6, 0.7, 0.5), "transformer": (0.3, 0.3, 0.6)}
    noise = np.linspace(-0.02, 0.02, 20)
    return {
        ("SST", encoder): pandas.DataFrame(
            {
                "attention_gradient": first + noise,
                "attention_left_out": second - noise * second,
                "gradient_left_out": both + noise / 3,
                "jsd": 0.5 + noise,
                "permuted": 0.03 + noise,
                "predicted": 0,
            }
        )
        for encoder, (first, second, both) in taus.items()
    }


def alignment() -> xarray.Dataset:
    layers, heads, half = 4, 4, 0.01
    norms = np.array([0.5, 0.2, 0.6, 0.7])
    rates = np.array([[norms + 0.2, [0.9] * layers], [norms, [0.7] * layers]])
    mean = np.array([1.0, 9.0, 3.0, 4.0])
    of_heads = mean[:, None] + np.arange(heads)
    by_head = np.stack([1 - of_heads / 20, of_heads / 20])
    axes = ("measure", "step", "layer")
    ends = {"": 0.0, "_low": -half, "_high": half}
    both = np.stack([by_head, by_head])
    return xarray.Dataset(
        {
            **{f"error_rate{end}": (axes, rates + by) for end, by in ends.items()},
            **{f"head_error_rate{end}": ((*axes, "head"), both + by) for end, by in ends.items()},
            "mean_norm": ("layer", mean),
            "head_mean_norm": (("layer", "head"), of_heads),
        },
        coords={
            "measure": ["weight", "norm"],
            "step": ["input", "output"],
            "layer": range(layers),
            "head": range(heads),
        },
        attrs={"examples": 400},
    )


def norms() -> xarray.Dataset:
    names = ("cls", "sep", "punctuation", "other")
    axes = ("query_category", "measure", "layer", "head", "key_category")
    shares = [[[[[0.1, 0.4, 0.2, 0.3]]], [[[0.01, 0.1, 0.05, 0.84]]]]]
    return xarray.Dataset(
        {
            "vector_norm_cv": (("layer", "head"), [[0.3]]),
            "share": (axes, shares),
            "weight_norm_spearman": ("key_group", [-0.5, -0.5, -0.5, 0.0]),
            "frequency_spearman": ("quantity", [-0.05, 0.5]),
            "token_count": ("key_group", [2, 2, 2, 2]),
        },
        coords={
            "query_category": ["all"],
            "measure": ["weight", "norm"],
            "key_category": list(names),
            "key_group": list(names),
            "quantity": ["weight", "norm"],
        },
    )


def lengths() -> xarray.Dataset:
    return xarray.Dataset(
        {
            "effective_correlation": ("length", [1.0, 1.0, 0.5]),
            "effective_correlation_low": ("length", [1.0, 1.0, 0.4]),
            "effective_correlation_high": ("length", [1.0, 1.0, 0.6]),
            "keys_mean": ("length", [8.0, 16.0, 64.0]),
            "head_dim": ("layer", [32]),
        }
    )


def rates() -> xarray.DataArray:
    values = [[[0.95, 0.96, 0.97], [0.9, 0.91, 0.92]], [[0.9, 0.91, 0.9], [0.7, 0.71, 0.7]]]
    dims = ("loss", "layer", "fold")
    return xarray.DataArray(values, dims=dims, coords={"loss": ["cosine", "l2"]})


def contributions() -> xarray.Dataset:
    share = [[0.1, 0.4, NAN, 0.3, 0.2]] * 2
    return xarray.Dataset(
        {
            "own_box": (("group", "layer", "mark"), [[[0.3], [0.1]]]),
            **ended("own_mean", ("group", "layer"), [[0.3, 0.1]], 0.002),
            **ended("not_largest", ("layer",), [0.0, 0.3], 0.02),
            "neighbour_share": (("layer", "offset"), share),
            "by_distance_share": (("distance", "layer"), [[0.6, 0.4], [0.2, 0.8]]),
        },
        coords={
            "group": ["all"],
            "mark": ["median"],
            "offset": [-2, -1, 0, 1, 2],
            "distance": ["1", "11+"],
        },
    )


def survey() -> xarray.Dataset:
    share = np.full((1, 2, 2, 2, 1), 0.6)
    share[..., 1, :] = 0.95
    by_head = ("measure", "layer", "head")
    numbers = {
        "share": ((*by_head, "query_category", "key_category"), share, share / 50),
        "neighbour": ((*by_head, "offset"), np.full((1, 2, 2, 2), 0.7), 0.02),
        "entropy": ((*by_head, "query_category"), np.full((1, 2, 2, 2), 4.7), 0.02),
    }
    return xarray.Dataset(
        {
            **{name: (dims, values) for name, (dims, values, _) in numbers.items()},
            **{f"{name}_low": (dims, each - half) for name, (dims, each, half) in numbers.items()},
            **{f"{name}_high": (dims, each + half) for name, (dims, each, half) in numbers.items()},
            "entropy_uniform": ((), 4.8),
        },
        attrs={"examples": 400},
        coords={
            "measure": ["weight"],
            "query_category": ["all", "sep"],
            "key_category": ["sep"],
            "offset": [-1, 1],
        },
    )


def dependencies() -> xarray.Dataset:
    axes = ("measure", "layer", "head", "direction", "relation")
    accuracy = np.array([0.4, 0.9, 0.8]).reshape(1, 1, 1, 1, 3)
    return xarray.Dataset(
        {
            **ended("accuracy", axes, accuracy, 0.02),
            "count": ("relation", [900, 200, 200]),
            **ended("offset_accuracy", ("offset", "relation"), [[0.2, 0.5, 0.5]], 0.02),
            "gain": (axes, accuracy - [0.2, 0.5, 0.5]),
        },
        attrs={"examples": 400},
        coords={
            "measure": ["weight"],
            "layer": [0],
            "head": [0],
            "direction": ["head"],
            "relation": ["all", "obj", "det"],
            "offset": [1],
        },
    )


def antecedents() -> xarray.Dataset:
    axes = ("measure", "layer", "head", "direction", "mention_kind")
    one = (1, 1, 1, 1, 1)
    return xarray.Dataset(
        {
            **ended("accuracy", axes, np.full(one, 0.7), 0.02),
            **ended("baseline_accuracy", ("baseline", "mention_kind"), [[0.3], [0.5]], 0.02),
            "count": ("mention_kind", [99]),
        },
        attrs={"answerable": 99, "documents": 80, "documents_without": 0},
        coords={
            "measure": ["weight"],
            "layer": [0],
            "head": [0],
            "direction": ["mention"],
            "mention_kind": ["all"],
            "baseline": ["nearest", "head match"],
        },
    )


def probes() -> xarray.Dataset:
    uas = {
        "attention_and_words": 0.77,
        "distances_and_words": 0.58,
        "random_attention_and_words": 0.3,
    }
    return xarray.Dataset(
        ended("score", ("row", "metric"), np.array([*uas.values()])[:, None], 0.01),
        {
            "metric": ["uas"],
            "probe": ("row", list(uas)),
            "measure": ("row", ["weight"] * len(uas)),
        },
    )


def distances() -> xarray.Dataset:
    layer = np.repeat([0, 1], 3)
    near = np.where(layer[:, None] == layer, 0.1, 0.5)
    near = near + 0.001 * np.add.outer(range(6), range(6))
    return xarray.Dataset(
        {"distance": (("measure", "first", "second"), near[None])},
        coords={"layer": ("first", layer), "second_layer": ("second", layer)},
    )


def gradients() -> dict[InputMethod, Estimate]:
    return dict.fromkeys(SMOOTHGRADS, Estimate.with_ends(0.9, 0.89, 0.91))


def aligners(low: float = 0.29, high: float = 0.31) -> list[OtherAligner]:
    return [OtherAligner("fastalign", "forward", Estimate.with_ends((low + high) / 2, low, high))]


def mixing() -> xarray.Dataset:
    """Two layers; rare types and masks mix more than the rest."""
    scopes = dict(zip(METHODS, (0.97, 0.85, 0.48, 0.22, 0.18), strict=True))
    groups = {
        "mixing": ((), [0.0]),
        "mixing_by_frequency": (("frequency", [1, 10]), [0.04, -0.04]),
        "mixing_by_state": (("state", ["masked", "given"]), [0.05, -0.01]),
    }
    found = {}
    for name, (axis, shifts) in groups.items():
        values = np.array(list(scopes.values()))[:, None, None] + np.array(shifts)[:, None]
        values = np.repeat(values, 2, axis=2) if axis else np.repeat(values[:, 0], 2, axis=1)
        for end, off in (("", 0.0), ("_low", -0.01), ("_high", 0.01)):
            found[f"{name}{end}"] = (("scope", *axis[:1], "layer"), values + off)
    axes = {"scope": list(scopes), "frequency": [1, 10], "state": ["masked", "given"]}
    return xarray.Dataset(found, axes)


def maps_beside() -> xarray.Dataset:
    """ALTI ahead of all others, by every question."""
    names = ["alti", "rollout", "rollout_norm", "globenc", "gradient_input"]
    score = np.array([0.4, 0.3, 0.2, 0.1, 0.0])
    found = {
        f"score{end}": (("question", "map"), score[None] + off)
        for end, off in (("", 0.0), ("_low", -0.02), ("_high", 0.02))
    }
    return xarray.Dataset(found, {"question": ["comprehensiveness"], "map": names})


LENGTH = 28.9
SMALL = 6.92e-3
ARGUMENTS: dict[str, Callable[[], tuple[Any, ...]]] = {
    "brunner2020.not_identifiable": lambda: (
        xarray.Dataset({"difference": 9e-6, "rounding": 1e-6, "most": 0.9}),
    ),
    "brunner2020.less_correlated": lambda: (lengths(),),
    "brunner2020.peak_vanishes": lambda: (
        separators([[[0.1, 0.1], [0.6, 0.4]], [[0.1, 0.1], [0.2, 0.2]]], 0.01),
    ),
    "brunner2020.keeps_identity": lambda: (rates(),),
    "brunner2020.in_the_angle": lambda: (rates().isel(layer=-1),),
    "brunner2020.easier_downwards": lambda: (
        xarray.DataArray(
            [[0.9, 0.4, 0.3], [0.8, 0.9, 0.5], [0.85, 0.8, 0.9]], dims=("layer", "tested_layer")
        ),
    ),
    "brunner2020.mixes": lambda: (contributions(),),
    "brunner2020.still_largest": lambda: (contributions(),),
    "brunner2020.local": lambda: (contributions(),),
    "brunner2020.far_context_is_deep": lambda: (contributions(),),
    "clark2019.to_neighbours": lambda: (survey(),),
    "clark2019.to_separators": lambda: (survey(),),
    "clark2019.no_op": lambda: (survey(),),
    "clark2019.broad_below": lambda: (survey(),),
    "clark2019.finds_relations": lambda: (dependencies(), "treebank"),
    "clark2019.not_all_syntax": lambda: (dependencies(), "treebank"),
    "clark2019.finds_antecedents": lambda: (antecedents(), "corpus"),
    "clark2019.knows_syntax": lambda: (probes(),),
    "clark2019.alike_in_layers": lambda: (distances(),),
    "jain2019.judge_claims": lambda: (jain(),),
    "kobayashi2020_norms.judge_claims": lambda: (norms(),),
    **{
        f"kobayashi2020.{name}": lambda: (alignment(),)
        for name in (
            "norms_above_weights", "input_above_output", "second_layer", "norm_finds_layer",
            "norms_of_heads",
        )
    },
    "kobayashi2020.as_good_as_fast_align": lambda: (alignment(), aligners()),
    "kobayashi2020.norms_above_gradients": lambda: (alignment(), gradients()),
    "kobayashi2021.judge_claims": lambda: (mixing(),),
    "token_maps.judge_ahead": lambda: (maps_beside(), Ferrando2022.claims),
    **{
        f"wiegreffe2019.{name}": lambda: (wiegreffe(),)
        for name in ("needs_attention", "carries_over", "adversaries_do_not", "adversaries_exist")
    },
    "wiegreffe2019.harder_than_single_texts": lambda: (wiegreffe(), instances()),
    "yang2020.judge_claims": lambda: (yang(), yang_guided(), SMALL, 0.104, LENGTH),
    "yang2020.safe_point": lambda: (yang(),),
    "yang2020.more_exclusive": lambda: (yang(), yang_classifiers()),
}  # fmt: skip
"""Of every rule, what it is given, of which it holds."""


def rules() -> Iterator[str]:
    for paper, module in MODULES.items():
        for name, function in inspect.getmembers(module, inspect.isfunction):
            made_here = function.__module__ == module.__name__ and not name.startswith("_")
            if made_here and inspect.signature(function).return_annotation in (Claim, list[Claim]):
                yield f"{paper}.{name}"


def judged(rule: str, arguments: tuple[Any, ...]) -> list[Claim]:
    paper, name = rule.rsplit(".", 1)
    found = getattr(MODULES[paper], name)(*arguments)
    return found if isinstance(found, list) else [found]


def test_no_rule_is_forgotten():
    assert set(ARGUMENTS) == set(rules())


@pytest.mark.parametrize("rule", ARGUMENTS)
def test_every_rule_can_hold(rule):
    assert [one.verdict for one in judged(rule, ARGUMENTS[rule]())] == ["holds"] * len(
        judged(rule, ARGUMENTS[rule]())
    )


# ------------------------------------------------------------------- that prove nothing

KEYS = ("weight", "seed", "keys_mean", "head_dim", "count", "predicted")
"""What says of what a number is; everything else is a number that was measured."""
UNCERTAIN = ("low", "high", "half", "error", "std")


def changed(given: Any, column: Callable[[str, np.ndarray], np.ndarray], rows: Callable) -> Any:
    """The same with other numbers, in tables and results of every kind."""
    if isinstance(given, xarray.Dataset):
        found = given.data_vars.items()
        numbers = {
            name: one.copy(data=column(str(name), one.values))
            for name, one in found
            if name not in KEYS and np.issubdtype(one.dtype, np.floating)
        }
        return given.assign(numbers)
    if isinstance(given, dict):
        return {key: changed(value, column, rows) for key, value in given.items()}
    if isinstance(given, list | tuple):
        return type(given)(changed(one, column, rows) for one in given)
    return next(
        (
            change(given, column, rows)
            for kind, change in CHANGES.items()
            if isinstance(given, kind)
        ),
        given,
    )


def changed_frame(given: pandas.DataFrame, column: Callable, rows: Callable) -> pandas.DataFrame:
    some = rows(given)
    numbers = [name for name in some.select_dtypes("number") if name not in KEYS]
    return some.assign(**{name: column(name, some[name].to_numpy()) for name in numbers})


def changed_rate(given: Estimate, column: Callable, rows: Callable) -> Estimate:
    names = ("value", "low", "high")
    numbers = [NAN if rows is nobody else column(each, getattr(given, each)) for each in names]
    return Estimate.with_ends(*numbers)


CHANGES: dict[type, Callable[[Any, Callable, Callable], Any]] = {
    pandas.DataFrame: changed_frame,
    Estimate: changed_rate,
    OtherAligner: lambda given, column, rows: OtherAligner(
        given.name, given.links, changed_rate(given.rate, column, rows)
    ),
    xarray.DataArray: lambda given, column, rows: (
        part := given.isel(fold=[0]) if rows is first and "fold" in given.dims else given
    ).copy(data=column(str(given.name), part.values)),
    np.ndarray: lambda given, column, rows: column(
        "", rows(pandas.DataFrame({"of": given})).of.to_numpy()
    ),
}


def whole(frame: pandas.DataFrame) -> pandas.DataFrame:
    return frame


def nobody(frame: pandas.DataFrame) -> pandas.DataFrame:
    return frame.iloc[:0]


def first(frame: pandas.DataFrame) -> pandas.DataFrame:
    """One seed of each model; of texts a single one."""
    names = [
        name for name in ("set", "kind", "encoder", "guide", "weight", "probe") if name in frame
    ]
    return frame.drop_duplicates(names) if names else frame.iloc[:1]


def unknown(_: str, values: np.ndarray) -> np.ndarray:
    return np.full(values.shape, NAN)


def as_it_is(_: str, values: np.ndarray) -> np.ndarray:
    return values


def equal(_: str, values: np.ndarray) -> np.ndarray:
    return np.full(values.shape, 0.5)


def uncertain(name: str, values: np.ndarray) -> np.ndarray:
    """As it is, but for what says how far off it may be."""
    ends = name.rsplit("_", 1)[-1] in UNCERTAIN or name.endswith("standard_error")
    return unknown(name, values) if ends else values


ALL_COUNTED = {
    "1. Other attention has the same output",
    "9. Context is local",
    "10. Near context comes in early, far context late",
    "1. ‖f(x)‖ differs from token to token",
    *(f"2. {name}: weight is cancelled" for name in ("[CLS]", "[SEP]", ". or ,")),
    "3. Frequency shows in ‖f(x)‖, not in α",
    "4. Frequency shows more in ‖f(x)‖ than in α",
    "3. Attention to [SEP] is a no-op",
    "6. Maps of late layers suit early ones, not vice versa",
    "9. Heads of one layer behave alike",
    "Heads of high norm: good AWI, bad AWO",
}
"""Their numbers are of all that was read, or of all pairs of heads and layers of the one model."""
AS_MUCH_IS_ENOUGH = {
    "1. Other attention has the same output",  # no more than rounding, and half of a row is moved
    "1. ‖f(x)‖ differs from token to token",  # a coefficient of 0.5
    "4. Heads of the first layer attend broadly",  # as broadly as uniform attention
}


@pytest.mark.parametrize(
    ("column", "rows", "but"),
    [
        pytest.param(unknown, whole, (), id="not measured"),
        pytest.param(as_it_is, nobody, (), id="empty"),
        pytest.param(uncertain, first, ALL_COUNTED, id="one seed"),
        pytest.param(equal, whole, AS_MUCH_IS_ENOUGH, id="all equal"),
    ],
)
@pytest.mark.parametrize("rule", ARGUMENTS)
def test_nothing_holds_where_nothing_was_compared(rule, column, rows, but):
    arguments = changed(ARGUMENTS[rule](), column, rows)
    if rows is nobody and not any(isinstance(one, pandas.DataFrame | dict) for one in arguments):
        arguments = changed(arguments, unknown, whole)
    for claim in judged(rule, arguments):
        if claim.claim not in but:
            assert claim.verdict == "inconclusive" or column is equal, claim
            assert claim.verdict != "holds", claim


NOT_OF_THE_PAPER = ("–", "", "not asked", "no control", "not at hand")


@pytest.mark.parametrize("rule", ARGUMENTS)
def test_what_no_paper_says_is_marked_as_ours(rule):
    for claim in judged(rule, ARGUMENTS[rule]()):
        assert claim.extension == (claim.published in NOT_OF_THE_PAPER)
        assert claim.title.endswith(" (ours)") == claim.extension


def test_questions_of_ours_are_no_findings_of_the_paper():
    """Four rules hold of the paper, and two of ours beside them."""
    writer = SimpleNamespace(picture=lambda _, caption, __: caption, table=lambda frame, _: frame)
    content = claims_content(writer, MODULES["kobayashi2021"].judge_claims(mixing()), [])
    assert content.drawings == [
        "4 of 4 hold, 0 do not, 0 are inconclusive. Not counted: 2 questions of ours."
    ]
    assert content.tables[0]["finding"].str.endswith("(ours)").sum() == 2


# --------------------------------------------------------------- verdicts by hand


def contrary(frame: pandas.DataFrame) -> pandas.DataFrame:
    """What was best is worst, but for what says that models have learnt."""
    learnt = (frame.kind == "base") | (frame.weight == 0)
    return frame.assign(f1=frame.f1.where(learnt, 1 - frame.f1))


@pytest.mark.parametrize(
    "rule", ["wiegreffe2019.needs_attention", "wiegreffe2019.carries_over",
             "wiegreffe2019.adversaries_do_not"],
)  # fmt: skip
def test_the_contrary_does_not_hold(rule):
    arguments = ARGUMENTS[rule]()
    turned = [contrary(one) if isinstance(one, pandas.DataFrame) else one for one in arguments]
    assert {one.verdict for one in judged(rule, tuple(turned))} == {"does not hold"}


def yang_verdict(
    claim: str, rows: pandas.DataFrame, guided: pandas.DataFrame | None = None, small: float = SMALL
) -> str:
    guided = yang_guided() if guided is None else guided
    every = MODULES["yang2020"].judge_claims(rows, guided, small, 0.104, LENGTH)
    return next(one.verdict for one in every if one.claim.startswith(claim))


@pytest.mark.parametrize("claim", ["1.", "5."])
def test_the_contrary_of_a_tagger_does_not_hold(claim):
    assert yang_verdict(claim, contrary(yang()), contrary(yang_guided())) == "does not hold"


def test_attention_that_guides_worse_does_not_guide_as_well():
    guided = yang_guided()
    guided.loc[guided.guide == "adversary", "f1"] -= 0.1
    assert yang_verdict("4.", yang(), guided) == "does not hold"


def test_tagging_that_is_moved_as_far_is_not_more_exclusive():
    assert verdict("yang2020", "more_exclusive", yang(), {"SST": yang()}) == "inconclusive"
    further = yang().assign(jsd=yang().jsd * 1.2)
    assert verdict("yang2020", "more_exclusive", further, {"SST": yang()}) == "does not hold"
    lost = yang().assign(tvd=0.3)
    assert verdict("yang2020", "more_exclusive", yang(), {"SST": lost}) == "inconclusive"


def with_best_of(result: xarray.Dataset, heads: int) -> xarray.Dataset:
    """The same numbers of the first of many heads; all others are always wrong."""
    wide = result.reindex(head=range(heads))
    names = [name for name in wide.data_vars if name.startswith("accuracy")]
    return wide.assign({name: wide[name].fillna(0.0) for name in names})


@pytest.mark.parametrize(("heads", "answer"), [(1, "holds"), (48, "inconclusive")])
def test_the_best_of_many_heads_has_to_be_better_than_chance_makes_it(heads, answer):
    """By 3.5 points of an interval of 3: enough for a head that was named, not for one of 48."""
    found = antecedents()
    ends = {"": 0.665, "_low": 0.664, "_high": 0.666}
    near = {
        f"baseline_accuracy{end}": found["baseline_accuracy"] * 0 + at for end, at in ends.items()
    }
    near |= {"accuracy_low": found["accuracy"] - 0.03, "accuracy_high": found["accuracy"] + 0.03}
    result = with_best_of(found.assign(near), heads)
    assert verdict("clark2019", "finds_antecedents", result, "corpus") == answer


def test_one_of_many_layers_is_the_best_by_chance():
    """Layers whose intervals just miss half of the weight say that one of two goes to [SEP]."""
    one = survey().sel(layer=[0, 1])
    ends = {"share_low": one["share"] * 0 + 0.502, "share": one["share"] * 0 + 0.52,
            "share_high": one["share"] * 0 + 0.538}  # fmt: skip
    assert verdict("clark2019", "to_separators", one.assign(ends)) == "holds"
    many = one.assign(ends).isel(layer=[0] * 48)
    assert verdict("clark2019", "to_separators", many) == "inconclusive"


def test_models_that_have_not_learnt_say_nothing():
    rows = yang()
    guessing = rows.assign(f1=rows.f1 / 10)
    assert yang_verdict("1.", guessing) == "inconclusive"
    rows = wiegreffe()
    guessing = rows.assign(accuracy=rows.accuracy - 0.3)
    assert verdict("wiegreffe2019", "needs_attention", guessing) == "inconclusive"


def verdict(paper: str, rule: str, *arguments: Any) -> str:
    return judged(f"{paper}.{rule}", arguments)[0].verdict


def test_the_control_is_no_adversary():
    """λ = 0 attends otherwise by chance, with a JSD far above that of seeds."""
    rows = wiegreffe()
    of_lstm = (rows.kind == "adversary") & (rows.encoder == "lstm")
    rows.loc[of_lstm & (rows.weight == 0), "jsd"] = 0.6
    rows.loc[of_lstm & (rows.weight > 0), "tvd"] = 0.3
    assert verdict("wiegreffe2019", "adversaries_exist", rows) == "does not hold"
    # Where the control has not learnt either, that of the others says nothing.
    rows.loc[of_lstm & (rows.weight > 0) & (rows.set == "IMDb"), "tvd"] = 0.07
    rows.loc[of_lstm & (rows.set == "SST"), "tvd"] = 0.35
    for rule in ("adversaries_exist", "adversaries_do_not"):
        (claim, *_) = judged(f"wiegreffe2019.{rule}", (rows,))
        assert claim.verdict == "inconclusive"
        assert claim.ours.count("where the control has not learnt (TVD 0.350)") == 1, "of SST alone"


def test_adversaries_that_cannot_be_compared_are_not_worse():
    """None has so small a TVD as single texts have by construction, and one a larger JSD."""
    single = instances(tvd=0.03, jsd=0.45)
    assert (
        verdict("wiegreffe2019", "harder_than_single_texts", wiegreffe(), single) == "inconclusive"
    )
    near = instances(tvd=0.08, jsd=0.45)
    assert (
        verdict("wiegreffe2019", "harder_than_single_texts", wiegreffe(), near) == "does not hold"
    )


def test_f1_of_sets_is_judged_by_its_interval():
    """One seed of three is 0.05 off: ± 0.14 for a difference of 0.01."""
    rows = wiegreffe()
    rows.loc[(rows.kind == "guided") & (rows.encoder == "lstm"), "f1"] += [0.05, 0, -0.05] * 2
    assert verdict("wiegreffe2019", "needs_attention", rows) == "inconclusive"
    worse = rows.assign(
        f1=rows.f1.where(~((rows.kind == "guided") & (rows.encoder == "lstm")), 0.1)
    )
    worse.loc[(worse.kind == "base") & (worse.encoder == "lstm"), "f1"] = [0.8, 0.81, 0.79] * 2
    assert verdict("wiegreffe2019", "needs_attention", worse) == "does not hold"


def test_a_safe_point_within_the_noise_is_not_decided():
    rows = yang()
    before = (rows.weight == 6.92e-3) & (rows.kind == "adversary")
    rows.loc[before, "kl"] = [12.1, 12.4, 13.2]  # the largest is 14: 12.6 is 90%
    assert verdict("yang2020", "safe_point", rows) == "inconclusive"
    rows.loc[before, "kl"] = [13.8, 13.9, 14.0]
    assert verdict("yang2020", "safe_point", rows) == "does not hold"


def test_only_the_lambda_of_the_paper_decides():
    rows = yang()
    assert yang_verdict("1.", rows) == "holds"
    rows.loc[rows.weight == 6.92e-3, "weight"] = 0.01
    assert yang_verdict("1.", rows, small=0.01) == "inconclusive"
    for paper in (0.2, 3.0):
        assert min(abs(np.log(one * LENGTH / paper)) for one in Yang2020.lambdas if one) < 0.01


def test_frequency_that_shows_in_weights_as_well_does_not_show_in_norms_alone():
    found = norms()
    found["frequency_spearman"].loc[{"quantity": "weight"}] = 0.16
    *_, alone, more = judged("kobayashi2020_norms.judge_claims", (found,))
    assert (alone.verdict, more.verdict) == ("does not hold", "holds")


def test_no_significant_difference_is_no_proof():
    """A difference of 0.04 ± 0.05 is neither above 0 nor at most 0."""
    frames = jain()
    near = frames["SST", "average"]
    noise = np.tile([-0.1, 0.1], 10)
    near["gradient_left_out"] = near.attention_left_out + 0.03 + noise
    near["attention_gradient"] = near.attention_left_out - 0.1
    assert judged("jain2019.judge_claims", (frames,))[2].verdict == "inconclusive"
    assert verdict("kobayashi2020", "as_good_as_fast_align", alignment(), aligners()) == ("holds")
    assert verdict("kobayashi2020", "as_good_as_fast_align", alignment(), aligners(0.18, 0.21)) == (
        "inconclusive"
    )


def test_what_is_printed_is_what_was_judged():
    """The median moves by 0.104: three digits, and its interval."""
    frames = jain()
    frames["SST", "lstm"]["permuted"] = np.linspace(0.004, 0.204, 20)
    claim = judged("jain2019.judge_claims", (frames,))[5]
    assert claim.verdict == "inconclusive"
    assert claim.ours == "SST 0.104 (0.057 to 0.151)"
