"""Observer of a part of a survey, and the measures, blocks and layers that it is shown."""

from collections.abc import Mapping
from typing import NamedTuple

from jaxtyping import Bool, Float
from torch import Tensor

from headlight.capture import LayerRecord
from headlight.measures import Scores
from headlight.reduce import Accumulator
from headlight.studies.survey.cell_sums import Sums
from headlight.tensors import Score


class SeenMeasure(NamedTuple):
    """A measure of some queries of a layer.

    Attributes:
        name: of the measure.
        score: of these queries.
        record: which queries they are.
        sums: over its cells, where one pass over them was possible.
        rows: statistics of each row: ``rows`` by category, ``entropy``, ``neighbour``.
    """

    name: str
    score: Score
    record: LayerRecord
    sums: Sums | None
    rows: Mapping[str, Tensor]


class SeenTogether(NamedTuple):
    """Measures of some queries of a layer, their heads one after the other.

    Attributes:
        heads: of each measure.
        score: of these queries, and of the heads of all measures.
        columns: ``batch head query column``; sums over the keys of `BehaviourCounter.key_columns`.
        record: which queries they are.
    """

    heads: Mapping[str, slice]
    score: Score
    columns: Tensor
    record: LayerRecord


class SeenLayer(NamedTuple):
    """A layer, once all its queries were seen.

    Attributes:
        record: of its last queries.
        scores: of them, with the vectors of the whole layer.
        means: of each measure the statistics of its rows, averaged over queries.
    """

    record: LayerRecord
    scores: Scores
    means: Mapping[str, Mapping[str, Tensor]]


class PartObserver:
    """Observes one batch, layer by layer; ignores what a subclass does not override.

    Layers may come in blocks of queries, in their order.
    """

    wants_stream = False
    """Whether records should say what entered the block."""
    links: Bool[Tensor, "batch key"] | None = None
    """Keys among which the largest entry of each row is wanted."""
    on_device: tuple[str, ...] = ()
    """Names of the attributes of which `members` needs the tensors on the host."""

    def note_measure(self, measured: SeenMeasure) -> None:
        """Observe a measure of a block of queries."""

    def note_block(self, scores: Scores) -> None:
        """Observe a block of queries, after all its measures."""

    def note_layer(self, layer: SeenLayer) -> None:
        """Observe a layer as a whole, after all its blocks."""

    def note_losses(self, losses: Float[Tensor, " batch"]) -> None:
        """Observe the loss of each text, after all layers of a pass backward."""

    def members(self) -> Mapping[str, Accumulator]:
        """Return the statistics of the batch, by name."""
        return {}


def inputs_of(record: LayerRecord) -> Float[Tensor, "batch key d_input"] | None:
    """Return the vectors that values are made from, of all keys; None where they are unknown."""
    return record.input if record.block is None else record.block.input
