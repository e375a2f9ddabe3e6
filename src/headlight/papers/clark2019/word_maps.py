"""The attention of one head on one text, by pieces or by words."""

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float

from headlight.capture import LayerRecord
from headlight.capture.one_text import capture_one
from headlight.encode import Encoded, encode_one
from headlight.measures import Scores
from headlight.measures.words import word_score
from headlight.papers.reproduction import Reproduction
from headlight.pool import Words

START, END = "[CLS]", "[SEP]"
"""How the special tokens around a sentence are written."""

Map = Float[np.ndarray, "query key"]
Head = tuple[int, int]


def word_map(reproduction: Reproduction, example: Encoded, head: Head, measure: str) -> Map:
    """A measure between words, with the special tokens first and last.

    A model that sets no special token on a side has zeros there.
    """
    words = Words.of(torch.tensor([example.words]), special=True)

    def visit(record: LayerRecord) -> Map:
        scores = word_score(Scores(record), measure, words)[0, head[1]]
        return np.asarray(scores.double().cpu())

    before, after = int(example.words[0] != -1), int(example.words[-1] != -1)
    return np.pad(_capture(reproduction, example, head[0], visit), ((before, after),) * 2)


def piece_map(
    reproduction: Reproduction, first: str, second: str, head: Head
) -> tuple[list[str], Map]:
    """The tokens of two texts, and the attention weights between them."""
    example = encode_one(reproduction.tokenizer, first, second)

    def visit(record: LayerRecord) -> Map:
        return np.asarray(record.weight[0, head[1]].double().cpu())

    tokens = reproduction.tokenizer.convert_ids_to_tokens(list(example.ids))
    return list(map(str, tokens)), _capture(reproduction, example, head[0], visit)


def _capture(
    reproduction: Reproduction,
    example: Encoded,
    layer: int,
    visit: Callable[[LayerRecord], Map],
) -> Map:
    """What is made of one layer."""
    model = reproduction.model
    (found,) = capture_one(model, example, model.sites_of(reproduction.kind, [layer]), visit)
    return found
