"""Every number of a survey as its definition has it: one document at a time, plain loops, float64.

Only the texts come from headlight, as ids and categories. The weights are those that the model
gives itself, the values are read off its own linear maps, and what is made of them is in
`definitions`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import PreTrainedModel

import definitions
from headlight.encode import Encoded
from tiny_models import eager_attention

Array = NDArray[np.float64]
MEASURES = ("weight", "norm", "effective")
CLASSES = range(4)
SEP = 1
BIN = 8

MAPS = {
    ("bert", "encoder"): (
        "encoder.layer.{}.attention.self.value",
        "encoder.layer.{}.attention.output.dense",
    ),
    ("llama", "decoder"): ("layers.{}.self_attn.v_proj", "layers.{}.self_attn.o_proj"),
    ("bart", "encoder"): (
        "encoder.layers.{}.self_attn.v_proj",
        "encoder.layers.{}.self_attn.out_proj",
    ),
    ("bart", "decoder"): (
        "decoder.layers.{}.self_attn.v_proj",
        "decoder.layers.{}.self_attn.out_proj",
    ),
    ("bart", "cross"): (
        "decoder.layers.{}.encoder_attn.v_proj",
        "decoder.layers.{}.encoder_attn.out_proj",
    ),
    ("t5", "encoder"): (
        "encoder.block.{}.layer.0.SelfAttention.v",
        "encoder.block.{}.layer.0.SelfAttention.o",
    ),
    ("t5", "decoder"): (
        "decoder.block.{}.layer.0.SelfAttention.v",
        "decoder.block.{}.layer.0.SelfAttention.o",
    ),
    ("t5", "cross"): (
        "decoder.block.{}.layer.1.EncDecAttention.v",
        "decoder.block.{}.layer.1.EncDecAttention.o",
    ),
}
"""Where the values of layer {} are made, and where they are projected."""


@dataclass
class Layer:
    """What one layer does to one document."""

    weight: Array
    value: Array
    output: Array
    visible: NDArray[np.bool_]
    input: Array
    bias: Array | None
    """b^V, [key_value_head, head_dim]."""

    def scores(self, value_bias: str) -> dict[str, Array]:
        value = self.value
        if value_bias == "exclude" and self.bias is not None:
            value = value - self.bias[:, None]
        return {
            "weight": self.weight,
            "norm": definitions.weighted_norm(self.weight, self.value, self.output),
            "effective": definitions.effective(self.weight, value, self.output, self.visible),
        }


def layers_of(
    model: PreTrainedModel, family: str, kind: str, example: Encoded, layers: Sequence[int]
) -> list[Layer]:
    """Run one document alone through the model."""
    inputs = {"input_ids": torch.tensor([example.ids])}
    if family == "bert":
        inputs["token_type_ids"] = torch.tensor([example.segments])
    if example.target:
        inputs["decoder_input_ids"] = torch.tensor([example.target])
    modules = dict(model.named_modules())
    seen: dict[str, tuple[Array, Array]] = {}

    def listener(name):
        def note(module, given, output):
            seen[name] = given[0][0].double().numpy(), output[0].double().numpy()

        return note

    names = [MAPS[family, kind][0].format(layer) for layer in layers]
    hooks = [modules[name].register_forward_hook(listener(name)) for name in names]
    alone = model.config.is_encoder_decoder and not example.target
    weights = eager_attention(model.get_encoder() if alone else model, inputs)
    for hook in hooks:
        hook.remove()
    if example.target:
        half = len(weights) // 3
        weights = {
            "encoder": weights[:half], "decoder": weights[half::2], "cross": weights[half + 1 :: 2]
        }[kind]  # fmt: skip
    return [
        _layer(weights[layer][0].double().numpy(), *seen[name], modules, family, kind, layer)
        for layer, name in zip(layers, names, strict=True)
    ]


def _layer(weight, given, made, modules, family, kind, layer) -> Layer:
    source, target = (modules[name.format(layer)] for name in MAPS[family, kind])
    heads, queries, keys = weight.shape
    output = target.weight.detach().double().numpy().T.reshape(heads, -1, target.weight.shape[0])
    head_dim = output.shape[1]
    bias = None if source.bias is None else source.bias.detach().double().numpy()
    visible = np.ones((queries, keys), dtype=bool)
    return Layer(
        weight=weight,
        value=made.reshape(keys, -1, head_dim).transpose(1, 0, 2),
        output=output,
        visible=np.tril(visible) if kind == "decoder" else visible,
        input=given,
        bias=None if bias is None else bias.reshape(-1, head_dim),
    )


def survey(
    model: PreTrainedModel,
    family: str,
    kind: str,
    examples: Sequence[Encoded],
    *,
    layers: Sequence[int] = (0, 1),
    heads: Sequence[int] = (4, 4),
    value_bias: str = "include",
) -> dict[str, Array]:
    """Every variable of the result, by name; `heads` is the number of heads of each layer."""
    shape = (len(layers), max(heads))
    found: dict[str, list[Array]] = {}
    tokens: dict[str, list[Array]] = {"vector_norm": [], "input_norm": [], "token_share": []}
    by_length: dict[int, list[float]] = {}
    for example in examples:
        source = list(example.categories), list(example.ids)
        target = list(example.target_categories), list(example.target)
        key_class = target[0] if kind == "decoder" and example.target else source[0]
        query_class = target[0] if kind != "encoder" and example.target else source[0]
        seen = layers_of(model, family, kind, example, layers)
        scores = [layer.scores(value_bias) for layer in seen]
        one = _document(seen, scores, query_class, key_class, shape, kind)
        one["entropy_uniform"] = np.array(math.log(len(key_class)))
        for name, value in one.items():
            found.setdefault(name, []).append(value)
        for name, rows in _tokens(seen, key_class, shape).items():
            tokens[name].extend(rows)
        edge = len(key_class) // BIN * BIN
        by_length.setdefault(edge, []).append(_correlation_of_all(seen, scores))
    means = {name: nan_mean(values) for name, values in found.items()}
    result = {
        **means,
        **_shares(means),
        **_dispersion(tokens),
        "token_share": np.mean(tokens["token_share"], axis=0),
    }
    edges = sorted(by_length)
    result["length"] = np.array(edges)
    result["effective_correlation"] = np.array([np.mean(by_length[edge]) for edge in edges])
    result["effective_correlation_std"] = np.array([np.std(by_length[edge]) for edge in edges])
    result["effective_correlation_count"] = np.array([len(by_length[edge]) for edge in edges])
    return result


def _document(seen, scores, query_class, key_class, shape, kind) -> dict[str, Array]:
    """The statistics of one document that are averaged over documents."""
    total = np.full((3, *shape, 6, 4), np.nan)
    neighbour = np.full((3, *shape, 3), np.nan)
    entropy = np.full((3, *shape, 6), np.nan)
    merged = np.full((shape[0], 6, 4), np.nan)
    rank = np.full(shape, np.nan)
    correlation = np.full(shape, np.nan)
    for index, (layer, measures) in enumerate(zip(seen, scores, strict=True)):
        for number, name in enumerate(MEASURES):
            entropies = definitions.entropy(measures[name])
            for head, score in enumerate(measures[name]):
                total[number, index, head] = pooled(score, query_class, key_class)
                entropy[number, index, head] = averaged(entropies[head], query_class)
                if kind != "cross":
                    neighbour[number, index, head] = neighbours(score)
        whole = definitions.merged_norm(layer.weight, layer.value, layer.output)
        merged[index] = pooled(whole, query_class, key_class)
        number = len(layer.weight)
        everything = np.ones(layer.value.shape[1], dtype=bool)
        rank[index, :number] = definitions.rank(layer.value, layer.output, everything)
        for head in range(number):
            pairs = cells(layer, measures, [head])
            correlation[index, head] = pearson(*pairs)
    return {
        "total": total, "neighbour": neighbour, "entropy": entropy, "merged_total": merged,
        "rank": rank, "effective_correlation_by_head": correlation,
    }  # fmt: skip


def pooled(score: Array, query_class: Sequence[int], key_class: Sequence[int]) -> Array:
    """Mean over the queries of a class of the sum over the keys of a class.

    The first row is of all queries, the last of all that are not separators.
    """
    result = np.full((6, 4), np.nan)
    for row, queries in enumerate(_classes(query_class)):
        for column in CLASSES:
            sums = [
                sum(score[query, key] for key, found in enumerate(key_class) if found == column)
                for query in queries
            ]
            if sums:
                result[row, column] = math.fsum(sums) / len(sums)
    return result


def averaged(values: Array, query_class: Sequence[int]) -> Array:
    rows = [[values[query] for query in queries] for queries in _classes(query_class)]
    return np.array([math.fsum(row) / len(row) if row else np.nan for row in rows])


def _classes(query_class: Sequence[int]) -> list[list[int]]:
    positions = list(range(len(query_class)))
    return [
        positions,
        *([i for i in positions if query_class[i] == c] for c in CLASSES),
        [i for i in positions if query_class[i] != SEP],
    ]


def neighbours(score: Array) -> Array:
    """What goes to the previous, the current and the next token, over the number of tokens."""
    size = len(score)
    return np.array(
        [
            math.fsum(score[i, i + offset] for i in range(size) if 0 <= i + offset < size) / size
            for offset in (-1, 0, 1)
        ]
    )


def cells(layer: Layer, measures: dict[str, Array], heads: Sequence[int]) -> tuple[Array, Array]:
    """Raw and effective attention of every cell that can be seen."""
    chosen = [
        (head, query, key)
        for head in heads
        for query, key in zip(*layer.visible.nonzero(), strict=True)
    ]
    return tuple(np.array([measures[name][c] for c in chosen]) for name in ("weight", "effective"))


def pearson(first: Array, second: Array) -> float:
    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return math.nan
    return float(np.corrcoef(first, second)[0, 1])


def _correlation_of_all(seen, scores) -> float:
    pairs = [
        cells(layer, measures, range(len(layer.weight)))
        for layer, measures in zip(seen, scores, strict=True)
    ]
    return pearson(*(np.concatenate(parts) for parts in zip(*pairs, strict=True)))


def _tokens(seen, key_class, shape) -> dict[str, list[Array]]:
    """What is observed token by token."""
    norms = np.full((len(key_class), *shape), np.nan)
    inputs = np.full((len(key_class), shape[0]), np.nan)
    for index, layer in enumerate(seen):
        vector = definitions.vector_norm(layer.value, layer.output)
        norms[:, index, : len(vector)] = vector.T
        inputs[:, index] = definitions.input_norm(layer.input)
    share = [np.array([float(found == c) for c in CLASSES]) for found in key_class]
    return {"vector_norm": list(norms), "input_norm": list(inputs), "token_share": share}


def _shares(means: dict[str, Array]) -> dict[str, Array]:
    whole = sum(means["total"][1, ..., column] for column in CLASSES)
    share, neighbour = means["total"].copy(), means["neighbour"].copy()
    share[1] /= whole[..., None]
    neighbour[1] /= whole[..., 0, None]
    merged = means["merged_total"]
    return {
        "share": share,
        "neighbour": neighbour,
        "merged_share": merged / merged.sum(-1, keepdims=True),
    }


def _dispersion(tokens: dict[str, list[Array]]) -> dict[str, Array]:
    result = {}
    for name in ("vector_norm", "input_norm"):
        rows = np.array(tokens[name])
        mean, std = rows.mean(0), rows.std(0)
        found = {"mean": mean, "std": std, "cv": std / mean, "min": rows.min(0), "max": rows.max(0)}
        result |= {f"{name}_{statistic}": value for statistic, value in found.items()}
    return result


def nan_mean(values: Sequence[Array]) -> Array:
    """The mean over documents, of those that have a value; NaN where none has."""
    stacked = np.array(values)
    seen = ~np.isnan(stacked)
    count = seen.sum(0)
    total = np.where(seen, stacked, 0).sum(0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
