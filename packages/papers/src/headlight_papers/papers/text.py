"""Text as the papers read it: adjacent paragraphs of Wikipedia, and what to say of other text."""

from pathlib import Path
from typing import Any

import xarray

from headlight.corpora import SAMPLE_NAMES
from headlight.views.parts import By
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.settings import TextPaperSettings

CATEGORIES = {"cls": "[CLS]", "sep": "[SEP]", "punctuation": ". or ,"}
TO = By("key_category", CATEGORIES)
"""What is attended to."""
FROM = By("query_category", {"sep": "[SEP] → [SEP]", "not_sep": "other → [SEP]"})
"""What attends to a separator."""


def text_settings(reproduction: Reproduction[TextPaperSettings]) -> dict[str, Any]:
    """Return the settings of examples: two adjacent paragraphs, as in Section 3 of Clark et al."""
    return {
        "pairs": True,
        "max_length": reproduction.max_length,
        "segment_ids": reproduction.settings.segment_ids,
        "max_examples": reproduction.settings.max_examples,
        "seed": reproduction.settings.seed,
        "kind": reproduction.kind,
    }


def text_source(reproduction: Reproduction) -> str:
    """The text that is read."""
    return reproduction.sources.text or str(reproduction.settings.sample)


def text_name(reproduction: Reproduction) -> str:
    """Return the name of the text."""
    text = reproduction.sources.text
    return Path(text).name if text else SAMPLE_NAMES[str(reproduction.settings.sample)]


def model_name(name: str) -> str:
    """Return the name of a model; of a folder its last part."""
    return Path(name).resolve().name if Path(name).is_dir() else name


def model_note(reproduction: Reproduction) -> str:
    """Return the note on the model, beside the paper's."""
    heads = [site.heads for site in reproduction.model.sites_of(reproduction.kind)]
    each = str(heads[0]) if len(set(heads)) == 1 else f"{min(heads)} to {max(heads)}"
    return (
        f"Model: {model_name(reproduction.model.name)}, {len(heads)} layers of {each} heads; "
        "the paper's is BERT-base, 12 layers of 12."
    )


def text_notes(reproduction: Reproduction[TextPaperSettings], dataset: xarray.Dataset) -> list[str]:
    """Return notes on how model and text differ from the paper's."""
    read = (
        f"The text is {dataset.attrs['examples']} segments of at most {reproduction.max_length} "
        f"tokens from {text_name(reproduction)}; the paper's is 1,000 segments of Wikipedia (992 "
        "in the released data)."
    )
    ids = reproduction.settings.segment_ids
    released = (
        "as in the released maps of Clark et al.; Kobayashi et al. have 0 and 1."
        if ids == "zeros"
        else "as in the code of Kobayashi et al.; the released maps of Clark et al. have zeros."
    )
    return [model_note(reproduction), read, f"Segment ids are {ids}, {released}"]
