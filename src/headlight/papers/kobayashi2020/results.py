"""The results that the exhibits of Kobayashi et al. share, each made once."""

from pathlib import Path

import xarray

from headlight.papers.study import Study, file_state
from headlight.papers.text import text_settings, text_source
from headlight.surveys import Folder
from headlight.surveys.frequency import FrequencyRanks
from headlight.surveys.norms import norm_study

LABELS = {
    "cls": "[CLS]",
    "sep": "[SEP]",
    "punctuation": ". or ,",
    "other": "other tokens",
    "sink": "sinks",
}


def studied(study: Study) -> xarray.Dataset:
    """Weights and norms of the text, in one pass."""
    ranks = study.sources.frequency_ranks

    def make(run: Path) -> xarray.Dataset:
        return norm_study(
            text_source(study),
            study.subject,
            text_settings(study),
            ranks=FrequencyRanks.read(ranks, study.tokenizer) if ranks else None,
            folder=Folder(path=run, resume=True),
            progress=study.progress,
        )

    states = [file_state(text_source(study)), file_state(ranks) if ranks else None]
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
