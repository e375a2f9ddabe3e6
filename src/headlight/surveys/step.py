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
from headlight.surveys.allocator import keep_freed_memory
from headlight.surveys.observer import Observer, Side


class Step:
    """Runs the model on a batch and observes it; a context manager, since it holds a capture open.

    The first suitable example is traced before it is observed, so that Eq. 3 is verified on real
    input in every run.
    """

    def __init__(
        self, subject: Subject, sites: Sequence[Site], kind: Kind, value_bias: ValueBias
    ) -> None:
        self._subject = subject
        self._sites = sites
        self._kind = kind
        self._value_bias = value_bias
        self._recorder: Recorder | None = None
        self._verified = False
        self._open = ExitStack()

    def __enter__(self) -> "Step":
        keep_freed_memory()
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
        if not self._verified:
            self._verify(examples)
        if self._recorder is None:
            self._recorder = self._open.enter_context(self._subject.capture(self._sites))
        batch = self._batch(examples)
        observer = Observer(*Side.both(batch, self._kind), self._kind, self._value_bias)
        self._recorder.visit = observer.visit
        self._subject.run(batch)
        return observer.tally()

    def _verify(self, examples: Sequence[Encoded]) -> None:
        """Check Eq. 3 on one of these, if one is suitable; no capture may be open meanwhile."""
        example = next(filter(_shows_its_kinds, examples), None)
        if example is None:
            return
        self._open.close()
        self._recorder = None
        self._subject.verify(self._batch([example]))
        self._verified = True

    def _batch(self, examples: Sequence[Encoded]) -> Batch:
        padding = getattr(self._subject.tokenizer, "pad_token_id", None)
        device = self._subject.transformer.device
        return collate(examples, pad_id=padding or 0, device=device)


def _shows_its_kinds(example: Encoded) -> bool:
    """Whether tracing can tell the kinds of attention apart by the shapes of their weights."""
    return not example.target or 1 < len(example.target) != len(example.ids)


def out_of_memory(error: BaseException) -> bool:
    """Whether a smaller batch may succeed."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and "not enough memory" in str(error).lower()
