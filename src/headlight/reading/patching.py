"""Heads of one text patched with those of another, one at a time, and what becomes of a logit."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
import xarray
from jaxtyping import Float64
from torch import Tensor

from headlight.capture import AttentionSite, CapturedModel, attention_replaced, heads_removed
from headlight.capture.one_text import one_text
from headlight.catalogue.question_settings import PatchSettings
from headlight.chats import Readable, as_read
from headlight.encode import Encoded
from headlight.errors import UsageError
from headlight.reading.origin import origin
from headlight.reading.prediction_targets import place_of, targets_of
from headlight.reading.question_functions import answers
from headlight.reading.text_result import TextResult
from headlight.result import describe

TOKENS_AT_ONCE = 1024
"""Tokens of the copies of a text that run together."""

Swap = Literal["output", "pattern"]
SWAPS: tuple[Swap, ...] = ("output", "pattern")
"""Numbers of a head that are taken from the other text: its output, or its attention weights."""

NAMES = {
    "score": ("logit of the text", "logit"),
    "other_score": ("logit of the other text", "logit"),
    "output": ("fall of the logit with the output of the head from the other text", "logit"),
    "pattern": ("fall of the logit with the weights of the head from the other text", "logit"),
}


@dataclass(frozen=True, eq=False)
class Patching(TextResult):
    """Effects of the heads of another text on a logit, or on the difference of two.

    Attributes:
        dataset: ``score`` and ``other_score``, the logits of the text and of the other text; and,
            over ``layer`` and ``head``, the fall of ``score`` if a head alone has its ``output``
            (its input to the output projection, at all tokens), or its ``pattern`` (its
            attention weights), from the other text.  A head that carries the whole difference has
            ``score`` less ``other_score``.
    """

    dataset: xarray.Dataset
    called: ClassVar[str] = "a patching is"
    question: ClassVar[str] = "patch"

    def __getitem__(self, name: str) -> xarray.DataArray:
        return self.dataset[name]

    def as_json(self) -> dict[str, Any]:
        """Return all numbers, as JSON can hold them."""
        data = self.dataset
        scores = {name: float(data[name]) for name in ("score", "other_score")}
        known = np.isfinite(data["output"].values)  # layers may have fewer heads than others
        nothing = np.full(known.shape, None)
        effects = {name: np.where(known, data[name].values, nothing).tolist() for name in SWAPS}
        return super().as_json() | scores | {"layers": data["layer"].values.tolist()} | effects


@answers("patch")
def patch(
    model: CapturedModel,
    text: Readable,
    pair: str | None = None,
    *,
    settings: PatchSettings,
    command: str | None = None,
) -> Patching:
    """Patch each head with the same head of another text, and measure the fall of a logit.

    One head at a time is given its output, or its attention weights, of the other text, while the
    model reads the text; everything behind it is recomputed.

    Returns:
        Patching, whose ``dataset`` holds logits and their falls.

        - ``score``, ``other_score`` (): logit in the text, and in the other text
        - ``output``, ``pattern`` (layer × head): fall of the logit, with the output or with the
          weights that the head has in the other text

    Raises:
        MissingHeadError: the model predicts nothing.
        UsageError: no other text, one of another number of tokens, no tokenizer, an empty or too
            long text, an unknown word or class, or no such position, layer or kind.
        UnsupportedModelError: the attention of the model cannot be captured exactly.

    Source: Wang et al. (2023), activation patching; Vig et al. (2020).
    """
    assert settings.compare_text is not None  # noqa: S101 - the settings refuse it
    text = as_read(text, predicts=True)
    purpose = "a prediction needs text"
    model, example = one_text(model, text, pair, None, purpose=purpose, predicts=True)
    _, other = one_text(model, settings.compare_text, pair, None, purpose=purpose, predicts=True)
    if (len(example.ids), len(example.target)) != (len(other.ids), len(other.target)):
        raise UsageError(
            f"the texts have {len(example.ids)} and {len(other.ids)} tokens; heads are patched "
            "between texts of as many tokens, such as those that differ in a word."
        )
    place = place_of(model, example, settings.position)
    output = model.run(model.collate([example, other])).logits
    rows = output if place.index is None else output[:, place.index]
    first, second = targets_of(model, text, pair, place, rows[0].detach().cpu().double(), settings)

    def scores(logits: Tensor) -> Float64[Tensor, " text"]:
        rows = (logits if place.index is None else logits[:, place.index]).detach().cpu().double()
        return rows[:, first.number] - (0 if second is None else rows[:, second.number])

    score, other_score = scores(output).tolist()
    sites = model.sites_of(settings.kind or model.kinds[0], settings.layers)
    shape = (len(sites), max(site.heads for site in sites))
    effects = {name: np.full(shape, np.nan) for name in SWAPS}
    for swap in SWAPS:
        for layer, head, patched in _patched(model, (other, example), sites, swap, scores):
            effects[swap][layer, head] = score - patched
    dataset = xarray.Dataset(
        {
            "score": ((), score),
            "other_score": ((), other_score),
            **{name: (("layer", "head"), values) for name, values in effects.items()},
        },
        coords={"layer": [site.layer for site in sites], "head": range(shape[1])},
        attrs=origin(
            model,
            text,
            pair,
            title="Heads patched with those of another text",
            stage="patching",
            kind=sites[0].kind,
            compare_text=settings.compare_text,
            target=first.name,
            against="" if second is None else second.name,
            classes=int(place.classes),
            notes=" ".join(target.note for target in (first, second) if target and target.note),
            command=command or "",
            tokens=len(example.ids) + len(example.target),
        ),
    )
    return Patching(describe(dataset, NAMES))


def _patched(
    model: CapturedModel,
    examples: tuple[Encoded, Encoded],
    sites: list[AttentionSite],
    swap: Swap,
    scores: Any,
) -> Iterator[tuple[int, int, float]]:
    """Yield the place of the layer, the head, and the score with that head of the other text.

    A batch begins with the other text, from which each of the copies behind it takes one head.
    """
    other, example = examples
    places = [(at, head) for at, site in enumerate(sites) for head in range(site.heads)]
    together = max(1, TOKENS_AT_ONCE // (len(example.ids) + len(example.target)))
    for begin in range(0, len(places), together):
        some = places[begin : begin + together]
        # In one batch, so that nothing of the other text is kept between two runs.
        batch = model.collate([other, *[example] * len(some)])
        heads = [(sites[at], head) for at, head in some]
        if swap == "output":
            changed = heads_removed(model, [[], *([place] for place in heads)], source=0)
        else:
            rows: dict[int, list[tuple[int, int]]] = {}
            for row, (site, head) in enumerate(heads, 1):
                rows.setdefault(site.layer, []).append((row, head))
            changes: dict[int | tuple[int, int], Any] = {
                layer: partial(_with_first, rows=changed_rows)
                for layer, changed_rows in rows.items()
            }
            changed = attention_replaced(model, changes, kind=sites[0].kind)
        with changed:
            values = scores(model.run(batch).logits)[1:].tolist()
        yield from ((at, head, value) for (at, head), value in zip(some, values, strict=True))


def _with_first(weight: Tensor, _: AttentionSite, *, rows: list[tuple[int, int]]) -> Tensor:
    changed = weight.clone()
    for row, head in rows:
        changed[row, head] = weight[0, head]
    return changed
