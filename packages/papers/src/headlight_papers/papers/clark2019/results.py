"""Results that the exhibits of Clark et al. share."""

from pathlib import Path
from typing import Any

import xarray

from headlight.result import joined
from headlight.vocabulary import GRADIENT
from headlight_papers.papers.clark2019 import Settings, published
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.text_reading import text_settings, text_source


def load_survey(reproduction: Reproduction) -> xarray.Dataset:
    """Load the survey of the text, by all requested measures."""
    text, settings = text_source(reproduction), text_settings(reproduction)
    return _run_all_measures(reproduction, "survey", text, **settings)


def load_distances(reproduction: Reproduction) -> xarray.Dataset:
    """Load the distances between all pairs of heads, by all requested measures."""
    text, settings = text_source(reproduction), text_settings(reproduction)
    return _run_all_measures(reproduction, "distances", text, **settings)


def _run_all_measures(
    reproduction: Reproduction[Settings], study: str, source: str, name: str = "", **settings: Any
) -> xarray.Dataset:
    """Run forward measures on the model without a head, and the gradient on the one with it."""
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
    """Load heads as parsers of one treebank, by all requested measures."""
    return _run_all_measures(
        reproduction,
        "dependency",
        source,
        f"dependency-{stem(source)}",
        max_examples=reproduction.settings.max_sentences,
        **_annotated(reproduction),
    )


def load_antecedents(reproduction: Reproduction[Settings], source: str) -> xarray.Dataset:
    """Load heads as resolvers of one corpus, by all requested measures."""
    return _run_all_measures(
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
    """Return a name for files: ``en_ewt-ud-dev`` of ``…/en_ewt-ud-dev.conllu.xz``."""
    return Path(source).name.split(".")[0]
