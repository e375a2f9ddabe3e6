"""Texts in which predictions change most without the heads that move them most, for the report."""

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import torch
import xarray
from torch import Tensor

from headlight.analysis.plan import StudyPlan
from headlight.capture import CapturedModel, Heads, Objective, Prepared, heads_removed
from headlight.encode import Encoded
from headlight.measures import kullback_leibler_of_logarithms
from headlight.result import describe
from headlight.studies.ablation.outputs import Outputs, logits_of

HEADS = 3
"""Heads of which a text is shown."""

READ = 24
"""Texts that are read once more."""

BEFORE, AFTER = 14, 6
"""Tokens that are shown before the one where the prediction changes, and after it."""

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
"""Long name and unit of every variable; in their order the fields of a `Passage`."""


class Passage(NamedTuple):
    """A prediction that a head changes, and the text around it; see `VARIABLES`."""

    layer: int
    head: int
    left: str
    token: str
    right: str
    kl: float
    before: str
    before_share: float
    after: str
    after_share: float


def most_changed(
    result: xarray.Dataset, plan: StudyPlan[Encoded], objective: Objective
) -> xarray.Dataset:
    """Of each of the heads that move predictions most, the prediction that it moves most.

    The first texts are read once more, one by one, when it is known which heads these are.  Of
    equal divergences the first counts.

    Args:
        result: Of the study of a language model, with single heads.
        plan: Of the study.
        objective: What the model predicts.
    """
    best: dict[tuple[int, int], Passage] = {}
    heads = _most_moving(result)
    for example in islice(plan.examples, min(READ, plan.max_examples or READ)):
        for passage in _seen(example, plan, objective, heads):
            at = passage.layer, passage.head
            if passage.kl > max(0.0, best[at].kl if at in best else 0.0):
                best[at] = passage
    kept = [best[at] for at in heads if at in best]
    columns = zip(*kept, strict=True) if kept else ([] for _ in VARIABLES)
    kinds = Passage.__annotations__.values()
    variables = {
        name: ("passage", np.array(list(values), dtype=object if kind is str else kind))
        for (name, values), kind in zip(zip(VARIABLES, columns, strict=True), kinds, strict=True)
    }
    return describe(xarray.Dataset(variables), VARIABLES)


def _most_moving(result: xarray.Dataset) -> list[tuple[int, int]]:
    """Layers and numbers of the heads, those first without which predictions move most."""
    divergence = result["head_kl"].transpose("layer", "head")
    order = np.argsort(-divergence.values, axis=None, kind="stable")  # NaN comes last
    rows, columns = np.unravel_index(order[:HEADS], divergence.shape)
    return [
        (int(result["layer"][row]), int(column))
        for row, column in zip(rows, columns, strict=True)
        if divergence.values[row, column] > 0
    ]


def _seen(
    example: Encoded,
    plan: StudyPlan[Encoded],
    objective: Objective,
    heads: list[tuple[int, int]],
) -> Iterator[Passage]:
    """What each head changes most in a text."""
    model, batch = plan.model, objective.prepare(plan.model.collate([example]))
    outputs = Outputs.of_words(batch)
    if not len(outputs.owners):
        return
    with torch.no_grad():
        before = outputs.logarithms(logits_of(model.run(batch)))
        for layer, head in heads:
            removed: Heads = [(site, head) for site in plan.sites if site.layer == layer]
            with heads_removed(model, [removed]):
                after = outputs.logarithms(logits_of(model.run(batch)))
            yield _passage(model, batch, outputs, (layer, head), before, after)


def _passage(
    model: CapturedModel,
    batch: Prepared,
    outputs: Outputs,
    head: tuple[int, int],
    before: Tensor,
    after: Tensor,
) -> Passage:
    """The prediction that differs most."""
    divergence = kullback_leibler_of_logarithms(before, after)
    at = int(divergence.argmax())
    ids = (batch.input_ids if batch.target_ids is None else batch.target_ids)[0].tolist()
    place = int(outputs.choose(torch.arange(len(ids), device=before.device)[None])[at])
    tokenizer: Any = model.tokenizer

    def text(first: int, last: int) -> str:
        return str(tokenizer.decode(ids[max(first, 0) : last])) if last > max(first, 0) else ""

    return Passage(
        *head,
        text(place - BEFORE, place),
        text(place, place + 1),
        text(place + 1, place + 1 + AFTER),
        float(divergence[at]),
        *_choice(tokenizer, before[at]),
        *_choice(tokenizer, after[at]),
    )


def _choice(tokenizer: Any, logarithms: Tensor) -> tuple[str, float]:
    """The most probable token, and its probability."""
    token = int(logarithms.argmax())
    return str(tokenizer.decode([token])), float(logarithms[token].exp())
