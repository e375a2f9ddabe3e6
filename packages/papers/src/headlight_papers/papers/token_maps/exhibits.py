"""Exhibits of papers on maps of tokens: the study, its tables, and the findings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isnan

import pandas
import xarray

from headlight.catalogue import EMBEDDED_CLASSIFIER
from headlight.findings.estimates import Estimate, estimates
from headlight.views.number_formats import MISSING
from headlight.views.parts import By, Comparison, Curve, Drawing, Section
from headlight.views.parts.result_facts import settings_of
from headlight_papers.papers.answers import within
from headlight_papers.papers.claims import Claim, claims_content
from headlight_papers.papers.exhibit import ExhibitSpec
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.notes import model_name
from headlight_papers.papers.paper import Paper
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.text_reading import text_name, text_source
from headlight_papers.papers.token_maps.settings import Ahead, MapPaperSettings, MapTable

PREDICTS = {
    "class": "the class that it chooses for a text",
    "masked": "the token that it expects at a mask, which stands at a random place",
    "next": "the token that it expects after a text",
}
REMOVED = {
    "mask": "become the mask token",
    "delete": "are left out",
    "attention": "cannot be attended to",
}


def load_maps(reproduction: Reproduction[MapPaperSettings]) -> xarray.Dataset:
    """Load the maps of the paper beside each other, on the texts."""
    settings = reproduction.settings
    return reproduction.run(
        "faithfulness",
        text_source(reproduction),
        maps=settings.maps,
        questions=("removal", "correlation"),
        max_examples=settings.max_examples,
        max_length=min(settings.max_length, reproduction.model.longest or settings.max_length),
        removal=settings.removal,
        seed=settings.seed,
    )


def score(result: xarray.Dataset, question: str, name: str) -> Estimate:
    """Return the score of a map, by a question."""
    return estimates(result, "score", (), question=question, map=name)


def caveat_of(reproduction: Reproduction[MapPaperSettings]) -> str:
    """Return what the embedded classifier cannot show; nothing of any other model."""
    if reproduction.model.name != EMBEDDED_CLASSIFIER:
        return ""
    return (
        f"The model is {EMBEDDED_CLASSIFIER}, which was trained on made-up reviews and knows the "
        "words of these alone. It is nearly certain of each, and gets 98% of the sample reviews "
        "right, where a bag of words gets 65%: what holds of it need not hold of a classifier of "
        "real texts; give one with --model and --text. "
    )


def notes_of(reproduction: Reproduction[MapPaperSettings], result: xarray.Dataset) -> list[str]:
    """Return notes on the model's predictions, the texts, and how tokens were removed."""
    options, settings = settings_of(result), reproduction.settings
    return [
        f"{model_name(reproduction.model.name)} predicts {PREDICTS[str(options['predicts'])]}, "
        f"with a probability of {float(result['probability']):.2f} on average.",
        f"Read are {int(result['texts'])} texts of at most {settings.max_length} tokens from "
        f"{text_name(reproduction)}, with {float(result['tokens']):.0f} tokens on average that can "
        f"be removed; those that are removed {REMOVED[str(options['removed_by'])]}.",
    ]


LABELS = {
    "weight": "weights, last layer",
    "merged_norm": "norms, last layer",
    "rollout": "rollout of weights",
    "rollout_norm": "rollout of norms",
    "rollout_block_norm": "rollout of norms, residual",
    "rollout_layer_norm": "rollout of norms, residual, norm",
    "globenc": "GlobEnc",
    "alti": "ALTI",
    "value_zeroing": "Value Zeroing",
    "decompx": "DecompX, lengths of vectors",
    "prediction": "DecompX, parts of the logit",
    "gradient_input": "gradient × input",
    "leave_one_out": "leave one out",
    "random": "random order",
}
"""Labels of maps, in the order of tables."""

AGREEMENT = {"gradient_input": "ρ, gradient × input", "leave_one_out": "ρ, leave one out"}
REMOVAL = {"comprehensiveness": "AOPC", "sufficiency": "sufficiency"}

JUDGED = "Each number is a mean over texts, with its interval of 95%, over documents or texts."


@dataclass(frozen=True)
class Kind:
    """Kind of table: its questions and their explanation.

    Attributes:
        title: Title of the exhibit.
        questions: Columns, and their printed names.
        explanation: Explanation of the numbers.
        drawn: Whether there are curves beside it.
    """

    title: str
    questions: Mapping[str, str]
    explanation: str
    drawn: bool = False


