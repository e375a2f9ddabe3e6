"""One batch through the model: texts as numbers, observers, and their sums."""

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Generic, Protocol, TypeVar, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from headlight.analysis import BATCH_TOKENS, Rows, RowsOfText
from headlight.capture import AttentionSite, CapturedModel, Kind, LayerRecord, Objective, Recorder
from headlight.capture.attribution import Attribution, attribute
from headlight.capture.backward import all_hold, answered_later
from headlight.capture.one_text import out_of_memory
from headlight.capture.record import processes_of
from headlight.encode import Encoded, length_batches
from headlight.encode.batch import NO_CATEGORY, Batch
from headlight.errors import UsageError
from headlight.processes import give_freed_memory_back
from headlight.reduce import Moments, Tally
from headlight.settings.flow import AttributionSettings
from headlight.vocabulary import measure

E = TypeVar("E", bound=Encoded)
SHARD, SLOW_SHARD = 256, 16
"""Elements of a corpus between two checkpoints; of contributions, each may take seconds."""


@runtime_checkable
class Observer(Protocol):
    """A callback for one batch; what else it has says what it needs of the model."""

    def tally(self) -> Tally:
        """Return the tally of the batch, once the model has run."""


@runtime_checkable
class AttentionObserver(Observer, Protocol):
    """An observer of attention; without one the model is not captured."""

    def visit(self, record: LayerRecord) -> None:
        """Look at one layer; layers may come in any order."""


@runtime_checkable
class LossObserver(AttentionObserver, Protocol):
    """An observer that also wants to know the losses, where there are any."""

    def note_losses(self, losses: Float[Tensor, " batch"]) -> None:
        """The loss of each sequence in nats, as the objective reduces it; after the layers."""


@runtime_checkable
class StreamObserver(AttentionObserver, Protocol):
    """An observer whose records should say what entered the block, if it wants that."""

    wants_stream: bool


@runtime_checkable
class AttributionObserver(Observer, Protocol):
    """An observer of the contributions of all layers at once, and of their errors."""

    def note_attribution(self, attribution: Attribution) -> None:
        """Add the contributions of input tokens to the batch's hidden tokens; before the layers."""


