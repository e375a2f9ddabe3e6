"""What the paper concludes about word alignment, and whether it is so here."""

from collections.abc import Mapping

import xarray

from headlight.findings.rules import RELATED
from headlight.findings.what_was_read import independent_units
from headlight.views.parts import Section
from headlight_papers.papers.claims import Claim, claims_content
from headlight_papers.papers.exhibit import exhibit
from headlight_papers.papers.kobayashi2020 import published
from headlight_papers.papers.kobayashi2020.alignment.aligners import KNOWN, OtherAligner, all_others
from headlight_papers.papers.kobayashi2020.alignment.heads import highest_layer, spearman
from headlight_papers.papers.kobayashi2020.alignment.results import (
    SMOOTHGRADS,
    STEPS,
    InputMethod,
    Rate,
    alignment_notes,
    best_layer,
    load_attention,
    load_inputs,
    max_gradients,
)
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.verdicts import Answer, Bounds, correlation, every, lies
from headlight_papers.papers.writer import ExhibitWriter

FAST_ALIGN = KNOWN["fastalign"]
COMPETITIVE = 1.0
"""Points of AER within which aligners compete."""
EMNLP = "(EMNLP 2020)"
ARXIV = "(arXiv v1, Table 3)"


@exhibit(
    "findings-5",
    "Which findings on word alignment hold",
    "Kobayashi et al. (2020), Section 5, and the version at EMNLP",
    ("translator", "gold"),
)
def findings_5(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """The findings of Section 5, each with the rule by which it holds or not."""
    found = load_attention(reproduction)
    others, _ = all_others(reproduction)
    most = max_gradients(reproduction)
    same = found if most is None else load_attention(reproduction, most)
    gradients = {method: load_inputs(reproduction, method) for method in SMOOTHGRADS}
    judged = [
        *norms_above_weights(found),
        input_above_output(found),
        second_layer(found),
        *as_good_as_fast_align(found, others),
        *norms_above_gradients(same, gradients),
        norm_finds_layer(found),
        norms_of_heads(found),
    ]
    notes = [
        "Where nothing else is said, numbers are AER in percent with their intervals; each is that "
        "of another exhibit on this page, where it is explained. That of a best layer is wider "
        "here: it holds for all layers, of which the best was chosen by the same gold links "
        "(Bonferroni).",
        *alignment_notes(reproduction),
    ]
    if most is not None:
        notes.append(f"Norms and gradients are compared on the same first {most} pairs.")
    return claims_content(writer, judged, notes, "translators")


def norms_above_weights(found: xarray.Dataset) -> list[Claim]:
    """Section 5: (1) norms tell another story than weights, and (2) a better one."""
    claims = []
    for step, name in STEPS.items():
        weight, norm = (_best_rate(found, measure, step) for measure in ("weight", "norm"))
        there = [published.FIVE_SEEDS[measure, step][0] for measure in ("weight", "norm")]
        claims.append(
            Claim(
                f"Norms align better than weights ({name})",
                "of the best layers, the interval of norms lies below that of weights",
                f"{there[1]}; weights {there[0]} {EMNLP}",
                f"{norm}; weights {weight}",
                _is_below(norm, weight),
            )
        )
    return claims


def input_above_output(found: xarray.Dataset) -> Claim:
    """EMNLP: the step that reads a word tells more than that which predicts it."""
    reads, predicts = (_best_rate(found, "norm", step) for step in STEPS)
    there = [published.FIVE_SEEDS["norm", step][0] for step in STEPS]
    return Claim(
        "AWI is better than AWO",
        "of the best layers by norms, the interval of AWI lies below that of AWO",
        f"{there[0]}; AWO {there[1]} {EMNLP}",
        f"{reads}; AWO {predicts}",
        _is_below(reads, predicts),
    )


def second_layer(found: xarray.Dataset) -> Claim:
    """Figure 7: the words are linked in an early layer."""
    layer, rate = best_layer(found, "norm", "input")
    return Claim(
        "The best layer is the second (AWI)",
        f"by norms, the interval of layer {published.BEST_LAYER} lies below those of all others",
        f"layer {published.BEST_LAYER} of {len(published.FIGURE_7['norm'])} (Figure 7)",
        f"layer {layer + 1} of {found.sizes['layer']}, {rate}",
        _is_best(found, published.BEST_LAYER - 1),
    )


def as_good_as_fast_align(found: xarray.Dataset, others: list[OtherAligner]) -> list[Claim]:
    """Section 5: the translator is as good an aligner as a word aligner; judged if there is one."""
    norm = _best_rate(found, "norm", "input")
    aligner = next((other for other in others if other.published == FAST_ALIGN), None)
    if aligner is None:
        return []
    there = published.TABLE_3["norm", "best"], published.TABLE_3_OTHERS[FAST_ALIGN]
    return [
        Claim(
            "Norms are competitive with fast_align",
            f"the AER of the best layer by norms (AWI) is at most {COMPETITIVE:g} point above that "
            "of fast_align",
            f"{there[0]}; fast_align {there[1]} {ARXIV}",
            f"{norm}; it {aligner.rate}",
            lies(_bounds(norm) - _bounds(aligner.rate), most=COMPETITIVE),
        )
    ]


def norms_above_gradients(
    found: xarray.Dataset, gradients: Mapping[InputMethod, Rate]
) -> list[Claim]:
    """Section 5: and a better one than gradients."""
    norm = _best_rate(found, "norm", "input")
    there = published.TABLE_3["norm", "best"]
    return [
        Claim(
            f"Norms beat {method.label}",
            "the interval of the best layer by norms (AWI) lies below that of gradients",
            f"{there}; SmoothGrad {published.TABLE_3_OTHERS[method.form]} {ARXIV}",
            f"{norm}; it {rate}",
            _is_below(norm, rate),
        )
        for method, rate in gradients.items()
    ]


def norm_finds_layer(found: xarray.Dataset) -> Claim:
    """EMNLP: the best layer can be found without gold links."""
    layer, rate = highest_layer(found, "input")
    best, lowest = best_layer(found, "norm", "input")
    there = published.HIGHEST_NORM["layer", "input"]
    return Claim(
        "The layer of the highest norm is the best",
        "by norms (AWI), the interval of the layer of the highest mean norm lies below those of "
        "all others",
        f"{there}; best layer {published.FIVE_SEEDS['norm', 'input'][0]} {EMNLP}",
        f"layer {layer + 1}: {rate}; best layer {best + 1}: {lowest}",
        _is_best(found, layer),
    )


def norms_of_heads(found: xarray.Dataset) -> Claim:
    """EMNLP: heads that move much link words well with AWI, and badly with AWO."""
    here = {}
    for step in STEPS:
        rates = found["head_error_rate"].sel(measure="norm", step=step)
        heads = int((rates.notnull() & found["head_mean_norm"].notnull()).sum())
        here[step] = correlation(spearman(found, step), heads)
    there = published.HEAD_SPEARMAN
    return Claim(
        "Heads of high norm: good AWI, bad AWO",
        f"ρ of AER and mean norm is at most {-RELATED} with AWI and at least {RELATED} with AWO",
        f"ρ {there['input']:.2f}; AWO {there['output']:.2f} {EMNLP}",
        f"ρ {here['input']:.2f}; AWO {here['output']:.2f}",
        every(lies(here["input"], most=-RELATED), lies(here["output"], least=RELATED)),
    )


def _bounds(rate: Rate) -> Bounds:
    return Bounds.resampled(rate.value, rate.low, rate.high)


def _best_rate(found: xarray.Dataset, measure: str, step: str) -> Rate:
    """Return the rate of the best layer, with ends that hold although it was chosen."""
    best = _bounds(best_layer(found, measure, step)[1])
    chosen = best.chosen(found.sizes["layer"], independent_units(found)).within(0, 100)
    return Rate(chosen.value, chosen.low, chosen.high)


def _is_below(one: Rate, other: Rate) -> Answer:
    return lies(_bounds(one) - _bounds(other), below=0)


def _is_best(found: xarray.Dataset, layer: int) -> Answer:
    """Whether a layer, by its place, has the lowest rate by norms (AWI)."""
    cells = found.sel(measure="norm", step="input")
    rates = [Rate.of(cells.isel(layer=place)) for place in range(found.sizes["layer"])]
    if layer >= len(rates):
        return None
    return every(*(_is_below(rates[layer], other) for at, other in enumerate(rates) if at != layer))
