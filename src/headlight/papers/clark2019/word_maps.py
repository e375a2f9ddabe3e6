"""The attention of one head on one text, by pieces or by words."""

import numpy as np
import torch
from jaxtyping import Float

from headlight.capture import LayerRecord
from headlight.encode import Encoded, encode_one
from headlight.encode.batch import collate
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
    found: list[torch.Tensor] = []

    def visit(record: LayerRecord) -> None:
        words = Words.of(torch.tensor([example.words]), special=True)
        found.append(word_score(Scores(record), measure, words)[0, head[1]])

    _run(reproduction, example, head[0], visit)
    return _framed(found[0].double().cpu().numpy(), example)


def piece_map(
    reproduction: Reproduction, first: str, second: str, head: Head
) -> tuple[list[str], Map]:
    """The tokens of two texts, and the attention weights between them."""
    example = encode_one(reproduction.tokenizer, first, second)
    found: list[torch.Tensor] = []

    def visit(record: LayerRecord) -> None:
        found.append(record.weight[0, head[1]])

    _run(reproduction, example, head[0], visit)
    tokens = reproduction.tokenizer.convert_ids_to_tokens(list(example.ids))
    return [str(token) for token in tokens], found[0].double().cpu().numpy()


def _run(reproduction: Reproduction, example: Encoded, layer: int, visit: object) -> None:
    model = reproduction.model
    batch = collate([example], pad_id=0, device=model.transformer.device)
    with model.capture(model.sites_of(model.kinds[0], [layer])) as recorder:
        recorder.visit = visit  # type: ignore[assignment]
        model.run(batch)


def _framed(scores: Map, example: Encoded) -> Map:
    """With a row and a column for a special token that the tokenizer does not set."""
    before, after = int(example.words[0] != -1), int(example.words[-1] != -1)
    return np.pad(scores, ((before, after), (before, after)))
