"""Claims of Section 5, on alignment, and the rules by which they hold."""

from collections.abc import Mapping

import numpy as np
import xarray

from headlight.findings.thresholds import RELATED
from headlight.findings.what_was_read import independent_units
from headlight.result.estimate import Estimate
from headlight.views.parts import Section
from headlight_papers.papers.answers import Answer, all_of, correlation, within
from headlight_papers.papers.claims import Claim, claims_content
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.kobayashi2020 import published
from headlight_papers.papers.kobayashi2020.exhibit import exhibit
from headlight_papers.papers.kobayashi2020.head_error_rates import highest_layer, spearman
from headlight_papers.papers.kobayashi2020.other_aligners import KNOWN, OtherAligner, all_others
from headlight_papers.papers.kobayashi2020.translator_results import (
    SMOOTHGRADS,
    STEPS,
    InputMethod,
    alignment_notes,
    best_layer,
    layer_rates,
    load_attention,
    load_inputs,
    lowest,
    max_gradients,
)
from headlight_papers.papers.reproduction import Reproduction

FAST_ALIGN = KNOWN["fastalign"]
COMPETITIVE = 0.01
"""AER within which aligners compete: one point."""
EMNLP = "(EMNLP 2020)"
ARXIV = "(arXiv v1, Table 3)"


