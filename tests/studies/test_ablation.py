"""Predictions without heads, against loops over texts and models with zeros in W^O, in float64."""

import math
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.pytorch_utils import Conv1D

import headlight
from architectures import GPT2
from example_data import TRANSLATIONS
from headlight.capture import NOTHING, CapturedModel, OwnObjective, SequenceToSequence
from headlight.encode.batch import collate
from headlight.engine.folder import RunFolder
from headlight.errors import MissingHeadError, UsageError
from headlight.studies.ablation import AblationSettings
from headlight.studies.ablation.study import run as run_study
from open_folders import opening
from studies.classifiers import classifier, labelled, tagged
from studies.intervals import agrees
from studies.models import model, texts, tokenizer
from studies.test_gradient import CAUSAL, MASKED, with_head
from studies.test_numbers import examples_of
from tiny_models import randomise
from translators import FAMILIES

run = opening(run_study)

HEADS = 4
WIDTH = 8
PLACES = ((0, None), (1, None), (0, 1), (0, 3), (1, 2))


def gpt2() -> CapturedModel:
    config = AutoConfig.for_model("gpt2", **{**GPT2, "pad_token_id": 0})
    network = AutoModelForCausalLM.from_config(config)
    randomise(network, torch.Generator().manual_seed(5))
    return CapturedModel(network.eval(), tokenizer("llama"), "gpt2", "1")


class Gated(nn.Module):
    """W^O behind a gate, another for each query and component."""

    def __init__(self, linear: Conv1D) -> None:
        super().__init__()
        self.inner = linear

    def forward(self, context: torch.Tensor) -> Any:
        query, component = (torch.arange(size) + 1.0 for size in context.shape[1:])
        return self.inner(context * torch.outer(query, component).cos().to(context))


def gated() -> CapturedModel:
    made = gpt2()
    network: Any = made.transformer
    for layer in network.transformer.h:
        layer.attn.c_proj = Gated(layer.attn.c_proj).eval()
    return made


@dataclass(frozen=True)
class Subject:
    """A family: a model with its head, where the W^O of a layer is, and what it predicts.

    ``rounding`` is what it leaves of a loss in float64, which a text in a batch has and alone.
    """

    made: Callable[[], CapturedModel]
    projection: str
    objective: Any
    translates: bool = False
    rounding: float = 1e-9


SUBJECTS = {
    "bert": Subject(
        lambda: with_head("bert"), "bert.encoder.layer.{}.attention.output.dense", MASKED
    ),
    "gpt2": Subject(gpt2, "transformer.h.{}.attn.c_proj", CAUSAL),
    "llama": Subject(  # its softmax is in float32
        lambda: with_head("llama"), "model.layers.{}.self_attn.o_proj", CAUSAL, rounding=2e-6
    ),
    "gated": Subject(gated, "transformer.h.{}.attn.c_proj.inner", CAUSAL),
    "t5": Subject(
        lambda: FAMILIES["t5"].model(head=True),
        "decoder.block.{}.layer.1.EncDecAttention.o",
        SequenceToSequence(),
        translates=True,
    ),
    "marian": Subject(
        lambda: FAMILIES["marian"].model(head=True),
        "model.encoder.layers.{}.self_attn.out_proj",
        SequenceToSequence(),
        translates=True,
    ),
}
KINDS = {"t5": "cross", "marian": "encoder"}


def without(network: nn.Module, path: str, layer: int, heads: list[int]) -> nn.Module:
    """A copy of the model with zeros in the rows of W^O that belong to these heads."""
    copy = deepcopy(network)
    projection: Any = copy.get_submodule(path.format(layer))
    with torch.no_grad():
        for head in heads:
            part = slice(head * WIDTH, (head + 1) * WIDTH)
            if isinstance(projection, Conv1D):
                projection.weight[part] = 0
            else:
                projection.weight[:, part] = 0
    return copy


def log_probabilities(made: CapturedModel, network: nn.Module, batch: Any) -> torch.Tensor:
    with torch.no_grad():
        return network(**made.inputs(batch)).logits[0].log_softmax(-1)


def numbers(before: Any, after: Any, labels: list[int], counted: list[int]) -> list[float]:
    """KL, share that changes, loss and accuracy of one text, position by position."""
    divergences, changed, losses, right = [], [], [], []
    for at in counted:
        p, q = (each[at].exp().tolist() for each in (before, after))
        divergences.append(sum(a * math.log(a / b) for a, b in zip(p, q, strict=True)))
        changed.append(float(np.argmax(p) != np.argmax(q)))
        if labels[at] != NOTHING:
            losses.append(-float(after[at, labels[at]]))
            right.append(float(np.argmax(q) == labels[at]))
    return [np.mean(divergences), np.mean(changed), _mean(losses), _mean(right)]


