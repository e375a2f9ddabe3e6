"""Predictions of a model for one text that is read with other attention.

`what_if` compares the predictions of a model with and without edits of its attention, and says
which later heads attend otherwise.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import xarray

from headlight.capture import AttentionSite, CapturedModel, Kind, LayerRecord, attention_replaced
from headlight.capture.one_text import one_text
from headlight.chats import Readable, as_read
from headlight.encode import piece_style
from headlight.findings import piece_text, pieces_of
from headlight.measures import kullback_leibler_of_logarithms, total_variation
from headlight.reading.edits import Edit, EditContext, replacements
from headlight.reading.predictor import Logarithms, Predictor
from headlight.vocabulary import head_name

TOP = 5
MOVED = 10
"""Number of heads that attend otherwise and are shown by a page."""


@dataclass(frozen=True, eq=False)
class WhatIf:
    """Predictions of a model for a text with its own attention, and with another.

    Attributes:
        dataset: ``kl`` over ``output``, in nats, of the predictions after the edits from those
            before; the most probable choices ``before_choice`` and ``after_choice``, over
            ``output`` and ``rank``, with their probabilities ``before`` and ``after``; and
            ``attention_change``, over ``layer`` and ``head``: the total variation of the rows of
            each head, the mean over queries; NaN for heads that were edited.  An output is a token,
            or the text.
    """

    dataset: xarray.Dataset

    @property
    def kl(self) -> xarray.DataArray:
        """Return the divergence of the predictions, over output."""
        return self.dataset["kl"]

    @property
    def attention_change(self) -> xarray.DataArray:
        """Return the change of the attention of each head, over layer and head."""
        return self.dataset["attention_change"]

    def moved(self, number: int = MOVED) -> list[tuple[int, int, float]]:
        """Return layer, head and change of the heads that move most, in descending order."""
        values = self.attention_change.values
        order = np.argsort(-np.nan_to_num(values), axis=None, kind="stable")[:number]
        places = zip(*np.unravel_index(order, values.shape), strict=True)
        layers = self.dataset["layer"].values
        moves = [(int(layers[row]), int(head), float(values[row, head])) for row, head in places]
        return [move for move in moves if move[2] > 0]

    def as_json(self) -> dict[str, Any]:
        """Return the numbers for a page."""
        data = self.dataset

        def choices(when: str) -> list[list[list[Any]]]:
            names, shares = data[f"{when}_choice"].values, data[when].values
            style = data.attrs["choice_pieces"]
            return [
                [
                    [piece_text(str(name), style).label, round(float(share), 6)]
                    for name, share in zip(*row, strict=True)
                ]
                for row in zip(names, shares, strict=True)
            ]

        return {
            "tokens": [piece.label for piece in pieces_of(data, "output_token")],
            "kl": [float(f"{value:.4g}") for value in data["kl"].values],
            "before": choices("before"),
            "after": choices("after"),
            "moved": [[layer, head, float(f"{by:.4g}")] for layer, head, by in self.moved()],
        }

    def __str__(self) -> str:
        kl = self.kl.values
        most = int(kl.argmax())
        before, after = (
            self.dataset[f"{name}_choice"].values[:, 0] for name in ("before", "after")
        )
        moved = self.moved(1)
        then = (
            f" {head_name(*moved[0][:2])} then attends otherwise most (total variation "
            f"{moved[0][2]:.3g})."
            if moved
            else ""
        )
        return (
            f"Predictions move by {kl.mean():.3g} nats (KL, mean over {len(kl)}), most for "
            f"{pieces_of(self.dataset, 'output_token')[most].label} ({kl[most]:.3g}); "
            f"{int((before != after).sum())} of them become others.{then}"
        )


def what_if(
    model: CapturedModel,
    text: Readable,
    pair: str | None = None,
    *,
    edits: Edit | Sequence[Edit],
    kind: Kind | None = None,
    top: int = TOP,
) -> WhatIf:
    """Predict with changed attention.

    Args:
        model: Model with its head, in evaluation mode.
        text: Text or chat that the model reads.
        pair: Second text: the second segment, or the decoder's text in an encoder-decoder model.
        edits: Edits of the attention; those of one head are applied one after the other, those of
            a layer before those of its heads.
        kind: Kind of attention to change; by default the first kind that the model has.
        top: Number of choices of each prediction to keep.

    Raises:
        MissingHeadError: The model has no head, and so predicts nothing.
        UsageError: No tokenizer, an empty or too long text, or an edit does not fit model or text.
    """
    changes = [edits] if isinstance(edits, Edit) else list(edits)
    text = as_read(text, predicts=True)
    model, example = one_text(
        model, text, pair, kind, purpose="predictions need text", predicts=True
    )
    chosen = kind or model.kinds[0]
    predictor = Predictor.of(model, example)
    weights: dict[int, torch.Tensor] = {}
    visible: dict[int, torch.Tensor] = {}

    def keep(record: LayerRecord) -> None:
        weight = record.weight[0]
        weights[record.site.layer] = weight
        usable = torch.ones_like(weight[0], dtype=torch.bool)
        visible[record.site.layer] = (
            usable if record.visible is None else usable & record.visible[0]
        )

    sites = model.sites_of(chosen)
    before = _run(predictor, sites, keep)
    category = example.target_categories if chosen == "decoder" and example.target else None
    context = EditContext(model, chosen, text, pair, visible, category or example.categories)
    moved: dict[int, np.ndarray] = {}

    def compare(record: LayerRecord) -> None:
        layer = record.site.layer
        # Popped, since the weights of all layers of a long text are large.
        moved[layer] = total_variation(record.weight[0], weights.pop(layer)).mean(-1).cpu().numpy()

    with attention_replaced(model, replacements(context, changes), kind=chosen):
        after = _run(predictor, sites, compare)
    # Edited heads differ by the edit itself, which would hide the heads that follow from it.
    for edit in changes:
        moved[edit.layer][slice(None) if edit.head is None else edit.head] = np.nan
    return WhatIf(_dataset(predictor, before, after, moved, top))


def _run(predictor: Predictor, sites: Sequence[AttentionSite], visit: Any) -> Logarithms:
    with predictor.model.capture(sites) as recorder:
        recorder.visit = visit
        return predictor.logarithms(predictor.model.run(predictor.batch))


def _dataset(
    predictor: Predictor,
    before: Logarithms,
    after: Logarithms,
    moved: dict[int, np.ndarray],
    top: int,
) -> xarray.Dataset:
    heads = max(map(len, moved.values()))
    change = np.full((len(moved), heads), np.nan)
    for row, layer in enumerate(sorted(moved)):
        change[row, : len(moved[layer])] = moved[layer]
    variables: dict[str, Any] = {
        "kl": ("output", kullback_leibler_of_logarithms(before, after).numpy()),
        "attention_change": (("layer", "head"), change),
    }
    for name, logarithms in (("before", before), ("after", after)):
        shares, choices = logarithms.exp().topk(min(top, logarithms.shape[-1]), -1)
        names = [predictor.names(row) for row in choices.tolist()]
        variables[name] = (("output", "rank"), shares.numpy())
        variables[f"{name}_choice"] = (("output", "rank"), np.array(names))
    coordinates = {
        "layer": sorted(moved),
        "head": range(heads),
        "output_token": ("output", list(predictor.tokens)),
    }
    style = piece_style(predictor.model.require_tokenizer("texts are read"))
    of_words = {"pieces": style, "choice_pieces": style if predictor.chooses_pieces else ""}
    return xarray.Dataset(variables, coords=coordinates, attrs=of_words)
