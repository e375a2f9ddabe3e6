"""The results that the exhibits of Clark et al. share, each made once."""

from dataclasses import replace
from pathlib import Path

import xarray

from headlight.papers.study import Study, file_state
from headlight.surveys import SAMPLE, Folder, Settings, survey


def text_settings(study: Study) -> Settings:
    """How text becomes examples: two adjacent paragraphs, as in the paper (Section 3)."""
    options = study.options
    longest = study.subject.longest
    return Settings(
        pairs=True,
        max_length=min(options.max_length, longest) if longest else options.max_length,
        segment_ids=options.segment_ids,
        max_examples=options.max_examples,
        seed=options.seed,
        kind=study.subject.kinds[0],
    )


def text_source(study: Study) -> str:
    """The text that is read."""
    return study.sources.text or str(SAMPLE)


def text_name(study: Study) -> str:
    """What it is called."""
    return Path(study.sources.text).name if study.sources.text else "the sample corpus"


def surveyed(study: Study) -> xarray.Dataset:
    """The survey of the text, by all measures asked for."""
    measures = (*study.forward_measures, *(["gradient"] if study.wants_gradient else []))
    settings = replace(text_settings(study), measures=measures)

    def make(run: Path) -> xarray.Dataset:
        return survey(
            text_source(study),
            study.subject,
            settings,
            folder=Folder(path=run, resume=True),
            progress=study.progress,
        )

    return study.kept("survey", "survey", make, text=file_state(text_source(study)))


def model_note(study: Study, dataset: xarray.Dataset) -> str:
    """Which model this is, beside the paper's."""
    layers, heads = dataset.sizes["layer"], dataset.sizes["head"]
    return (
        f"The model is {study.subject.name}, {layers} layers of {heads} heads; the paper's is "
        "BERT-base, 12 layers of 12."
    )


def text_notes(study: Study, dataset: xarray.Dataset) -> list[str]:
    """Where model and text differ from the paper's."""
    read = (
        f"The text is {dataset.attrs['documents']} segments of at most "
        f"{text_settings(study).max_length} tokens from {text_name(study)}; the paper's is 1,000 "
        "segments of Wikipedia (992 in the released data)."
    )
    ids = f"Segment ids are {study.options.segment_ids}, " + (
        "as in the released attention maps."
        if study.options.segment_ids == "zeros"
        else "where the released attention maps have zeros."
    )
    return [model_note(study, dataset), read, ids]
