"""What stands in the CSV files of all exhibits, file by file, as `exhibit_cells` compares it."""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pandas
import xarray

from headlight.capture import load_model
from headlight.findings.estimates import Estimate, estimates
from headlight.findings.multidimensional_scaling import embedding
from headlight_papers.papers.token_maps.exhibits import AGREEMENT, LABELS, REMOVAL
from headlight_words.corpora import (
    SAMPLE_LINKS,
    SAMPLE_TRANSLATIONS,
    TranslationPair,
    open_parallel,
)
from headlight_words.findings.coreference import systems_table
from headlight_words.findings.dependency import best_heads
from headlight_words.links import open_links
from headlight_words.sources import EMBEDDED_TRANSLATOR
from headlight_words.word_alignment import AlignerSettings
from headlight_words.word_alignment.aligner import Aligner
from papers.exhibit_cells import (
    SHOWN,
    Cells,
    Results,
    Told,
    head_called,
    itself,
    mean_and_half,
    named,
    of_head,
)  # fmt: skip

Frame = pandas.DataFrame
percent = partial(Cells, times=100)
KINDS = {"[CLS]": "cls", "[SEP]": "sep", ". or ,": "punctuation", "other tokens": "other"}
SPECIAL = {label: kind for label, kind in KINDS.items() if kind != "other"}


# ----------------------------------------------------------------------------- clark2019


def _to(key: str, query: str = "all") -> Cells:
    return percent("share", {"query_category": query, "key_category": key}, over=["head"])


def _entropy(query: str) -> Cells:
    return Cells("entropy", {"query_category": query}, over=["head"])


def _importance(key: str) -> Cells:
    where = {"importance_query": "all", "importance_key": key}
    return Cells("importance", where, over=["head"])


def _examples(found: xarray.Dataset, frame: Frame) -> list[float]:
    """The largest entropy, and the largest shares; heads in the order of the figure."""
    weight = found.sel(measure="weight")
    patterns = [
        weight["entropy"].sel(query_category="all"),
        weight["neighbour"].sel(offset=1),
        weight["share"].sel(query_category="all", key_category="sep"),
        weight["share"].sel(query_category="all", key_category="punctuation"),
    ]
    for name, values in zip(frame["head"], patterns, strict=True):
        assert name == _name(values, values.argmax(("layer", "head")))
    return [float(values.max()) for values in patterns]


def _name(values: xarray.DataArray | xarray.Dataset, place: Mapping[Any, Any]) -> str:
    """The name of a head."""
    cell = values.isel(place)
    return head_called(int(cell["layer"]), int(cell["head"]))


def _best(found: xarray.Dataset, measure: str) -> Frame:
    """The best head of each relation, by definition; the first of equals."""
    accuracy = found["accuracy"].sel(measure=measure)
    shown = best_heads(found, measure)["relation"]  # those that are frequent enough
    rows = []
    for relation in shown:
        of = accuracy.sel(relation=relation)
        place = of.argmax(("layer", "head", "direction"))
        offsets = found["offset_accuracy"].sel(relation=relation)
        cell = found.sel(measure=measure, relation=relation).isel(place)
        rows.append(
            {
                "relation": relation,
                "head": _name(of, place),
                "accuracy": float(of.max()),
                "low": float(cell["accuracy_low"]),
                "high": float(cell["accuracy_high"]),
                "baseline": float(offsets.max()),
                "offset": f"{int(offsets['offset'][int(offsets.argmax('offset'))]):+d}",
                "words": int(found["count"].sel(relation=relation)),
            }
        )
    return Frame(rows)


def _of_best(key: str, measure: str = "weight", times: float = 1) -> Any:
    def column(found: xarray.Dataset, frame: Frame) -> list[object]:
        values = list(_best(found, measure)[key])
        return [times * value for value in values] if times != 1 else values

    return column


def _direction(found: xarray.Dataset, frame: Frame) -> list[str]:
    """Those in which the accuracy of the named head is that of the row."""
    accuracy = found["accuracy"].sel(measure="weight")
    said = []
    for relation, name, cell in frame[["relation", "head", "who attends"]].values.tolist():
        layer, head = of_head(name).values()
        of = accuracy.sel(relation=relation, layer=layer, head=head)
        best = of["direction"].values[(of == of.max()).values]
        arrows = {"dependent": "dependent → head", "head": "head → dependent"}
        said.append(next((arrows[one] for one in best if arrows[one] == cell), "neither"))
    return said


def _offset(found: xarray.Dataset, frame: Frame) -> list[float]:
    return [float(text) for text in _best(found, "weight")["offset"]]


def _systems(kind: str) -> Any:
    def column(found: xarray.Dataset, frame: Frame) -> list[float]:
        baselines = found["baseline_accuracy"].sel(mention_kind=kind)
        rows = [100 * float(baselines.sel(baseline=name)) for name in baselines["baseline"].values]
        best = found["accuracy"].sel(mention_kind="all")
        for measure in found["measure"].values:
            place = best.sel(measure=measure).argmax(("layer", "head", "direction"))
            cell = found["accuracy"].sel(measure=measure, mention_kind=kind).isel(place)
            rows.append(100 * float(cell))
        return rows

    return column


def _system_names(found: xarray.Dataset, frame: Frame) -> list[str]:
    table = systems_table(found)
    return [
        str(name)
        if pandas.isna(row["layer"])
        else f"head {head_called(row['layer'], row['head'])} by {name}"
        + ("" if row["direction"] == "mention" else ", antecedent attends")
        for name, row in table.iterrows()
    ]


def _probes(found: xarray.Dataset, frame: Frame) -> list[str]:
    return [
        str(name).replace("_", "-" if "right" in str(name) else " ")
        for name in found["probe"].values
    ]


def _score(variable: str, metric: str) -> Any:
    return lambda found, frame: list(100 * found[variable].sel(metric=metric).values)


def _uas(found: xarray.Dataset) -> Estimate:
    return estimates(found, "score", ("row",), metric="uas")


def _pairs_of_heads(within: bool) -> Any:
    def column(found: xarray.Dataset, frame: Frame) -> list[float]:
        same = (found["layer"] == found["second_layer"]).values
        wanted = (same if within else ~same) & ~np.eye(len(same), dtype=bool)
        return [
            float(found["distance"].sel(measure=m).values[wanted].mean()) for m in frame["measure"]
        ]

    return column


