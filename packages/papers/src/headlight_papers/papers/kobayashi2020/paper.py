"""Claims of Kobayashi et al. (2020) on norms and on alignment, and the exhibits in order."""

from collections.abc import Mapping

import numpy as np
import xarray

from headlight.findings import mean_shares, weight_and_norm
from headlight.findings.thresholds import FAR_BELOW, RELATED, VARIES
from headlight.findings.what_was_read import independent_units
from headlight.result.estimate import Estimate
from headlight.views.parts import Section
from headlight_papers.papers.claims import (
    Answer,
    Claim,
    ClaimRow,
    all_of,
    around,
    claims_content,
    correlation,
    judge_rows,
    within,
)
from headlight_papers.papers.exhibit import ExhibitWriter, Paper, arrange, exhibits_of
from headlight_papers.papers.kobayashi2020 import (
    Settings,
    alignment_heads,
    alignment_rates,
    published,
    vector_lengths,
    weights_and_norms,
)
from headlight_papers.papers.kobayashi2020.aligners import (
    KNOWN,
    SMOOTHGRADS,
    STEPS,
    InputMethod,
    OtherAligner,
    alignment_notes,
    all_others,
    best_layer,
    layer_rates,
    load_attention,
    load_inputs,
    lowest,
    max_gradients,
)
from headlight_papers.papers.kobayashi2020.alignment_heads import highest_layer, spearman
from headlight_papers.papers.kobayashi2020.vector_lengths import LABELS, categories, load_norms
from headlight_papers.papers.reproduction import Reproduction, text_notes

exhibit = exhibits_of(published.SOURCE)

BINNED = 0.005
"""ρ is that of binned values, and so is off by this at most (docs/numbers.md)."""