@dataclass(eq=False, repr=False)
class BatchRunner(Generic[E]):
    """Runs the model on a batch and observes it; a context manager, since it holds a capture open.

    The first suitable example is traced before it is observed, so that Eq. 3 is verified on real
    input in every run in which attention is observed; and two short texts made of it show that
    padding changes nothing.

    Attributes:
        model: the model.
        sites: which of its attention modules are observed.
        observer: makes the observer of one batch; it is given the examples too, for what they know
            beyond the batch (gold annotations, say).  With an objective the batch is a `Prepared`
            one: its ``input_ids`` are what the model is given, its ``masked`` says which of them
            are hidden.
        batch_tokens: tokens in a batch at most, padding included.
        objective: with one, the model is run backward as well: the observer visits records with
            gradients, from the last layer to the first, and a `LossObserver` is told the losses.
        attribution: with these settings, records also say what input tokens contribute, and an
            `AttributionObserver` is told of it; the sites must then be of one kind.
        query_block: how many queries a record is about: 0 for all, None for as many as memory is
            meant for.  With gradients or contributions they are always all.
        residual: whether records hold what the output of the attention is added to; it is then
            verified on real input that the parts add up to what leaves the layers.
        begin_shard: is given the examples of each shard before its first batch.
        seconds: the seconds that an example is expected to take, where that differs much; the
            examples can then be iterated more than once.
    """

    model: CapturedModel
    sites: Sequence[AttentionSite]
    observer: Callable[[Batch, Sequence[E]], Observer]
    batch_tokens: int = BATCH_TOKENS
    objective: Objective | None = None
    attribution: AttributionSettings | None = None
    query_block: int | None = 0
    residual: bool = False
    begin_shard: Callable[[Sequence[E]], None] | None = None
    seconds: Callable[[E], float] | None = None
    _recorder: Recorder | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._query_block = self.query_block if self.attribution is None else 0
        self._verified, self._later = False, True
        self._open = ExitStack()

    @property
    def device(self) -> torch.device:
        """Return the device of the model."""
        device: torch.device = self.model.transformer.device
        return device

    @property
    def shard_size(self) -> int:
        """After this many elements of a corpus, what was seen is worth keeping."""
        return SHARD if self.attribution is None else SLOW_SHARD

    def batches(self, shard: Sequence[E]) -> list[list[int]]:
        """Return the batches of a shard, as places in it, and begin it."""
        if self.begin_shard is not None:
            self.begin_shard(shard)
        # Contributions are those of one text at a time anyway; so progress is shown after each.
        return length_batches(shard, self.batch_tokens if self.attribution is None else 1)

    def can_do_less(self, error: BaseException) -> bool:
        """Whether memory has run out, and a smaller batch may succeed.

        Processes that share the heads would all have to take a smaller one, and only this knows.
        """
        return out_of_memory(error) and processes_of(self.model.transformer) is None

    def __enter__(self) -> "BatchRunner[E]":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._open.close()

    def __call__(self, examples: Sequence[E]) -> Tally:
        """Run one batch and return its tally."""
        if self.sites and not self._verified:
            self._verify(examples)
        batch = self.model.collate(examples)
        if self.objective is not None:
            batch = self.objective.prepare(batch)
        attribution = (
            None if self.attribution is None else self._attributed(batch, self.attribution)
        )
        observer = self.observer(batch, examples)
        if attribution is not None and isinstance(observer, AttributionObserver):
            observer.note_attribution(attribution)
        if isinstance(observer, AttentionObserver):
            late: AbstractContextManager[list[Tensor]] = (
                answered_later() if self._later else nullcontext([])
            )
            with late as answers:
                self._observe_attention(batch, observer, attribution)
            if answers and not all_hold(answers, self.device):
                self._later = False  # from here on, what a device says is waited for
                return self(examples)
        return observer.tally()

    def _observe_attention(
        self, batch: Batch, observer: AttentionObserver, attribution: Attribution | None
    ) -> None:
        """Run the model, captured; with an objective also backward."""
        if self._recorder is None:
            stream = isinstance(observer, StreamObserver) and observer.wants_stream
            capture = self.model.capture(self.sites, stream=stream, residual=self.residual)
            self._recorder = self._open.enter_context(capture)
        self._recorder.query_block = self._query_block

        def visit(record: LayerRecord) -> None:
            if attribution is not None:
                own = attribution.contribution[record.site.layer]
                record = replace(record, attribution=own)
            observer.visit(record)

        self._recorder.visit = visit
        if self.objective is None:
            self.model.run(batch)
            return
        losses = self.model.run_backward(batch, self.objective)
        if isinstance(observer, LossObserver):
            observer.note_losses(losses)

    def _verify(self, examples: Sequence[E]) -> None:
        """Check Eq. 3 and padding on one of these, if one is suitable; no capture may be open."""
        self._open.close()
        self._recorder = None
        batch = self.model.verify_on(examples)
        if batch is None:
            return
        if self.residual:
            self.model.verify_residuals(batch, self.sites)
        self._verified = True

    def _attributed(self, batch: Batch, settings: AttributionSettings) -> Attribution:
        """Contributions in the batch; they are computed while no capture is open."""
        self._open.close()
        self._recorder = None
        attribution = attribute(self.model, batch, settings, kind=_kind_of(self.sites))
        give_freed_memory_back()
        return attribution


def _kind_of(sites: Sequence[AttentionSite]) -> Kind:
    """Return the kind of attention that the sites have; refuse several."""
    kinds = {site.kind for site in sites}
    if len(kinds) != 1:
        raise UsageError(
            "contributions are those of one kind of attention at a time; observe the sites of "
            f"one kind, not of {len(kinds)}."
        )
    return kinds.pop()


LENGTH_BIN = 8
"""Examples of this many neighbouring lengths share a bin of the correlation by length."""


@dataclass(frozen=True, eq=False)
class Positions:
    """The positions on one side of attention."""

    category: Int64[Tensor, "batch position"]
    lengths: Int64[Tensor, " batch"]

    @staticmethod
    def for_kind(batch: Batch, kind: Kind) -> "tuple[Positions, Positions]":
        """Queries and keys: cross-attention looks from the decoder's text at the encoder's.

        Of sound only what is heard attends, to the silence after it as well.
        """
        source = Positions(batch.category, batch.lengths)
        if kind == "encoder" and batch.heard is not None:
            place = torch.arange(batch.category.shape[1], device=batch.category.device)
            silent = place >= batch.heard[:, None]
            return Positions(batch.category.masked_fill(silent, NO_CATEGORY), batch.heard), source
        if batch.target_category is None or batch.target_lengths is None or kind == "encoder":
            return source, source
        target = Positions(batch.target_category, batch.target_lengths)
        return target, (source if kind == "cross" else target)


