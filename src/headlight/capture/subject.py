"""A model made ready to be captured."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from headlight.capture.probe import probe_inputs
from headlight.capture.record import Kind, Site
from headlight.capture.session import Recorder, recording
from headlight.capture.tracing import trace
from headlight.errors import UsageError


@dataclass(eq=False)
class Subject:
    """A model, its tokenizer, and where its attention is.

    Attributes:
        transformer: any transformers model, in evaluation mode.
        tokenizer: its tokenizer; None for models of pictures or sound.
        name: what the user called it.
        revision: commit of the hub, or digest of the local files.
    """

    transformer: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase | None = None
    name: str = "model"
    revision: str = "unknown"

    @cached_property
    def sites(self) -> list[Site]:
        """Every run of an attention module in one forward pass, in order.

        Raises:
            UnsupportedModelError: the attention cannot be captured exactly.
        """
        return self.trace(probe_inputs(self.transformer))

    def trace(self, inputs: Mapping[str, Any]) -> list[Site]:
        """The same found on inputs of your own, for a model without a trial input."""
        self._demand_evaluation()
        return trace(self.transformer, inputs)

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of attention that the model has: ``encoder``, ``decoder``, ``cross``."""
        found = {site.kind for site in self.sites}
        return tuple(kind for kind in ("encoder", "decoder", "cross") if kind in found)

    def sites_of(self, kind: Kind, layers: Iterable[int] | None = None) -> list[Site]:
        """The sites of one kind, all or those of the layers asked for.

        Raises:
            UsageError: the model has no attention of that kind, or no such layer.
        """
        sites = [site for site in self.sites if site.kind == kind]
        if not sites:
            raise UsageError(
                f"{self.name} has no {kind} attention; it has: {', '.join(self.kinds)}."
            )
        if layers is None:
            return sites
        asked = set(layers)
        missing = sorted(asked - {site.layer for site in sites})
        if missing:
            raise UsageError(
                f"{self.name} has no {kind} layer {missing[0]}: its layers are 0 to "
                f"{len(sites) - 1}."
            )
        return [site for site in sites if site.layer in asked]

    @contextmanager
    def capture(self, sites: Iterable[Site] | None = None) -> Iterator[Recorder]:
        """Record attention while the block runs the model; then the model is as it was.

        Set ``visit`` of the recorder to a function of a `LayerRecord`; it is called while the
        forward pass runs, once for each of `sites` (default: all).  Sites left out keep the fast
        attention that they had.

        Raises:
            CaptureError: the model is being captured already, or runs otherwise than when traced.
        """
        self._demand_evaluation()
        order = {site: number for number, site in enumerate(self.sites)}
        wanted = frozenset(order[site] for site in (self.sites if sites is None else sites))
        with recording(self.transformer, self.sites, wanted) as recorder:
            yield recorder

    def _demand_evaluation(self) -> None:
        if self.transformer.training:
            raise UsageError(
                f"{self.name} is in training mode, where dropout changes attention at random; call "
                "model.eval() first."
            )