@exhibit(
    "findings-5",
    "Section 5, and the version at EMNLP",
    "translator",
    "gold",
    title="Which findings on word alignment hold",
)
def findings_5(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """The findings of Section 5, each with the rule by which it holds or not."""
    result = load_attention(reproduction)
    others, _ = all_others(reproduction)
    most = max_gradients(reproduction)
    # Gradients are expensive and taken of the first pairs only; norms are compared on the same.
    same = result if most is None else load_attention(reproduction, most)
    gradients = {method: load_inputs(reproduction, method) for method in SMOOTHGRADS}
    judged = [
        *norms_above_weights(result),
        input_above_output(result),
        second_layer(result),
        *as_good_as_fast_align(result, others),
        *norms_above_gradients(same, gradients),
        norm_finds_layer(result),
        norms_of_heads(result),
    ]
    notes = [
        "Where nothing else is said, numbers are AER with their intervals; each is that of another "
        "exhibit on this page, where it is explained. That of a best layer is wider here: it holds "
        "for all layers, of which the best was chosen by the same gold links. Layers are compared "
        "by their differences over the same sentences.",
        *alignment_notes(reproduction),
    ]
    if most is not None:
        notes.append(f"Norms and gradients are compared on the same first {most} pairs.")
    return claims_content(writer, judged, notes, "translators")


def norms_above_weights(result: xarray.Dataset) -> list[Claim]:
    """Judge Section 5: (1) norms tell another story than weights, and (2) a better one."""
    claims = []
    for step, name in STEPS.items():
        weight, norm = (_best_rate(result, measure, step) for measure in ("weight", "norm"))
        published_rates = [published.FIVE_SEEDS[measure, step][0] for measure in ("weight", "norm")]
        claims.append(
            Claim(
                f"Norms align better than weights ({name})",
                "of the best layers, the rate of norms lies below that of weights",
                f"{published_rates[1]}; weights {published_rates[0]} {EMNLP}",
                f"{norm:.1%}; weights {weight:.1%}",
                _is_below(result, ("norm", step), ("weight", step)),
            )
        )
    return claims


def input_above_output(result: xarray.Dataset) -> Claim:
    """Judge EMNLP: the step that reads a word tells more than the step that predicts it."""
    reads, predicts = (_best_rate(result, "norm", step) for step in STEPS)
    published_rates = [published.FIVE_SEEDS["norm", step][0] for step in STEPS]
    return Claim(
        "AWI is better than AWO",
        "of the best layers by norms, the rate of AWI lies below that of AWO",
        f"{published_rates[0]}; AWO {published_rates[1]} {EMNLP}",
        f"{reads:.1%}; AWO {predicts:.1%}",
        _is_below(result, ("norm", "input"), ("norm", "output")),
    )


def second_layer(result: xarray.Dataset) -> Claim:
    """Judge Figure 7: the words are linked in an early layer."""
    layer, rate = best_layer(result, "norm", "input")
    return Claim(
        "The best layer is the second (AWI)",
        f"by norms, the rate of layer {published.BEST_LAYER} lies below those of all others",
        f"layer {published.BEST_LAYER} of {len(published.FIGURE_7['norm'])} (Figure 7)",
        f"layer {layer + 1} of {result.sizes['layer']}, {rate:.1%}",
        _is_best(result, published.BEST_LAYER - 1),
    )


def as_good_as_fast_align(result: xarray.Dataset, others: list[OtherAligner]) -> list[Claim]:
    """Judge Section 5, given a word aligner: the translator is as good an aligner."""
    norm = _best_rate(result, "norm", "input")
    # Only links from source to target are those that the paper's number is of.
    aligner = next((other for other in others if other.published == FAST_ALIGN), None)
    if aligner is None:
        return []
    published_rates = published.TABLE_3["norm", "best"], published.TABLE_3_OTHERS[FAST_ALIGN]
    return [
        Claim(
            "Norms are competitive with fast_align",
            f"the AER of the best layer by norms (AWI) is at most {COMPETITIVE:.0%} above that "
            "of fast_align",
            f"{published_rates[0]}; fast_align {published_rates[1]} {ARXIV}",
            f"{norm:.1%}; it {aligner.rate:.1%}",
            within(norm.minus(aligner.rate), most=COMPETITIVE),
        )
    ]


def norms_above_gradients(
    result: xarray.Dataset, gradients: Mapping[InputMethod, Estimate]
) -> list[Claim]:
    """Judge Section 5: norms tell a better story than gradients."""
    rates, units = layer_rates(result, "norm", "input"), independent_units(result)
    best, published_rates = lowest(rates), published.TABLE_3["norm", "best"]
    return [
        Claim(
            f"Norms beat {method.label}",
            "the rate of the best layer by norms (AWI) lies below that of gradients",
            f"{published_rates}; SmoothGrad {published.TABLE_3_OTHERS[method.form]} {ARXIV}",
            f"{_best_rate(result, 'norm', 'input'):.1%}; it {rate:.1%}",
            within(rates.minus(rate).simultaneous(units).at(best), below=0),
        )
        for method, rate in gradients.items()
    ]


def norm_finds_layer(result: xarray.Dataset) -> Claim:
    """Judge EMNLP: the best layer can be found without gold links."""
    layer, rate = highest_layer(result, "input")
    best, least = best_layer(result, "norm", "input")
    published_layer = published.HIGHEST_NORM["layer", "input"]
    return Claim(
        "The layer of the highest norm is the best",
        "by norms (AWI), the rate of the layer of the highest mean norm lies below those of "
        "all others",
        f"{published_layer}; best layer {published.FIVE_SEEDS['norm', 'input'][0]} {EMNLP}",
        f"layer {layer + 1}: {rate:.1%}; best layer {best + 1}: {least:.1%}",
        _is_best(result, layer),
    )


def norms_of_heads(result: xarray.Dataset) -> Claim:
    """Judge EMNLP: heads that move much link words well with AWI, and badly with AWO."""
    here = {}
    for step in STEPS:
        rates = result["head_error_rate"].sel(measure="norm", step=step)
        heads = int((rates.notnull() & result["head_mean_norm"].notnull()).sum())
        here[step] = correlation(spearman(result, step), heads)
    published_rho = published.HEAD_SPEARMAN
    return Claim(
        "Heads of high norm: good AWI, bad AWO",
        f"ρ of AER and mean norm is at most {-RELATED} with AWI and at least {RELATED} with AWO",
        f"ρ {published_rho['input']:.2f}; AWO {published_rho['output']:.2f} {EMNLP}",
        f"ρ {here['input']:.2f}; AWO {here['output']:.2f}",
        all_of(within(here["input"], most=-RELATED), within(here["output"], least=RELATED)),
    )


def _best_rate(result: xarray.Dataset, measure: str, step: str) -> Estimate:
    # The ends hold although the layer was chosen by this very rate.
    rates = layer_rates(result, measure, step)
    return rates.simultaneous(independent_units(result)).at(lowest(rates))


def _is_below(result: xarray.Dataset, first: tuple[str, str], second: tuple[str, str]) -> Answer:
    """Return whether the best layer by a measure and step is better than that by another.

    Both were chosen, and so the interval of their difference holds for all pairs of layers.
    """
    rates = [layer_rates(result, *way) for way in (first, second)]
    # Every layer of one with every layer of the other, since both were chosen.
    rows, columns = np.indices([rate.value.size for rate in rates])
    apart = rates[0].at(rows).minus(rates[1].at(columns))
    pair = lowest(rates[0]), lowest(rates[1])
    return within(apart.simultaneous(independent_units(result)).at(pair), below=0)


def _is_best(result: xarray.Dataset, layer: int) -> Answer:
    """Whether a layer, by its place, has the lowest rate by norms (AWI)."""
    rates = layer_rates(result, "norm", "input")
    # A model with fewer layers has no such layer, and decides nothing.
    if layer >= rates.value.size:
        return None
    others = [at for at in range(rates.value.size) if at != layer]
    return all_of(*(within(rates.at(layer).minus(rates.at(at)), below=0) for at in others))
