"""Maps of the layers of one text, from each token to each, by several measures."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import get_args

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.capture import FrozenMap, LayerRecord, Place
from headlight.capture.captured_model import CapturedModel
from headlight.capture.hooks import hooked
from headlight.capture.one_text import capture_one
from headlight.capture.residual_connection import ResidualSite, followed
from headlight.chats import Readable
from headlight.encode import Encoded
from headlight.errors import UnsupportedModelError
from headlight.measures import Scores
from headlight.measures.alti import BlockSum, token_shares
from headlight.settings import require_choice
from headlight.settings.flow import LayerMapName
from headlight.token_flow.followed_text import Subject, subject_of
from headlight.token_flow.value_zeroing import value_zeroing
from headlight.vocabulary import Kind

LAYER_MAPS: tuple[LayerMapName, ...] = get_args(LayerMapName)

Maps = Float[Tensor, "layer query key"]
Map = Float[Tensor, "query key"]


def layer_maps(
    model: CapturedModel,
    text: Readable | Encoded,
    names: Sequence[str],
    *,
    pair: str | None = None,
    kind: Kind | None = None,
) -> dict[str, Maps]:
    """Return the maps of each layer between tokens, all heads together, before any rollout.

    Args:
        model: Encoder or decoder; of an encoder-decoder, the encoder is run.
        text: Text to be read, or an example.
        names: Names of maps, from `LAYER_MAPS`:
            ``weight``: the mean of the weights of heads, times the gate of a head;
            ``merged_norm``, ``block_norm``, ``layer_norm``: the measures of that name;
            ``encoder_norm``: the norms behind both norms of a post-LN layer (GlobEnc), in other
            layers `block_norm`;
            ``alti``: what is missed without a token, as a share;
            ``value_zeroing``: how the token changes where the value of another is zero, as a share.
        pair: Second text.
        kind: Attention kind; by default the first that the model has.

    Returns:
        Maps by name, in the unit of the measure, ≥ 0, float64 on the CPU; not normalised, except
        those that are shares.

    Raises:
        UnknownNameError: there is no such map.
        UsageError: there is no tokenizer, the text is empty or too long, or cross-attention is
            requested.
        UnsupportedModelError: the layer behind the attention could not be followed, or parts of
            tokens depend on the query.
    """
    for name in names:
        require_choice("map of layers", name, LAYER_MAPS)
    subject = subject_of(model, text, pair, kind)
    return maps_of(subject, names)


def maps_of(subject: Subject, names: Sequence[str]) -> dict[str, Maps]:
    """Return the maps of a text, as `layer_maps` does."""
    maps: dict[str, Maps] = {}
    recorded = [name for name in names if name in _OF_RECORDS or name == "encoder_norm"]
    if recorded:
        maps |= _record_maps(subject, recorded)
    if "value_zeroing" in names:
        maps["value_zeroing"] = value_zeroing(subject)
    return {name: maps[name] for name in names}


def _record_maps(subject: Subject, names: Sequence[str]) -> dict[str, Maps]:
    model, sites = subject.model, subject.sites
    residual = any(name not in _WITHOUT_RESIDUAL for name in names)
    layers = _Layers(names)
    places = [followed(model.residuals[site]) for site in sites] if "encoder_norm" in names else []
    with layers.watching(places):
        capture_one(model, subject.example, sites, layers.visit, residual=residual)
    return {name: torch.stack(maps) for name, maps in layers.maps.items()}


def _alti(record: LayerRecord, _: Scores) -> Map:
    assert record.residual is not None  # noqa: S101 - the capture was asked for it
    return token_shares(BlockSum.from_record(record, record.residual))


_OF_RECORDS: Mapping[str, Callable[[LayerRecord, Scores], Map]] = {
    "weight": lambda _, scores: scores.weight[0].mean(0),
    "merged_norm": lambda _, scores: scores.merged_norm[0],
    "block_norm": lambda _, scores: scores.block_norm[0],
    "layer_norm": lambda _, scores: scores.layer_norm[0],
    "alti": _alti,
}
_WITHOUT_RESIDUAL = ("weight", "merged_norm")


class _Layers:
    """Visitor of the layers of one text, which keeps their maps."""

    def __init__(self, names: Sequence[str]) -> None:
        self.maps: dict[str, list[Map]] = {name: [] for name in names}
        self._awaited: tuple[Place, FrozenMap] | None = None

    @contextmanager
    def watching(self, layers: Sequence[ResidualSite]) -> Iterator[None]:
        """Observe the sums behind feed-forward layers as well, within the block."""
        sums = [layer.feed_forward.sum for layer in layers if layer.feed_forward]
        places = dict.fromkeys(place for place in sums if place is not None)
        with hooked(place.watch(partial(self._sum, place)) for place in places):
            yield

    def visit(self, record: LayerRecord) -> None:
        """Keep the maps of one layer."""
        scores = Scores(record)
        for name, maps in self.maps.items():
            if name == "encoder_norm":
                maps.append(_to_host(self._encoder_norm(record, scores)))
            else:
                maps.append(_to_host(_OF_RECORDS[name](record, scores)))

    def _encoder_norm(self, record: LayerRecord, scores: Scores) -> Map:
        assert record.residual is not None  # noqa: S101 - the capture was asked for it
        site = record.residual.site
        if site.norm is None:
            return scores.encoder_norm(None)[0]
        behind = site.feed_forward
        if behind is None or behind.sum is None or behind.norm is None:
            raise UnsupportedModelError(
                f"{record.site.name}: the norm behind its feed-forward layer was not found, so "
                "that norms behind it are not known; take rollout_layer_norm."
            )
        # This sum is computed later in the pass; `_sum` then divides by its scale.
        self._awaited = behind.sum, behind.norm
        return scores.encoder_norm(behind.norm)[0]

    def _sum(self, place: Place, tensor: Tensor) -> None:
        """Divide the latest map by the scale of the sum behind its feed-forward layer.

        The first sum that is seen after the attention is the one.
        """
        if self._awaited is None or self._awaited[0] != place:
            return
        (_, norm), self._awaited = self._awaited, None
        last = self.maps["encoder_norm"][-1]
        scale = norm.scale(tensor.reshape(len(last), -1)).cpu().double()
        self.maps["encoder_norm"][-1] = last / scale[:, None]


def _to_host(matrix: Map) -> Map:
    return matrix.cpu().double()
