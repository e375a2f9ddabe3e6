"""The probes against their formulas, written as loops over words and heads in float64."""

import numpy as np
import pytest
import torch

from headlight.errors import UnknownNameError, UsageError
from headlight_words.studies.parser_probes.batches import ParserBatch
from headlight_words.studies.parser_probes.models import (
    Attention,
    AttentionAndWords,
    DistancesAndWords,
    Parser,
    RightBranching,
)

HEADS, DIMENSIONS = 3, 4
LENGTHS = (5, 1, 3)


@pytest.fixture
def batch() -> ParserBatch:
    generator = torch.Generator().manual_seed(0)
    longest = max(LENGTHS)
    maps = torch.rand(3, longest + 2, longest + 2, HEADS, generator=generator)
    vectors = torch.randn(3, longest, DIMENSIONS, generator=generator)
    for place, length in enumerate(LENGTHS):
        maps[place, length + 2 :] = 0
        maps[place, :, length + 2 :] = 0
        vectors[place, length:] = 0
    lengths = torch.tensor(LENGTHS)
    heads = torch.where(torch.arange(longest) < lengths[:, None], 0, -1)
    return ParserBatch(lengths, heads, torch.zeros(3, longest, dtype=bool), maps, vectors)


def built(make) -> Parser:
    """A model with every number random, those that begin as zero too."""
    torch.manual_seed(1)
    model = make()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_()
    return model


def sentences(batch: ParserBatch):
    """Each without padding, as float64 arrays: maps, vectors, length."""
    for place, length in enumerate(batch.lengths.tolist()):
        size = length + 2
        maps = batch.maps[place, :size, :size].double().numpy()
        yield place, length, maps, batch.vectors[place, :length].double().numpy()


def candidate_vectors(vectors: np.ndarray, align_root: str) -> np.ndarray:
    """Of the root and the words, in this order."""
    zero = np.zeros((1, vectors.shape[1]))
    pair = (zero, vectors) if align_root == "fixed" else (vectors, zero)
    return np.concatenate(pair)


def word_maps(maps: np.ndarray, i: int, j: int, head: int, root: np.ndarray) -> tuple[float, float]:
    """α_ij and α_ji of word i and candidate j (0 is the root) in one head."""
    if j:
        return maps[i + 2, j + 1, head], maps[j + 1, i + 2, head]
    return (
        root[0] * maps[i + 2, 0, head] + root[1] * maps[i + 2, 1, head],
        root[0] * maps[0, i + 2, head] + root[1] * maps[1, i + 2, head],
    )


def numbers(model: Parser) -> dict[str, np.ndarray]:
    return {name: each.detach().double().numpy() for name, each in model.named_parameters()}


def check(model: Parser, batch: ParserBatch, place: int, expected: np.ndarray) -> None:
    length = len(expected)
    logits = model(batch)[place].detach()
    np.testing.assert_allclose(logits[:length, : length + 1], expected, rtol=2e-5, atol=2e-5)
    assert (logits[:length, length + 1 :] == -torch.inf).all()


def test_attention(batch):
    model = built(lambda: Attention(HEADS))
    weight, root = numbers(model)["weight"], numbers(model)["root.weight"]
    for place, length, maps, _ in sentences(batch):
        expected = np.zeros((length, length + 1))
        for i, j, head in np.ndindex(length, length + 1, HEADS):
            there, back = word_maps(maps, i, j, head, root)
            expected[i, j] += weight[0, head] * there + weight[1, head] * back
        check(model, batch, place, expected)


