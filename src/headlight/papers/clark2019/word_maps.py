"""The attention of one head on one text, by pieces or by words."""

import numpy as np
import torch
from jaxtyping import Float

from headlight.capture import LayerRecord
from headlight.capture.one_text import capture_one
from headlight.encode import Encoded
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

    model = reproduction.model
    (found,) = capture_one(model, example, model.sites_of(reproduction.kind, [head[0]]), visit)
    before, after = int(example.words[0] != -1), int(example.words[-1] != -1)
    return np.pad(found, ((before, after),) * 2)


def piece_map(
    reproduction: Reproduction, first: str, second: str, head: Head
) -> tuple[list[str], Map]:
    """The tokens of two texts, and the attention weights between them."""
    layer, number = head
    reading = reproduction.model.read(
        first, second, kind=reproduction.kind, layers=[layer], heads=[number]
    )
    weight = reading.weight.squeeze(("layer", "head"))
    return list(map(str, weight["key_token"].values)), weight.values.astype(np.float64)
