"""One batch through the model, and its observers."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Generic, TypeVar

import torch
from torch import Tensor

from headlight.capture import AttentionSite, CapturedModel, Kind, Objective, Recorder
from headlight.capture.attribution import Attribution, attribute
from headlight.capture.deferred_checks import all_hold, answered_later
from headlight.capture.one_text import out_of_memory
from headlight.capture.tensor_parallel import processes_of
from headlight.encode import Encoded, length_batches
from headlight.encode.batch import Batch
from headlight.engine.batch_size import BATCH_TOKENS
from headlight.engine.observer import Observer
from headlight.errors import UsageError
from headlight.processes import give_freed_memory_back
from headlight.reduce import Tally
from headlight.settings.attribution import AttributionSettings

E = TypeVar("E", bound=Encoded)
SHARD, SLOW_SHARD = 256, 16
"""Elements of a corpus between two checkpoints; of contributions, each may take seconds."""


@dataclass(eq=False, repr=False)
class BatchRunner(Generic[E]):
    """Runner of the model on a batch, with observers; a context manager for its open capture.

    The first suitable example is traced before it is observed, so that Eq. 3 is verified on real
    input in every run in which attention is observed; and two short texts made of it show that
    padding changes nothing.

    Attributes:
        model: Model that is run.
        sites: Observed attention modules of the model.
        observer: Factory of the observer of a batch; it is also given the examples, for what they
            know beyond the batch (gold annotations, say).  With an objective the batch is a
            `Prepared` batch: its ``input_ids`` are the input of the model, and its ``masked``
            marks the hidden tokens.
        batch_tokens: Maximum number of tokens in a batch, padding included.
        objective: Objective of a backward pass, if there is one: the observer then visits records
            with gradients, from the last layer to the first, and is told the losses.
        attribution: Settings of contributions, if they are needed: records then also hold what
            input tokens contribute, and the observer is told of it; all sites must be of one kind.
        query_block: Number of queries in a record: 0 for all, None for as many as memory is meant
            for.  With gradients or contributions a record always has all queries.
        residual: Whether records hold what the output of the attention is added to; it is then
            verified on real input that the parts add up to what leaves the layers.
        begin_shard: Callback that is given the examples of each shard before its first batch.
        seconds: Expected seconds of an example, where examples differ much in duration; the
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
        """Return the number of elements of a corpus after which the state is worth keeping."""
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
        attribution = None
        if self.attribution is not None:
            attribution = self._attribute(batch, self.attribution)
        observer = self.observer(batch, examples)
        if attribution is not None:
            observer.note_attribution(attribution)
        if observer.wants_attention:
            late: AbstractContextManager[list[Tensor]] = (
                answered_later() if self._later else nullcontext([])
            )
            with late as answers:
                self._open_capture(observer, attribution)
                if self.objective is None:
                    self.model.run(batch)
                else:
                    observer.note_losses(self.model.run_backward(batch, self.objective))
            if answers and not all_hold(answers, self.device):
                self._later = False  # from here on, what a device says is waited for
                return self(examples)
            observer.to_host()
        return observer.tally()

    def _open_capture(self, observer: Observer, attribution: Attribution | None) -> None:
        """Let the observer visit the layers of the next pass of the model."""
        if self._recorder is None:
            capture = self.model.capture(
                self.sites, stream=observer.wants_stream, residual=self.residual
            )
            self._recorder = self._open.enter_context(capture)
        self._recorder.query_block = self._query_block
        self._recorder.kernel = None if attribution else observer.kernel
        self._recorder.visit = observer.visit
        if attribution is not None:
            contribution = attribution.contribution
            self._recorder.visit = lambda record: observer.visit(
                replace(record, attribution=contribution[record.site.layer])
            )

    def _verify(self, examples: Sequence[E]) -> None:
        """Check Eq. 3 and padding on a suitable example, if any; no capture may be open."""
        self._open.close()
        self._recorder = None
        batch = self.model.verify_on(examples)
        if batch is None:
            return
        if self.residual:
            self.model.verify_residuals(batch, self.sites)
        self._verified = True

    def _attribute(self, batch: Batch, settings: AttributionSettings) -> Attribution:
        """Return the contributions in the batch, computed while no capture is open."""
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
