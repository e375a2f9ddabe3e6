"""What is kept of a batch while the model runs: the attention of all heads between words."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields

import numpy as np
import torch
from jaxtyping import Float32

from headlight.capture import LayerRecord
from headlight.encode.batch import Batch
from headlight.encode.sentences import EncodedSentence
from headlight.measures import Scores, word_score
from headlight.pool import Words
from headlight.reduce import Tally
from headlight.studies.word_maps.index import with_positions

Maps = Float32[np.ndarray, "sentence position position head"]
Use = Callable[["Sequence[NumberedSentence]", Mapping[str, Maps]], None]
"""Is given the maps of a batch by measure."""


@dataclass(frozen=True, slots=True)
class NumberedSentence(EncodedSentence):
    """A sentence that knows its place in the corpus; `words` are those of `with_positions`."""

    number: int = field(kw_only=True)


def numbered(example: EncodedSentence, number: int) -> NumberedSentence:
    """The sentence with its number, and the positions of its words in the store."""
    moved = with_positions(example)
    values = {each.name: getattr(moved, each.name) for each in fields(EncodedSentence)}
    return NumberedSentence(**values, number=number)


class MapsObserver:
    """Gathers the maps of a batch, and passes them on once all layers were seen.

    Args:
        batch: the batch.
        examples: its sentences.
        columns: where the heads of each layer go.
        measures: which maps.
        queries: how the pieces of an attending word are joined.
        pooling: how norms are pooled.
        use: what is done with the maps.
    """

    def __init__(
        self,
        batch: Batch,
        examples: Sequence[NumberedSentence],
        columns: Mapping[int, slice],
        measures: Sequence[str],
        queries: str,
        pooling: str,
        use: Use,
    ) -> None:
        self._examples = examples
        self._columns = columns
        self._words = Words.of(batch.word, queries=queries)
        self._pooling = pooling
        self._use = use
        heads = max(each.stop for each in columns.values())
        size = self._words.present.shape[1]
        shape = (len(examples), size, size, heads)
        self._maps = {measure: np.zeros(shape, dtype=np.float32) for measure in measures}

    def visit(self, record: LayerRecord) -> None:
        """Keep one layer."""
        scores = Scores(record, precision=torch.float32)
        for measure, maps in self._maps.items():
            pooled = word_score(scores, measure, self._words, pooling=self._pooling)
            maps[..., self._columns[record.site.layer]] = (
                pooled.permute(0, 2, 3, 1).float().cpu().numpy()
            )

    def tally(self) -> Tally:
        """Nothing to merge: what was seen has gone where it is used."""
        self._use(self._examples, self._maps)
        return Tally()