def _mean(values: list[float]) -> float:
    return float(np.mean(values)) if values else float("nan")


def prepared_texts(made: CapturedModel, corpus: Any, subject: Subject) -> Iterator[Any]:
    if not subject.translates:
        for example in examples_of(made, corpus):
            yield subject.objective.prepare(collate([example], 0))
        return
    for source, target in corpus:
        ids = made.tokenizer(source).input_ids, made.tokenizer(text_target=target).input_ids
        yield ids


@pytest.mark.parametrize("family", ["bert", "gpt2", "llama", "gated"])
def test_of_language_models(family: str) -> None:
    subject = SUBJECTS[family]
    made, corpus = subject.made(), texts(4, longest=7, seed=5)
    made.transformer.double()
    found = run(corpus, made, AblationSettings(), objective=subject.objective, progress=False)
    batches = list(prepared_texts(made, corpus, subject))
    check(found, made, subject, batches)


@pytest.mark.words
@pytest.mark.slow
@pytest.mark.parametrize("family", ["t5", "marian"])
def test_of_translators(family: str) -> None:
    from headlight_words.corpora import open_parallel

    subject = SUBJECTS[family]
    made = subject.made()
    made.transformer.double()
    pairs = [(source, target) for source, target, _ in TRANSLATIONS[:3]]
    settings = AblationSettings(kind=KINDS[family], sentences=False)
    seen: list[Any] = []

    class Watched(SequenceToSequence):
        def prepare(self, batch: Any) -> Any:
            seen.append(super().prepare(batch))
            return seen[-1]

    found = run(open_parallel(pairs), made, settings, objective=Watched(), progress=False)
    batches = [one for batch in seen for one in single_texts(batch)]
    assert len(batches) == len(pairs)
    check(found, made, subject, batches)


def single_texts(batch: Any) -> Iterator[Any]:
    """The texts of a batch without padding, each as a batch of its own."""
    for row, (length, target) in enumerate(
        zip(batch.lengths.tolist(), batch.target_lengths.tolist(), strict=True)
    ):
        cut = {
            name: getattr(batch, name)[row : row + 1, : target if name in TARGETS else length]
            for name in ("input_ids", "attention_mask", "token_type_ids", "category", "word",
                         "masked", *TARGETS)
        }  # fmt: skip
        yield replace(batch, **cut, lengths=batch.lengths[row : row + 1],
                      target_lengths=batch.target_lengths[row : row + 1])  # fmt: skip


TARGETS = ("target_ids", "target_mask", "target_category", "target_word", "labels")


def check(found: Any, made: CapturedModel, subject: Subject, batches: list[Any]) -> None:
    """Every number of the result against the definition."""
    network = made.transformer
    words = [
        (batch.word if batch.target_word is None else batch.target_word)[0].tolist()
        for batch in batches
    ]
    labels = [batch.labels[0].tolist() for batch in batches]
    counted = [
        [at for at, label in enumerate(own) if label != NOTHING or word[at] >= 0]
        for own, word in zip(labels, words, strict=True)
    ]
    before = [log_probabilities(made, network, batch) for batch in batches]
    own = [numbers(*each) for each in zip(before, before, labels, counted, strict=True)]
    expected = np.nanmean([one[2:] for one in own], axis=0)
    np.testing.assert_allclose(
        [found.own_loss, found.own_accuracy], expected, rtol=subject.rounding
    )
    for layer, head in PLACES:
        heads = list(range(HEADS)) if head is None else [head]
        copy = without(network, subject.projection, layer, heads)
        after = [log_probabilities(made, copy, batch) for batch in batches]
        rows = [numbers(*each) for each in zip(before, after, labels, counted, strict=True)]
        changes = np.array(rows) - np.array([[0, 0, *one[2:]] for one in own])
        prefix = "layer" if head is None else "head"
        cell = found.sel(layer=layer) if head is None else found.sel(layer=layer, head=head)
        names = ("kl", "changed", "loss_change", "accuracy_change")
        values = [float(cell[f"{prefix}_{name}"]) for name in names]
        np.testing.assert_allclose(
            values, np.nanmean(changes, axis=0), rtol=1e-6, atol=subject.rounding / 10
        )
        length = np.mean([written(made, subject, batch, layer, heads) for batch in batches])
        assert float(cell[f"{prefix}_norm"]) == pytest.approx(length, rel=1e-6)


