"""Results that the exhibits of Clark et al. share, and surface patterns (Section 3)."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas
import xarray

from headlight.findings.thresholds import FAR_BELOW, MOST
from headlight.result import joined
from headlight.views.parts import By, Comparison, Curve, Reference, Section
from headlight.vocabulary import GRADIENT, NEIGHBOURS, measure_table
from headlight_papers.papers.clark2019 import Settings, published
from headlight_papers.papers.exhibit import (
    ExhibitWriter,
    count_heads,
    exhibits_of,
    frame_of,
    head_name,
    in_words,
    percent,
)
from headlight_papers.papers.reproduction import (
    CATEGORIES,
    FROM,
    TO,
    Reproduction,
    text_notes,
    text_settings,
    text_source,
)


def load_survey(reproduction: Reproduction) -> xarray.Dataset:
    """The survey of the text, by all measures asked for."""
    text, settings = text_source(reproduction), text_settings(reproduction)
    return _by_all_measures(reproduction, "survey", text, **settings)


def load_distances(reproduction: Reproduction) -> xarray.Dataset:
    """Load the distances between all pairs of heads, by all requested measures."""
    text, settings = text_source(reproduction), text_settings(reproduction)
    return _by_all_measures(reproduction, "distances", text, **settings)


def _by_all_measures(
    reproduction: Reproduction[Settings], study: str, source: str, name: str = "", **settings: Any
) -> xarray.Dataset:
    """Forward measures by the model without a head, the gradient by the one with it."""
    parts, name = [], name or study
    if reproduction.forward_measures:
        measures = reproduction.forward_measures
        parts.append(reproduction.run(study, source, name=name, measures=measures, **settings))
    if reproduction.language_model and reproduction.wants_gradient:
        parts.append(
            reproduction.run(
                study,
                source,
                name=f"{name}-gradient",
                model=reproduction.language_model,
                measures=(GRADIENT,),
                **settings,
            )
        )
    return joined(parts)


def load_dependencies(reproduction: Reproduction[Settings], source: str) -> xarray.Dataset:
    """Heads as parsers of one treebank, by all measures asked for."""
    return _by_all_measures(
        reproduction,
        "dependency",
        source,
        f"dependency-{stem(source)}",
        max_examples=reproduction.settings.max_sentences,
        **_annotated(reproduction),
    )


def load_antecedents(reproduction: Reproduction[Settings], source: str) -> xarray.Dataset:
    """Heads as resolvers of one corpus, by all measures asked for."""
    return _by_all_measures(
        reproduction,
        "coreference",
        source,
        f"coreference-{stem(source)}",
        max_length=min(published.TOKENS, reproduction.model.longest or published.TOKENS),
        overlap=reproduction.settings.overlap,
        **_annotated(reproduction),
    )


def _annotated(reproduction: Reproduction[Settings]) -> dict[str, Any]:
    """Return the common settings of studies of annotated text, and how invalid text is handled."""
    chosen = reproduction.settings
    return {
        "sentences": False,
        "seed": chosen.seed,
        "invalid": chosen.invalid,
        "unencodable": "skip" if chosen.invalid == "skip" else "error",
    }


def stem(source: str) -> str:
    """A name for files: ``en_ewt-ud-dev`` of ``…/en_ewt-ud-dev.conllu.xz``."""
    return Path(source).name.split(".")[0]


exhibit = exhibits_of(published.SOURCE)

MEASURE = By("measure", {row.name: row.title for row in measure_table()})
OFFSETS = {offset: name for name, offset in NEIGHBOURS.items()}
MULTI_KIND = By("offset", OFFSETS)
WHO = By("query_category", {"all": "all tokens", "cls": "from [CLS]"})


@exhibit("figure-2", "Figure 2 and Section 3.2")
def figure_2(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Attention to special tokens."""
    survey = load_survey(reproduction)
    weight = survey["share"].sel(measure=survey["measure"].values[0])
    within = weight.sel(query_category="sep", key_category="sep").mean("head")
    to_sep = weight.sel(query_category="all", key_category="sep").mean("head")
    return Section(
        explanation="Each dot is a head, each line the mean of a layer: the share that goes to "
        "[CLS], to [SEP], and to periods and commas; in the second picture the share that goes to "
        "[SEP] from [SEP] itself and from all other tokens. The other measures are asked the same, "
        "each as a share of its row's whole (effective attention is signed).",
        drawings=[
            writer.curves(
                survey.sel(query_category="all", key_category=list(CATEGORIES)),
                Curve("share", panel="Share of {measure}", by=(MEASURE, TO), percent=True),
                caption="Share of each measure that goes to a kind of token, by layer.",
                alternative=_alternative(weight),
                columns=2,
            ),
            writer.curves(
                survey.sel(key_category="sep", query_category=list(FROM.names)),
                Curve("share", panel="{measure} to [SEP]", by=(MEASURE, FROM), percent=True),
                caption="What goes to [SEP], from [SEP] itself and from all other tokens.",
                alternative=f"From [SEP] at most {float(within.max()):.0%} of the weight.",
                name="separators",
                columns=2,
            ),
        ],
        tables=[writer.table(_by_layer(survey), "Means over the heads of a layer, in percent")],
        comparisons=[
            Comparison(
                "attention from [SEP] that goes to [SEP], largest mean of a layer",
                f"> {published.SEP_TO_SEP}%",
                percent(float(within.max())),
                "%",
                "the paper says so of heads at [SEP], of no layer (Section 3.2)",
            ),
            Comparison(
                "layers that give more than half of their attention to [SEP]",
                "6-10",
                in_words([str(int(layer) + 1) for layer in to_sep["layer"][to_sep.values > MOST]]),
                note="by layer here: " + ", ".join(f"{mean:.0%}" for mean in to_sep.values),
            ),
        ],
        notes=text_notes(reproduction, survey),
    )


