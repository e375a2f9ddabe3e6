"""Outputs of a model without a head, and the passages where it matters most.

Of each head, and of all heads of a layer, the one prediction is kept that moves most without them:
numbers of tokens around it and of the most probable choices.  Their texts are found in the end, for
the few heads that the report names.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import xarray
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from headlight.analysis.batch_runner import array
from headlight.analysis.classifier_outputs import LabelPositions
from headlight.analysis.components import Component
from headlight.analysis.labelled_texts import Classified
from headlight.analysis.variables import rank_of
from headlight.capture import NOTHING, Prepared
from headlight.encode import Encoded
from headlight.errors import UsageError, with_head
from headlight.measures import kullback_leibler_of_logarithms
from headlight.reduce import Strongest
from headlight.result import describe
from headlight.tensors import single
from headlight.vocabulary import Kind

STATISTICS = ("kl", "changed", "loss", "accuracy")
"""Statistics of each text: means over its predictions, for the last two over those with a label."""

NUMBERS_AT_ONCE = 1 << 20
"""Number of probabilities compared at a time: 4 MB, which a cache holds between steps."""

Logarithms = Float[Tensor, "output choice"]
"""The logarithms of the probabilities of each prediction."""

ByText = Float64[np.ndarray, "text statistic"]


@dataclass(frozen=True, eq=False)
class Outputs:
    """The predictions of a model for a batch.

    Attributes:
        owners: for each of them the number of its text.
        labels: for each of them what it should be; `NOTHING` where nobody knows.
        choose: takes them out of the logits of the batch.
        texts: how many there are in the batch.
    """

    owners: Int64[np.ndarray, " output"]
    labels: Int64[Tensor, " output"]
    choose: Callable[[Tensor], Tensor]
    texts: int

    @staticmethod
    def of_words(batch: Prepared) -> "Outputs":
        """Return the outputs of a language model, for all tokens with a label.

        Raises:
            UsageError: the objective has no labels.
        """
        labels = batch.labels
        if labels is None:
            raise UsageError(
                "the objective has a loss of its own and no words that should be predicted; leave "
                "it out, or give that of a language model."
            )
        words = batch.word if batch.target_word is None else batch.target_word
        rows, places = ((labels != NOTHING) | (words >= 0)).nonzero(as_tuple=True)
        return Outputs(
            rows.cpu().numpy(),
            labels[rows, places],
            lambda logits: logits[rows, places],
            len(batch.lengths),
        )

    @staticmethod
    def of_classes(examples: Sequence[Classified], device: torch.device | str) -> "Outputs":
        """Return the outputs of a classifier: one for each text, or for each word of a sentence."""
        positions = LabelPositions(examples, device)
        labels = torch.from_numpy(positions.labels).to(device)
        return Outputs(positions.owners, labels, positions.predictions, len(examples))

    def logarithms(self, logits: Tensor) -> Logarithms:
        """The logarithms of the probabilities, of the logits of the batch."""
        return torch.log_softmax(single(self.choose(logits)), -1)

    def own(self, before: Logarithms) -> ByText:
        """The statistics of the model as it is, which is no divergence from itself."""
        return self.compared(before, before)[0]

    def compared(
        self, before: Logarithms, after: Logarithms
    ) -> tuple[ByText, Float[Tensor, " output"]]:
        """The statistics of other predictions, beside those of the model as it is.

        Returns:
            Means over each text, and the divergence of each prediction.
        """
        rows = max(1, NUMBERS_AT_ONCE // before.shape[-1])
        parts = (torch.split(each, rows) for each in (before, after, self.labels))
        tables = [_statistics(*part) for part in zip(*parts, strict=True)]
        by_output = torch.cat(tables)
        return self._by_text(by_output), by_output[:, STATISTICS.index("kl")]

    def _by_text(self, values: Float[Tensor, "output statistic"]) -> ByText:
        """Means over the predictions of each text that have a number; NaN if none has."""
        rows = array(values)
        has_number = ~np.isnan(rows)
        sums, counts = (np.zeros((self.texts, rows.shape[1])) for _ in range(2))
        np.add.at(sums, self.owners, np.where(has_number, rows, 0))
        np.add.at(counts, self.owners, has_number)
        means: ByText = sums / np.where(counts > 0, counts, np.nan)
        return means


def logits_of(output: Any) -> Tensor:
    """The logits of a model with a head.

    Raises:
        UsageError: the model has given none.
    """
    logits = getattr(output, "logits", None)
    if not isinstance(logits, Tensor):
        raise UsageError(
            "the model gives no logits, so that nothing is predicted; "
            f"{with_head('a language model or a classifier')}."
        )
    return logits


def _statistics(
    before: Logarithms, after: Logarithms, labels: Int64[Tensor, " output"]
) -> Float[Tensor, "output statistic"]:
    """`STATISTICS` of each prediction; NaN where there is no label."""
    predictions = after.argmax(-1)
    labelled = labels != NOTHING
    loss = -after.gather(-1, labels.clamp_min(0)[:, None])[:, 0]
    return torch.stack(
        [
            kullback_leibler_of_logarithms(before, after),
            (predictions != before.argmax(-1)).to(loss),
            loss.masked_fill(~labelled, torch.nan),
            (predictions == labels).to(loss).masked_fill(~labelled, torch.nan),
        ],
        -1,
    )


HEADS = 3
"""Heads of which a text is shown."""

BEFORE, AFTER = 14, 6
"""Tokens that are shown before the one where the prediction changes, and after it."""

CHOICES = 4
"""Numbers of the most probable choices with and without the head: id and probability of each."""
WIDTH = CHOICES + BEFORE + 1 + AFTER
"""Numbers of a passage: those, and the ids around the token; NaN where there is none."""

VARIABLES = {
    "passage_layer": ("layer of a head without which predictions move most", "1"),
    "passage_head": ("number of that head", "1"),
    "passage_left": ("what the model read before the token where its prediction moves most", "1"),
    "passage_token": ("that token", "1"),
    "passage_right": ("what it read after it", "1"),
    "passage_kl": ("KL divergence of that prediction without the head", "nat"),
    "passage_before": ("its most probable choice with all heads", "1"),
    "passage_before_share": ("the probability of that choice", "1"),
    "passage_after": ("its most probable choice without the head", "1"),
    "passage_after_share": ("the probability of that choice without the head", "1"),
}
"""Long name and unit of every variable."""


class PassageSeeker:
    """Finds, in one batch, the prediction that moves most, removal after removal."""

    def __init__(
        self, batch: Prepared, examples: Sequence[Encoded], outputs: Outputs, kind: Kind
    ) -> None:
        own = batch.target_ids is None or batch.target_mask is None
        ids, mask = (
            (batch.input_ids, batch.attention_mask)
            if own
            else (batch.target_ids, batch.target_mask)
        )
        assert ids is not None and mask is not None  # noqa: S101, PT018 - one of the two pairs
        self._ids = np.where(mask.cpu().numpy() > 0, ids.cpu().numpy(), np.nan)
        numbers = torch.arange(self._ids.size, device=ids.device).view(ids.shape)
        self._places = outputs.choose(numbers).tolist()
        self._ranks = [rank_of(example, kind) for example in examples]
        self._owners = outputs.owners
        self._found: list[tuple[float, float, Float64[np.ndarray, " number"]]] = []

    def look(
        self, divergence: Float[Tensor, " output"], before: Logarithms, after: Logarithms
    ) -> None:
        """See the predictions without the next head."""
        if not len(divergence):
            self._found.append((np.nan, np.nan, np.full(WIDTH, np.nan)))
            return
        at = int(divergence.argmax())
        most, row = float(divergence[at]), np.full(WIDTH, np.nan)
        row[:CHOICES] = [*_choice(before[at]), *_choice(after[at])]
        row[CHOICES:] = self._around(self._places[at])
        score = most if most > 0 else np.nan
        self._found.append((score, self._ranks[self._owners[at]], row))

    def _around(self, number: int) -> Float64[np.ndarray, " number"]:
        """The ids of the tokens around one of the batch."""
        text, place = divmod(number, self._ids.shape[1])
        padded = np.pad(self._ids[text], (BEFORE, AFTER), constant_values=np.nan)
        return padded[place : place + BEFORE + 1 + AFTER]

    def tally(self) -> Strongest:
        """One observation for each removal that was seen."""
        scores, ranks, rows = (np.array(values) for values in zip(*self._found, strict=True))
        strongest = Strongest(scores.shape, width=WIDTH)
        strongest.update(scores[None], np.where(np.isnan(scores), np.nan, ranks)[None], rows[None])
        return strongest


def most_changed(
    best: Strongest, components: Sequence[Component], tokenizer: Any, result: xarray.Dataset
) -> xarray.Dataset:
    """Return, for each of the most important heads, the prediction that it changes most.

    Args:
        best: By what is removed.
        components: What that is.
        tokenizer: Of the model.
        result: Of the study of a language model, with single heads.
    """
    passages = best.compute()
    numbers = [components.index(head) for head in _most_moving(result)]
    rows = [
        (
            *components[at],
            *_texts(passages["rows"][0, at], tokenizer, float(passages["score"][0, at])),
        )
        for at in numbers
        if not np.isnan(passages["score"][0, at])
    ]
    columns = zip(*rows, strict=True) if rows else ([] for _ in VARIABLES)
    variables = {
        name: ("passage", np.array(list(values), dtype=object if name in TEXTS else None))
        for name, values in zip(VARIABLES, columns, strict=True)
    }
    return describe(xarray.Dataset(variables), VARIABLES)


TEXTS = tuple(f"passage_{name}" for name in ("left", "token", "right", "before", "after"))
"""Names of the `VARIABLES` that are texts."""


def _texts(
    row: Float64[np.ndarray, " number"], tokenizer: Any, divergence: float
) -> tuple[str | float, ...]:
    """All of `VARIABLES` but layer and head."""

    def text(*ids: float) -> str:
        return str(tokenizer.decode([int(each) for each in ids if not np.isnan(each)]))

    before, before_share, after, after_share = row[:CHOICES].tolist()
    around = row[CHOICES:].tolist()
    return (
        text(*around[:BEFORE]),
        text(around[BEFORE]),
        text(*around[BEFORE + 1 :]),
        divergence,
        text(before),
        before_share,
        text(after),
        after_share,
    )


def _most_moving(result: xarray.Dataset) -> list[Component]:
    """Layers and numbers of the heads, those first without which predictions move most."""
    divergence = result["head_kl"].transpose("layer", "head")
    order = np.argsort(-divergence.values, axis=None, kind="stable")  # NaN comes last
    rows, columns = np.unravel_index(order[:HEADS], divergence.shape)
    return [
        (int(result["layer"][row]), int(column))
        for row, column in zip(rows, columns, strict=True)
        if divergence.values[row, column] > 0
    ]


def _choice(logarithms: Float[Tensor, " choice"]) -> tuple[int, float]:
    """The most probable token, and its probability."""
    token = int(logarithms.argmax())
    return token, float(logarithms[token].exp())