KINDS = {
    "agreement": Kind(
        "How maps agree with gradients and with leaving tokens out",
        AGREEMENT,
        "Spearman's ρ, over the tokens of a text, of a map with the size of gradient × input, and "
        f"with what the probability loses without each token. {JUDGED}",
    ),
    "removal": Kind(
        "What is lost without the tokens that a map puts first",
        REMOVAL,
        "AOPC: what the probability loses without the most important tokens, the mean over 10, 20, "
        "…, 90% of them; the more, the better the map. Sufficiency: the same of the least "
        f"important; the less, the better. {JUDGED}",
        drawn=True,
    ),
}
"""Kinds of tables, by `MapTable.shows`."""


def table_exhibit(row: MapTable) -> ExhibitSpec:
    """Make the exhibit of a table."""
    kind = KINDS[row.shows]
    make = partial(_table, kind=kind, published=row.published)
    return ExhibitSpec(row.name, kind.title, row.source, make)


def _table(
    reproduction: Reproduction, writer: ExhibitWriter, kind: Kind, published: Mapping[str, str]
) -> Section:
    result = load_maps(reproduction)
    names = names_of(result)
    frame = pandas.DataFrame(
        {"map": [LABELS[name] for name in names]}
        | {
            label: [
                # A map has no agreement with itself.
                MISSING if isnan(estimate.value) else f"{estimate:.3f}"
                for estimate in (score(result, question, name) for name in names)
            ]
            for question, label in kind.questions.items()
        }
    )
    first, label = next(iter(kind.questions.items()))
    comparisons = [
        Comparison(
            f"{LABELS[name]}: {label}", theirs, float(score(result, first, name).value), digits=2
        )
        for name, theirs in published.items()
        if name in names
    ]
    pictures = [_curves(writer, result, names)] if kind.drawn else []
    return Section(
        explanation=f"{caveat_of(reproduction)}{kind.explanation}",
        drawings=pictures,
        tables=[writer.table(frame, "Maps of the same texts")],
        comparisons=comparisons,
        notes=notes_of(reproduction, result),
    )


def _curves(writer: ExhibitWriter, result: xarray.Dataset, names: Sequence[str]) -> Drawing:
    labels = {name: LABELS[name] for name in names}
    last = result["lost"].isel(share=-1)
    remaining = "; ".join(f"{labels[name]} {float(last.sel(map=name)):.2f}" for name in names)
    return writer.curves(
        result.sel(map=list(names)),
        Curve(
            "lost",
            panel="p lost",
            by=By("map", labels),
            over="share",
            x_label="share of the tokens that is removed",
            dashed=("random",),
        ),
        caption="What the probability loses without the most important tokens, mean over texts.",
        alternative=f"Without 90%: {remaining}.",
    )


def names_of(result: xarray.Dataset) -> list[str]:
    """Return the maps of a result, in the order of tables."""
    present = {str(name) for name in result["map"].values}
    return [name for name in LABELS if name in present]


NAMES = {**AGREEMENT, **REMOVAL}
"""Labels of the number of each question."""


def judge_ahead(result: xarray.Dataset, claims: Sequence[Ahead]) -> list[Claim]:
    """Judge each claim by the differences on the same texts."""
    judged = []
    for number, claim in enumerate(claims, 1):
        name = NAMES[claim.question]
        first, second = (
            score(result, claim.question, name_of_map)
            for name_of_map in (claim.first, claim.second)
        )
        apart = first.minus(second)
        judged.append(
            Claim(
                f"{number}. {claim.claim}",
                f"{name} of {LABELS[claim.first]} above that of {LABELS[claim.second]}, on the "
                "same texts",
                claim.published,
                f"{first.value:.3f} and {second.value:.3f}; difference {apart:.3f}".replace(
                    "-", "−"
                ),
                within(apart, above=0),
            )
        )
    return judged


def findings(reproduction: Reproduction[MapPaperSettings], writer: ExhibitWriter) -> Section:
    """Make the exhibit of the findings of a paper."""
    result = load_maps(reproduction)
    judged = judge_ahead(result, reproduction.settings.claims)
    content = claims_content(writer, judged, notes_of(reproduction, result), about="its models")
    return replace(content, explanation=f"{caveat_of(reproduction)}{content.explanation}")


def paper_of(settings: type[MapPaperSettings]) -> Paper:
    """Return the paper of these settings."""
    return Paper(
        name=settings.name,
        settings=settings,
        introduction=settings.introduction,
        exhibits=(
            ExhibitSpec("findings", "Which findings hold", settings.source, findings),
            *map(table_exhibit, settings.tables),
        ),
    )
