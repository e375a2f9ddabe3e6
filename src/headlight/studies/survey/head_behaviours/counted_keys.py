"""Counted keys: words of a class, tokens of a segment, and keys that a statistic chooses."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from headlight.capture import CapturedModel
from headlight.catalogue.statistics import Text, statistic_table
from headlight.encode import Encoded, token_names
from headlight.encode.token_categories import word_ids
from headlight.errors import UsageError
from headlight.vocabulary import CATEGORIES, Kind


def whole_words(
    word: Int64[Tensor, "batch token"], pieces: Bool[Tensor, "batch token"]
) -> Bool[Tensor, "batch token"]:
    """Return the mask of tokens that are a whole word, not a piece of a longer one."""
    label = word.masked_fill(~pieces, -1)
    same = (label[:, 1:] == label[:, :-1]) & pieces[:, 1:]
    pad = torch.nn.functional.pad
    return ~pad(same, (1, 0)) & ~pad(same, (0, 1))


def tokens_of_segment(
    examples: Sequence[Encoded], name: str, present: Bool[Tensor, "batch token"]
) -> Bool[Tensor, "batch token"]:
    """Return the mask of tokens of a named segment."""
    mask = torch.zeros_like(present, device="cpu")
    for number, example in enumerate(examples):
        if example.segment_names:
            in_segment = torch.tensor([segment == name for segment in example.segment_names])
            mask[number][present[number].cpu()] = in_segment
    return mask.to(present.device)


def chosen_keys(
    examples: Sequence[Encoded], kind: Kind, tokenizer: Any, token_mask: Bool[Tensor, "batch token"]
) -> dict[str, Bool[Tensor, "batch query token"]]:
    """Return the mask of keys from each query of each text, by statistic of another package."""
    masks: dict[str, Tensor] = {}
    for row in statistic_table():
        if row.keys is None:
            continue
        masks[row.name] = torch.zeros(*token_mask.shape, token_mask.shape[1], dtype=torch.bool)
        for number, example in enumerate(examples):
            text = _text_of(example, kind, tokenizer)
            chosen, size = np.asarray(row.keys(text)), len(text.tokens)
            if chosen.dtype != bool or chosen.shape != (size, size):
                raise UsageError(
                    f"the statistic {row.name!r} must choose keys by a boolean array of shape "
                    f"{(size, size)}, not by one of {chosen.dtype} and {chosen.shape}."
                )
            present = token_mask[number].cpu()
            masks[row.name][number][torch.outer(present, present)] = torch.from_numpy(
                chosen
            ).flatten()
    return {name: mask.to(token_mask.device) for name, mask in masks.items()}


def _text_of(example: Encoded, kind: Kind, tokenizer: Any) -> Text:
    """Return the text that attends to itself, as statistics of other packages see it."""
    if kind == "decoder" and example.target:
        parts = example.target, example.target_words, example.target_categories
    else:
        parts = example.ids, example.words, example.categories
    ids, words, codes = parts
    return Text(token_names(tokenizer, ids), words, [CATEGORIES[code] for code in codes])


def words_of(model: CapturedModel) -> dict[str, tuple[int, ...]]:
    """Return the ids of the words of each class in the table of statistics.

    Without a tokenizer there are none.
    """
    if model.tokenizer is None:
        return {}
    rows = (row for row in statistic_table() if row.words)
    return {row.name: word_ids(model.tokenizer, row.words) for row in rows}