def _map(axis: str) -> Any:
    """Places of heads, measure by measure."""
    return lambda found, frame: [
        float(place)
        for measure in found["measure"].values
        for place in embedding(found["distance"].sel(measure=measure)).sel(axis=axis)
    ]


def _ratio_of_layers(found: xarray.Dataset, frame: Frame) -> list[float]:
    return list(frame["same layer"] / frame["other layers"])


_BANK = "dependency-ours-dev"
CLARK: dict[str, Told] = {
    "figure-1": Told("survey", {"pattern": SHOWN, "head": SHOWN, "value": _examples}),
    "figure-2": Told(
        "survey",
        {
            **{f"to {label}": _to(kind) for label, kind in SPECIAL.items()},
            "[SEP] to [SEP]": _to("sep", "sep"),
            "other to [SEP]": _to("sep", "not_sep"),
        },
    ),
    "figure-3": Told(
        "importance",
        {
            "all unmasked tokens": _importance("unmasked"),
            "[SEP]": _importance("sep"),
            ". or ,": _importance("punctuation"),
        },
    ),
    "figure-4": Told("survey", {"all tokens": _entropy("all"), "from [CLS]": _entropy("cls")}),
    "figure-6": Told(
        "distances",
        {
            "measure": lambda found, frame: list(
                np.repeat(found["measure"].values, found.sizes["first"])
            ),
            "head": lambda found, frame: [
                head_called(int(layer), int(head))
                for _ in found["measure"].values
                for layer, head in zip(found["layer"].values, found["head"].values, strict=True)
            ],
            "layer": lambda found, frame: [of_head(name)["layer"] + 1 for name in frame["head"]],
            "behaviour": SHOWN,
            "x": _map("x"), "y": _map("y"),
        },
    ),
    "figure-6-layers": Told(
        "distances",
        {
            "same layer": _pairs_of_heads(within=True),
            "other layers": _pairs_of_heads(within=False),
            "ratio": _ratio_of_layers,
        },
    ),
    "section-3-1": Told(
        "survey",
        {
            name: percent("neighbour", {"offset": offset})
            for name, offset in (("previous", -1), ("current", 0), ("next", 1))
        },
    ),
    **{
        f"table-1-ours-dev-all-heads-{measure}": Told(
            _BANK,
            {
                "relation": None,
                "direction": None,
                "count": Cells("count"),
                "accuracy": Cells("accuracy", {"measure": measure}),
                **{
                    end: Cells(f"accuracy_{end}", {"measure": measure}) for end in ("low", "high")
                },
            },
            {"relation": itself("relation"), "direction": itself("direction")},
        )
        for measure in ("weight", "norm", "effective", "gradient")
    },
    "table-1-ours-dev": Told(
        _BANK,
        {
            "relation": _of_best("relation"), "words": _of_best("words"), "head": _of_best("head"),
            "who attends": _direction, "accuracy": _of_best("accuracy", times=100),
            "low": _of_best("low", times=100), "high": _of_best("high", times=100),
            "offset": _offset, "baseline": _of_best("baseline", times=100),
            **{f"{m} head": _of_best("head", m) for m in ("norm", "effective", "gradient")},
            **{m: _of_best("accuracy", m, 100) for m in ("norm", "effective", "gradient")},
        },
    ),
    "table-2-one": Told(
        "coreference-one",
        {
            "system": _system_names,
            **{kind: _systems(kind) for kind in ("all", "pronoun", "proper", "nominal")},
        },
    ),
    "table-3": Told(
        "probes",
        {
            "probe": _probes,
            "measure": lambda found, frame: list(map(str, found["measure"].values)),
            "UAS": _score("score", "uas"),
            "low": lambda found, frame: list(100 * _uas(found).low),
            "high": lambda found, frame: list(100 * _uas(found).high),
            "UAS, best tree": _score("score", "uas_tree"),
            "UUAS": _score("score", "uuas"),
            "parameters": lambda found, frame: list(found["parameters"].values),
            "epochs": lambda found, frame: list(found["epochs"].mean("seed").values),
        },
    ),
}  # fmt: skip

# ------------------------------------------------------------------------- kobayashi2020


def _by_kind(kind: str) -> Told:
    lengths = Cells("vector_norm_by_category", {"key_group": kind})
    return Told("norms", {"α": Cells("total", _received("weight", kind)), "‖f(x)‖": lengths})


def _received(measure: str, kind: str) -> dict[str, str]:
    """Where a survey has what a kind of token receives."""
    return {"measure": measure, "query_category": "all", "key_category": kind}


def _extremes(variable: str, statistic: str) -> Any:
    """Of the largest and the smallest CV, and the average; ``max`` and ``min`` have none."""

    def column(found: xarray.Dataset, frame: Frame) -> list[float]:
        variation = found[f"{variable}_cv"].values.ravel()
        values = found[f"{variable}_{statistic}"].values.ravel()
        average = np.nan if statistic in ("max", "min") else values.mean()
        return [values[variation.argmax()], values[variation.argmin()], average]

    return column


def _extreme_names(found: xarray.Dataset, frame: Frame) -> list[str]:
    variation = found["vector_norm_cv"]
    axes = ("layer", "head")
    return [_name(variation, variation.argmax(axes)), _name(variation, variation.argmin(axes)), ""]


def _extreme_layers(found: xarray.Dataset, frame: Frame) -> list[float]:
    variation = found["input_norm_cv"]
    return [int(variation.argmax("layer")) + 1, int(variation.argmin("layer")) + 1, np.nan]


def _dispersion(variable: str, names: Any) -> Told:
    symbols = {"mean": "μ", "std": "σ", "cv": "CV", "max": "max", "min": "min"}
    columns = {symbol: _extremes(variable, key) for key, symbol in symbols.items()}
    which = ["largest CV", "smallest CV", "average"]
    return Told("norms", {"which": lambda found, frame: which, "name": names, **columns})


def _share(measure: str, found: xarray.Dataset, kinds: tuple[str, ...]) -> xarray.DataArray:
    totals = found["total"].sel(measure=measure, query_category="all")
    return totals.sel(key_category=list(kinds)).sum("key_category") / totals.sum("key_category")