def _by_layer(survey: xarray.Dataset) -> pandas.DataFrame:
    """One row per measure and layer: the lines of the figure."""
    share = survey["share"].mean("head") * 100
    to_separators = share.sel(key_category="sep")
    return frame_of(
        {
            **{
                f"to {label}": share.sel(query_category="all", key_category=name)
                for name, label in CATEGORIES.items()
            },
            "[SEP] to [SEP]": to_separators.sel(query_category="sep"),
            "other to [SEP]": to_separators.sel(query_category="not_sep"),
        }
    )


def _alternative(share: xarray.DataArray) -> str:
    means = share.sel(query_category="all").mean("head")
    lines = (
        f"to {label} " + ", ".join(f"{100 * value:.0f}%" for value in means.sel(key_category=name))
        for name, label in CATEGORIES.items()
    )
    return f"Means by layer of the attention weight: {'; '.join(lines)}."


@exhibit("section-3-1", "Section 3.1")
def section_3_1(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Heads that attend to a neighbour."""
    survey = load_survey(reproduction)
    neighbour = survey["neighbour"]
    table = frame_of({name: 100 * neighbour.sel(offset=o) for o, name in OFFSETS.items()})
    weight = neighbour.sel(measure=survey["measure"].values[0])
    heads = count_heads(weight)
    previous, following = (_specialists(weight.sel(offset=offset)) for offset in (-1, 1))
    return Section(
        explanation="The share that goes to the token before, to the token itself and to the one "
        "after. The denominator is the number of tokens for each of them, as in the released code.",
        drawings=[
            writer.curves(
                survey,
                Curve(
                    "neighbour", panel="Share of {measure}", by=(MEASURE, MULTI_KIND), percent=True
                ),
                caption="Share of each measure that goes to a neighbour, by layer.",
                alternative="More than half goes to the previous token in "
                f"{in_words(previous)}, to the next token in {in_words(following)}.",
            )
        ],
        tables=[
            writer.table(
                table[["head", "measure", *OFFSETS.values()]],
                "All heads, in percent",
                formats=dict.fromkeys(OFFSETS.values(), ".1f"),
            )
        ],
        comparisons=[
            Comparison(
                f"heads with more than half of their attention on the {name} token",
                theirs,
                len(ours),
                note=f"of 144 heads there, of {heads} here: {in_words(ours)}",
                digits=0,
            )
            for name, theirs, ours in (
                ("previous", published.PREVIOUS_TOKEN_HEADS, previous),
                ("next", published.NEXT_TOKEN_HEADS, following),
            )
        ],
        notes=text_notes(reproduction, survey),
    )


def _specialists(share: xarray.DataArray) -> list[str]:
    """Names of the heads that give more than half there."""
    places = np.argwhere(share.values > MOST)
    layers = share["layer"].values
    return [head_name(int(layers[layer]), int(head)) for layer, head in places]


@exhibit("figure-4", "Figure 4 and Section 3.3")
def figure_4(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Focused and broad attention."""
    survey = load_survey(reproduction)
    entropy = survey["entropy"]
    uniform = Reference(float(survey["entropy_uniform"]), "uniform attention")
    by_layer = entropy.mean("head")
    last = by_layer.isel(measure=0, layer=-1).sel(query_category="cls")
    table = frame_of(
        {
            "all tokens": by_layer.sel(query_category="all"),
            "from [CLS]": by_layer.sel(query_category="cls"),
        }
    )
    return Section(
        explanation="Entropy of what a token attends to, in nats, for each head; the dashed line "
        "is attention spread evenly over the text. Norms, effective attention and gradients are "
        "made distributions first: absolute values divided by their sum.",
        drawings=[
            writer.curves(
                survey.sel(query_category=list(WHO.names)),
                Curve(
                    "entropy",
                    panel="{measure}, {query_category}",
                    by=(MEASURE, WHO),
                    y_label="entropy (nats)",
                    limits=(0.0, 1.05 * uniform.value),
                    references=[uniform],
                ),
                caption="Entropy by layer: left of all tokens, right of [CLS] alone.",
                alternative=f"Uniform attention has {uniform.value:.2f} nats.",
                columns=2,
            )
        ],
        tables=[writer.table(table, "Means over the heads of a layer, in nats")],
        comparisons=[
            Comparison(
                "entropy from [CLS], mean of the last layer",
                published.CLS_ENTROPY_LAST_LAYER,
                float(last),
                "nats",
                f"uniform attention over these texts has {uniform.value:.2f} nats",
                digits=2,
            )
        ],
        notes=text_notes(reproduction, survey),
    )


GRADIENT_CATEGORIES = {"unmasked": "all unmasked tokens", "sep": "[SEP]", "punctuation": ". or ,"}
"""Labels of categories of the attended token."""
BY = By("importance_key", GRADIENT_CATEGORIES)


@exhibit(
    "figure-3",
    "Figure 3 and Section 3.2",
    "gradient",
    title="How much the loss depends on attention",
)
def figure_3(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """|∂L/∂α| by layer, for attention to [SEP], to periods and commas, and to all tokens."""
    result = load_importance(reproduction)
    by_layer = result["importance"].mean("head")
    frame = frame_of(
        {label: by_layer.sel(importance_key=name) for name, label in GRADIENT_CATEGORIES.items()}
    )
    ratio = by_layer.sel(importance_key="sep") / by_layer.sel(importance_key="unmasked")
    by_ratio = ", ".join(f"{float(value):.2f}" for value in ratio)
    return Section(
        explanation="Mean size of the derivative of the masked-language-model loss by a single "
        "attention weight, for weights to [SEP], to periods and commas, and to all tokens that are "
        "not masked. Small for [SEP] where attention to it is large: attending to it is a no-op.",
        drawings=[
            writer.curves(
                result.assign(mean=by_layer).sel(importance_key=list(GRADIENT_CATEGORIES)),
                Curve("mean", panel="Mean of each layer", by=BY, y_label="mean |∂L/∂α|"),
                Curve("importance", panel="Each head", by=BY, y_label="mean |∂L/∂α|"),
                caption="Mean |∂L/∂α| by layer.",
                alternative=f"Means by layer, [SEP] against all unmasked tokens: {by_ratio}",
                columns=2,
            )
        ],
        tables=[writer.table(frame, "Means over heads, queries and documents")],
        comparisons=[
            Comparison(
                "first layer from which the derivative for [SEP] stays below half of that for all",
                5,
                _small_from(ratio),
                note="the paper: “starting in layer 5 … very small”, read off its figure; "
                f"[SEP] against all by layer here: {by_ratio}",
                digits=0,
            )
        ],
        notes=[
            *text_notes(reproduction, result),
            "The paper does not say how its loss is scaled, so shapes can be compared and values "
            "cannot: here the loss of a segment is the sum over its masked tokens (15%, of which "
            "80% become [MASK], 10% another token, 10% stay), without dropout.",
            f"{int(result['predicted_tokens'])} tokens predicted, mean loss "
            f"{float(result['loss']):.2f} nats per token.",
        ],
    )


def load_importance(reproduction: Reproduction) -> xarray.Dataset:
    """Gradient importance on the text."""
    text, model = text_source(reproduction), reproduction.language_model
    result = reproduction.run(
        "survey",
        text,
        name="importance",
        model=model,
        measures=("gradient",),
        numbers=("importance",),
        passages=False,
        token_types=0,
        **text_settings(reproduction),
    )
    return result.sel(importance_query="all")


def _small_from(ratio: xarray.DataArray) -> int | None:
    """The first layer, from 1, from which on all ratios are below one half."""
    small = (ratio < FAR_BELOW).values
    last = max((place for place in range(len(small)) if not small[place]), default=-1)
    return None if last == len(small) - 1 else int(ratio["layer"][last + 1]) + 1
