"""Tokens of one text as coordinates of a result."""

from typing import Any

from headlight.encode import Encoded, token_names
from headlight.vocabulary import CATEGORIES, Kind

Positions = dict[str, list[Any]]
"""Numbers and names of each position of a text, by name."""


def segments_of(tokens: Positions) -> dict[str, tuple[str, list[str]]]:
    """Return the named segments of tokens as coordinates of both sides, if the text has any."""
    if "segment" not in tokens:
        return {}
    return {f"{side}_segment": (side, tokens["segment"]) for side in ("query", "key")}


def sides_of(example: Encoded, kind: Kind, tokenizer: Any) -> tuple[Positions, Positions]:
    """Return the positions of the attending and of the attended text, with names and numbers."""
    source: Positions = {
        "token": token_names(tokenizer, example.ids),
        "category": [CATEGORIES[code] for code in example.categories],
        "word": list(example.words),
        **({"segment": list(example.segment_names)} if example.segment_names else {}),
    }
    if kind == "encoder" or not example.target:
        return source, source
    target: Positions = {
        "token": token_names(tokenizer, example.target),
        "category": [CATEGORIES[code] for code in example.target_categories],
        "word": list(example.target_words),
    }
    return target, (source if kind == "cross" else target)