def _no_op(found: xarray.Dataset, frame: Frame) -> Frame:
    """The definition, for the heads of the table; those that lose most come first."""
    kinds = ("cls", "sep", "punctuation")
    weight, norm = (_share(name, found, kinds) for name in ("weight", "norm"))
    labels = {kind: label for label, kind in KINDS.items()}
    totals = found["total"].sel(measure="weight", query_category="all")
    totals = totals.sel(key_category=list(kinds))
    largest = totals["key_category"].values[totals.argmax("key_category").values]
    rows = []
    for layer, head in np.ndindex(*weight.shape):
        w, n = float(weight[layer, head]), float(norm[layer, head])
        rows.append(
            {
                "head": head_called(layer, head), "weight_share": w, "norm_share": n,
                "ratio": w / n, "lost": w - n, "target": labels[str(largest[layer, head])],
                "no_op": "yes" if w >= 0.5 and w / n >= 2 else "no",
            }
        )  # fmt: skip
    return Frame(rows).sort_values("lost", ascending=False, kind="stable", ignore_index=True)


_NO_OP = Told(
    "norms",
    {
        name: partial(lambda found, frame, name: list(_no_op(found, frame)[name]), name=name)
        for name in ("head", "weight_share", "norm_share", "ratio", "lost", "target", "no_op")
    },
)


def _sampled(field: int) -> Any:
    def column(found: xarray.Dataset, frame: Frame) -> list[float]:
        values = [found["pairs_sample"].sel(key_group=kind).values for kind in KINDS.values()]
        return [one for each in values for one in each[np.isfinite(each).all(axis=1), field]]

    return column


def _sampled_kinds(found: xarray.Dataset, frame: Frame) -> list[str]:
    return [
        label
        for label, kind in KINDS.items()
        for row in found["pairs_sample"].sel(key_group=kind).values
        if np.isfinite(row).all()
    ]


def _occurrences(name: str) -> Any:
    def column(found: xarray.Dataset, frame: Frame) -> list[float]:
        sample = found["frequency_sample"]
        there = np.isfinite(sample.values).all(axis=1)
        return list(sample.sel(field=name).values[there])

    return column


_KIND = {"category": named("key_group", KINDS)}
KOBAYASHI: dict[str, Told] = {
    "table-1": _dispersion("vector_norm", _extreme_names),
    "table-4": _dispersion("input_norm", _extreme_layers),
    "table-2": Told(
        "norms",
        {
            "pairs": Cells("weight_norm_spearman_count"),
            "ρ": Cells("weight_norm_spearman"),
        },
        _KIND,
    ),
    "figure-3": Told(
        "norms",
        {
            f"{symbol} {label}": Cells("total", _received(measure, kind), over=["head"])
            for symbol, measure in (("α", "weight"), ("‖αf(x)‖", "norm"))
            for label, kind in KINDS.items()
        },
    ),
    "figure-4": _by_kind("sep"),
    "figure-10": _by_kind("cls"),
    "figure-11": _by_kind("punctuation"),
    "figure-12": _by_kind("other"),
    "figure-5": Told(
        "norms", {"category": _sampled_kinds, "α": _sampled(0), "‖f(x)‖": _sampled(1)}
    ),
    "figure-6": Told(
        "norms", {name: _occurrences(name) for name in ("rank", "weight", "norm", "token")}
    ),
    "figure-9": Told(
        "singular",
        {
            "largest": Cells("singular_value", over=["index"], how="max"),
            "smallest": Cells("singular_value", over=["index"], how="min"),
            "ratio": Cells("ratio"),
        },
    ),
    "no-op": _NO_OP,
    "no-op-all-heads": _NO_OP,
}


def _soft(layer: int) -> Told:
    """Of the translations of the package by the embedded translator, a row for each two words."""

    def shares(measure: Literal["weight", "norm"]) -> Any:
        def column(results: Results, frame: Frame) -> list[float]:
            source, target = _sentences(frame)
            aligner = Aligner(
                load_model(EMBEDDED_TRANSLATOR), AlignerSettings(measure=measure, layer=layer)
            )
            (found,) = aligner.align([TranslationPair("", source, target)])
            assert found.soft is not None
            return [float(share) for share in np.asarray(found.soft).ravel()]

        return column

    def gold(results: Results, frame: Frame) -> list[str]:
        pairs, links = open_parallel(SAMPLE_TRANSLATIONS), open_links(SAMPLE_LINKS)
        known = {(p.source, p.target): one.possible for p, one in zip(pairs, links, strict=True)}
        source, target = _sentences(frame)
        possible = known[source, target]
        return [
            "yes" if (i, j) in possible else "no"
            for j in range(len(target.split()))
            for i in range(len(source.split()))
        ]

    words = dict.fromkeys(("target", "source"), SHOWN)
    return Told("", {**words, "weight": shares("weight"), "norm": shares("norm"), "gold": gold})