def stacked(layers: list[Tensor]) -> np.ndarray:
    """Layers along the second axis; a layer with fewer heads is filled up with NaN."""
    widest = max(layer.shape[1] for layer in layers) if layers[0].ndim > 1 else 0
    rows = [filled(layer, widest) for layer in layers] if widest else layers
    return array(torch.stack(rows, dim=1))


def filled(rows: Tensor, heads: int) -> Tensor:
    """Heads along the second axis, filled up with NaN where there are fewer."""
    missing = heads - rows.shape[1]
    if not missing:
        return rows
    return torch.cat([rows, rows.new_full((len(rows), missing, *rows.shape[2:]), torch.nan)], dim=1)


def array(tensor: Tensor) -> np.ndarray:
    """In float64, where numpy can reach it."""
    tensor = tensor.cpu() if tensor.device.type == "mps" else tensor
    return tensor.cpu().double().numpy()


def moments(rows: np.ndarray) -> Moments:
    """The statistics of observations, one per row."""
    result = Moments(rows.shape[1:])
    result.update(rows)
    return result


def head_mask(
    measures: Sequence[str], heads: Sequence[int]
) -> Bool[np.ndarray, "measure layer head"]:
    """Return the mask of heads of a measure in each layer; one of the whole layer is the first.

    Args:
        measures: of one pass.
        heads: how many heads each layer has.
    """
    sizes = [[size if measure(name).per_head else 1 for size in heads] for name in measures]
    mask: Bool[np.ndarray, "measure layer head"] = (
        np.arange(max(heads)) < np.array(sizes)[..., None]
    )
    return mask


@dataclass(frozen=True, eq=False)
class Texts:
    """The positions of one batch.

    Attributes:
        queries: whether there is something at each attending position.
        keys: the category of each attended position; −1 for padding.
        ids: the type at each attended position.
        text_ids: a number of its own for every text, from which random samples are drawn.
    """

    queries: Bool[Tensor, "batch query"]
    keys: Int64[Tensor, "batch key"]
    ids: Int64[np.ndarray, "batch key"]
    text_ids: tuple[int, ...]

    @staticmethod
    def of(batch: Batch, examples: Sequence[Encoded], kind: Kind) -> "Texts":
        """The positions that attention of this kind goes from and to."""
        queries, keys = Positions.for_kind(batch, kind)
        ids = key_ids(batch, kind)
        text_ids = tuple(text_id(example) for example in examples)
        return Texts(queries.category >= 0, keys.category, ids.cpu().numpy(), text_ids)

    def rows(self, which: Rows | RowsOfText) -> Bool[Tensor, "batch query"]:
        """Return the rows of all tokens, or of the first or the last one alone."""
        if which in ("all", "mean"):
            return self.queries
        numbers = self.queries.cumsum(-1) * self.queries
        return numbers == (1 if which == "first" else numbers.amax(-1, keepdim=True))

    @property
    def category(self) -> Int64[np.ndarray, "batch key"]:
        """Return the categories of the attended positions."""
        category: Int64[np.ndarray, "batch key"] = self.keys.cpu().numpy()
        return category


def key_ids(batch: Batch, kind: Kind) -> Int64[Tensor, "batch key"]:
    """Vocabulary ids of the attended positions."""
    return batch.input_ids if batch.target_ids is None or kind != "decoder" else batch.target_ids


def text_id(example: Encoded) -> int:
    """Return a number that depends on which text of the corpus it is alone.

    Neither on the name of a file, nor on what the text says, nor on its place in a batch: the same
    texts give the same samples, orders and resamples wherever they come from.
    """
    digest = hashlib.sha256(json.dumps([*(example.origin or (0, 0))]).encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1


def units_of(examples: Sequence[Encoded]) -> Int64[np.ndarray, " text"]:
    """Return the number in the corpus of the unit that each text is of: a document, or the text."""
    return np.array([each.unit for each in examples], dtype=np.int64)