def written(
    made: CapturedModel, subject: Subject, batch: Any, layer: int, heads: list[int]
) -> float:
    """The mean length of what W^O makes of the parts of its input that are these heads'."""
    projection: Any = made.transformer.get_submodule(subject.projection.format(layer))
    lengths: list[float] = []

    def look(module: Any, inputs: Any) -> None:
        weight = module.weight if isinstance(module, Conv1D) else module.weight.T
        for row in inputs[0].reshape(-1, inputs[0].shape[-1]):
            parts = [slice(head * WIDTH, (head + 1) * WIDTH) for head in heads]
            lengths.append(float(sum(row[part] @ weight[part] for part in parts).norm()))

    handle = projection.register_forward_pre_hook(look)
    log_probabilities(made, made.transformer, batch)
    handle.remove()
    return float(np.mean(lengths))


@pytest.mark.parametrize("tokens", [False, True])
def test_of_classifiers(tokens: bool) -> None:
    made = classifier(tokens)
    made.transformer.double()
    data: Any = tagged(5) if tokens else labelled(5)
    found = headlight.ablation(data, model=made, progress=False)
    path = "bert.encoder.layer.{}.attention.output.dense"
    for layer, head in ((0, 1), (1, 2), (1, None)):
        heads = list(range(HEADS)) if head is None else [head]
        copy = without(made.transformer, path, layer, heads)
        rows = [of_text(made, copy, *each) for each in data]
        cell = found.sel(layer=layer) if head is None else found.sel(layer=layer, head=head)
        prefix = "layer" if head is None else "head"
        kl, loss, right = (np.mean(each) for each in zip(*rows, strict=True))
        assert float(cell[f"{prefix}_kl"]) == pytest.approx(kl, rel=1e-7)
        assert float(cell[f"{prefix}_loss_change"]) == pytest.approx(loss, abs=1e-10)
        assert float(cell[f"{prefix}_accuracy_change"]) == pytest.approx(right, abs=1e-12)
        of_texts = [np.array([row[at] for row in rows]) for at in range(3)]
        for name, parts in zip(("kl", "loss_change", "accuracy_change"), of_texts, strict=True):
            agrees(cell, f"{prefix}_{name}", parts, np.ones(len(parts)))


def of_text(made: CapturedModel, copy: nn.Module, text: Any, label: Any) -> list[float]:
    """KL, and the changes of loss and accuracy, of a text or of the words of a sentence."""
    of_words = isinstance(text, list)
    joined, tags = (" ".join(text), label) if of_words else (text, [label])
    inputs = made.tokenizer([joined], return_tensors="pt")
    word_ids = inputs.word_ids()
    places = [word_ids.index(word) for word in range(len(tags))] if of_words else [...]
    numbers = [made.transformer.config.label2id[tag] for tag in tags]
    with torch.no_grad():
        p, q = (each(**inputs).logits[0].softmax(-1) for each in (made.transformer, copy))
    rows = []
    for place, number in zip(places, numbers, strict=True):
        a, b = p[place], q[place]
        divergence = sum(float(x * (x / y).log()) for x, y in zip(a, b, strict=True))
        loss = float(a[number].log() - b[number].log())
        rows.append([divergence, loss, int(b.argmax() == number) - int(a.argmax() == number)])
    return list(np.mean(rows, axis=0))


@pytest.mark.slow
def test_nothing_depends_on_batches_nor_on_how_many_removals_run_together() -> None:
    made, corpus = with_head("bert"), texts(9, seed=2)
    one, other = (
        run(
            corpus, made, AblationSettings(batch_tokens=size), objective=MASKED,
            progress=False,
        )
        for size in (24, 5000)
    )  # fmt: skip
    for name in one.data_vars:
        if one[name].dtype == object:
            assert one[name].equals(other[name])
        else:
            np.testing.assert_allclose(one[name], other[name], atol=2e-5, err_msg=str(name))
    assert float(one.head_kl.min()) > 0


def test_it_can_be_asked_of_some_layers_and_of_layers_alone() -> None:
    made, corpus = with_head("llama"), texts(3)
    found = run(
        corpus, made, AblationSettings(layers=(1,), by=("layer",)), objective=CAUSAL,
        progress=False,
    )  # fmt: skip
    assert found.layer_kl.dims == ("layer",)
    assert found.layer.values.tolist() == [1]
    assert "head_kl" not in found
    assert "head" not in found.dims


