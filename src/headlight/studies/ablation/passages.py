"""Passages in which a head matters most.

For each head, and for all heads of a layer, the prediction is kept that changes most without them,
as ids of the tokens around it and of the most probable choices.  Ids are decoded only at the end,
for the few heads that the report names.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import xarray
from jaxtyping import Float, Float64
from torch import Tensor

from headlight.capture import Prepared
from headlight.encode import Encoded
from headlight.observations.components import Component
from headlight.observations.text_ids import rank_of
from headlight.reduce import Strongest
from headlight.result import describe
from headlight.studies.ablation.outputs import Logarithms, Outputs
from headlight.vocabulary import Kind

HEADS = 3
"""Number of heads for which a passage is shown."""

BEFORE, AFTER = 14, 6
"""Number of tokens shown before and after the one where the prediction changes."""

CHOICES = 4
"""Length of the part of a row for the top choices, with and without the head: id, probability."""
WIDTH = CHOICES + BEFORE + 1 + AFTER
"""Length of a row: the choices, and the ids around the token; NaN where there is none."""

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
    """Seeker of the prediction of a batch that changes most, removal after removal."""

    def __init__(
        self, batch: Prepared, examples: Sequence[Encoded], outputs: Outputs, kind: Kind
    ) -> None:
        attends_to_itself = batch.target_ids is None or batch.target_mask is None
        ids, mask = (
            (batch.input_ids, batch.attention_mask)
            if attends_to_itself
            else (batch.target_ids, batch.target_mask)
        )
        assert ids is not None and mask is not None  # noqa: S101, PT018 - one of the two pairs
        # Ids and NaN for padding stand in one float array; ids are exact in float64.
        self._ids = np.where(mask.cpu().numpy() > 0, ids.cpu().numpy(), np.nan)
        # Numbers of all positions go through `choose` like logits, which tells where predictions
        # stand.
        numbers = torch.arange(self._ids.size, device=ids.device).view(ids.shape)
        self._places = outputs.choose(numbers).tolist()
        self._ranks = [rank_of(example, kind) for example in examples]
        self._owners = outputs.owners
        self._found: list[tuple[float, float, Float64[np.ndarray, " number"]]] = []

    def look(
        self, divergence: Float[Tensor, " output"], before: Logarithms, after: Logarithms
    ) -> None:
        """Note the predictions under the next removal."""
        # A batch without a prediction still has a row for the removal, so that rows stay in step.
        if not len(divergence):
            self._found.append((np.nan, np.nan, np.full(WIDTH, np.nan)))
            return
        at = int(divergence.argmax())
        most, row = float(divergence[at]), np.full(WIDTH, np.nan)
        row[:CHOICES] = [*_choice(before[at]), *_choice(after[at])]
        row[CHOICES:] = self._ids_around(self._places[at])
        # Heads that change nothing show no passage.
        score = most if most > 0 else np.nan
        self._found.append((score, self._ranks[self._owners[at]], row))

    def _ids_around(self, number: int) -> Float64[np.ndarray, " number"]:
        text, place = divmod(number, self._ids.shape[1])
        padded = np.pad(self._ids[text], (BEFORE, AFTER), constant_values=np.nan)
        return padded[place : place + BEFORE + 1 + AFTER]

    def tally(self) -> Strongest:
        """Return one observation for each removal."""
        scores, ranks, rows = (np.array(values) for values in zip(*self._found, strict=True))
        strongest = Strongest(scores.shape, width=WIDTH)
        strongest.update(scores[None], np.where(np.isnan(scores), np.nan, ranks)[None], rows[None])
        return strongest


def most_changed(
    best: Strongest, components: Sequence[Component], tokenizer: Any, result: xarray.Dataset
) -> xarray.Dataset:
    """Return, for each of the most important heads, the prediction that changes most without it.

    Args:
        best: Strongest observation of each removal.
        components: Component removed by each removal, in the same order.
        tokenizer: Tokenizer of the model.
        result: Result of the study of a language model, with variables of single heads.
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
    """Decode a row to the values of `VARIABLES`, except layer and head."""

    def text(*ids: float) -> str:
        return str(tokenizer.decode([int(token) for token in ids if not np.isnan(token)]))

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
    """Return the `HEADS` heads without which predictions change most, by falling divergence."""
    divergence = result["head_kl"].transpose("layer", "head")
    order = np.argsort(-divergence.values, axis=None, kind="stable")  # NaN comes last
    rows, columns = np.unravel_index(order[:HEADS], divergence.shape)
    return [
        (int(result["layer"][row]), int(column))
        for row, column in zip(rows, columns, strict=True)
        if divergence.values[row, column] > 0
    ]


def _choice(logarithms: Float[Tensor, " choice"]) -> tuple[int, float]:
    token = int(logarithms.argmax())
    return token, float(logarithms[token].exp())