@exhibit("findings", "Sections 4.1 to 4.3", title="Which findings hold")
def findings(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """The three findings of Section 4, each with the rule by which it holds or not."""
    result = load_norms(reproduction)
    # The sentences that a survey says of the same tokens.
    sentences = [weight_and_norm(result, name) for name in _of_interest(result)]
    notes = [*filter(None, sentences), *text_notes(reproduction, result)]
    return claims_content(writer, judge_claims(result), notes)


PUBLISHED_FREQUENCY = f"ρ {published.FIGURE_6['norm']:.2f}; of α {published.FIGURE_6['weight']:.2f}"
LENGTHS_VARY = ClaimRow(
    "1. ‖f(x)‖ differs from token to token",
    f"average CV of at least {VARIES}",
    f"CV {published.TABLE_1['average'][1].variation:.2f} (Table 1)",
    "CV {variation:.3f}",
    {"variation": {"least": VARIES}},
)
"""Section 4.1: weights alone do not tell what is moved."""
FREQUENCY = (
    ClaimRow(
        "3. Frequency shows in ‖f(x)‖, not in α",
        f"ρ(rank, ‖f(x)‖) at least {RELATED}, and |ρ(rank, α)| below {RELATED}",
        f"{PUBLISHED_FREQUENCY} (Figure 6)",
        "ρ {norm:.3f}; of α {weight:.3f}",
        {"norm": {"least": RELATED}, "weight": {"above": -RELATED, "below": RELATED}},
    ),
    ClaimRow(
        "4. Frequency shows more in ‖f(x)‖ than in α",
        f"ρ(rank, ‖f(x)‖) at least {RELATED}, and above |ρ(rank, α)|",
        f"{PUBLISHED_FREQUENCY} (Figure 6)",
        "ρ {norm:.3f}; of α {weight:.3f}",
        {
            "norm": {"least": RELATED},
            "norm - weight": {"above": 0},
            "norm - against": {"above": 0},
        },
    ),
)
"""Section 4.3: it is by ‖f(x)‖, not by α, that frequent tokens count for less."""


def _cancelled(name: str) -> ClaimRow:
    """Section 4.2: tokens that say little get much weight, and short vectors cancel it."""
    row = published.TABLE_2.get(name)
    return ClaimRow(
        f"2. {LABELS[name]}: weight is cancelled",
        f"ρ(α, ‖f(x)‖) at most {-RELATED}, and a share of ‖αf(x)‖ at most {FAR_BELOW} times that "
        "of α",
        "not asked" if row is None else f"ρ {row[1]:.2f} (Table 2)",
        "ρ {rho:.3f}; {weight:.1%} of α, {norm:.1%} of ‖αf(x)‖",
        {"rho": {"most": -RELATED}, "ratio": {"most": FAR_BELOW}},
        extension=row is None,
    )


def judge_claims(result: xarray.Dataset) -> list[Claim]:
    """Return every claim about a survey that has ranks."""
    claims = [LENGTHS_VARY.judge({"variation": float(result["vector_norm_cv"].mean())})]
    for name in _of_interest(result):
        weight, norm = mean_shares(result, name)
        rho = around(float(result["weight_norm_spearman"].sel(key_group=name)), BINNED)
        shares = {"weight": weight, "norm": norm, "ratio": norm / weight if weight else np.nan}
        claims.append(_cancelled(name).judge(shares | {"rho": rho}))
    rhos = {
        name: around(float(result["frequency_spearman"].sel(quantity=name)), BINNED)
        for name in ("weight", "norm")
    }
    return [*claims, *judge_rows(FREQUENCY, rhos | {"against": rhos["weight"].times(-1)})]


def _of_interest(result: xarray.Dataset) -> list[str]:
    """The categories of tokens that say little by themselves."""
    return [name for name in categories(result) if name != "other"]


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
    """Section 5: (1) norms tell another story than weights, and (2) a better one."""
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
    """EMNLP: the step that reads a word tells more than that which predicts it."""
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
    """Figure 7: the words are linked in an early layer."""
    layer, rate = best_layer(result, "norm", "input")
    return Claim(
        "The best layer is the second (AWI)",
        f"by norms, the rate of layer {published.BEST_LAYER} lies below those of all others",
        f"layer {published.BEST_LAYER} of {len(published.FIGURE_7['norm'])} (Figure 7)",
        f"layer {layer + 1} of {result.sizes['layer']}, {rate:.1%}",
        _is_best(result, published.BEST_LAYER - 1),
    )


def as_good_as_fast_align(result: xarray.Dataset, others: list[OtherAligner]) -> list[Claim]:
    """Section 5: the translator is as good an aligner as a word aligner; judged if there is one."""
    norm = _best_rate(result, "norm", "input")
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
    """Section 5: and a better one than gradients."""
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
    """EMNLP: the best layer can be found without gold links."""
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
    """EMNLP: heads that move much link words well with AWI, and badly with AWO."""
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
    """Return the rate of the best layer, with ends that hold although it was chosen."""
    rates = layer_rates(result, measure, step)
    return rates.simultaneous(independent_units(result)).at(lowest(rates))


def _is_below(result: xarray.Dataset, one: tuple[str, str], other: tuple[str, str]) -> Answer:
    """Return whether the best layer by a measure and step is better than that by another.

    Both were chosen, and so the interval of their difference holds for all pairs of layers.
    """
    rates = [layer_rates(result, *each) for each in (one, other)]
    rows, columns = np.indices([each.value.size for each in rates])
    apart = rates[0].at(rows).minus(rates[1].at(columns))
    pair = lowest(rates[0]), lowest(rates[1])
    return within(apart.simultaneous(independent_units(result)).at(pair), below=0)


def _is_best(result: xarray.Dataset, layer: int) -> Answer:
    """Whether a layer, by its place, has the lowest rate by norms (AWI)."""
    rates = layer_rates(result, "norm", "input")
    if layer >= rates.value.size:
        return None
    others = [at for at in range(rates.value.size) if at != layer]
    return all_of(*(within(rates.at(layer).minus(rates.at(at)), below=0) for at in others))


PAPER = Paper(
    name="kobayashi2020",
    settings=Settings,
    introduction="The tables and figures of Section 4 and of Appendices A to C, reproduced on this "
    "model and data, and those of Section 5 and Appendix E, word alignment, on a translator; with "
    "the published numbers beside ours. Heads have the name that they have everywhere in "
    "Headlight, and the paper's in brackets: L1H3 (2-4) is the fourth head of the second layer. "
    "Layers are numbered as in the paper, from 1.",
    exhibits=arrange(
        "findings table-1 figure-3 table-2 figure-4 figure-5 figure-6 table-4 "
        "figure-9 figure-10 figure-11 figure-12 no-op figure-7 figure-8 "
        "figure-13 head-aer table-3 findings-5",
        findings,
        findings_5,
        vector_lengths,
        weights_and_norms,
        alignment_heads,
        alignment_rates,
    ),
)
