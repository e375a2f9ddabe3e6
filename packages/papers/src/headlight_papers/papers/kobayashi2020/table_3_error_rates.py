"""Table 3: alignment error rates of all methods."""

from collections.abc import Mapping

import pandas
import xarray

from headlight.findings.estimates import Estimate
from headlight.views.parts import Comparison, Drawing, Section, Table
from headlight.views.parts.bar_charts import bars
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.kobayashi2020 import Settings, published
from headlight_papers.papers.kobayashi2020.exhibit import exhibit
from headlight_papers.papers.kobayashi2020.other_aligners import FORWARD, OtherAligner, all_others
from headlight_papers.papers.kobayashi2020.translator_results import (
    INPUT_METHODS,
    LABELS,
    SMOOTHGRADS,
    STEPS,
    aligned_of,
    alignment_notes,
    best_layer,
    load_attention,
    load_inputs,
    max_gradients,
    mean_of_layers,
)
from headlight_papers.papers.reproduction import Reproduction

ATTENTION, INPUTS, ALIGNERS = "attention", "gradients and predictions", "word aligners"


@exhibit("table-3", "Table 3 and Section 5", "translator", "gold")
def table_3(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Alignment error rates."""
    result = load_attention(reproduction)
    inputs = {method.label: load_inputs(reproduction, method) for method in INPUT_METHODS}
    others, missing = all_others(reproduction)
    frame = pandas.DataFrame(
        [
            *_attention_rows(result),
            *(_row(INPUTS, label, rate) for label, rate in inputs.items()),
            *(_row(ALIGNERS, other.name, other.rate) for other in others if other.is_forward),
        ]
    )
    best = int(frame["AER"].argmin())
    return Section(
        explanation="Every target word is linked to the source word with the largest value. A row "
        "of cross-attention speaks for the word that the decoder reads in that step (AWI) or for "
        "the one that it predicts (AWO). The alignment error rate (AER), in percent, is 0 when all "
        "sure links and only possible ones are found. The best layer is the best one by these very "
        "gold links, as in the paper. Intervals: 95%, sentences resampled.",
        drawings=[_picture(frame, _published(others), writer)],
        tables=[
            writer.table(
                frame,
                "Alignment error rates in percent",
                formats=dict.fromkeys(("AER", "low", "high", "mean of layers"), ".1f"),
                highlight=[(best, "AER")],
                note="Highlighted: the lowest. Word aligners: their links from source to target.",
            ),
            *_directions(others, writer),
        ],
        comparisons=[*attention_comparisons(result), *_other_comparisons(inputs, others)],
        notes=[*alignment_notes(reproduction), *_gradient_notes(reproduction), *missing],
    )


def _directions(others: list[OtherAligner], writer: ExhibitWriter) -> list[Table]:
    """Tabulate all links of other aligners: of either direction, and of both together."""
    if not others:
        return []
    columns = dict.fromkeys(other.links or FORWARD for other in others)
    rows: dict[str, dict[str, object]] = {
        other.name: {"aligner": other.name, **dict.fromkeys(columns, float("nan"))}
        for other in others
    }
    for other in others:
        rows[other.name][other.links or FORWARD] = 100 * float(other.rate.value)
    return [
        writer.table(
            pandas.DataFrame(list(rows.values())),
            "Word aligners in either direction, and with both put together: AER in percent",
            formats=".1f",
            name="directions",
        )
    ]


def _row(approach: str, method: str, rate: Estimate, **more: object) -> dict[str, object]:
    return {
        "method": method,
        "approach": approach,
        "best layer": more.get("layer", ""),
        "AER": 100 * float(rate.value),
        "low": 100 * float(rate.low),
        "high": 100 * float(rate.high),
        "mean of layers": more.get("mean", float("nan")),
    }


def _attention_rows(result: xarray.Dataset) -> list[dict[str, object]]:
    rows = []
    for measure, label in LABELS.items():
        for step, name in STEPS.items():
            layer, rate = best_layer(result, measure, step)
            mean = mean_of_layers(result, measure, step)
            rows.append(_row(ATTENTION, f"{label}, {name}", rate, layer=f"{layer + 1}", mean=mean))
    return rows


def attention_comparisons(result: xarray.Dataset) -> list[Comparison]:
    """Compare weights and norms with both versions of the paper; the first names no row."""
    comparisons = []
    for measure in ("weight", "norm"):
        numbers = {
            "best": 100 * float(best_layer(result, measure, "input")[1].value),
            "mean": mean_of_layers(result, measure, "input"),
        }
        comparisons += [
            Comparison(
                f"{LABELS[measure]}, {_WHICH[which]}",
                published.TABLE_3[measure, which],
                number,
                note="ours: AWI; the first version does not say which step",
            )
            for which, number in numbers.items()
        ]
    for (measure, step), (best, mean) in published.FIVE_SEEDS.items():
        label = f"{LABELS[measure]}, {STEPS[step]}"
        layer, rate = best_layer(result, measure, step)
        note = f"there five translators (EMNLP 2020), here layer {layer + 1}"
        comparisons += [
            Comparison(f"{label}, {_WHICH['best']}", best, 100 * float(rate.value), note=note),
            Comparison(
                f"{label}, {_WHICH['mean']}",
                mean,
                mean_of_layers(result, measure, step),
                note="there five translators (EMNLP 2020)",
            ),
        ]
    return comparisons


_WHICH = {"best": "best layer", "mean": "mean of layers"}


def _other_comparisons(inputs: dict[str, Estimate], others: list[OtherAligner]) -> list[Comparison]:
    gradients = [
        Comparison(
            method.label,
            published.TABLE_3_OTHERS[method.form],
            100 * float(inputs[method.label].value),
            note="published as Ding et al. (2019) report it",
        )
        for method in SMOOTHGRADS
    ]
    aligners = [
        Comparison(
            other.published,
            published.TABLE_3_OTHERS[other.published],
            100 * float(other.rate.value),
            note=f"{other.name}; published as Zenkel et al. (2019) report it",
        )
        for other in others
        if other.published
    ]
    return [*gradients, *aligners]


def _picture(frame: pandas.DataFrame, rates: Mapping[str, float], writer: ExhibitWriter) -> Drawing:
    """Draw all methods on one scale, with the published numbers of some."""
    layers = frame["best layer"].map(lambda layer: f"layer {layer}" if layer else "")
    shares = frame[["AER", "low", "high"]].assign(published=frame["method"].map(rates)) / 100
    rows = shares.assign(method=frame["method"], layer=layers, whose="ours")
    first = frame.iloc[int(frame["AER"].argmin())]
    return writer.picture(
        bars(
            rows,
            "method",
            "AER",
            series="whose",
            ticks=["published"],
            note="layer",
            x_label="alignment error rate",
            percent=True,
        ),
        "Alignment error rates with their intervals, of attention those of the best layer; and "
        "those that were published (of attention at EMNLP 2020).",
        f"The lowest error rate, {first['AER']:.1f}%, is that of {first['method']}.",
    )


def _published(others: list[OtherAligner]) -> dict[str, float]:
    """Return published error rates by the method's name."""
    attention = {
        f"{LABELS[measure]}, {STEPS[step]}": best
        for (measure, step), (best, _) in published.FIVE_SEEDS.items()
    }
    rates = published.TABLE_3_OTHERS
    gradients = {method.label: rates[method.form] for method in SMOOTHGRADS}
    aligners = {other.name: rates[other.published] for other in others if other.published}
    return attention | gradients | aligners


def _gradient_notes(reproduction: Reproduction[Settings]) -> list[str]:
    most, pairs = max_gradients(reproduction), len(aligned_of(reproduction).pairs)
    read = f"the first {most}" if most else f"all {pairs}"
    return [
        f"Gradients and differences of predictions are those of {read} pairs, SmoothGrad's of "
        f"{reproduction.settings.samples} noisy copies of each sentence (published: 30)."
    ]
