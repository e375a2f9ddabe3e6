"""The results that the exhibits of Kobayashi et al. share, each made once."""

from pathlib import Path

import xarray

from headlight.analysis.folder import RunFolder
from headlight.papers.reproduction import Study, file_state
from headlight.papers.text import text_settings, text_source
from headlight.studies.norms import study as norms
from headlight.studies.norms.settings import NormSettings

LABELS = {
    "cls": "[CLS]",
    "sep": "[SEP]",
    "punctuation": ". or ,",
    "other": "other tokens",
    "sink": "sinks",
}


COUNTED, IDS = "corpus", "ids"
"""Frequency ranks that come from no file: counted in the text, or the order of the vocabulary."""


def studied(study: Study) -> xarray.Dataset:
    """Weights and norms of the text, in one pass."""
    source = study.sources.frequency_ranks
    file = source if source not in (None, COUNTED, IDS) else None

    def make(run: Path) -> xarray.Dataset:
        return norms.run(
            text_source(study),
            study.model,
            text_settings(study, NormSettings, frequency_ranks=source or COUNTED),
            folder=RunFolder(path=run, resume=True),
            progress=study.progress,
        )

    states = [file_state(text_source(study)), file_state(file) if file else source]
    return study.kept("norms", "norms", make, text=states)


def categories(found: xarray.Dataset) -> list[str]:
    """The categories of attended tokens that occur."""
    return [
        str(name)
        for name in found["key_category"].values
        if float(found["token_count"].sel(key_category=name)) > 0
    ]


def layer_names(found: xarray.Dataset) -> list[str]:
    """Layers from 1."""
    return [str(int(layer) + 1) for layer in found["layer"].values]


def head_numbers(found: xarray.Dataset) -> list[str]:
    """Heads from 1."""
    return [str(int(head) + 1) for head in found["head"].values]
