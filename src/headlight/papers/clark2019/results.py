"""The results that the exhibits of Clark et al. share, each made once."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import xarray

from headlight.analysis.folder import RunFolder
from headlight.capture import CapturedModel, default_objective
from headlight.measures import GRADIENT
from headlight.papers.reproduction import Study, file_state
from headlight.papers.text import text_settings, text_source
from headlight.result import joined
from headlight.studies.coreference import study as coreference
from headlight.studies.coreference.settings import TOKENS, CoreferenceSettings
from headlight.studies.dependency import study as dependency
from headlight.studies.dependency.settings import DependencySettings
from headlight.studies.distances import study as head_distances
from headlight.studies.distances.settings import DistanceSettings
from headlight.studies.heads import study as heads
from headlight.studies.heads.settings import SurveySettings


def surveyed(study: Study) -> xarray.Dataset:
    """The survey of the text, by all measures asked for."""
    return _of_text(study, "survey", heads.run, SurveySettings)


def distances(study: Study) -> xarray.Dataset:
    """How differently all pairs of heads attend, by all measures asked for."""
    return _of_text(study, "distances", head_distances.run, DistanceSettings)


def _of_text(
    study: Study,
    stage: str,
    run: Callable[..., xarray.Dataset],
    settings: type[SurveySettings] | type[DistanceSettings],
) -> xarray.Dataset:
    def passed(model: CapturedModel, measures: tuple[str, ...], folder: Path, **more: Any) -> Any:
        return run(
            text_source(study),
            model,
            text_settings(study, settings, measures=measures),
            folder=RunFolder(path=folder, resume=True),
            progress=study.progress,
            **more,
        )

    return _by_all_measures(study, stage, stage, text_source(study), passed)


def dependencies(study: Study, source: str) -> xarray.Dataset:
    """Heads as parsers of one treebank, by all measures asked for."""

    def passed(model: CapturedModel, measures: tuple[str, ...], folder: Path, **more: Any) -> Any:
        return dependency.run(
            source,
            model,
            DependencySettings(
                measures=measures,
                **_invalid(study),
                max_sentences=study.options.max_sentences,
                seed=study.options.seed,
            ),
            folder=RunFolder(path=folder, resume=True),
            progress=study.progress,
            **more,
        )

    return _by_all_measures(study, f"dependency-{stem(source)}", "dependency", source, passed)


def antecedents(study: Study, source: str) -> xarray.Dataset:
    """Heads as resolvers of one corpus, by all measures asked for."""

    def passed(model: CapturedModel, measures: tuple[str, ...], folder: Path, **more: Any) -> Any:
        return coreference.run(
            source,
            model,
            CoreferenceSettings(
                measures=measures,
                **_invalid(study),
                max_length=min(TOKENS, model.longest or TOKENS),
                overlap=study.options.overlap,
                seed=study.options.seed,
            ),
            folder=RunFolder(path=folder, resume=True),
            progress=study.progress,
            **more,
        )

    return _by_all_measures(study, f"coreference-{stem(source)}", "coreference", source, passed)


def _by_all_measures(
    study: Study, name: str, stage: str, source: str, passed: Callable[..., xarray.Dataset]
) -> xarray.Dataset:
    """Forward measures by the model without a head, the gradient by the one with it."""

    def make(run: Path) -> xarray.Dataset:
        parts = []
        if study.forward_measures:
            parts.append(passed(study.model, study.forward_measures, folder=run / "forward"))
        if study.language_model and study.wants_gradient:
            objective = default_objective(study.language_model, seed=study.options.seed)
            folder = run / "backward"
            parts.append(
                passed(study.language_model, (GRADIENT,), objective=objective, folder=folder)
            )
        return joined(parts)

    return study.kept(name, stage, make, source=file_state(source))


def _invalid(study: Study) -> dict[str, Any]:
    """What becomes of annotation that is wrong, and of words that the tokenizer drops."""
    skip = study.options.broken == "skip"
    return {"invalid": study.options.broken, "unencodable": "skip" if skip else "error"}


def stem(source: str) -> str:
    """A name for files: ``en_ewt-ud-dev`` of ``…/en_ewt-ud-dev.conllu.xz``."""
    return Path(source).name.split(".")[0]
