"""Maps of layers followed through the model: rollout, attention flow, and maps of the input."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import maximum_flow
from torch import Tensor

from headlight.capture import AttentionSite, AttributionSettings, CapturedModel, attribute
from headlight.capture.attribution_run import Run, portions, prepared, refusing, squared_moves
from headlight.capture.network import token_parts
from headlight.capture.one_text import one_text
from headlight.chats import Readable
from headlight.encode import Encoded
from headlight.errors import UnsupportedModelError, UsageError
from headlight.settings import require_place
from headlight.vocabulary import Kind

Maps = Float[Tensor, "layer query key"]


def rollout(
    maps: Maps, *, residual: float | Float[Tensor, "layer query"] = 0.0, normalised: bool = False
) -> Maps:
    """R_l = A_l R_{l−1}: what goes from each input token to each hidden token, along all ways.

    Args:
        maps: of all layers, from the first: what each token takes from each.
        residual: r of A = (1 − r) M + r I: what of a token is itself, one for all or one for each.
        normalised: whether the rows of the maps are made to sum to 1 first, so that with a residual
            both have the same unit.

    Returns:
        After each layer; rows sum to 1 if those of the maps do.

    Source: Abnar and Zuidema (2020), who take the mean weights of heads and r = ½.

    Raises:
        UsageError: the maps have not as many queries as keys.
    """
    if maps.shape[1] != maps.shape[2]:
        raise UsageError(
            f"maps of {maps.shape[1]} queries and {maps.shape[2]} keys cannot be multiplied; take "
            "attention of a text to itself."
        )
    each = with_residual(shares(maps) if normalised else maps, residual)
    products = [each[0]]
    for layer in each[1:]:
        products.append(layer @ products[-1])
    return torch.stack(products)


def with_residual(maps: Maps, residual: float | Float[Tensor, "layer query"]) -> Maps:
    """(1 − r) M + r I of each layer."""
    residual_share = torch.as_tensor(residual, dtype=maps.dtype, device=maps.device)[..., None]
    alone = torch.eye(maps.shape[1], dtype=maps.dtype, device=maps.device)
    residual_share = residual_share.expand(*maps.shape[:2], 1)
    return (1 - residual_share) * maps + residual_share * alone


def shares(maps: Float[Tensor, "*layer query key"]) -> Float[Tensor, "*layer query key"]:
    """Each row over its sum; rows of zeros stay."""
    whole = maps.sum(-1, keepdim=True)
    return maps / whole.where(whole != 0, 1)


UNIT = 2**30
"""Capacities are whole numbers of this share."""


def attention_flow(
    maps: Float[Tensor, "layer query key"], token: int = -1, *, residual: float = 0.5
) -> Float[Tensor, " key"]:
    """Return the maximum flow from each input token to one token after the last of these layers.

    Every token after every layer is a node; the edge to a token of the layer before has what is
    taken from it as its capacity.  All ways to one input token are used at once, and those to the
    others are left out, so that the numbers are no shares.  Each input token takes a computation of
    its own over all edges: for few tokens of short texts.

    Args:
        maps: of all layers up to the one that is asked about, from the first; rows sum to 1.
        token: the hidden token; from the end if negative.
        residual: what of each token is itself.

    Returns:
        Between 0 and 1, to 10⁻⁹ for each edge; after one layer the row of its map.

    Raises:
        UsageError: there is no such token.

    Source: Abnar and Zuidema (2020), attention flow.
    """
    layers, tokens = maps.shape[:2]
    token = require_place("token", token, tokens)
    graph = _graph(with_residual(maps, residual).cpu().double().numpy())
    start = layers * tokens + token
    flows = [maximum_flow(graph, start, key).flow_value / UNIT for key in range(tokens)]
    return torch.tensor(flows, dtype=torch.float64)


def _graph(maps: Float[np.ndarray, "layer query key"]) -> csr_array:
    """Node (l, i) is number l · tokens + i; those of the input are the first."""
    layers, tokens = maps.shape[:2]
    capacity = np.rint(maps * UNIT).astype(np.int32)
    layer, query, key = np.nonzero(capacity)
    size = (layers + 1) * tokens
    places = (layer + 1) * tokens + query, layer * tokens + key
    return csr_array(coo_array((capacity[layer, query, key], places), shape=(size, size)))


@dataclass(frozen=True, eq=False)
class Subject:
    """One text in the stack that reads it.

    Attributes:
        model: that runs.
        example: what it reads.
        kind: of its attention.
        sites: of that kind, layer by layer.
    """

    model: CapturedModel
    example: Encoded
    kind: Kind
    sites: list[AttentionSite]


def subject_of(
    model: CapturedModel,
    text: Readable | Encoded,
    pair: str | None = None,
    kind: Kind | None = None,
) -> Subject:
    """The text, and the encoder alone where the model has a decoder that reads another text.

    Args:
        model: the model.
        text: what it reads, or an example.
        pair: a second text.
        kind: ``encoder`` or ``decoder``; by default the first that the model has.

    Raises:
        UsageError: no tokenizer, an empty or too long text, no such kind, or cross-attention.
    """
    model = model.reader()
    chosen = kind or model.kinds[0]
    if chosen == "cross" or (chosen == "decoder" and "cross" in model.kinds):
        raise UsageError(
            f"tokens are followed through one text; {chosen} attention of {model} stands "
            "beside another. Take kind encoder."
        )
    if isinstance(text, Encoded):
        example = text
    else:
        model, example = one_text(model, text, pair, chosen, purpose="maps of tokens need text")
    if model.has_decoder_inputs:
        model = model.encoder()
        example = replace(example, target=(), target_categories=(), target_words=())
    return Subject(model, example, chosen, model.sites_of(chosen))


def attributed(subject: Subject, settings: AttributionSettings) -> Maps:
    """Hidden token attribution: sizes of the Jacobians, as shares."""
    batch = subject.model.collate([subject.example])
    attribution = attribute(subject.model, batch, settings, kind=subject.kind)
    return _checked(subject, attribution.contribution[:, 0])


def gradient_times_input(subject: Subject, settings: AttributionSettings) -> Maps:
    """‖(∂e_i/∂x_j) x_j‖: how far a hidden token moves with an input token, to first order.

    x_j is what the first block is given.
    """
    with _running(subject) as run:
        keys = torch.arange(run.tokens)
        squared_by_part = [
            squared_moves(run, run.embedded[0, some], keys[some])
            for some in portions(run, run.tokens, settings.memory)
        ]
    return _checked(subject, torch.cat(squared_by_part, 1).sqrt().transpose(1, 2))


def decomposed(subject: Subject, settings: AttributionSettings) -> Maps:
    """Lengths of the parts of a hidden token, in the network with the constants of this run.

    Attention weights, statistics of norms and slopes act(x)/x are constants.  What biases add is no
    part of any token.

    Source: Modarressi et al. (2023), DecompX, Section 2, without biases.
    """
    with _running(subject) as run:
        norms = [parts.norm(dim=-1) for _, parts in token_parts(run, settings.memory)]
    return _checked(subject, torch.cat(norms).permute(1, 2, 0))


THROUGH_ALL: Mapping[str, Callable[[Subject, AttributionSettings], Maps]] = {
    "attribution": attributed,
    "gradient_hidden": gradient_times_input,
    "decompx": decomposed,
}


@contextmanager
def _running(subject: Subject) -> Iterator[Run]:
    model, batch = subject.model, subject.model.collate([subject.example])
    with (
        model.running(batch.names),
        prepared(model, batch, subject.kind, "output") as run,
        refusing(model.name),
    ):
        yield run


def _checked(subject: Subject, maps: Maps) -> Maps:
    """On the CPU, where there is one for each layer of attention."""
    if len(maps) != len(subject.sites):
        raise UnsupportedModelError(
            f"{subject.model} has {len(maps)} blocks and {len(subject.sites)} layers of "
            f"{subject.kind} attention, so that maps of layers and of hidden tokens are not of the "
            "same places; take methods that multiply maps of layers."
        )
    return maps.cpu().double()
