"""Text as the papers read it: adjacent paragraphs of Wikipedia, and what to say of other text."""

from pathlib import Path
from typing import Any, TypeVar

import xarray

from headlight.analysis.settings import TextSettings
from headlight.analysis.text_plan import SAMPLE, SAMPLE_NAME
from headlight.papers.reproduction import Study

S = TypeVar("S", bound=TextSettings)


def text_settings(study: Study, settings: type[S], **more: Any) -> S:
    """How text becomes examples: two adjacent paragraphs, as in the paper (Section 3)."""
    options = study.options
    common = {
        "pairs": True,
        "max_length": text_length(study),
        "segment_ids": options.segment_ids,
        "max_examples": options.max_examples,
        "seed": options.seed,
        "kind": study.kind,
    }
    return settings(**{**common, **more})


def text_length(study: Study) -> int:
    """Tokens in a segment of text at most."""
    return min(study.options.max_length, study.model.longest or study.options.max_length)


def text_source(study: Study) -> str:
    """The text that is read."""
    return study.sources.text or str(SAMPLE)


def text_name(study: Study) -> str:
    """What it is called."""
    return Path(study.sources.text).name if study.sources.text else SAMPLE_NAME


def model_name(name: str) -> str:
    """What a model is called, of a folder its last part."""
    return Path(name).resolve().name if Path(name).is_dir() else name


def model_note(study: Study) -> str:
    """Which model this is, beside the paper's."""
    sites = study.model.sites_of(study.kind)
    return (
        f"The model is {model_name(study.model.name)}, {len(sites)} layers of "
        f"{max(site.heads for site in sites)} heads; the paper's is BERT-base, 12 layers of 12."
    )


def text_notes(study: Study, dataset: xarray.Dataset) -> list[str]:
    """Where model and text differ from the paper's."""
    read = (
        f"The text is {dataset.attrs['examples']} segments of at most "
        f"{text_length(study)} tokens from {text_name(study)}; the paper's is 1,000 "
        "segments of Wikipedia (992 in the released data)."
    )
    ids = f"Segment ids are {study.options.segment_ids}" + (
        ", as in the released maps of Clark et al.; Kobayashi et al. have 0 and 1."
        if study.options.segment_ids == "zeros"
        else ", as in the code of Kobayashi et al.; the released maps of Clark et al. have zeros."
    )
    return [model_note(study), read, ids]
