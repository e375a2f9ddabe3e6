"""From a batch of examples to what is seen in it."""

from collections.abc import Sequence
from contextlib import ExitStack
from types import TracebackType

import torch

from headlight.capture import Kind, Recorder, Site, Subject
from headlight.encode import Encoded
from headlight.encode.batch import Batch, collate
from headlight.measures import ValueBias
from headlight.reduce import Tally
from headlight.surveys.observer import Observer, Side


class Step:
    """Runs the model on a batch and observes it; a context manager, since it holds a capture open.

    The first batch is traced before, so that Eq. 3 is verified on real input in every run.
    """

    def __init__(
        self, subject: Subject, sites: Sequence[Site], kind: Kind, value_bias: ValueBias
    ) -> None:
        self._subject = subject
        self._sites = sites
        self._kind = kind
        self._value_bias = value_bias
        self._recorder: Recorder | None = None
        self._open = ExitStack()

    def __enter__(self) -> "Step":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._open.close()

    def __call__(self, examples: Sequence[Encoded]) -> Tally:
        """What is seen in one batch."""
        if self._recorder is None:
            self._subject.verify(self._batch(examples[:1]))
            self._recorder = self._open.enter_context(self._subject.capture(self._sites))
        batch = self._batch(examples)
        observer = Observer(*Side.both(batch, self._kind), self._kind, self._value_bias)
        self._recorder.visit = observer.visit
        self._subject.run(batch)
        return observer.tally()

    def _batch(self, examples: Sequence[Encoded]) -> Batch:
        padding = getattr(self._subject.tokenizer, "pad_token_id", None)
        device = self._subject.transformer.device
        return collate(examples, pad_id=padding or 0, device=device)


def out_of_memory(error: BaseException) -> bool:
    """Whether a smaller batch may succeed."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and "not enough memory" in str(error).lower()
