"""Embedding of a text: how a model pools its hidden tokens, and what each token adds to it.

A SentenceTransformer says in ``modules.json`` how hidden tokens become one vector: a mean, say,
with dense layers behind it.  For one text that is a linear map, with the slopes of activations as
constants of the run.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Float64
from safetensors import SafetensorError
from safetensors.torch import load
from torch import Tensor
from transformers.utils import cached_file

from headlight.capture.captured_model import CapturedModel
from headlight.capture.embedding_changes import prepared
from headlight.capture.forward_mode import refusing
from headlight.capture.linear_network.logit_decomposition import Decomposition, decompose
from headlight.capture.linear_network.token_parts import token_parts
from headlight.encode import Encoded
from headlight.errors import ModelError, UnsupportedModelError
from headlight.files import read, read_json
from headlight.settings.attribution import AttributionSettings

SAME = 1e-4
"""Largest difference between two ways to one number, as a share of the lengths of its parts."""

MODES: Mapping[str, Callable[[int], Float64[Tensor, " token"]]] = {
    "mean": lambda tokens: torch.full((tokens,), 1 / tokens, dtype=torch.float64),
    "weightedmean": lambda tokens: (
        torch.arange(1.0, tokens + 1, dtype=torch.float64) * 2 / (tokens * (tokens + 1))
    ),
    "cls": lambda tokens: torch.eye(tokens, dtype=torch.float64)[0],
    "lasttoken": lambda tokens: torch.eye(tokens, dtype=torch.float64)[-1],
}
"""Weights of hidden tokens in the pooled vector, by the mode of pooling."""

ACTIVATIONS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "Identity": torch.nn.Identity(),
    "Tanh": torch.tanh,
    "ReLU": torch.relu,
    "GELU": torch.nn.functional.gelu,
}
"""Activations of dense layers, all of which are 0 at 0."""

_COMMIT = re.compile("[0-9a-f]{40}")
_MODULES = "modules.json"


@dataclass(frozen=True, eq=False)
class Dense:
    """Dense layer behind the pooling."""

    weight: Float64[Tensor, "out d_model"]
    bias: Float64[Tensor, " out"]
    activation: str


class LinearMap(NamedTuple):
    """Map from the hidden tokens of one text to its embedding, with the constants of the run.

    Attributes:
        weights: Weights of hidden tokens in the pooled vector.
        matrix: Product of the layers behind the pooling.
        offset: What their biases add.
    """

    weights: Float64[Tensor, " token"]
    matrix: Float64[Tensor, "dim d_model"]
    offset: Float64[Tensor, " dim"]

    def parts(self, states: Float64[Tensor, "*part token d_model"]) -> Float64[Tensor, "*part dim"]:
        """Return what hidden tokens, or parts of them, add to the embedding."""
        return torch.einsum("t,...td->...d", self.weights, states) @ self.matrix.T


@dataclass(frozen=True, eq=False)
class Pooling:
    """Rule by which a model makes the embedding of a text.

    Attributes:
        mode: Name of the pooling, one of `MODES`.
        layers: Dense layers behind the pooling.
        is_assumed: Whether the model does not say it, so that the mean is taken.
    """

    mode: str = "mean"
    layers: tuple[Dense, ...] = ()
    is_assumed: bool = True

    @classmethod
    def of(cls, model: CapturedModel) -> "Pooling":
        """Return the rule of a model's files; the mean over all tokens where they say none.

        Raises:
            ModelError: the files are damaged, or a dense layer is not in safetensors.
            UnsupportedModelError: the rule is not linear in the hidden tokens, or not known here.
        """
        path = _file(model, _MODULES)
        if path is None:
            return cls()
        modules = [
            (str(module.get("type")).rpartition(".")[2], str(module.get("path", "")))
            for module in _values(path, lambda rows: [dict(row) for row in rows])
        ]
        if modules and modules[-1][0] == "Normalize":
            modules.pop()  # a cosine does not see it, and lengths are told without it
        kinds = [kind for kind, _ in modules]
        if kinds[:2] != ["Transformer", "Pooling"] or not {*kinds[2:]} <= {"Dense"}:
            raise UnsupportedModelError(
                f"{model} embeds texts by {', '.join(kinds) or 'nothing'}, for which there is no "
                "rule here; give a model with Transformer, Pooling, Dense and Normalize in order."
            )
        layers = tuple(_dense(model, folder) for _, folder in modules[2:])
        return cls(_mode(model, modules[1][1]), layers, is_assumed=False)

    @property
    def name(self) -> str:
        """Return the rule in words: ``mean, dense (Tanh)``."""
        return ", ".join([self.mode, *(f"dense ({layer.activation})" for layer in self.layers)])

    def linear_map(self, states: Float64[Tensor, "token d_model"]) -> LinearMap:
        """Return the linear map of the text with these hidden tokens.

        Raises:
            ModelError: A dense layer is for vectors of another size.
        """
        weights = MODES[self.mode](len(states))
        pooled = weights @ states
        matrix = torch.eye(len(pooled), dtype=torch.float64)
        offset = torch.zeros(len(pooled), dtype=torch.float64)
        for layer in self.layers:
            if layer.weight.shape[1] != len(matrix):
                raise ModelError(
                    f"a dense layer reads {layer.weight.shape[1]} numbers and is given "
                    f"{len(matrix)}; the folder is that of another model."
                )
            before = layer.weight @ (matrix @ pooled + offset) + layer.bias
            slope = ACTIVATIONS[layer.activation](before) / torch.where(before == 0, 1, before)
            matrix = slope[:, None] * (layer.weight @ matrix)
            offset = slope * (layer.weight @ offset + layer.bias)
        return LinearMap(weights, matrix, offset)


def _file(model: CapturedModel, name: str) -> Path | None:
    """Return a file beside the model, in its folder or of its commit in the cache of the hub."""
    if Path(model.name).is_dir():
        path = Path(model.name) / name
        return path if path.exists() else None
    if not _COMMIT.fullmatch(model.revision):
        return None
    try:
        place = cached_file(
            model.name,
            name,
            revision=model.revision,
            _raise_exceptions_for_missing_entries=False,
        )
    except OSError as problem:  # of the hub, which may have the file
        raise ModelError(
            f"{name} of {model} cannot be fetched, by which it embeds texts; try again."
        ) from problem
    return None if place is None else Path(place)


def _inside(model: CapturedModel, folder: str, name: str) -> Path:
    place = PurePosixPath(folder) / name
    path = None if place.is_absolute() or ".." in place.parts else _file(model, str(place))
    if path is None:
        raise ModelError(
            f"{_MODULES} of {model} names {place}, which is not there as a file of the "
            "model; copy the model again (dense layers are read from safetensors alone)."
        )
    return path


def _values(path: Path, kind: Callable[[Any], Any]) -> Any:
    try:
        return kind(read_json(path, refuse_links=False, error=ModelError))
    except (ValueError, TypeError) as problem:
        raise ModelError(f"{path} is damaged ({problem}); copy it again.") from problem


def _mode(model: CapturedModel, folder: str) -> str:
    config = _values(_inside(model, folder, "config.json"), dict)
    flags = [key for key, value in config.items() if key.startswith("pooling_mode_") and value]
    modes = [re.sub("^pooling_mode_|_tokens?$", "", key) for key in flags]
    modes = modes or [str(config.get("pooling_mode", "no known rule"))]
    if len(modes) > 1 or modes[0] not in MODES:
        raise UnsupportedModelError(
            f"{model} pools by {' and '.join(modes)}, and a cosine is a sum over pairs of tokens "
            f"for one of {', '.join(MODES)} alone; give a model that pools so."
        )
    return modes[0]


def _dense(model: CapturedModel, folder: str) -> Dense:
    config = _values(_inside(model, folder, "config.json"), dict)
    activation = str(config.get("activation_function")).rpartition(".")[2]
    if activation not in ACTIVATIONS:
        raise UnsupportedModelError(
            f"a dense layer of {model} has the activation {activation}; known are "
            f"{', '.join(ACTIVATIONS)}."
        )
    path = _inside(model, folder, "model.safetensors")
    try:
        weights = load(read(path, error=ModelError))
        weight = weights["linear.weight"].double()
        bias = weights.get("linear.bias", torch.zeros(len(weight))).double()
    except (SafetensorError, KeyError) as problem:
        raise ModelError(f"{path} holds no dense layer ({problem}); copy it again.") from problem
    if weight.ndim != 2 or bias.shape != weight.shape[:1]:
        raise ModelError(
            f"{path} holds a weight of shape {tuple(weight.shape)} and a bias of shape "
            f"{tuple(bias.shape)}, which are no dense layer; copy it again."
        )
    return Dense(weight, bias, activation)


@dataclass(frozen=True, eq=False)
class Embedding:
    """Embedding of one text as a sum of what tokens add, and positions and biases.

    Attributes:
        whole: Embedding, as the model computes it.
        tokens: What each token's embedding adds through all layers.
        to_embedding: Map from hidden tokens to the embedding.
    """

    whole: Float64[Tensor, " dim"]
    tokens: Float64[Tensor, "token dim"]
    to_embedding: LinearMap


def embed(
    model: CapturedModel, example: Encoded, pooling: Pooling
) -> tuple[Float64[Tensor, " dim"], LinearMap]:
    """Return the embedding of a text, and the linear map that made it."""
    output = model.run(model.collate([example]))
    states = output.last_hidden_state[0].detach().cpu().double()
    to_embedding = pooling.linear_map(states)
    return to_embedding.parts(states) + to_embedding.offset, to_embedding


def embedding_parts(model: CapturedModel, example: Encoded, pooling: Pooling) -> Embedding:
    """Return the embedding of a text as the sum of what its tokens, positions and biases add.

    Attention weights, statistics of norms and slopes are constants of the run.

    Args:
        model: Model without a head, in float32 or float64.
        example: Text.
        pooling: Rule of the model.

    Raises:
        UnsupportedModelError: the model cannot be differentiated in forward mode.

    Source: the parts are those of DecompX, Modarressi et al. (2023), without the sharing of biases.
    """
    whole, to_embedding = embed(model, example, pooling)
    batch, memory = model.collate([example]), AttributionSettings().memory
    with (
        model.running(batch.names),
        prepared(model, batch, model.kinds[0]) as run,
        refusing(model.name),
    ):
        states = [parts[:, -1].cpu().double() for _, parts in token_parts(run, memory)]
    return Embedding(whole, to_embedding.parts(torch.cat(states)), to_embedding)


def projection_parts(
    model: CapturedModel,
    example: Encoded,
    embedding: Embedding,
    direction: Float64[Tensor, " dim"],
) -> Decomposition:
    """Return the projection of an embedding on a direction as a sum, by tokens and by heads.

    Raises:
        UnsupportedModelError: the parts do not add up, or are not those of `embedding_parts`.
        UsageError: the model is in half precision.
    """
    pooled = embedding.to_embedding
    steep = pooled.weights[:, None] * (pooled.matrix.T @ direction)
    batch = model.collate([example])

    def score(output: Any) -> Float[Tensor, ""]:
        states: Tensor = output.last_hidden_state[0]
        return (states * steep.to(states)).sum()

    with model.running(batch.names):
        parts = decompose(model, model.inputs(batch), score, {"text": len(example.ids)})
    tokens = embedding.tokens @ direction
    value = float((embedding.whole - pooled.offset) @ direction)
    apart = max(abs(parts.value - value), float((parts.token["text"] - tokens).abs().max()))
    longest = max(float(tokens.norm()), float(embedding.whole.norm() * direction.norm()))
    if not apart <= SAME * longest:
        raise UnsupportedModelError(
            f"the embedding of {model} and the sum of its parts differ by {apart:.2g}, so it "
            "cannot be taken apart."
        )
    return parts
