"""Map of one head between the words of one sentence."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float64
from numpy.typing import NDArray

from headlight.analysis.plan import choose_length, encoder_for_one_text
from headlight.capture import CapturedModel, LayerRecord
from headlight.capture.one_text import capture_one
from headlight.corpora import Sentence
from headlight.encode import sentences
from headlight.errors import CorpusError, UsageError
from headlight.measures import Scores, word_score
from headlight.pool import Words
from headlight.settings import require_choice
from headlight.vocabulary import Kind, measure_table

WORDS = "the words"
"""What a sentence of the user is called in messages."""


def word_map(
    model: CapturedModel,
    words: Sequence[str],
    place: tuple[int, int],
    *,
    measure: str = "weight",
    kind: Kind | None = None,
    max_length: int | None = None,
) -> Float64[np.ndarray, "query key"]:
    """A measure of one head between the words of a sentence, special tokens first and last.

    Of the pieces of a word the sum is taken where it is attended to, and the mean where it attends;
    see `headlight.measures.word_score`.  A model that sets no special token on a side has zeros
    there.

    Args:
        model: of an encoder-decoder the encoder reads the sentence.
        words: one by one; `headlight.encode.sentences` says how they are put together.
        place: layer and head, from 0.
        measure: of single heads, such as ``weight``, ``norm`` or ``effective``.
        kind: of attention; by default the first that the model has.
        max_length: tokens that are read at most, special ones included; by default what the model
            takes, at most 512.  Words at the end that do not fit whole are left out.

    Raises:
        UsageError: there is no such layer, head or measure, or no tokenizer.
        CorpusError: there is no word, the first does not fit, or the tokenizer does not keep one.

    Source: Clark et al. (2019), Section 4.1.
    """
    require_choice("measure between words", measure, _measures())
    tokenizer: Any = model.require_tokenizer("words are read")
    model = encoder_for_one_text(model, kind)
    layer, head = place
    (site,) = model.sites_of(kind or model.kinds[0], [layer])
    if not 0 <= head < site.heads:
        raise UsageError(f"there is no head {head}; layer {layer} has heads 0 to {site.heads - 1}.")
    length = choose_length(model, max_length)
    read = sentences(
        [Sentence(WORDS, tuple(words))], tokenizer, max_length=length, overflow="truncate"
    )
    example = next(iter(read), None)
    if example is None:
        raise CorpusError(f"there is no word, or the first one has more than {length} tokens.")
    pieces = Words.of(torch.tensor([example.words]), special=True)

    def visit(record: LayerRecord) -> NDArray[np.float64]:
        score = word_score(Scores(record), measure, pieces)[0, head]
        return np.asarray(score.cpu().double())

    (found,) = capture_one(model, example, [site], visit)
    before, after = int(example.words[0] != -1), int(example.words[-1] != -1)
    return np.pad(found, ((before, after),) * 2)


def _measures() -> list[str]:
    """Return the measures of single heads, between a query and a key, of one forward pass."""
    rows = (row for row in measure_table() if row.per_head and row.pairwise)
    return [row.name for row in rows if row.needs is None]
