"""Observer of a part of a survey, and the blocks and layers that it is shown."""

from collections.abc import Mapping
from typing import NamedTuple

from jaxtyping import Float, Int64
from torch import Tensor

from headlight.capture import LayerRecord
from headlight.measures import Scores
from headlight.reduce import Accumulator
from headlight.studies.survey.kernel_sums import made_by_kernel
from headlight.studies.survey.row_sums import Links, RowSums


class SeenBlock(NamedTuple):
    """Some queries of a layer, or all of them.

    Attributes:
        scores: Their measures, of which single cells may be asked.
        sums: Sums of the rows of all measures.
    """

    scores: Scores
    sums: RowSums

    @property
    def record(self) -> LayerRecord:
        """Record of these queries."""
        return self.scores.record


class SeenLayer(NamedTuple):
    """A layer, once all its queries were seen.

    Attributes:
        record: Record of its last queries.
        scores: Their measures, with the vectors of the whole layer.
        means: Statistics of the rows of each measure, averaged over queries.
    """

    record: LayerRecord
    scores: Scores
    means: Mapping[str, Mapping[str, Tensor]]


def single_rows(
    scores: Scores,
    name: str,
    text: Int64[Tensor, "..."],
    head: Int64[Tensor, "..."],
    query: Int64[Tensor, "..."],
) -> Float[Tensor, "*row key"]:
    """Return single rows of a measure.

    Args:
        scores: Measures of some queries.
        name: Name of the measure.
        text: Text of each row.
        head: Head of each row.
        query: Query of each row, counted among these.
    """
    made = made_by_kernel(scores.record)
    if made is not None:
        return made.rows(name, text, head, query)
    return scores.of(name).detach()[text, head, query]


class PartObserver:
    """Observes one batch, layer by layer; ignores what a subclass does not override.

    Layers may come in blocks of queries, in their order.
    """

    wants_stream = False
    """Whether records should say what entered the block."""
    wants_cells = False
    """Whether it looks at most cells, which then are better written."""
    links: Links | None = None
    """Keys among which the largest entry of each row is wanted."""
    on_device: tuple[str, ...] = ()
    """Names of the attributes of which `members` needs the tensors on the host."""

    def note_block(self, block: SeenBlock) -> None:
        """Observe a block of queries."""

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
