"""The results that the exhibits of Clark et al. share, each made once."""

from pathlib import Path
from typing import Any

import xarray

from headlight.analysis.settings import MeasureSettings
from headlight.capture import default_objective
from headlight.corpora.state import source_state
from headlight.papers.clark2019.settings import Clark2019Settings
from headlight.papers.reproduction import Reproduction
from headlight.papers.text import text_settings, text_source
from headlight.result import joined
from headlight.studies.coreference.settings import TOKENS, CoreferenceSettings
from headlight.studies.dependency.settings import DependencySettings
from headlight.studies.distances.settings import DistanceSettings
from headlight.studies.heads.settings import SurveySettings
from headlight.vocabulary import GRADIENT


def load_survey(reproduction: Reproduction) -> xarray.Dataset:
    """The survey of the text, by all measures asked for."""
    text = text_source(reproduction)
    settings = text_settings(reproduction, SurveySettings)
    return _by_all_measures(reproduction, "survey", text, settings, source_state(text))


def load_distances(reproduction: Reproduction) -> xarray.Dataset:
    """How differently all pairs of heads attend, by all measures asked for."""
    text = text_source(reproduction)
    settings = text_settings(reproduction, DistanceSettings)
    return _by_all_measures(reproduction, "distances", text, settings, source_state(text))


def _by_all_measures(
    reproduction: Reproduction[Clark2019Settings],
    study: str,
    source: Any,
    settings: MeasureSettings,
    reads: Any,
    name: str = "",
) -> xarray.Dataset:
    """Forward measures by the model without a head, the gradient by the one with it."""
    parts, name = [], name or study
    if reproduction.forward_measures:
        forward = settings.replace(measures=reproduction.forward_measures)
        parts.append(reproduction.run(study, source, forward, reads=reads, name=name))
    if reproduction.language_model and reproduction.wants_gradient:
        model, seed = reproduction.language_model, reproduction.settings.seed
        parts.append(
            reproduction.run(
                study,
                source,
                settings.replace(measures=(GRADIENT,)),
                reads=reads,
                name=f"{name}-gradient",
                model=model,
                objective=default_objective(model, seed=seed),
            )
        )
    return joined(parts)


def load_dependencies(reproduction: Reproduction[Clark2019Settings], source: str) -> xarray.Dataset:
    """Heads as parsers of one treebank, by all measures asked for."""
    settings = DependencySettings(
        sentences=False,
        max_sentences=reproduction.settings.max_sentences,
        seed=reproduction.settings.seed,
        **_invalid(reproduction),
    )
    reads, name = source_state(source), f"dependency-{stem(source)}"
    return _by_all_measures(reproduction, "dependency", source, settings, reads, name)


def load_antecedents(reproduction: Reproduction[Clark2019Settings], source: str) -> xarray.Dataset:
    """Heads as resolvers of one corpus, by all measures asked for."""
    settings = CoreferenceSettings(
        sentences=False,
        max_length=min(TOKENS, reproduction.model.longest or TOKENS),
        overlap=reproduction.settings.overlap,
        seed=reproduction.settings.seed,
        **_invalid(reproduction),
    )
    reads, name = source_state(source), f"coreference-{stem(source)}"
    return _by_all_measures(reproduction, "coreference", source, settings, reads, name)


def _invalid(reproduction: Reproduction[Clark2019Settings]) -> dict[str, Any]:
    """What becomes of annotation that is invalid, and of words that the tokenizer drops."""
    skips = reproduction.settings.invalid == "skip"
    return {
        "invalid": reproduction.settings.invalid,
        "unencodable": "skip" if skips else "error",
    }


def stem(source: str) -> str:
    """A name for files: ``en_ewt-ud-dev`` of ``…/en_ewt-ud-dev.conllu.xz``."""
    return Path(source).name.split(".")[0]
