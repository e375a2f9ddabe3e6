"""Gradients and differences of predictions against their definitions, one sentence at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor

from headlight.capture import CapturedModel
from headlight.errors import UsageError
from headlight_words.corpora import TranslationPair
from headlight_words.encode.translations import EncodedTranslation
from headlight_words.word_alignment import AlignerSettings, InputMeasureSettings
from headlight_words.word_alignment.aligner import Aligner, encode
from headlight_words.word_alignment.inputs import input_matrix
from translators import FAMILIES

PAIRS = [
    TranslationPair("a:1", "das alte haus ist klein .", "the house , so small"),
    TranslationPair("a:2", "haus", "the old house"),
]
ASKED = AlignerSettings(measure="gradient")


@pytest.fixture(scope="module", params=FAMILIES)
def model(request: pytest.FixtureRequest) -> CapturedModel:
    made = FAMILIES[request.param].model(head=True)
    made.transformer.double()
    return made


def examples(model: CapturedModel) -> list[EncodedTranslation]:
    return list(encode(model, PAIRS, ASKED))


@contextmanager
def read_instead(model: CapturedModel, embeddings: Tensor) -> Iterator[None]:
    """Let the encoder read other embeddings; its table may be the decoder's, too."""
    calls = []
    table: Any = model.transformer.get_encoder().get_input_embeddings()

    def hook(_: Any, __: Any, found: Tensor) -> Tensor:
        calls.append(1)  # the encoder is first
        return embeddings if len(calls) == 1 else found

    handle = table.register_forward_hook(hook)
    try:
        yield
    finally:
        handle.remove()


def embedded(model: CapturedModel, example: EncodedTranslation) -> Tensor:
    table: Any = model.transformer.get_encoder().get_input_embeddings()
    with torch.no_grad():
        found: Tensor = table(torch.tensor([example.ids]))
    return found


def chances(model: CapturedModel, example: EncodedTranslation, embeddings: Tensor) -> Tensor:
    """log p of every target place but the first, in one ordinary forward pass."""
    with read_instead(model, embeddings):
        logits = model.transformer(
            input_ids=torch.tensor([example.ids]),
            decoder_input_ids=torch.tensor([example.target]),
            use_cache=False,
        ).logits[0]
    wanted = torch.tensor(example.target[1:])
    found: Tensor = logits[:-1].log_softmax(-1)[torch.arange(len(wanted)), wanted]
    return found


@pytest.mark.parametrize("form", ["input", "size"])
def test_gradients_are_those_of_single_sentences(model: CapturedModel, form: str) -> None:
    asked = InputMeasureSettings(form=form)  # type: ignore[arg-type]
    found = input_matrix(model, model.collate(examples(model)), "gradient", asked)
    for row, example in enumerate(examples(model)):
        assert not found[row, 0, 0].any()
        for place in range(1, len(example.target)):
            leaf = embedded(model, example).requires_grad_()
            (gradient,) = torch.autograd.grad(chances(model, example, leaf)[place - 1], leaf)
            sizes = (
                (gradient[0] * leaf.detach()[0]).sum(-1).clamp_min(0)
                if form == "input"
                else gradient[0].abs().mean(-1)
            )
            own = found[row, 0, place]
            torch.testing.assert_close(
                own[: len(example.ids)].double(),
                sizes / sizes.sum().clamp_min(1e-30),
                atol=2e-5,
                rtol=1e-3,
            )
            assert not own[len(example.ids) :].any()


def test_differences_are_those_of_single_sentences(model: CapturedModel) -> None:
    batch = model.collate(examples(model))
    found = input_matrix(model, batch, "difference", InputMeasureSettings())
    for row, example in enumerate(examples(model)):
        clean = embedded(model, example)
        whole = chances(model, example, clean).detach().exp()
        for place in range(len(example.ids)):
            without = clean.clone()
            without[0, place] = 0
            lost = whole - chances(model, example, without).detach().exp()
            own = found[row, 0, 1 : len(example.target), place]
            torch.testing.assert_close(own.double(), lost.double(), atol=1e-6, rtol=1e-4)


def test_noise_is_averaged_and_belongs_to_the_sentence() -> None:
    made = FAMILIES["marian"].model(head=True)
    asked = InputMeasureSettings(samples=3)
    pair = examples(made)
    together = input_matrix(made, made.collate(pair), "smoothgrad", asked)
    alone = input_matrix(made, made.collate(pair[:1]), "smoothgrad", asked)
    targets, sources = len(pair[0].target), len(pair[0].ids)
    torch.testing.assert_close(together[:1, :, :targets, :sources], alone, atol=1e-5, rtol=1e-4)
    once = input_matrix(made, made.collate(pair[:1]), "gradient", asked)
    assert not torch.allclose(alone, once, atol=1e-3)
    sums = alone[0, 0, 1:].sum(-1)
    torch.testing.assert_close(sums, torch.ones_like(sums))
    other = InputMeasureSettings(samples=3, seed=1)
    assert not torch.equal(alone, input_matrix(made, made.collate(pair[:1]), "smoothgrad", other))


def test_the_model_is_as_it_was() -> None:
    made = FAMILIES["t5"].model(head=True)
    wanted = [parameter.requires_grad for parameter in made.transformer.parameters()]
    for measure in ("gradient", "difference"):
        asked = ASKED.replace(measure=measure)
        assert all(each.links for each in Aligner(made, asked).align(PAIRS))
    assert [p.requires_grad for p in made.transformer.parameters()] == wanted
    assert all(parameter.grad is None for parameter in made.transformer.parameters())
    table: Any = made.transformer.get_encoder().get_input_embeddings()
    assert not table._forward_hooks


def test_a_model_without_predictions_is_refused() -> None:
    made = FAMILIES["marian"].model()
    with pytest.raises(UsageError, match="language-model head"):
        list(Aligner(made, ASKED).align(PAIRS))
