"""What the user should know about text that was not read, or not as it was meant."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from headlight.catalogue import find_study
from headlight.corpora import OF_TWO_TEXTS

LEFT_OUT: Mapping[str, str] = {
    "truncated": "cut at the limit of tokens",
    "split": "longer than the limit of tokens, and cut into several examples",
    "too_long": "longer than the limit of tokens, and left out",
    "unencodable": "left out, of which the tokenizer does not keep all words",
    "discarded": "with a last paragraph that has no partner, and is left out",
    "empty": "without a token, and left out",
}
"""By the attribute of a result that counts them."""

MUCH = 0.1
"""The share of tokens that a tokenizer may not know without a word about it."""


def notes(attributes: Mapping[str, Any]) -> Iterator[str]:
    """The notes about a result of a study, one sentence each."""
    study = find_study(attributes["stage"])
    settings = json.loads(attributes.get("settings", "{}"))
    noun = "pair" if settings.get("format") in OF_TWO_TEXTS else study.source.noun
    for name, meaning in LEFT_OUT.items():
        count = int(attributes.get(name, 0))
        intended = name == "truncated" and settings.get("pairs")  # pairs are made by cutting
        if count and not intended:
            counted = "example" if name == "truncated" and study.reads != "coreference" else noun
            yield f"note: {count:,} {counted}{'s' * (count > 1)} {meaning}."
    yield from unknown_tokens(attributes)


def unknown_tokens(attributes: Mapping[str, Any]) -> Iterator[str]:
    """A note about a result of text that the tokenizer does not know, else none."""
    unknown, tokens = (int(attributes.get(name, 0)) for name in ("unknown", "tokens"))
    if unknown > MUCH * tokens:
        yield (
            f"note: {unknown:,} of {tokens:,} tokens are unknown to the tokenizer, and look alike "
            "to the model; choose a model for this language or script."
        )
