"""Text of a reproduction, and settings of its reading."""

from pathlib import Path
from typing import Any

from headlight.corpora import SAMPLE_NAMES
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.settings import TextPaperSettings


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
    """Return the text that is read."""
    return reproduction.sources.text or str(reproduction.settings.sample)


def text_name(reproduction: Reproduction) -> str:
    """Return the name of the text."""
    text = reproduction.sources.text
    return Path(text).name if text else SAMPLE_NAMES[str(reproduction.settings.sample)]
