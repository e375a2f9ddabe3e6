"""The search for the most different attention of a batch, in the model itself."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headlight.analysis.classifier_plan import Outputs, Readout
from headlight.capture import AttentionSite, CapturedModel, Replacements, attention_replaced
from headlight.capture.backward import frozen
from headlight.encode.batch import Batch
from headlight.measures import total_variation
from headlight.measures.adversaries import Adversaries, AdversarySearch, Candidates, most_different
from headlight.shapes import Weight


@dataclass(frozen=True, eq=False)
class Free:
    """The attention of a layer, or of one of its heads, that may be another.

    Attributes:
        site: the layer.
        weight: its attention.
        keys: which keys take part in which rows.
        start: logits of the candidates to begin with.
        head: which; None for all heads.
    """

    site: AttentionSite
    weight: Weight
    keys: Bool[Tensor, "batch head query key"]
    start: Float[Tensor, "candidate batch head query key"]
    head: int | None = None

    def of_head(self, head: int) -> "Free":
        """One head of a layer."""
        only = slice(head, head + 1)
        return replace(
            self,
            weight=self.weight[:, only],
            keys=self.keys[:, only],
            start=self.start[:, :, only],
            head=head,
        )

    @property
    def key(self) -> int | tuple[int, int]:
        """By which it is replaced."""
        return self.site.layer if self.head is None else (self.site.layer, self.head)

    def shaped(self, rows: Float[Tensor, "copy row key"]) -> Tensor:
        """Rows of heads and queries as the attention that replaces it."""
        queries = self.weight.shape[2]
        return rows if self.head is not None else rows.unflatten(1, (-1, queries))  # type: ignore[no-untyped-call]


class InstanceSearch:
    """Looks for the most different attention of the texts of a batch.

    Args:
        model: A classifier.
        batch: What it reads.
        readout: Where its answers are.
        before: These answers.
        search: How it is done.
    """

    def __init__(
        self,
        model: CapturedModel,
        batch: Batch,
        readout: Readout,
        before: Outputs,
        search: AdversarySearch,
    ) -> None:
        self._model = model
        self._batch = batch
        self._readout = readout
        self._before = before
        self._search = search

    def run(self, parts: Sequence[Free]) -> Adversaries:
        """What is found where all of these may change at once."""
        network: Any = self._model.transformer
        inputs = self._copies(len(parts[0].start))
        before = _like_answers(self._before, network.device)
        sizes = [part.weight.shape[1] * part.weight.shape[2] for part in parts]
        current: dict[int, Tensor] = {}

        def moved(candidates: Candidates) -> Float[Tensor, "candidate text"]:
            split = torch.split_with_sizes(candidates.flatten(0, 1), sizes, 1)
            for part, rows in zip(parts, split, strict=True):
                current[part.site.layer] = part.shaped(rows)
            logits = network(**inputs).logits.chunk(len(candidates))
            answers = torch.stack([self._readout.answers(copy) for copy in logits])
            after = answers.to(before.dtype).softmax(-1)
            distance = total_variation(after, before.expand_as(after))
            return self._readout.mean_by_text(distance).to(candidates.dtype)

        replaced: Replacements = {part.key: lambda _, site: current[site.layer] for part in parts}
        with (
            attention_replaced(self._model, replaced, kind=parts[0].site.kind),
            self._model.running(self._batch.names),
            frozen(network),
            torch.inference_mode(mode=False),
        ):
            return most_different(
                moved,
                torch.cat([part.weight.flatten(1, 2) for part in parts], 1),
                torch.cat([part.keys.flatten(1, 2) for part in parts], 1),
                torch.cat([part.start.flatten(2, 3) for part in parts], 2),
                self._search,
            )

    def _copies(self, number: int) -> dict[str, Any]:
        """What the model takes, for copies of the batch one after the other."""
        return {
            name: value.repeat(number, *[1] * (value.ndim - 1))
            if isinstance(value, Tensor)
            else value
            for name, value in self._model.inputs(self._batch).items()
        }


def _like_answers(before: Outputs, device: torch.device) -> Tensor:
    """The answers where the model is, in the best precision that there is."""
    with torch.inference_mode(mode=False):
        exact = before.clone()
        return exact.float().to(device) if device.type == "mps" else exact.to(device)
