"""Scores as sums over pairs of a part of the query and one of the key, against the definition."""

import pytest
import torch
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

from architectures import DECODERS, ENCODER_DECODERS, ENCODERS, GROUPED, WIDE, case
from headlight.capture import CapturedModel
from headlight.capture.linear_network.score_decomposition import score_parts
from headlight.views.reading.explanation import part_label
from tiny_models import build

HEADS, SIZE = 4, 8
HEAD, QUERY, KEY, OTHER = 2, 9, 3, 5
IDS = torch.randint(5, 99, (1, 12), generator=torch.Generator().manual_seed(3))
ROWS = [
    case(row)
    for row in [*ENCODERS, *DECODERS, *ENCODER_DECODERS]
    if row.name != "DeepSeek-V3"  # is refused: its queries and keys are not followed
]
GROUPS = {**GROUPED, "head_dim": SIZE, "attention_bias": True}


def seen_in(network, modules):
    """What modules put out in one pass, and the weights of the first layer."""
    seen, hooks = {}, []
    for name, module in modules.items():
        hook = lambda _, __, output, name=name: seen.__setitem__(name, output[0])  # noqa: E731
        hooks.append(module.register_forward_hook(hook))
    network.set_attn_implementation("eager")
    seen["weight"] = network(IDS, output_attentions=True).attentions[0][0]
    network.set_attn_implementation("sdpa")
    for hook in hooks:
        hook.remove()
    return seen


def frozen(norm, at):
    """A norm as a linear map, with its statistics as constants and without its bias."""
    centred = isinstance(norm, torch.nn.LayerNorm)
    size = (at - at.mean() * centred).square().mean()
    size = (size + (norm.eps if centred else norm.variance_epsilon)).sqrt()
    return lambda part: norm.weight * (part - part.mean() * centred) / size


