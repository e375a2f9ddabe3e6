"""Routes from the input to every token after every layer, by heads."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import torch
import xarray
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from headlight.capture import AttentionSite, CapturedModel, LayerRecord, Place, Residual
from headlight.capture.hooks import hooked
from headlight.capture.one_text import capture_one
from headlight.capture.residual_connection import followed
from headlight.catalogue.question_settings import RouteSettings
from headlight.chats import Readable
from headlight.errors import UsageError
from headlight.findings.candidates import last_word
from headlight.measures.alti import BlockSum, missed_without, missed_without_heads
from headlight.reading.origin import origin
from headlight.reading.question_functions import answers
from headlight.reading.text_result import TextResult, save_as
from headlight.reading.token_coordinates import segments_of, sides_of
from headlight.result import describe
from headlight.settings import require_place
from headlight.tensors import single
from headlight.token_flow.followed_text import Subject, subject_of
from headlight.views.titles import model_name
from headlight.vocabulary import Kind

LEAST = 0.005
"""Parts of heads that are kept make up at least this share of their sum."""

NAMES = {
    "residual": ("share of the token before the layer", "1"),
    "bias": ("share of the bias of the output projection", "1"),
    "rest": ("share of what heads take from a token by parts that are not kept", "1"),
    "forward": ("share of the feed-forward layer in the sum after it", "1"),
    "share": ("share of what a head takes from a token", "1"),
    "compare_share": ("share of the same part in the text that is compared with", "1"),
    "part_layer": ("place of the layer of a part", "1"),
    "part_head": ("head of a part", "1"),
    "part_query": ("token that a part is of", "1"),
    "part_key": ("token that a part is taken from", "1"),
}


class Routes(TextResult):
    """Routes from the input to every token after every layer, for one text.

    `dataset` has, over ``layer`` and ``query`` (the token), the shares of the sum after the
    attention: ``residual`` (the token before the layer) and ``bias`` (of the output projection).
    Over ``part`` it has the ``share`` of each part that is kept, what a head takes from a token:
    ``part_layer`` (the place of the layer), ``part_head``, ``part_query`` and ``part_key``;
    ``rest``, over ``key`` as well, is of the parts too small to be kept.  These shares of a token
    add up to 1.  With another text ``compare_share`` is that of the same part in it; parts that
    only one of the texts keeps are 0 in the other.
    ``forward`` is the share of the feed-forward layer in the sum that follows; NaN where that
    cannot be seen.
    """

    called: ClassVar[str] = "routes are"
    question: ClassVar[str] = "routes"

    def __init__(self, dataset: xarray.Dataset) -> None:
        self.dataset = dataset

    def __repr__(self) -> str:
        """Return a short form: the text, the model, and the number of parts."""
        sizes, attributes = self.dataset.sizes, self.dataset.attrs
        return (
            f"<Routes of {attributes['text']!r} by {model_name(attributes)}: {sizes['layer']} "
            f"layers, {sizes['query']} tokens, {sizes['part']} parts of heads>"
        )

    def save(self, path: str | Path, **style: Any) -> Path:
        """Write the routes; the suffix says how: ``.html``, ``.json``, ``.svg`` or ``.nc``.

        Args:
            path: Path of the file.
            style: Values of ``token``, ``layer`` and ``least`` for a picture, in place of those
                that were requested; see
                `headlight.catalogue.question_settings.RouteSettings`.

        Raises:
            UsageError: Another suffix, or no such token or layer.
            ResultError: The file cannot be written.
        """
        if style:
            about = self.dataset.attrs
            settings = RouteSettings(
                **{"token": about["token"], "layer": about["layer"], "least": about["least_shown"]}
                | style
            )
            return Routes(self.dataset.assign_attrs(_shown(self.dataset, settings))).save(path)
        return save_as(path, self)

    def to_html(self) -> str:
        """Return the page of the routes."""
        from headlight.views.reading.routes_page import routes_page

        return routes_page(self.dataset)

    def to_json(self) -> str:
        """Return every number as JSON."""
        from headlight.views.reading.routes_page import routes_json

        return routes_json(self.dataset)

    def to_svg(self) -> str:
        """Return the picture of the routes."""
        from headlight.views.pictures import routes_picture, svg_text
        from headlight.views.reading.routes_page import shown

        return svg_text(routes_picture(self.dataset, **shown(self.dataset)))


@answers("routes")
def routes(
    model: CapturedModel,
    text: Readable,
    pair: str | None = None,
    *,
    settings: RouteSettings,
    command: str | None = None,
) -> Routes:
    """Compute the routes to every token after every layer, by residual stream, heads, tokens.

    With another text of as many tokens the shares of its parts stand beside them.

    The share of a part p in a sum y is max(0, ‖y‖₁ − ‖y − p‖₁) over the sum of that of all parts.
    Parts of the sum after the attention are the residual, α f(x) of each head and key, and the
    bias.  They are taken through norms and scales on their way, and through a norm that follows
    the sum (post-LN), with the statistics of the run.

    Returns:
        Routes, whose ``dataset`` holds shares of each token after the attention of each layer.

        - ``residual``, ``bias`` (layer × query): share of the token before the layer, and of the
          bias of the output projection
        - ``share`` (part): share of what a head takes from a token
        - ``part_layer``, ``part_head``, ``part_query``, ``part_key`` (part): which part that is
        - ``rest`` (layer × query × key): of all smaller parts together
        - ``forward`` (layer × query): share of the feed-forward layer in the sum after it
        - ``compare_share`` (part): of the same part in the other text, with `compare_text`

    Raises:
        UsageError: no tokenizer, an empty or too long text, no such kind, cross-attention, or the
            other text has another number of tokens.
        UnsupportedModelError: what follows the attention could not be followed, or the heads have
            a gate with a number for each component.

    Source: Ferrando and Voita (2024), with the distance of Ferrando et al. (2022).
    """
    dataset = _routes_of(model, text, pair, settings.kind, command)
    if settings.compare_text is not None:
        other = _routes_of(model, settings.compare_text, pair, settings.kind, command)
        dataset = _beside(dataset, other)
    return Routes(dataset.assign_attrs(_shown(dataset, settings)))


def _routes_of(
    model: CapturedModel, text: Readable, pair: str | None, kind: Kind | None, command: str | None
) -> xarray.Dataset:
    """Return the shares of the parts of one text."""
    subject = subject_of(model, text, pair, kind)
    layers = _Layers(subject.sites, LEAST)
    with layers.watching(subject.model):
        capture_one(subject.model, subject.example, subject.sites, layers.visit, residual=True)
    attributes = origin(
        subject.model,
        text,
        pair,
        title="Routes",
        stage="routes",
        command=command or "",
        kind=subject.kind,
        least=LEAST,
    )
    return _dataset(subject, layers, attributes)


_PART = ("part_layer", "part_head", "part_query", "part_key")


def _beside(first: xarray.Dataset, other: xarray.Dataset) -> xarray.Dataset:
    """Return routes with the parts of another text beside them, 0 where one has not kept a part.

    Raises:
        UsageError: The texts differ in their numbers of tokens.
    """
    sizes = [traced.sizes["query"] for traced in (first, other)]
    if sizes[0] != sizes[1]:
        raise UsageError(
            f"the texts have {sizes[0]} and {sizes[1]} tokens; compare texts of as many tokens, "
            "such as those that differ in a word."
        )
    places = [
        pd.MultiIndex.from_arrays([traced[name].values for name in _PART])
        for traced in (first, other)
    ]
    union = places[0].union(places[1])
    shares = (
        pd.Series(traced["share"].values, place).reindex(union, fill_value=0.0).to_numpy()
        for traced, place in zip((first, other), places, strict=True)
    )
    parts: dict[str, Any] = {name: union.get_level_values(at) for at, name in enumerate(_PART)}
    parts |= dict(zip(("share", "compare_share"), shares, strict=True))
    both = first.drop_vars([*_PART, "share"]).assign(
        {name: ("part", np.asarray(values)) for name, values in parts.items()}
    )
    both = both.assign_coords(query_token_other=("query", other["query_token"].values))
    return describe(both.assign_attrs(compare_text=other.attrs["text"]), NAMES)


def _shown(dataset: xarray.Dataset, settings: RouteSettings) -> dict[str, Any]:
    """Return the token, the layer and the least share of the routes to show, as attributes."""
    layers = dataset["layer"].values.tolist()
    layer = layers[-1] if settings.layer is None else settings.layer
    if layer not in layers:
        raise UsageError(f"these routes have no layer {layer}; choose another.")
    chosen = last_word(dataset) if settings.token is None else settings.token
    token = require_place("token", chosen, dataset.sizes["query"])
    return {"token": token, "layer": layer, "least_shown": settings.least}


class _Layers:
    """Observer of the layers of one text, which keeps the shares of their parts."""

    def __init__(self, sites: list[AttentionSite], least: float) -> None:
        self.layers = [site.layer for site in sites]
        self._sites = sites
        self.sums: list[dict[str, NDArray[np.float64]]] = []
        self.parts: list[NDArray[np.float64]] = []
        """Rows of layer, head, query, key and share."""
        self._least = least
        self._awaited: dict[Place, tuple[int, Residual]] = {}
        self._open: tuple[int, Residual] | None = None

    @contextmanager
    def watching(self, model: CapturedModel) -> Iterator[None]:
        """Observe, within the block, sums behind feed-forward layers as well."""
        sites = [
            followed(model.residuals[site]) for site in model.sites if site.layer in self.layers
        ]
        places = {site.feed_forward.sum for site in sites if site.feed_forward}
        places |= {site.residual for site in sites if site.parallel}
        with hooked(
            place.watch(partial(self._sum, place)) for place in places if place is not None
        ):
            yield

    def visit(self, record: LayerRecord) -> None:
        """Keep the shares of the parts of the sum after the attention."""
        residual = record.residual
        assert residual is not None  # noqa: S101 - the capture was asked for it
        layer = len(self.sums)
        missed = attention_parts(record, residual)
        of_heads, kept, bias = (part.cpu().double().numpy() for part in missed)
        # Not 0: a row to which no part is missed has shares of 0, and not of NaN.
        whole = np.maximum(of_heads.sum((0, 2)) + kept + bias, np.finfo(np.float64).tiny)
        of_heads, kept, bias = of_heads / whole[:, None], kept / whole, bias / whole
        large = of_heads >= self._least
        head, query, key = np.nonzero(large)
        rows = (np.full(len(head), layer), head, query, key, of_heads[large])
        self.parts.append(np.stack(rows, axis=1).astype(np.float64))
        rest = np.where(large, 0, of_heads).sum(0)
        forward = np.full(len(kept), np.nan)
        self.sums.append({"residual": kept, "bias": bias, "rest": rest, "forward": forward})
        self._await(layer, residual)

    def _await(self, layer: int, residual: Residual) -> None:
        site = residual.site
        self._open = (layer, residual) if site.parallel else None
        if site.feed_forward is not None and site.feed_forward.sum is not None:
            self._awaited[site.feed_forward.sum] = layer, residual

    def _sum(self, place: Place, tensor: Tensor) -> None:
        """Keep the share of a feed-forward layer, from the first sum after its attention."""
        waiting = self._awaited.pop(place, None)
        if waiting is None and self._open is not None:
            waiting, self._open = self._open, None  # parallel: what the next layer is given
        if waiting is not None:
            layer, residual = waiting
            total = single(tensor.reshape(residual.given.shape))[0]
            self.sums[layer]["forward"] = forward_share(residual, total).cpu().double().numpy()


def attention_parts(
    record: LayerRecord, residual: Residual
) -> tuple[Float[Tensor, "head query key"], Float[Tensor, " query"], Float[Tensor, " query"]]:
    """Compute what is missed in the sum after the attention without each part; not normalised.

    Args:
        record: Layer record of one text.
        residual: Residual connection of that layer.

    Returns:
        What is missed without heads and keys, without the residual, and without the bias.
    """
    parts = BlockSum.from_record(record, residual)
    of_heads = missed_without_heads(parts.total, parts.weight, parts.vectors)
    residual_missed = missed_without(parts.total, parts.given)
    return of_heads, residual_missed, missed_without(parts.total, parts.bias)


def forward_share(
    residual: Residual, total: Float[Tensor, "query d_model"]
) -> Float[Tensor, " query"]:
    """Return the share of the feed-forward layer in the sum after it.

    Args:
        residual: Residual connection of the attention before the layer.
        total: Sum after the layer.
    """
    entered = single(residual.output)[0]
    added, site = total - entered, residual.site
    behind = site.feed_forward.norm if site.feed_forward and site.norm is not None else None
    if behind is not None:
        total, entered, added = map(behind.linear, (total, entered, added))
    missed, residual_missed = missed_without(total, added), missed_without(total, entered)
    return missed / (missed + residual_missed).clamp_min(torch.finfo(missed.dtype).tiny)


def _dataset(subject: Subject, layers: _Layers, attributes: dict[str, Any]) -> xarray.Dataset:
    parts = np.concatenate(layers.parts)
    variables: dict[str, Any] = {
        name: (("layer", "query"), np.stack([sums[name] for sums in layers.sums]))
        for name in ("residual", "bias", "forward")
    }
    variables["rest"] = (
        ("layer", "query", "key"),
        np.stack([sums["rest"] for sums in layers.sums]),
    )
    for place, name in enumerate(_PART):
        variables[name] = ("part", parts[:, place].astype(np.int64))
    variables["share"] = ("part", parts[:, 4])
    tokens, _ = sides_of(subject.example, subject.kind, subject.model.tokenizer)
    dataset = xarray.Dataset(
        variables,
        coords={
            "layer": layers.layers,
            "query": range(len(tokens["token"])),
            "key": range(len(tokens["token"])),
            "query_token": ("query", tokens["token"]),
            "query_category": ("query", tokens["category"]),
            **segments_of(tokens),
        },
        attrs=attributes,
    )
    return describe(dataset, NAMES)