@pytest.mark.parametrize("align_root", ["fixed", "as_released"])
@pytest.mark.parametrize("bias", [True, False])
def test_attention_and_words(batch, bias, align_root):
    model = built(lambda: AttentionAndWords(HEADS, DIMENSIONS, bias, align_root))
    values = numbers(model)
    dense = np.concatenate(values["weight"]).reshape(2 * DIMENSIONS, 2 * HEADS)
    added = values["bias"].reshape(2 * HEADS) if bias else 0
    for place, length, maps, vectors in sentences(batch):
        candidates = candidate_vectors(vectors, align_root)
        expected = np.zeros((length, length + 1))
        for i, j in np.ndindex(length, length + 1):
            weights = np.concatenate([vectors[i], candidates[j]]) @ dense + added
            for head in range(HEADS):
                there, back = word_maps(maps, i, j, head, values["root.weight"])
                expected[i, j] += weights[head] * there + weights[HEADS + head] * back
        check(model, batch, place, expected)


@pytest.mark.parametrize("align_root", ["fixed", "as_released"])
def test_distances_and_words(batch, align_root):
    model = built(lambda: DistancesAndWords(DIMENSIONS, align_root))
    values = numbers(model)
    dense = np.concatenate([values["distances"], *values["words"]])
    for place, length, _, vectors in sentences(batch):
        candidates = candidate_vectors(vectors, align_root)
        expected = np.zeros((length, length + 1))
        for i, j in np.ndindex(length, length + 1):
            offset = j - 1 - i
            distance = [max(offset, 0) / length, max(-offset, 0) / length]
            distance += [float(offset == near) for near in (0, -1, 1, -2, 2)] + [0.0]
            if not j:
                distance = [0.0] * 7 + [1.0]
            inputs = np.concatenate([distance, vectors[i], candidates[j]])
            expected[i, j] = np.tanh(inputs @ dense + values["hidden_bias"]) @ values["out"]
        check(model, batch, place, expected)


def test_right_branching(batch):
    found = RightBranching()(batch).argmax(-1)
    assert found[0].tolist() == [2, 3, 4, 5, 0]
    assert found[1, :1].tolist() == [0]
    assert found[2, :3].tolist() == [2, 3, 0]


@pytest.mark.parametrize(
    ("model", "size"),
    [
        (Attention(HEADS), 2 * HEADS + 2),
        (AttentionAndWords(HEADS, DIMENSIONS), 2 * HEADS * (2 * DIMENSIONS + 1) + 2),
        (AttentionAndWords(HEADS, DIMENSIONS, bias=False), 2 * HEADS * 2 * DIMENSIONS + 2),
        (DistancesAndWords(DIMENSIONS), (8 + 2 * DIMENSIONS + 1) * 256 + 256),
        (RightBranching(), 0),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Parser) else "",
)
def test_how_many_numbers_are_learned(model, size):
    assert model.size == size


@pytest.mark.parametrize(
    "make",
    [
        lambda: Attention(HEADS),
        lambda: AttentionAndWords(HEADS, DIMENSIONS),
        lambda: AttentionAndWords(HEADS, DIMENSIONS, align_root="as_released"),
        lambda: DistancesAndWords(DIMENSIONS),
    ],
)
def test_a_sentence_scores_the_same_alone_as_in_a_padded_batch(batch, make):
    model = built(make)
    together = model(batch)
    for place, length in enumerate(LENGTHS):
        size = length + 2
        alone = ParserBatch(
            batch.lengths[place : place + 1],
            batch.heads[place : place + 1, :length],
            batch.punctuation[place : place + 1, :length],
            batch.maps[place : place + 1, :size, :size],
            batch.vectors[place : place + 1, :length],
        )
        torch.testing.assert_close(model(alone)[0], together[place, :length, : length + 1])


@pytest.mark.usefixtures("unchecked")
def test_what_a_probe_needs_it_asks_for(batch):
    bare = ParserBatch(batch.lengths, batch.heads, batch.punctuation)
    with pytest.raises(UsageError, match="word maps"):
        Attention(HEADS)(bare)
    with pytest.raises(UsageError, match="word vectors"):
        DistancesAndWords(DIMENSIONS)(bare)
    with pytest.raises(UnknownNameError, match="as_released"):
        AttentionAndWords(HEADS, DIMENSIONS, align_root="released")
