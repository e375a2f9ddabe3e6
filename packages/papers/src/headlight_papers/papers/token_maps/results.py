"""The result of which all tables of these papers are made."""

import xarray

from headlight.catalogue import EMBEDDED_CLASSIFIER
from headlight.findings.estimates import Estimate, estimates
from headlight.views.parts import settings_of
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.text import model_name, text_name, text_source
from headlight_papers.papers.token_maps.settings import MapPaperSettings

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
    """The maps of the paper beside each other, on the texts."""
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


def score(found: xarray.Dataset, question: str, name: str) -> Estimate:
    """Return the score of a map, by a question."""
    return estimates(found, "score", (), question=question, map=name)


def ahead(found: xarray.Dataset, question: str, first: str, second: str) -> Estimate:
    """By how much one map is ahead of another on the same texts."""
    return score(found, question, first).minus(score(found, question, second))


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


def notes_of(reproduction: Reproduction[MapPaperSettings], found: xarray.Dataset) -> list[str]:
    """Return notes on the model's predictions, the texts, and how tokens were removed."""
    options, given = settings_of(found), reproduction.settings
    return [
        f"{model_name(reproduction.model.name)} predicts {PREDICTS[str(options['predicts'])]}, "
        f"with a probability of {float(found['probability']):.2f} on average.",
        f"Read are {int(found['texts'])} texts of at most {given.max_length} tokens from "
        f"{text_name(reproduction)}, with {float(found['tokens']):.0f} tokens on average that can "
        f"be removed; those that are removed {REMOVED[str(options['removed_by'])]}.",
    ]