def test_a_text_without_anything_to_predict_does_not_count_for_the_loss() -> None:
    """Of special tokens alone none is hidden."""
    made, settings = with_head("bert"), AblationSettings(layers=(0,), by=("layer",))
    both = run(["<s>", "the old river keeps"], made, settings, objective=MASKED, progress=False)
    one = run(["the old river keeps"], made, settings, objective=MASKED, progress=False)
    assert float(both.own_loss) == pytest.approx(float(one.own_loss))
    assert float(both.predicted) == float(one.predicted) > 0


@pytest.mark.slow
def test_a_finished_run_is_handed_back(tmp_path: Any) -> None:
    folder = RunFolder(path=tmp_path / "run", resume=True)
    made = classifier()
    first, again = (
        run(labelled(4), made, AblationSettings(), folder=folder, progress=False) for _ in range(2)
    )
    assert first.identical(again)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"pairs": True}, "pairs does not apply to the corpus of a classifier"),
        ({"column": "text"}, "column does not apply"),
        ({"overflow": "split"}, "overflow does not apply"),
    ],
)
def test_a_classifier_refuses_what_it_would_not_heed(options: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        headlight.ablation(labelled(2), model=classifier(), progress=False, **options)


def test_refusals() -> None:
    with pytest.raises(
        UsageError, match="label_column does not apply to the corpus of a language model"
    ):
        headlight.ablation(texts(2), model=with_head("llama"), label_column="x", progress=False)
    with pytest.raises(UsageError, match="name a corpus of labelled texts"):
        headlight.ablation(model=classifier(), progress=False)
    with pytest.raises(UsageError, match="leave out the objective"):
        headlight.ablation(labelled(2), model=classifier(), objective=CAUSAL, progress=False)
    with pytest.raises(MissingHeadError):
        headlight.ablation(texts(2), model=model("bert"), progress=False)
    own = OwnObjective(lambda output, batch: output.logits.sum((1, 2)), "own")
    with pytest.raises(UsageError, match="no words that should be predicted"):
        headlight.ablation(texts(2), model=with_head("llama"), objective=own, progress=False)
    with pytest.raises(UsageError, match="by"):
        AblationSettings(by=("head", "head"))


@pytest.mark.slow
@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_texts_are_kept_where_the_most_moving_heads_change_most(family: str) -> None:
    subject = SUBJECTS[family]
    made, corpus = subject.made(), texts(4, longest=7, seed=5)
    made.transformer.double()
    found = run(corpus, made, AblationSettings(), objective=subject.objective, progress=False)
    order = found.head_kl.stack(at=("layer", "head")).to_series().sort_values(ascending=False)
    batches = list(prepared_texts(made, corpus, subject))
    for number, (layer, head) in enumerate(order.index[:3]):
        passage = found.isel(passage=number)
        assert (int(passage.passage_layer), int(passage.passage_head)) == (layer, head)
        copy = without(made.transformer, subject.projection, layer, [head])
        most, ids, place = 0.0, [], 0
        for batch in batches:
            asked = (batch.labels[0] != NOTHING) | (batch.word[0] >= 0)
            before = log_probabilities(made, made.transformer, batch)[asked]
            after = log_probabilities(made, copy, batch)[asked]
            divergence = (before.exp() * (before - after)).sum(-1)
            if float(divergence.max()) > most:
                most, ids = float(divergence.max()), batch.input_ids[0].tolist()
                place = int(asked.nonzero()[int(divergence.argmax())])
        assert float(passage.passage_kl) == pytest.approx(most, rel=1e-4)
        read = made.tokenizer.decode
        parts = {
            "left": ids[max(0, place - 14) : place],
            "token": ids[place : place + 1],
            "right": ids[place + 1 : place + 7],
        }
        assert {name: passage[f"passage_{name}"].item() for name in parts} == {
            name: read(some) for name, some in parts.items()
        }
    quiet = AblationSettings(sentences=False)
    without_texts = run(corpus, made, quiet, objective=subject.objective, progress=False)
    assert "passage_kl" not in without_texts
    assert without_texts.attrs["examples"] == found.attrs["examples"]
    once = run(iter(corpus), made, AblationSettings(), objective=subject.objective,
               progress=False)  # fmt: skip
    assert once.passage_kl.equals(found.passage_kl)