def _sentences(frame: Frame) -> tuple[str, str]:
    """Source and target, of whose words each stands beside each."""
    source, target = list(frame["source"]), list(frame["target"])
    size = next(
        size
        for size in range(1, len(source) + 1)
        if len(source) % size == 0 and source == source[:size] * (len(source) // size)
    )
    return " ".join(source[:size]), " ".join(target[::size])


for _figure, _layer in ((8, 1), (13, 0), (13, 2), (13, 3)):
    for _number in (1, 2):
        KOBAYASHI[f"figure-{_figure}-layer-{_layer + 1}-{_number}"] = _soft(_layer)

# ----------------------------------------------------- kobayashi2020, Section 5

MEASURES = {"weights": "weight", "norms": "norm", "effective attention": "effective"}
STEPS = {"AWI": "input", "AWO": "output"}
_METHODS = {
    f"{label}, {name}": {"measure": measure, "step": step}
    for label, measure in MEASURES.items()
    for name, step in STEPS.items()
}


def _best_layer(key: str) -> Any:
    """Of the layer with the lowest error rate; gradients and other aligners have but one."""

    def column(results: Results, frame: Frame) -> list[object]:
        attention = results["alignment"]
        return [
            _rate(results, attention, str(method)).get(key, np.nan) for method in frame["method"]
        ]

    return column


_INPUTS = {
    "gradient (Li et al. 2016)": "gradient-size",
    "gradient (Ding et al. 2019)": "gradient-input",
    "SmoothGrad (Li et al. 2016)": "smoothgrad-size",
    "SmoothGrad (Ding et al. 2019)": "smoothgrad-input",
    "difference (Li et al. 2019)": "difference",
}
_BOUNDS = {"AER": "value", "low": "low", "high": "high"}


def _rate(results: Results, attention: xarray.Dataset, method: str) -> dict[str, float]:
    if method in _METHODS:
        found = attention.sel(_METHODS[method])
        place = int(found["error_rate"].argmin("layer"))
        one = estimates(found, "error_rate", ("layer",)).at(place)
        best = {key: 100 * float(getattr(one, end)) for key, end in _BOUNDS.items()}
        mean = 100 * float(found["error_rate"].mean())
        return {"best layer": place + 1, **best, "mean of layers": mean}
    found = results[f"alignment-{_INPUTS[method]}"]
    one = estimates(found.squeeze(drop=True), "input_error_rate", ())
    return {key: 100 * float(getattr(one, end)) for key, end in _BOUNDS.items()}


def _other_aligners(results: Results, frame: Frame) -> list[float]:
    """The same rates as in the table of all methods, where they have no result of a study."""
    table = pandas.read_csv(results.folder / "table-3.csv").set_index("method")
    return [float(table["AER"][name]) for name in frame["aligner"]]


SECTION_5: dict[str, Told] = {
    "figure-7": Told("alignment", {name: percent("error_rate", w) for name, w in _METHODS.items()}),
    "head-aer": Told(
        "alignment",
        {
            "mean norm": Cells("head_mean_norm"),
            **{name: percent("head_error_rate", where) for name, where in _METHODS.items()},
        },
    ),
    "table-3": Told(
        "",
        {
            "method": lambda results, frame: [*_METHODS, *_INPUTS],
            "approach": lambda results, frame: (
                ["attention"] * len(_METHODS) + ["gradients and predictions"] * len(_INPUTS)
            ),
            **{key: _best_layer(key) for key in ("best layer", *_BOUNDS, "mean of layers")},
        },
        leaves_out=lambda frame: frame["approach"] == "word aligners",
    ),
    "table-3-directions": Told("", {"aligner": SHOWN, "forward": _other_aligners}),
}

# --------------------------------------------------------------------------- brunner2020

RAW = {"raw attention": "weight", "effective attention": "effective"}


def _own(pairs: str) -> Told:
    every = {"group": "all"}
    marks = {"median": "median", "1st quartile": "first", "3rd quartile": "third"}
    return Told(
        f"contributions-{pairs}",
        {
            **{c: percent("own_box", {**every, "mark": mark}) for c, mark in marks.items()},
            "mean": percent("own_mean", every),
            "not largest": percent("not_largest"),
        },
    )


def _distances(pairs: str) -> Told:
    names = ("1st", "2nd", "3rd", "4th, 5th", "6th to 10th", "11th onwards")
    keys = ("1", "2", "3", "4-5", "6-10", "11+")
    columns = {
        name: percent("by_distance", {"distance": key})
        for name, key in zip(names, keys, strict=True)
    }
    return Told(f"contributions-{pairs}", columns)


def _places(pairs: str, of: str) -> Told:
    columns = {name: _at_place(f"{of}_{name}") for name in ("total", "share", "mean")}
    pairs_there = _at_place(f"{of}_count")
    told = {"layer": _layers_of_places, "place": _all_places, **columns, "pairs": pairs_there}
    return Told(f"contributions-{pairs}", told)


def _at_place(variable: str) -> Any:
    """Row by row: every offset of the first layer, then of the next."""

    def column(found: xarray.Dataset, frame: Frame) -> list[float]:
        values = found[variable]
        return [
            float(values.sel({d: {"layer": layer, "offset": at}[d] for d in values.dims}))
            for layer in found["layer"].values
            for at in found["offset"].values
        ]

    return column


def _layers_of_places(found: xarray.Dataset, frame: Frame) -> list[int]:
    return [int(layer) + 1 for layer in found["layer"].values for _ in found["offset"].values]


def _all_places(found: xarray.Dataset, frame: Frame) -> list[int]:
    return [int(at) for _ in found["layer"].values for at in found["offset"].values]


def _medians(found: xarray.Dataset, frame: Frame) -> list[str]:
    labels = {"[CLS]": "cls", "[SEP]": "sep"}
    last = [float(_median(found, labels.get(name, name))[-1]) for name in frame["group"]]
    assert last == sorted(last, reverse=True)
    assert len(set(frame["group"])) == len(frame)
    return list(frame["group"])


def _median(found: xarray.Dataset, group: str) -> Any:
    return found["own_box"].sel(mark="median", group=group).values


def _group(name: str) -> Mapping[str, Any]:
    return {"group": {"[CLS]": "cls", "[SEP]": "sep"}.get(name, name)}


MAPS = {"naive": "naive", "linear": "linear", "MLP": "mlp"}
LOSSES = {"cosine": "cosine", "L2": "l2"}
_ONE = ("map", "loss", "offset", "fraction")


def _identified(pairs: str) -> Told:
    """The three maps are results of their own."""
    columns: dict[str, Any] = {}
    for name, kind in MAPS.items():
        for title, loss in LOSSES.items():
            where = {"map": kind, "loss": loss}
            result = f"identity-same-{kind}-{pairs}"
            over = ["offset", "fraction"]
            for prefix, variable in (("", "rate_mean"), ("s.e. ", "rate_standard_error")):
                columns[f"{prefix}{name}, {title}"] = percent(variable, where, over, result=result)
    return Told(f"identity-same-linear-{pairs}", columns)


def _across(kind: str, loss: str) -> Told:
    columns = {
        f"on {layer + 1}": percent("rate_across_mean", {"tested_layer": layer}, _ONE)
        for layer in (0, 1)
    }
    rows = {"trained on": lambda cell: {"layer": int(cell) - 1}}
    return Told(f"identity-across-{kind}-{loss}-mrpc", columns, rows)


def _below(result: str, loss: str) -> Cells:
    return percent("rate_mean", {"loss": loss}, ["map", "offset", "fraction"], result=result)


def _single(pairs: str) -> Told:
    columns = {
        f"the {which}, {title}": _below(f"identity-single-{name.format(loss=loss)}-{pairs}", loss)
        for which, name in (("model", "naive-{loss}"), ("second", "compared"))
        for title, loss in LOSSES.items()
    }
    return Told(f"identity-single-naive-cosine-{pairs}", columns)


def _neighbours(kind: str, loss: str) -> Told:
    columns = {
        f"{at:+d}": percent("rate_mean", {"offset": at}, ["map", "loss", "fraction"])
        for at in (-3, -2, -1, 3, 2, 1)
    }
    return Told(f"identity-neighbours-{kind}-{loss}-mrpc", columns)


def _contributions(found: xarray.Dataset, frame: Frame) -> list[tuple[float, list[float]]]:
    tokens = [str(token) for token in found["query_token"].values]
    values, cells = 100 * found["attribution"].values, []
    places = iter(_tracked_places(tokens, list(frame["token"])))
    for layer, place in zip(frame["layer"], places, strict=True):
        row = values[layer - 1, place]
        cells.append((float(row[place]), sorted(np.delete(row, place), reverse=True)[:3]))
    return cells


def _tracked_places(tokens: list[str], shown: list[str]) -> list[int]:
    """Tokens are in the order of the text, each in two rows."""
    places, last = [], -1
    for token in shown[::2]:
        last = tokens.index(token, last + 1)
        places += [last, last]
    return places


def _null_space(variable: str) -> Any:
    def column(found: xarray.Dataset, frame: Frame) -> list[float]:
        values = found[variable]
        return list(values.mean([name for name in values.dims if name != "length"]).values)

    return column


_ALTERNATIVES = (
    "tokens", "rank_with_ones", "rows", "changed", "mean", "most", "difference", "rounding", "size",
)  # fmt: skip
BRUNNER: dict[str, Told] = {
    "section-3-null-spaces": Told(
        "identifiability",
        {
            "tokens": _null_space("keys_mean"),
            "texts": _null_space("text_count"),
            "rank T": _null_space("rank_by_length"),
            "dim LN(T)": _null_space("null_dimension"),
            "LN(T) at least": _null_space("bound"),
            "dim LN([T, 1])": _null_space("null_dimension_with_ones"),
            "LN([T, 1]) at least": _null_space("bound_with_ones"),
        },
    ),
    "section-3-alternatives": Told(
        "alternatives",
        {name: Cells(name) for name in _ALTERNATIVES},
        {"method": itself("method")},
    ),
    "figure-1": Told(
        "attention-survey",
        {f"to {label}": _to(kind) for label, kind in SPECIAL.items()},
        {"attention": named("measure", RAW)},
    ),
    "figure-6": Told(
        "",
        {
            **dict.fromkeys(("query", "key", "apart", "raw", "effective"), SHOWN),
            "null": lambda results, frame: list(frame["raw"] - frame["effective"]),
        },
    ),
    "figure-1-points": Told(
        "identifiability",
        {
            name: partial(
                lambda found, frame, name: list(found["points"].sel(point_field=name).values),
                name=name,
            )
            for name in ("length", "correlation")
        },
    ),
    "figure-5": Told(
        "attention-survey",
        {"[SEP] → [SEP]": _to("sep", "sep"), "other → [SEP]": _to("sep", "not_sep")},
        {"attention": named("measure", RAW)},
    ),
    **{f"figure-{n}": _own(pairs) for n, pairs in ((3, "mrpc"), (40, "cola"), (42, "mnli"))},
    **{f"figure-{n}": _distances(pairs) for n, pairs in ((4, "mrpc"), (41, "cola"), (43, "mnli"))},
    **{
        f"figure-{n}-b": _places(pairs, "neighbour")
        for n, pairs in ((4, "mrpc"), (41, "cola"), (43, "mnli"))
    },
    "figure-18-a": _places("mrpc", "cls"),
    "figure-18-b": _places("mrpc", "sep"),
    **{f"figure-{n}": _identified(pairs) for n, pairs in ((2, "mrpc"), (38, "cola"), (39, "mnli"))},
    "figure-7": Told(
        "identity-same-linear-mrpc",
        {
            f"{name}, {part}": percent(
                variable,
                {"map": kind, "loss": "l2"},
                ["offset", "fraction"],
                result=f"identity-same-{kind}-mrpc",
            )
            for name, kind in (("linear", "linear"), ("MLP", "mlp"))
            for part, variable in (("train", "train_rate_mean"), ("test", "rate_mean"))
        },
    ),
    "figure-8": _across("linear", "l2"),
    "figure-9": _across("mlp", "l2"),
    "figure-10": _across("mlp", "cosine"),
    "figure-11": Told(
        "identity-single-naive-cosine-mrpc",
        {
            f"{name}, {title}": _below(f"identity-single-{kind}-{loss}-mrpc", loss)
            for name, kind in MAPS.items()
            for title, loss in LOSSES.items()
        },
    ),
    "figure-12": _single("mrpc"),
    "figure-13": _single("cola"),
    "figure-14": _neighbours("linear", "cosine"),
    "figure-15": _neighbours("mlp", "cosine"),
    "figure-16": _neighbours("mlp", "l2"),
    "figure-17": _neighbours("linear", "l2"),
    "figure-19": Told(
        "contributions-tracked",
        {
            "token": SHOWN,
            "layer": lambda found, frame: [1, 2] * (len(frame) // 2),
            "own": lambda found, frame: [own for own, _ in _contributions(found, frame)],
            "others": lambda found, frame: [tuple(o) for _, o in _contributions(found, frame)],
        },
    ),
    "figure-26": Told(
        "contributions-by-tags",
        {
            "group": _medians,
            "tokens": lambda f, t: [float(f["own_count"].sel(_group(name))) for name in t["group"]],
            **{
                f"layer {layer + 1}": partial(
                    lambda f, t, layer: [
                        100 * float(_median(f, _group(name)["group"])[layer]) for name in t["group"]
                    ],
                    layer=layer,
                )
                for layer in (0, 1)
            },
        },
    ),
}

# ------------------------------------------------------------------------------ yang2020

NUMBERS = {
    "F1": "f1", "F1, conlleval": "f1_lenient", "NLL gold": "nll", "agreement": "agreement",
    "TVD": "tvd", "KL row": "kl", "KL entry": "kl_cell", "JSD": "jsd",
}  # fmt: skip


def _runs(found: xarray.Dataset) -> Frame:
    """A row for each model on the test part; means over heads."""
    of = found.sel(part="test").drop_dims("epoch", errors="ignore")
    heads = [name for name in ("encoder_of", "text", "lambda", "split") if name in of.dims]
    of = of.drop_dims(heads)
    return (of.mean("head") if "head" in of.dims else of).to_dataframe().reset_index(drop=True)


def _adversary(frame: Frame, weight: float) -> Frame:
    return frame[(frame.kind == "adversary") & np.isclose(frame.weight, weight)]


def _yang_model(frame: Frame, name: str) -> Frame:
    kinds = {"base": "base", "other seed": "seed", "uniform": "uniform"}
    if name in kinds:
        return frame[frame.kind == kinds[name]]
    return _adversary(frame, float(name.removeprefix("λ = ")))


def _yang_guide(results: Results, name: str) -> Frame:
    guided = _runs(results["guided"])
    if name == "its own, trained (the base)":
        sweep = _runs(results["sweep"])
        return sweep[sweep.kind == "base"]
    if name.startswith("of the adversary"):
        weight = float(name.rpartition(" ")[2])
        return guided[(guided.guide == "adversary") & np.isclose(guided.weight, weight)]
    guides = {"of the base": "base", "uniform": "uniform", "each word to itself": "identity"}
    return guided[guided.guide == guides[name]]


def _intervals(key: str, label: str, model: Callable[[Any, str], Frame]) -> Any:
    """Mean and half an interval of the models that a row names."""
    return lambda found, frame: [mean_and_half(model(found, str(n))[key]) for n in frame[label]]


def _of_sweep(key: str) -> Any:
    return lambda found, frame: [
        mean_and_half(_yang_model(_runs(found), n)[key]) for n in frame["model"]
    ]


def _of_tasks(key: str) -> Any:
    """Of the tagger and of classifiers, by task and model."""
    kinds = {"base": "base", "other seed": "seed", "uniform": "uniform"}

    def cells(results: Results, frame: Frame) -> list[object]:
        told: list[object] = []
        tagger, classifiers = _runs(results["sweep"]), results["classifiers-sst"].to_dataframe()
        for task, model in zip(frame["task"], map(str, frame["model"]), strict=True):
            rows = tagger if task == "tagging" else classifiers
            some = rows[rows.kind == kinds.get(model, "adversary")]
            if model.startswith("λ"):
                some = some[some.weight == float(model.removeprefix("λ = "))]
            told.append(mean_and_half(some[key]))
        return told

    return cells


def _of_rankings(key: str, of: str) -> Any:
    """By λ; of the last row that of other seeds, beside their base alone."""

    def cells(found: xarray.Dataset, frame: Frame) -> list[object]:
        rows = found.mean("head").to_dataframe()
        told: list[object] = []
        for name in map(str, frame["model"]):
            other = name == "another seed"
            weight = np.nan if other else float(name.removeprefix("λ = "))
            some = rows[rows.of == (name if other else of)]
            some = some if other else some[some.weight == weight]
            some = some.iloc[:0] if other and of != "its base" else some
            told.append(mean_and_half(some[key]) if len(some) else np.nan)
        return told

    return cells


def _lambda_of_paper(found: xarray.Dataset, frame: Frame) -> list[object]:
    length = found.attrs["row_length"]
    names = [str(name) for name in frame["model"]]
    return [
        float(f"{float(n.removeprefix('λ = ')) * length:.3g}") if "λ" in n else np.nan
        for n in names
    ]


def _sweep_medians(key: str) -> Any:
    return lambda found, frame: [
        float(_adversary(_runs(found), w)[key].median()) for w in frame["λ"]
    ]


def _all_runs(key: str, *names: str, kind: str = "") -> Any:
    """Of every model, in the order of the results."""

    def column(results: Results, frame: Frame) -> list[object]:
        rows = pandas.concat([_runs(results[name]) for name in names])
        rows = rows[rows.kind == kind] if kind else rows
        return list(rows[key])

    return column


_SWEPT = (
    "f1", "f1_lenient", "accuracy", "nll", "taught_nll", "agreement", "tvd", "kl", "jsd", "kl_cell",
    "seed", "weight",
)  # fmt: skip
_PLANE = ("kind", "guide", "seed", "weight", "tvd", "jsd", "kl", "f1")
YANG: dict[str, Told] = {
    "table-1": Told(
        "sweep",
        {
            "model": lambda found, frame: ["base", "λ = 0", "λ = 0.1", "other seed", "uniform"],
            "the paper's λ": _lambda_of_paper,
            **{name: _of_sweep(key) for name, key in NUMBERS.items()},
        },
    ),
    "table-2": Told(
        "",
        {
            "attention": SHOWN,
            "published": SHOWN,
            **{
                name: _intervals(NUMBERS[name], "attention", _yang_guide)
                for name in ("F1", "F1, conlleval", "NLL gold")
            },
        },
    ),
    "figure-1": Told(
        "sweep",
        {
            "λ": lambda found, frame: [0, 0.1],
            "KL row": _sweep_medians("kl"), "KL entry": _sweep_medians("kl_cell"),
            "JSD": _sweep_medians("jsd"), "NLL gold": _sweep_medians("nll"),
        },
    ),
    "figure-1-models": Told("", {key: _all_runs(key, "sweep", kind="adversary") for key in _SWEPT}),
    "figure-5-models": Told("", {key: _all_runs(key, "sweep", "guided") for key in _PLANE}),
    "exclusivity": Told(
        "",
        {
            "task": SHOWN, "model": SHOWN,
            **{
                name: _of_tasks(key)
                for name, key in (
                    ("TVD", "tvd"), ("JSD", "jsd"), ("KL row", "kl"), ("agreement", "agreement"),
                    ("right", "accuracy"),
                )
            },
        },
    ),
    "rankings": Told(
        "rankings",
        {
            "model": lambda found, frame: ["λ = 0", "λ = 0.1", "another seed"],
            "NLL times": SHOWN, "side": SHOWN,
            **{
                f"{title}, {of}": _of_rankings(name, of)
                for of in ("its base", "the λ before")
                for name, title in (("rho", "ρ"), ("same", "largest the same"))
            },
        },
    ),
}  # fmt: skip

# ------------------------------------------------------------------------------ jain2019

ENCODERS = {"BiLSTM": "lstm", "average": "average", "Transformer": "transformer"}
PAIRS = {
    "attention, gradient": "attention_gradient",
    "attention, left out": "attention_left_out",
    "gradient, left out": "gradient_left_out",
}
BINS = {f"≤ {high:g}": (low, high) for low, high in pairwise((0, 0.25, 0.5, 0.75, 1))}


def _model(results: Results, label: str) -> tuple[xarray.Dataset, Any]:
    """The result of ``SST, BiLSTM: positive``, and which texts it is about."""
    name, _, label_of_class = label.partition(": ")
    found = results[f"sst-{ENCODERS[name.removeprefix('SST, ')]}"]
    every = np.ones(found.sizes["text"], dtype=bool)
    if label_of_class:
        number = list(found["class"].values).index(label_of_class)
        every = (found["predicted"] == number).values
    return found, every


def _each_model(of: Callable[[xarray.Dataset, Any], object]) -> Any:
    return lambda results, frame: [of(*_model(results, str(label))) for label in frame["model"]]


def _tau(found: xarray.Dataset, texts: Any, pair: str, variable: str = "tau") -> Any:
    values = found[variable].sel(pair=pair).values[texts]
    return values[np.isfinite(values)]


def _spread(pair: str) -> Any:
    def cell(found: xarray.Dataset, texts: Any) -> tuple[float, ...]:
        tau = _tau(found, texts, pair)
        return (tau.mean(), tau.std(ddof=1)) if len(tau) > 1 else (np.nan,)

    return _each_model(cell)


def _significant(pair: str) -> Any:
    def cell(found: xarray.Dataset, texts: Any) -> tuple[float, ...]:
        p = _tau(found, texts, pair, "p")
        return (100 * float((p <= 0.05).mean()) if len(p) else np.nan,)

    return _each_model(cell)


def _gain(pair: str) -> Any:
    """τ (gradient, left out) minus another one on the same text."""

    def cell(found: xarray.Dataset, texts: Any) -> tuple[float, ...]:
        first, other = (found["tau"].sel(pair=p).values for p in ("gradient_left_out", pair))
        difference = first - other
        return mean_and_half(difference[np.isfinite(difference)])

    return _each_model(cell)


def _within(variable: str, low: float, high: float) -> Any:
    def cell(found: xarray.Dataset, texts: Any) -> tuple[float, ...]:
        there = (found["largest"] > low) & (found["largest"] <= high) & found[variable].notnull()
        values = found[variable].values[there.values]
        return (float(np.median(values)), float(len(values))) if len(values) else (np.nan,)

    return _each_model(cell)


def _by_weight(variable: str) -> Told:
    columns: dict[str, Any] = {name: _within(variable, *edges) for name, edges in BINS.items()}
    columns["all"] = _each_model(lambda f, t: (float(f[variable].median()),))
    return Told("", {"model": SHOWN, **columns})


def _of_class(found: xarray.Dataset, number: int) -> float:
    values = found["jsd"].values[(found["predicted"] == number).values]
    values = values[np.isfinite(values)]
    return float(values.mean()) if len(values) else np.nan


def _first(of: Callable[[xarray.Dataset], object]) -> Any:
    return lambda results, frame: [of(results["sst-lstm"])]


def _counts(part: str) -> Any:
    return _first(lambda found: tuple(map(float, found["texts"].sel(part=part).values)))


def _second(pair: str) -> Any:
    """Ours beside a published number, which is not looked at."""

    def column(results: Results, frame: Frame) -> list[tuple[float, ...]]:
        name = {key: title for title, key in PAIRS.items()}[pair]
        shown = [float(str(cell).split(" / ")[0]) for cell in frame[name]]
        ours = [_tau(*_model(results, str(label)), pair).mean() for label in frame["model"]]
        return list(zip(shown, ours, strict=True))

    return column


JAIN: dict[str, Told] = {
    "table-1": Told(
        "",
        {
            "model": SHOWN,
            **{
                name: _each_model(partial(lambda f, t, key: float(f[key]), key=key))
                for name, key in (
                    ("F1", "f1"),
                    ("accuracy", "accuracy"),
                    ("AUC", "auc"),
                    ("NLL", "nll"),
                )
            },
        },
    ),
    "table-1-sets": Told(
        "",
        {
            "set": lambda results, frame: ["SST"],
            "classes": _first(lambda found: " / ".join(map(str, found["class"].values))),
            **{part: _counts(part) for part in ("train", "dev", "test")},
            "words": _first(lambda found: float(found["length"].sel(part="train"))),
            "vocabulary": _first(lambda found: float(found["vocabulary"])),
            "published, test": SHOWN,
        },
    ),
    **{
        name: Told(
            "",
            {
                "model": SHOWN,
                "texts": _each_model(lambda found, texts: int(texts.sum())),
                **{title: _spread(pair) for title, pair in PAIRS.items()},
                **{f"significant ({title})": _significant(pair) for title, pair in PAIRS.items()},
            },
        )
        for name in ("table-2", "table-2-classes")
    },
    "table-2-released": Told(
        "", {"model": SHOWN, **{title: _second(pair) for title, pair in PAIRS.items()}}
    ),
    "figure-3": Told(
        "",
        {
            "model": SHOWN,
            **{
                f"gradient, left out − {title}": _gain(PAIRS[title])
                for title in ("attention, left out", "attention, gradient")
            },
        },
    ),
    "figure-6": _by_weight("permuted"),
    "figure-7": Told(
        "",
        {
            "model": SHOWN,
            "texts": _each_model(lambda found, texts: int(found["jsd"].notnull().sum())),
            "mean": _each_model(lambda found, texts: (float(found["jsd"].mean()),)),
            "by class": _each_model(
                lambda found, texts: (_of_class(found, 0), _of_class(found, 1))
            ),
            "released, by class": SHOWN,
            "at least 0.6": _each_model(
                lambda f, t: (100 * float((f["jsd"].dropna("text") >= 0.6).mean()),)
            ),
        },
    ),
    "figure-8": _by_weight("jsd"),
}

# ------------------------------------------------------------------------- wiegreffe2019

IN_CONTEXT = {"LSTM": "lstm", "Transformer": "transformer"}


def _of_kind(kind: str, key: str) -> Any:
    def column(found: xarray.Dataset, frame: Frame) -> list[tuple[float, ...]]:
        rows = _runs(found)
        return [
            mean_and_half(rows[(rows.kind == kind) & (rows.encoder == IN_CONTEXT[name])][key])
            for name in frame["encoder"]
        ]

    return column


def _given(rows: Frame, name: str) -> Frame:
    rows = rows[rows.encoder == "average"]
    if name.startswith("of its adversary"):
        weight = float(name.rpartition(" ")[2])
        return rows[(rows.guide == "adversary") & np.isclose(rows.weight, weight)]
    if name == "its own, trained":
        return rows[rows.kind == "base"]
    guides = {"uniform": "uniform", "of the LSTM": "base"}
    return rows[rows.guide == guides.get(name, name)]


def _guided(key: str) -> Any:
    return lambda found, frame: [
        mean_and_half(_given(_runs(found), n)[key]) for n in frame["attention"]
    ]


def _taught(rows: Frame, encoder: str, model: str) -> Frame:
    rows = rows[rows.encoder == IN_CONTEXT[encoder]]
    if model == "other seeds":
        return rows[rows.kind == "seed"]
    return _adversary(rows, float(model.removeprefix("λ = ")))


def _compared(key: str) -> Any:
    return lambda found, frame: [
        float(_taught(_runs(found), *row)[key].mean())
        for row in frame[["encoder", "model"]].values.tolist()
    ]


def _texts_within(variable: str) -> Any:
    def column(found: xarray.Dataset, frame: Frame) -> list[float]:
        cells = []
        for encoder, label in frame[["encoder", "largest weight"]].values.tolist():
            of = found.sel(encoder_of=IN_CONTEXT[encoder])
            low, high = BINS[label]
            there = ((of["largest"] > low) & (of["largest"] <= high)).values
            values = (
                of["adversary_jsd"].isel({"lambda": -1})
                if variable == "adversary_jsd"
                else of[variable]
            )
            some = values.values[there]
            cells.append(float(len(some)) if variable == "largest" else float(np.median(some)))
        return cells

    return column


def _runs_in_order(key: str) -> Any:
    return lambda found, frame: _runs(found)[key].tolist()


WIEGREFFE: dict[str, Told] = {
    "table-2": Told(
        "sst",
        {
            "set": SHOWN, "encoder": lambda found, frame: list(IN_CONTEXT),
            "base": _of_kind("base", "f1"), "uniform, trained": _of_kind("guided", "f1"),
            "uniform, put in": _of_kind("uniform", "f1"),
            "accuracy of the base": _of_kind("base", "accuracy"),
            "base, quoted": SHOWN,
            "uniform, quoted": SHOWN,
        },
    ),
    "table-3": Told(
        "sst",
        {
            "set": SHOWN, "attention": SHOWN, "F1": _guided("f1"),
            "accuracy": _guided("accuracy"), "F1, quoted": SHOWN,
        },
    ),
    "table-4-quoted": Told(
        "", {
            **dict.fromkeys(("set", "λ", "F1", "TVD", "JSD"), SHOWN),
            "our TVD": lambda results, frame: list(2 * frame["TVD"]),
        },
    ),
    "table-4": Told(
        "sst",
        {
            "set": SHOWN, "encoder": SHOWN, "model": SHOWN,
            **{name: _compared(key) for name, key in {
                "F1": "f1", "TVD": "tvd", "JSD": "jsd", "KL": "kl", "agreement": "agreement",
                "epochs": "epochs",
            }.items()},
        },
    ),
    "figure-3": Told(
        "sst",
        {
            "set": SHOWN, "encoder": SHOWN,
            "largest weight": SHOWN, "texts": _texts_within("largest"),
            "seeds": _texts_within("seed_jsd"), "adversary": _texts_within("adversary_jsd"),
        },
    ),
    "figure-5-models": Told(
        "sst", {"set": SHOWN, "encoder": _runs_in_order("encoder"),
                **{key: _runs_in_order(key) for key in _PLANE}},
    ),
}  # fmt: skip

# ------------------------------------------------------------------------- kobayashi2021

METHODS = {
    "ATTN-W": "weight",
    "ATTN-N": "norm",
    "ATTNRES-W": "weight_residual",
    "ATTNRES-N": "norm_residual",
    "ATTNRESLN-N": "norm_residual_norm",
}


def _mixing(variable: str, dimension: str, names: Mapping[str, Any]) -> Told:
    """A column for each label of a dimension, behind all that follows the attention."""
    whole = {} if dimension == "scope" else {"scope": "norm_residual_norm"}
    return Told(
        "flow",
        {name: percent(variable, {**whole, dimension: key}) for name, key in names.items()},
    )


MIXING: dict[str, Told] = {
    "table-2": Told(
        "flow",
        {
            name: percent(f"mixing_{name}", over=["layer"], how=name)
            for name in ("mean", "max", "min")
        },
        {"method": named("scope", METHODS)},
    ),
    "layers": _mixing("mixing", "scope", METHODS),
    "frequency": _mixing("mixing_by_frequency", "frequency", {"1 to 9 times": 1, "10 to 99": 10}),
    "masks": _mixing("mixing_by_state", "state", {"masked": "masked", "not masked": "given"}),
    "categories": _mixing("mixing_by_category", "category", KINDS),
}

# ---------------------------------------------------------- abnar2020 and others on maps


def _scores(**questions: str) -> Told:
    """A mean and its interval for each map, by some questions."""

    def column(found: xarray.Dataset, frame: Frame, question: str) -> list[tuple[float, ...]]:
        names = {label: name for name, label in LABELS.items()}
        rows = [
            estimates(found, "score", (), question=question, map=names[label])
            for label in frame["map"]
        ]
        return [
            (float(row.value), float(row.low), float(row.high))
            if row.known
            else (float(row.value),)
            for row in rows
        ]

    def maps(found: xarray.Dataset, frame: Frame) -> list[str]:
        return [label for name, label in LABELS.items() if name in found["map"].values]

    columns = {label: partial(column, question=name) for name, label in questions.items()}
    return Told("faithfulness", {"map": maps, **columns})


_BY_AGREEMENT, _BY_REMOVAL = _scores(**AGREEMENT), _scores(**REMOVAL)
MAPS = {
    "abnar2020": {"agreement": _BY_AGREEMENT, "removal": _BY_REMOVAL},
    "modarressi2022": {"table-1": _BY_AGREEMENT, "removal": _BY_REMOVAL},
    "ferrando2022": {"agreement": _BY_AGREEMENT, "removal": _BY_REMOVAL},
    "modarressi2023": {"table-1": _BY_REMOVAL, "agreement": _BY_AGREEMENT},
}

TABLES: dict[str, dict[str, Told]] = {
    "clark2019": CLARK,
    "kobayashi2020": KOBAYASHI,
    "kobayashi2020-alignment": SECTION_5,
    "brunner2020": BRUNNER,
    "yang2020": YANG,
    "jain2019": JAIN,
    "wiegreffe2019": WIEGREFFE,
    "kobayashi2021": MIXING,
    **MAPS,
}
"""By the names of the runs."""
