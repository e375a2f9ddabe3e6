"""Studies of classifiers whose decoder reads the text of the encoder (BART, T5)."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import headlight
from headlight.capture import CapturedModel, attention_replaced
from headlight.capture.batching_check import resized
from headlight.capture.gradient_times_input import input_times_gradient
from headlight.corpora import Document
from headlight.encode import encode_one, texts as encoded_texts
from headlight.encode.batch import Batch
from headlight.errors import CorpusError, UsageError
from studies.classifiers import sequence_classifier
from studies.models import VOCABULARY, texts, tokenizer

FAMILIES = ("bart", "t5")
QUICK: dict[str, Any] = {"progress": False}


def labelled(count: int) -> list[tuple[str, str]]:
    return [(text, ("bad", "good")[at % 2]) for at, text in enumerate(texts(count, longest=9))]


def ids(made: CapturedModel, text: str) -> torch.Tensor:
    found: torch.Tensor = made.require_tokenizer("")(text, return_tensors="pt").input_ids
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_attention_is_that_of_the_encoder(family: str) -> None:
    made = sequence_classifier(family)
    assert made.kinds == ("encoder",)
    assert [site.layer for site in made.sites_of("encoder")] == [0, 1]
    assert {site.kind for site in made.sites} == {"encoder", "decoder", "cross"}
    encoder = made.transformer.get_encoder()
    assert all(site.module in set(encoder.modules()) for site in made.sites_of("encoder"))
    assert not made.has_decoder_inputs
    with pytest.raises(UsageError, match="has no decoder attention; it has: encoder"):
        headlight.permutation(labelled(2), model=made, kind="decoder", **QUICK)


@pytest.mark.parametrize("family", FAMILIES)
def test_uniform_attention_is_that_of_a_loop(family: str) -> None:
    """Texts of several lengths in one batch, and one by one with the plain model."""
    made, data = sequence_classifier(family), labelled(3)
    result = headlight.permutation(data, model=made, changes=["uniform"], by=["all"], **QUICK)
    moved = []
    for text, _ in data:
        read = ids(made, text)
        with torch.no_grad():
            own = made.transformer(read).logits.softmax(-1)
            even = torch.full((1, 1, read.shape[1], read.shape[1]), 1 / read.shape[1])
            given: Any = {layer: lambda old, _, even=even: even.expand_as(old) for layer in (0, 1)}
            with attention_replaced(made, given):
                other = made.transformer(read).logits.softmax(-1)
        moved.append(float((own - other).abs().sum() / 2))
    assert float(result.tvd.sel(change="uniform")) == pytest.approx(np.mean(moved), abs=1e-6)
    assert float(result.tvd.sel(change="uniform")) > 1e-4


@pytest.mark.parametrize("words", [1, 9, 50, 300])
@pytest.mark.parametrize("separated", [False, True])
def test_texts_of_any_length_are_tried_with_the_end_that_they_have(
    words: int, separated: bool
) -> None:
    """The class is asked for at the last end, of which every text must have as many."""
    made = sequence_classifier("t5")
    text = " ".join(texts(60, longest=9)).split()[:words]
    pair = " ".join(text) if separated else None
    example = encode_one(made.require_tokenizer(""), " ".join(text), pair)
    for tokens in (2, 7, 12, 128):
        ends = resized(example, tokens).ids[-1], resized(example, tokens).ids.count(2)
        assert ends == (2, 1)
    tried = made.verify_on([example])
    assert tried is not None
    assert tried.input_ids[0, -1] == 2
    assert made.verify_batching(example) is not None


@pytest.mark.parametrize("family", FAMILIES)
def test_a_word_that_is_hidden_is_hidden_from_both_sides(family: str) -> None:
    """With its attention removed, it does not matter which word stands there."""
    made = sequence_classifier(family)
    read = ids(made, "the sea keeps the old town")
    other = read.clone()
    other[0, 2] = VOCABULARY.index("valley")
    found = []
    for each in (read, other):
        batch = made.collate(list(encoded(made)))
        batch.input_ids[:] = each
        batch.attention_mask[0, 2] = 0
        found.append(made.run(batch).logits)
    assert torch.equal(*found)


def encoded(made: CapturedModel) -> Any:
    documents = [Document("d", ("the sea keeps the old town",))]
    return encoded_texts(documents, made.require_tokenizer(""), max_length=20)


def logit_with(made: CapturedModel, batch: Batch, at: int, scale: float) -> float:
    """With one embedding that the encoder reads made larger; the decoder comes later."""
    network: Any = made.transformer
    calls: list[int] = []

    def scaled(_: Any, __: Any, found: torch.Tensor) -> torch.Tensor:
        calls.append(at)
        factors = torch.ones(found.shape[1], 1, dtype=found.dtype)
        factors[at] = scale
        return found * factors if len(calls) == 1 else found

    handle = network.get_encoder().get_input_embeddings().register_forward_hook(scaled)
    logit = float(made.run(batch).logits[0, 0])
    handle.remove()
    return logit


@pytest.mark.parametrize("family", FAMILIES)
def test_gradients_are_by_what_the_encoder_reads(family: str) -> None:
    """Against a small step along every embedding, with the decoder's text as it is."""
    made = sequence_classifier(family)
    batch = made.collate(list(encoded(made)))
    found = input_times_gradient(made, batch, lambda output: output.logits[:, 0])
    made.transformer.double()
    step = 1e-3  # T5 takes variances in float32
    wanted = [
        (logit_with(made, batch, at, 1 + step) - logit_with(made, batch, at, 1 - step)) / (2 * step)
        for at in range(batch.input_ids.shape[1])
    ]
    np.testing.assert_allclose(found[0], wanted, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.slow
def test_every_study_runs(family: str, tmp_path: Path) -> None:
    made, data = sequence_classifier(family), labelled(10)
    measures = ["weight", "norm", "attribution", "gradient_input", "leave_one_out"]
    faith = headlight.faithfulness(
        [text for text, _ in data], model=made, maps=[*measures, "rollout"], removal="delete",
        questions=["removal", "correlation"], random_orders=2, **QUICK,
    )  # fmt: skip
    assert bool(faith.lost.notnull().all())
    assert bool(faith.correlation.notnull().any())
    near = headlight.instance_adversary(data[:2], model=made, steps=8, exact="none", **QUICK)
    assert float(near.moved) <= 0.05
    trained = headlight.adversary(
        data, model=made, start="base", lambdas=(0.1,), repeats=1, epochs=1, processes=1,
        progress=False,
    )  # fmt: skip
    assert {"base", "adversary", "seed", "uniform"} == set(trained.kind.values.tolist())
    assert bool(trained.jsd.sel(run=trained.kind == "adversary").notnull().all())


def test_texts_without_their_end_are_refused() -> None:
    made = sequence_classifier("t5")
    made.tokenizer = tokenizer("llama")
    with pytest.raises(UsageError, match="does not put it behind a text"):
        headlight.permutation(labelled(2), model=made, **QUICK)


def test_pairs_among_texts_are_refused() -> None:
    data = [("the sea", "good"), ("the sea", "a lake", "bad")]
    with pytest.raises(CorpusError, match=re.escape("it ends 2 times")):
        headlight.permutation(data, model=sequence_classifier("t5"), **QUICK)
