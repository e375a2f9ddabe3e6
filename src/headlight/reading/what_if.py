"""Predictions of a model for one text that is read with other attention.

`what_if` compares the predictions of a model with and without edits of its attention, and says
which later heads attend otherwise.  `each_head_removed` removes every head in turn.

Functions that the view of a text may call on a model, for the app and notebooks.
A function is given a model, the reading that is looked at, and an object that a browser sent. It
yields its steps, each an object that JSON can hold: ``what`` is done, ``done`` and ``of`` how much
of how much, ``part`` a part of the result; and at last the ``result``. Who does not ask for the
next step ends it. The page of a view shows what needs a function only where it can be had.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import xarray

from headlight.capture import (
    AttentionSite,
    CapturedModel,
    Kind,
    LayerRecord,
    attention_replaced,
    heads_removed,
)
from headlight.capture.one_text import one_text
from headlight.chats import Chat, Readable, as_read
from headlight.encode import piece_style
from headlight.errors import UsageError
from headlight.findings import piece_text, pieces_of
from headlight.measures import kullback_leibler_of_logarithms, total_variation
from headlight.reading.text_result import text_of
from headlight.reading.what_if_predictions import (
    CHANGES,
    Change,
    Edit,
    EditContext,
    Logarithms,
    Predictor,
    edits_of,
    replacements,
)
from headlight.settings import require_choice
from headlight.vocabulary import head_name

__all__ = [
    "CHANGES",
    "Change",
    "Edit",
    "HeadEffect",
    "WhatIf",
    "each_head_removed",
    "edits_of",
    "what_if",
]

TOP = 5
MOVED = 10
"""Heads that attend otherwise, of which a page is told."""


@dataclass(frozen=True, eq=False)
class WhatIf:
    """Predictions of a model for a text with its own attention, and with another.

    Attributes:
        dataset: ``kl`` over ``output``, in nats, of what is predicted after from what is predicted
            before; the most probable choices ``before_choice`` and ``after_choice``, over
            ``output`` and ``rank``, with their probabilities ``before`` and ``after``; and
            ``attention_change``, over ``layer`` and ``head``: the total variation of the rows of
            each head, the mean over queries; NaN for heads that were edited.  An output is a token,
            or the text.
    """

    dataset: xarray.Dataset

    @property
    def kl(self) -> xarray.DataArray:
        """The divergence of the predictions, over output."""
        return self.dataset["kl"]

    @property
    def attention_change(self) -> xarray.DataArray:
        """Return the change of the attention of each head, over layer and head."""
        return self.dataset["attention_change"]

    def moved(self, number: int = MOVED) -> list[tuple[int, int, float]]:
        """Layer, head and change of the heads that move most, those first."""
        values = self.attention_change.values
        order = np.argsort(-np.nan_to_num(values), axis=None, kind="stable")[:number]
        places = zip(*np.unravel_index(order, values.shape), strict=True)
        layers = self.dataset["layer"].values
        moves = [(int(layers[row]), int(head), float(values[row, head])) for row, head in places]
        return [each for each in moves if each[2] > 0]

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
            "tokens": [each.label for each in pieces_of(data, "output_token")],
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
        model: with its head, in evaluation mode.
        text: what it reads.
        pair: a second text: the second segment, or the decoder's text in an encoder-decoder model.
        edits: what changes; those of one head one after the other, those of a layer before those
            of its heads.
        kind: whose attention changes; by default the first kind that the model has.
        top: choices of each prediction that are kept.

    Raises:
        MissingHeadError: the model has no head, and so predicts nothing.
        UsageError: no tokenizer, an empty or too long text, or an edit does not fit model or text.
    """
    changes = [edits] if isinstance(edits, Edit) else list(edits)
    text = as_read(text, predicts=True)
    model, example = one_text(
        model, text, pair, kind, purpose="predictions need text", predicts=True
    )
    chosen = kind or model.kinds[0]
    predictor = Predictor.of(model, example)
    own: dict[int, torch.Tensor] = {}
    visible: dict[int, torch.Tensor] = {}

    def keep(record: LayerRecord) -> None:
        weight = record.weight[0]
        own[record.site.layer] = weight
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
        moved[layer] = total_variation(record.weight[0], own.pop(layer)).mean(-1).cpu().numpy()

    with attention_replaced(model, replacements(context, changes), kind=chosen):
        after = _run(predictor, sites, compare)
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
    for name, each in (("before", before), ("after", after)):
        shares, choices = each.exp().topk(min(top, each.shape[-1]), -1)
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


TOKENS_AT_ONCE = 512
"""Tokens of copies of a text that run together; fewer than in a study: somebody is waiting."""