def written_by_heads(seen, output, place):
    """What each head of the first layer brings from each token into the residual stream of one."""
    values = seen["value"].reshape(IDS.shape[1], -1, SIZE)
    shared = HEADS // values.shape[1]
    columns = output.weight.reshape(-1, HEADS, SIZE)
    return {
        (h, j): columns[:, h] @ (seen["weight"][h, place, j] * values[j, h // shared])
        for h in range(HEADS)
        for j in range(IDS.shape[1])
    }


@torch.no_grad()
def of_bert(network, side, place):
    """The parts of the query or key of a token in the second layer, and the whole of it."""
    embeddings, first, second = network.embeddings, *network.encoder.layer
    inner = first.attention
    seen = seen_in(network, {"value": inner.self.value, "fed": first.output.dense, "x": first})
    word = embeddings.word_embeddings.weight[IDS[0, place]]
    position = embeddings.position_embeddings.weight[place]
    position = position + embeddings.token_type_embeddings.weight[0]
    heads = written_by_heads(seen, inner.output.dense, place)
    embedded = embeddings.LayerNorm(word + position)
    before = embedded + sum(heads.values()) + inner.output.dense.bias
    fed = seen["fed"][place] - first.output.dense.bias
    after = frozen(first.output.LayerNorm, inner.output.LayerNorm(before) + seen["fed"][place])
    middle, below = (
        frozen(inner.output.LayerNorm, before),
        frozen(embeddings.LayerNorm, word + position),
    )
    parts = {name: after(middle(part)) for name, part in heads.items()}
    parts |= {
        "embedding of the token": after(middle(below(word))),
        "embedding of the position": after(middle(below(position))),
        "feed-forward 0": after(fed),
    }
    projection = getattr(second.attention.self, side)
    rows = slice(HEAD * SIZE, (HEAD + 1) * SIZE)
    return {name: projection.weight[rows] @ part for name, part in parts.items()}, projection(
        seen["x"][place]
    )[rows]


@torch.no_grad()
def of_llama(network, side, place):
    """The same of models like Llama: grouped heads, norms of queries and keys, rotation."""
    first, second = network.layers
    embedded, attention = network.embed_tokens(IDS)[0], second.self_attn
    seen = seen_in(
        network, {"value": first.self_attn.v_proj, "fed": first.mlp, "x": second.input_layernorm}
    )
    parts = written_by_heads(seen, first.self_attn.o_proj, place)
    parts |= {"embedding of the token": embedded[place], "feed-forward 0": seen["fed"][place]}
    bias = first.self_attn.o_proj.bias
    norm = frozen(second.input_layernorm, sum(parts.values()) + (0 if bias is None else bias))
    projection = attention.q_proj if side == "query" else attention.k_proj
    head = HEAD if side == "query" else HEAD // 2
    rows = slice(head * SIZE, (head + 1) * SIZE)
    vectors = {name: projection.weight[rows] @ norm(part) for name, part in parts.items()}
    whole = projection(seen["x"][place])[rows]
    if hasattr(attention, "q_norm"):
        module = attention.q_norm if side == "query" else attention.k_norm
        inner, whole = frozen(module, whole), module(whole)
        vectors = {name: inner(vector) for name, vector in vectors.items()}
    cos, sin = network.rotary_emb(embedded[None], torch.tensor([[place]]))
    turned = [
        apply_rotary_pos_emb(v.view(1, 1, 1, -1), v.view(1, 1, 1, -1), cos, sin)[0].flatten()
        for v in (*vectors.values(), whole)
    ]
    return dict(zip(vectors, turned, strict=False)), turned[-1]


@pytest.mark.parametrize(
    ("family", "settings", "naive"),
    [
        ("bert", WIDE, of_bert),
        ("llama", GROUPS, of_llama),
        ("qwen2", GROUPED, of_llama),
        ("qwen3", GROUPS, of_llama),
    ],
)
def test_pairs_by_hand(family, settings, naive):
    network = build(family, settings, seed=7).double()
    model = CapturedModel(network, None, family, "1")
    with model.running(("input_ids",)):
        parts = score_parts(model, {"input_ids": IDS}, model.sites[-1], (HEAD, QUERY, KEY), OTHER)
    query, key = naive(network, "query", QUERY), naive(network, "key", KEY)
    sides = (
        (parts.query, query, key[1], parts.value),
        (parts.key, key, query[1], parts.value),
        (parts.other, naive(network, "key", OTHER), query[1], parts.other_value),
    )
    for found, (expected, whole), other, score in sides:
        torch.testing.assert_close(whole @ other * parts.scale, torch.tensor(score).double())
        labels = {part_label(*name): row for name, row in found.vectors.items()}
        for name, vector in expected.items():
            if isinstance(name, tuple):
                added = vector @ other * parts.scale
                torch.testing.assert_close(found.heads[0].direct[name], added, atol=1e-6, rtol=0)
                name = f"L0H{name[0]}"
                vector = sum(row for at, row in expected.items() if f"L0H{at[0]}" == name)
            torch.testing.assert_close(labels[name], vector, atol=1e-6, rtol=1e-5)
        rest = whole - sum(expected.values())
        biases = sum(row for name, row in found.vectors.items() if name.kind == "bias")
        torch.testing.assert_close(biases, rest, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("row", ROWS)
def test_pairs_add_up_to_the_score_and_to_the_parts_of_either_side(row):
    model = CapturedModel(row.build().double(), None, row.name, "1")
    inputs = {name: ids[:1] for name, ids in row.inputs(torch.Generator(), "none").items()}
    site = model.sites_of(model.kinds[0])[-1]
    with model.running(tuple(inputs)):
        found = score_parts(model, inputs, site, (1, 6, 3), 5)
    queries = found.query.matrix(list(found.query.parts))
    for key, score in ((found.key, found.value), (found.other, found.other_value)):
        pairs = queries @ key.matrix(list(key.parts)).T * found.scale
        assert float(pairs.sum()) == pytest.approx(score, abs=1e-5 * max(1.0, abs(score)))
        assert pairs.sum(0).tolist() == pytest.approx(list(key.parts.values()), abs=1e-5)
        if key is found.key:
            assert pairs.sum(1).tolist() == pytest.approx(
                list(found.query.parts.values()), abs=1e-5
            )
