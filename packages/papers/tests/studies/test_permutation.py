"""Predictions with other attention, against loops over texts, heads and rows."""

from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings as hypothesis_settings, strategies as st
from transformers.models.bert import modeling_bert

import headlight
from headlight.capture import CapturedModel
from headlight.errors import CaptureError, CorpusError, MissingHeadError, UsageError
from headlight_papers.classifiers.attention_changes import on_one, permuted, uniform
from studies.classifiers import NAMES, classifier, labelled, tagged
from studies.intervals import agrees
from studies.models import model

ALL = ("all", "layer", "head")


# One row at a time


@st.composite
def rows(draw: Any) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    batch, heads, queries, keys = (draw(st.integers(1, 4)) for _ in range(4))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 999)))
    weight = torch.rand(batch, heads, queries, keys, generator=generator)
    weight /= weight.sum(-1, keepdim=True)
    key_mask = torch.rand(batch, 1, queries, keys, generator=generator) < 0.7
    noise = torch.rand(batch, heads, queries, keys, generator=generator)
    return weight, key_mask, noise


@pytest.mark.slow
@hypothesis_settings(deadline=None, max_examples=60)
@given(rows())
def test_weights_move_among_keys_that_take_part(given_: Any) -> None:
    weight, keys, noise = given_
    new = {
        "permuted": permuted(weight, keys, noise),
        "uniform": uniform(weight, keys),
        "largest": on_one(weight, keys, weight),
        "random": on_one(weight, keys, noise),
    }
    for place in np.ndindex(*weight.shape[:3]):
        part = keys[place[0], 0, place[2]]
        own, rest = weight[place][part].double(), weight[place][~part]
        for row in new.values():
            assert torch.equal(row[place][~part], rest)
        if not part.any():
            continue
        order = noise[place][part].argsort()
        assert torch.equal(new["permuted"][place][part], own.float()[order])
        mass = own.sum()
        torch.testing.assert_close(new["uniform"][place][part].double(), own * 0 + own.mean())
        for name, chosen in (("largest", own.argmax()), ("random", order[-1])):
            one = torch.zeros_like(own)
            one[chosen] = mass
            torch.testing.assert_close(new[name][place][part].double(), one)


def test_permutations_are_equally_likely() -> None:
    weight = torch.tensor([0.5, 0.3, 0.2]).expand(6000, 1, 1, 3)
    noise = torch.rand(6000, 1, 1, 3, generator=torch.Generator().manual_seed(0))
    found = permuted(weight, torch.ones(6000, 1, 1, 3, dtype=torch.bool), noise)
    _, counts = found.reshape(-1, 3).unique(dim=0, return_counts=True)
    assert len(counts) == 6
    assert (counts - 1000).abs().max() < 130


# The study


@contextmanager
def eager_attention(network: Any, other: Callable[[torch.Tensor, int], torch.Tensor]) -> Any:
    """BERT's attention, written out, with weights that `other` makes of its own."""
    layers = {each.attention.self: at for at, each in enumerate(network.bert.encoder.layer)}

    def attend(
        module: Any, query: Any, key: Any, value: Any, *_: Any, scaling: float, **__: Any
    ) -> Any:
        weight = (query @ key.mT * scaling).softmax(-1)
        return (other(weight, layers[module]) @ value).transpose(1, 2), weight

    before = network.config._attn_implementation
    network.set_attn_implementation("eager")
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(modeling_bert, "eager_attention_forward", attend)
            yield
    finally:
        network.set_attn_implementation(before)


def naive(found: CapturedModel, text: str, change: str, layer: int | None, head: int | None) -> Any:
    """The probabilities of a text, read alone, with other attention in eager attention itself."""
    network, inputs = found.transformer, found.tokenizer([text], return_tensors="pt")

    def other(weight: torch.Tensor, number: int) -> torch.Tensor:
        if layer not in (None, number):
            return weight
        new = weight.clone()
        for at in range(weight.shape[1]):
            if head not in (None, at):
                continue
            for query in range(weight.shape[2]):
                row = weight[0, at, query]
                new[0, at, query] = 1 / len(row)
                if change == "largest":
                    new[0, at, query] = torch.nn.functional.one_hot(row.argmax(), len(row))
        return new

    with torch.no_grad(), eager_attention(network, other):
        return network(**inputs).logits.double().softmax(-1)[0]


@pytest.mark.parametrize("change", ["uniform", "largest"])
def test_distances_are_those_of_single_texts(change: str) -> None:
    made, data = classifier(), labelled(7)
    result = headlight.permutation(data, model=made, changes=(change,), by=ALL, progress=False)
    own = [naive(made, text, change, layer=9, head=None) for text, _ in data]
    numbers = [made.transformer.config.label2id[label] for _, label in data]
    right = np.mean([int(p.argmax()) == n for p, n in zip(own, numbers, strict=True)])
    assert float(result.own_accuracy) == pytest.approx(right)
    for layer, head in ((None, None), (0, None), (1, None), (0, 2), (1, 0)):
        after = [naive(made, text, change, layer, head) for text, _ in data]
        tvd = np.array([float((a - b).abs().sum() / 2) for a, b in zip(after, own, strict=True)])
        same = np.mean([int(a.argmax() == b.argmax()) for a, b in zip(after, own, strict=True)])
        name = "" if layer is None else "layer_" if head is None else "head_"
        place = {"layer": layer, "head": head}
        place = {key: value for key, value in place.items() if value is not None}
        cell = result.sel(change=change, **place)
        assert float(cell[f"{name}tvd"]) == pytest.approx(tvd.mean(), abs=1e-6)
        agrees(cell, f"{name}tvd", tvd, np.ones_like(tvd))
        assert float(cell[f"{name}agreement"]) == pytest.approx(same)