@dataclass(frozen=True)
class HeadEffect:
    """Effect of one head on the predictions of a text.

    Attributes:
        layer: layer, from 0.
        head: head, from 0.
        kl: divergence of the predictions without it from those with it, mean over outputs, in nats.
        largest: the largest of these.
        output: the number of the output that it is of.
        changed: outputs of which the most probable choice is another without it.
    """

    layer: int
    head: int
    kl: float
    largest: float
    output: int
    changed: int


def each_head_removed(
    model: CapturedModel,
    text: Readable,
    pair: str | None = None,
    *,
    kind: Kind | None = None,
    layers: Iterable[int] | None = None,
) -> Iterator[HeadEffect]:
    """Yield the effect of removing each head on the predictions, as soon as it is known.

    Args:
        model: with its head, in evaluation mode.
        text: what it reads.
        pair: a second text: the second segment, or the decoder's text in an encoder-decoder model.
        kind: of attention; by default the first kind that the model has.
        layers: whose heads; by default all.

    Raises:
        MissingHeadError: the model has no head, and so predicts nothing.
        UsageError: no tokenizer, an empty or too long text, or no such layer or kind.
    """
    text = as_read(text, predicts=True)
    model, example = one_text(
        model, text, pair, kind, purpose="predictions need text", predicts=True
    )
    predictor = Predictor.of(model, example)
    sites = model.sites_of(kind or model.kinds[0], layers)
    places = [(site, head) for site in sites for head in range(site.heads)]
    before = predictor.logarithms(model.run(predictor.batch))
    together = max(1, TOKENS_AT_ONCE // (len(example.ids) + len(example.target)))
    for first in range(0, len(places), together):
        some = places[first : first + together]
        with heads_removed(model, [[place] for place in some]):
            output = model.run(predictor.batch.repeated(len(some)))
        copies = predictor.of_copies(output, len(some))
        for (site, head), after in zip(some, copies, strict=True):
            yield _effect(site.layer, head, before, after)


def _effect(layer: int, head: int, before: Logarithms, after: Logarithms) -> HeadEffect:
    divergence = kullback_leibler_of_logarithms(before, after)
    return HeadEffect(
        layer=layer,
        head=head,
        kl=float(divergence.mean()),
        largest=float(divergence.max()),
        output=int(divergence.argmax()),
        changed=int((before.argmax(-1) != after.argmax(-1)).sum()),
    )


Step = dict[str, Any]
Params = Mapping[str, Any]
Function = Callable[[CapturedModel, xarray.Dataset, Params], Iterator[Step]]


def other_attention(
    model: CapturedModel, reading: xarray.Dataset, params: Params
) -> Iterator[Step]:
    """Read the text with ``edits``; see `headlight.reading.what_if.WhatIf.as_json`."""
    text, pair, kind = _read_before(reading, params)
    edits = edits_of(params.get("edits"))
    yield {"what": "reading with its own attention, and with the other"}
    yield {"result": what_if(model, text, pair, edits=edits, kind=kind).as_json()}


def heads_in_turn(model: CapturedModel, reading: xarray.Dataset, params: Params) -> Iterator[Step]:
    """Remove each head; what that does is told head by head.

    The ``effects`` are layer, head, mean divergence, and how many predictions become others.
    """
    text, pair, kind = _read_before(reading, params)
    heads = sum(site.heads for site in model.sites_of(kind))
    effects: list[list[float]] = []
    for effect in each_head_removed(model, text, pair, kind=kind):
        effects.append([effect.layer, effect.head, float(f"{effect.kl:.4g}"), effect.changed])
        name = head_name(effect.layer, effect.head)
        yield {"what": f"without {name}", "done": len(effects), "of": heads, "part": effects[-1]}
    yield {"result": {"effects": effects}}


def _read_before(reading: xarray.Dataset, params: Params) -> tuple[str | Chat, str | None, Kind]:
    """Return the text and the second text of a reading, and the kind that is looked at."""
    kind: Any = params.get("kind")
    require_choice("kind", kind if isinstance(kind, str) else "none", Kind)
    if "answer" in reading.attrs:
        raise UsageError(
            "this text was generated, and its answer is no part of the prompt that would be read; "
            "read the prompt and the answer as one text, whose tokens may be others."
        )
    if "image" in reading.attrs:
        raise UsageError(
            "this is asked of a text alone, and a picture was read; read the text without it."
        )
    return text_of(reading.attrs), reading.attrs.get("pair") or None, kind


FUNCTIONS: Mapping[str, Function] = {"what_if": other_attention, "each_head": heads_in_turn}