@pytest.mark.slow
def test_nothing_depends_on_batches_and_shuffles_are_of_the_text() -> None:
    made, data = classifier(), labelled(9)
    options = {"model": made, "by": ALL, "shuffles": 3, "progress": False}
    whole = headlight.permutation(data, **options)
    parts = headlight.permutation(data, batch_tokens=30, **options)
    for name in whole.data_vars:
        np.testing.assert_allclose(whole[name], parts[name], atol=1e-5, err_msg=str(name))
    other = headlight.permutation(data, seed=1, **options)
    assert float(abs(other.tvd - whole.tvd).sel(change="permuted")) > 1e-6
    assert float(whole.tvd.min()) > 0
    assert float(whole.tvd.max()) <= 1


def test_of_one_visible_key_nothing_can_be_moved() -> None:
    """A text of one word without special tokens would be alone with itself: nothing changes."""
    made = classifier()
    data = [("sea", "bad"), ("the old river keeps", "good")]
    kept = headlight.permutation(
        data[:1], model=made, keep_special=True, shuffles=2, progress=False
    )
    np.testing.assert_allclose(kept.tvd, 0, atol=1e-6)
    moved = headlight.permutation(data, model=made, shuffles=2, progress=False)
    assert float(moved.tvd.sel(change="random")) > 1e-4


@pytest.mark.parametrize("rows", ["first", "last"])
def test_single_rows_can_be_replaced(rows: str) -> None:
    """Of the last layer only the row of [CLS] counts for a classifier that pools it."""
    found = headlight.permutation(
        labelled(5), model=classifier(), rows=rows, layers=(1,), shuffles=2,
        changes=("uniform",), progress=False,
    )  # fmt: skip
    both = headlight.permutation(
        labelled(5), model=classifier(), layers=(1,), shuffles=2,
        changes=("uniform",), progress=False,
    )  # fmt: skip
    expected = both.tvd.item() if rows == "first" else 0
    assert found.tvd.item() == pytest.approx(expected, abs=1e-6)


def test_a_tagger_answers_for_every_word() -> None:
    made, data = classifier(tokens=True), tagged(6)
    result = headlight.permutation(data, model=made, changes=("uniform",), progress=False)
    distances, right = [], []
    for words, tags in data:
        inputs = made.tokenizer([" ".join(words)], return_tensors="pt")
        own, after = (
            _probabilities(made, inputs, change=None),
            _probabilities(made, inputs, change="uniform"),
        )
        kept = slice(1, 1 + len(words))  # one piece for each word, between special tokens
        distances.append(float(((own - after).abs().sum(-1) / 2)[kept].mean()))
        wanted = torch.tensor([NAMES["label2id"][tag] for tag in tags])  # type: ignore[index]
        right.append(float((own.argmax(-1)[kept] == wanted).double().mean()))
    assert result.tvd.item() == pytest.approx(np.mean(distances), abs=1e-6)
    assert float(result.own_accuracy) == pytest.approx(np.mean(right))


def _probabilities(made: CapturedModel, inputs: Any, change: str | None) -> torch.Tensor:
    def flat(weight: torch.Tensor, _: int) -> torch.Tensor:
        return weight * 0 + 1 / weight.shape[-1] if change else weight

    with torch.no_grad(), eager_attention(made.transformer, flat):
        found: torch.Tensor = made.transformer(**inputs).logits[0].double().softmax(-1)
    return found


@pytest.mark.slow
def test_a_run_is_kept_and_reported(tmp_path: Path) -> None:
    options = {"model": classifier(), "shuffles": 2, "progress": False}
    result = headlight.permutation(labelled(6), out=tmp_path, **options)
    again = headlight.permutation(labelled(6), out=tmp_path, resume=True, **options)
    assert result.identical(again)
    assert "Does the prediction move more where attention is sharp" in (
        (tmp_path / "report.html").read_text(encoding="utf-8")
    )
    assert set(result.headlight.tables) == {"changes", "layers", "layer-predictions", "largest"}


# What is refused


@pytest.mark.parametrize(
    ("data", "settings", "error", "says"),
    [
        ([("a sea", "great")], {}, CorpusError, "pair 0: the label 'great' is none of the classes"),
        ([("a sea", None)], {}, CorpusError, "pair 0: there is no label"),
        ([("a sea", "good")], {"class_names": ("x",)}, UsageError, "has 2 classes, and 1 are"),
        ([("a sea", "good")], {"by": ()}, UsageError, "by is"),
        ([("a sea", "good")], {"layers": (7,)}, UsageError, "no encoder layer 7"),
    ],
)
def test_wrong_requests(
    data: list[Any], settings: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        headlight.permutation(data, model=classifier(), progress=False, **settings)


def test_a_model_that_is_no_classifier_is_refused() -> None:
    with pytest.raises(MissingHeadError, match="has no classification head"):
        headlight.permutation(labelled(2), model=model("bert"), progress=False)
    with pytest.raises(MissingHeadError, match="headlight-small holds a BertForPreTraining"):
        headlight.permutation(labelled(2), model="headlight-small", progress=False)


def test_tags_are_in_numbered_columns() -> None:
    with pytest.raises(UsageError, match="leave out label_column"):
        headlight.permutation(tagged(2), model=classifier(tokens=True), label_column="x")


def test_answers_that_are_not_finite_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    made = classifier()
    bad = SimpleNamespace(logits=torch.full((2, 2), torch.nan))
    monkeypatch.setattr(CapturedModel, "run", lambda *_, **__: bad)
    with pytest.raises(CaptureError, match="is not finite"):
        headlight.permutation(labelled(2), model=made, progress=False)
