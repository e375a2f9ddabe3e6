"""One text with other attention, against models with zeros in W^O and rows written out."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings as hypothesis_settings, strategies as st

from headlight.capture import CapturedModel
from headlight.capture.one_text import capture_one, one_text
from headlight.errors import HeadlightError, MissingHeadError, UsageError
from headlight.reading.edits import Edit, EditContext, edits_of, wanted_rows
from headlight.reading.head_removal import HeadEffect, each_head_removed
from headlight.reading.model import Model
from headlight.reading.what_if import WhatIf, what_if
from reading.test_alternatives import LONG, model
from studies.classifiers import classifier
from studies.models import model as headless
from studies.test_ablation import PLACES, SUBJECTS, gpt2, without
from translators import FAMILIES, SOURCE, TARGET

TEXT = "the old river keeps a town ."
HEADS = 4


def exact(made: CapturedModel) -> CapturedModel:
    made.transformer.double()
    return made


def logarithms(made: CapturedModel, network: Any, text: str) -> np.ndarray:
    inputs = {"input_ids": torch.tensor([made.tokenizer(text).input_ids])}
    with torch.no_grad():
        return network(**inputs).logits[0].log_softmax(-1).double().numpy()


def divergences(before: np.ndarray, after: np.ndarray) -> list[float]:
    return [
        sum(math.exp(p) * (p - q) for p, q in zip(*rows, strict=True))
        for rows in zip(before, after, strict=True)
    ]


@pytest.mark.parametrize("family", ["bert", "gpt2", "llama"])
def test_a_removed_head_has_zeros_in_w_o(family: str) -> None:
    made, path = exact(SUBJECTS[family].made()), SUBJECTS[family].projection
    before = logarithms(made, made.transformer, TEXT)
    effects = {(each.layer, each.head): each for each in each_head_removed(made, TEXT)}
    assert len(effects) == 2 * HEADS
    for layer, head in PLACES:
        heads = list(range(HEADS)) if head is None else [head]
        after = logarithms(made, without(made.transformer, path, layer, heads), TEXT)
        expected = divergences(before, after)
        found = what_if(made, TEXT, edits=Edit(layer=layer, head=head))
        np.testing.assert_allclose(found.kl, expected, rtol=1e-5, atol=1e-12)
        best = after.argmax(-1)
        pieces = [str(each) for each in made.tokenizer.convert_ids_to_tokens(best.tolist())]
        assert found.dataset["after_choice"].values[:, 0].tolist() == pieces
        shares = np.exp(after[range(len(best)), best])
        np.testing.assert_allclose(found.dataset["after"][:, 0], shares, rtol=1e-6)
        if head is not None:
            effect = effects[layer, head]
            assert effect.kl == pytest.approx(np.mean(expected), rel=1e-5)
            assert effect.largest == pytest.approx(np.max(expected), rel=1e-5)
            assert effect.output == int(np.argmax(expected))
            assert effect.changed == int((before.argmax(-1) != best).sum())


def attention(made: CapturedModel, text: str, layer: int) -> Any:
    _, example = one_text(made, text, None, None, purpose="")
    sites = made.sites_of(made.kinds[0], [layer])
    return capture_one(made, example, sites, lambda record: record)[0]


def situation(made: CapturedModel, text: str) -> EditContext:
    record = attention(made, text, 0)
    seen = torch.ones_like(record.weight[0, 0], dtype=torch.bool)
    visible = seen if record.visible is None else seen & record.visible[0]
    _, example = one_text(made, text, None, None, purpose="")
    return EditContext(made, made.kinds[0], text, None, {0: visible}, example.categories)


def test_rows_of_an_encoder_by_hand() -> None:
    """<s> the old river </s>: a separator at the end, every key seen."""
    here = situation(SUBJECTS["bert"].made(), "the old river")
    n = 5

    def rows(**edit: Any) -> list[list[float]]:
        return wanted_rows(here, Edit(layer=0, head=1, **edit)).tolist()

    assert rows(change="uniform") == [[1 / n] * n] * n
    assert rows(change="first") == [[1, 0, 0, 0, 0]] * n
    assert rows(change="separator") == [[0, 0, 0, 0, 1]] * n
    previous = rows(change="previous")
    assert all(math.isnan(value) for value in previous[0])
    assert previous[1:] == [[float(key == query - 1) for key in range(n)] for query in range(1, n)]
    typed = rows(change="weights", query=2, weights=(0.2, 0.0, 0.6, 0.0, 0.0))
    np.testing.assert_allclose(typed[2], [0.25, 0, 0.75, 0, 0])
    assert all(math.isnan(value) for at in (0, 1, 3, 4) for value in typed[at])


def test_rows_of_a_decoder_see_nothing_ahead() -> None:
    here = situation(gpt2(), "the old river")
    uniform = wanted_rows(here, Edit(layer=0, change="uniform", query=1)).numpy()
    np.testing.assert_allclose(uniform[1], [0.5, 0.5, 0, 0])
    assert wanted_rows(here, Edit(layer=0, change="separator")).isnan().all()
    with pytest.raises(UsageError, match="cannot see"):
        wanted_rows(here, Edit(layer=0, change="weights", query=1, weights=(0.0, 0.0, 1.0, 0.0)))


@pytest.mark.parametrize("change", ["uniform", "first", "separator", "previous"])
@pytest.mark.parametrize("family", ["bert", "llama"])
def test_the_model_works_with_these_rows(family: str, change: Any) -> None:
    made = SUBJECTS[family].made()
    record = attention(made, TEXT, 0)
    found = what_if(made, TEXT, edits=Edit(layer=0, head=2, change=change))
    wanted = wanted_rows(situation(made, TEXT), Edit(layer=0, head=2, change=change))
    rows = torch.where(wanted.isnan(), record.weight[0, 2].double(), wanted).float()
    with Model(made.transformer, made.tokenizer).with_attention({(0, 2): rows}):
        after = logarithms(made, made.transformer, TEXT)
    before = logarithms(made, made.transformer, TEXT)
    np.testing.assert_allclose(found.kl, divergences(before, after), atol=2e-5)


def test_later_heads_move_and_edited_ones_are_left_out() -> None:
    made = SUBJECTS["bert"].made()
    found = what_if(made, TEXT, edits=Edit(layer=0, head=1))
    change = found.attention_change
    assert np.isnan(change.values[0, 1])
    assert float(change.sel(layer=0).max()) == 0
    own = attention(made, TEXT, 1).weight[0]
    zeros = {(0, 1): lambda weight, site: 0 * weight}
    with Model(made.transformer, made.tokenizer).with_attention(zeros):
        other = attention(made, TEXT, 1).weight[0]
    expected = (own - other).abs().sum(-1).mean(-1) / 2
    np.testing.assert_allclose(change.sel(layer=1), expected, atol=1e-6)
    assert found.moved(2)[0][:2] == (1, int(expected.argmax()))
    moved = [each[2] for each in found.moved()]
    np.testing.assert_allclose(moved, sorted(expected.tolist(), reverse=True), atol=1e-6)


def test_an_alternative_changes_no_prediction() -> None:
    made = model("bert")
    found = what_if(made, LONG, edits=Edit(layer=0, head=1, change="alternative"))
    assert float(found.kl.max()) < 1e-6
    assert float(np.nanmax(found.attention_change)) < 1e-3
    with pytest.raises(UsageError, match="no other attention of L0H1"):
        what_if(made, "the old mill", edits=Edit(layer=0, head=1, change="alternative"))


def test_classifiers_taggers_and_translators() -> None:
    found = what_if(classifier(), TEXT, edits=Edit(layer=1))
    assert found.dataset["output_token"].values.tolist() == ["the text"]
    assert set(found.dataset["before_choice"].values[0].tolist()) == {"bad", "good"}
    tagger = classifier(tokens=True)
    found = what_if(tagger, TEXT, edits=[Edit(layer=0, head=1), Edit(layer=1, change="uniform")])
    assert found.kl.size == len(tagger.tokenizer(TEXT).input_ids)
    assert set(found.dataset["after_choice"].values.ravel().tolist()) == {"bad", "good"}
    translator = FAMILIES["marian"].model(head=True)
    cross = what_if(translator, SOURCE, TARGET, kind="cross", edits=Edit(layer=1, head=0))
    assert float(cross.kl.min()) > 0
    with pytest.raises(UsageError, match="cross-attention goes to another"):
        what_if(translator, SOURCE, TARGET, kind="cross", edits=Edit(layer=0, change="previous"))


def test_what_is_told() -> None:
    made = SUBJECTS["bert"].made()
    found = Model(made.transformer, made.tokenizer).what_if(TEXT, edits=Edit(layer=0), top=3)
    assert isinstance(found, WhatIf)
    told = found.as_json()
    assert len(told["tokens"]) == len(told["kl"]) == len(told["before"]) == len(told["after"])
    assert all(len(row) == 3 for row in told["before"])
    assert "Predictions move by" in str(found)
    effects = each_head_removed(Model(made.transformer, made.tokenizer), TEXT, layers=[1])
    assert next(effects) == HeadEffect(1, 0, *(next_effect(made, 1))[2:])


def next_effect(made: CapturedModel, layer: int) -> tuple[Any, ...]:
    effect = next(each_head_removed(made, TEXT, layers=[layer]))
    return (effect.layer, effect.head, effect.kl, effect.largest, effect.output, effect.changed)


def test_refusals() -> None:
    made = SUBJECTS["bert"].made()
    for edit, words in (
        (Edit(layer=0, head=4), "no head 4"),
        (Edit(layer=7), "no encoder layer 7"),
        (Edit(layer=0, query=99, change="uniform"), "no query 99"),
        (Edit(layer=0, query=0, change="weights", weights=(1.0,)), "1 weights are given"),
    ):
        with pytest.raises(UsageError, match=words):
            what_if(made, TEXT, edits=edit)
    with pytest.raises(MissingHeadError, match="has no head"):
        what_if(headless("bert"), TEXT, edits=Edit(layer=0))
    with pytest.raises(UsageError, match="weights alone"):
        Edit(layer=0, change="weights")
    with pytest.raises(UsageError, match="of one row"):
        Edit(layer=0, change="weights", weights=(1.0, 0.0))
    with pytest.raises(UsageError, match="name the head"):
        Edit(layer=0, change="alternative")


# From a browser

JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)
FIELDS = st.dictionaries(
    st.sampled_from(["layer", "head", "query", "change", "weights", "path"]), JSON, max_size=6
)


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked")
@hypothesis_settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(JSON | st.lists(FIELDS, max_size=3))
def test_what_a_browser_sends_is_an_edit_or_refused(sent: Any) -> None:
    try:
        found = edits_of(sent)
    except HeadlightError:
        return
    for edit in found:
        assert type(edit.layer) is int
        assert edit.layer >= 0
        assert edit.weights is None or all(0 <= each <= 1 for each in edit.weights)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    "sent",
    [
        [],
        [{}] * 65,
        [{"layer": True}],
        [{"layer": 0, "head": 1.5}],
        [{"layer": -1}],
        [{"layer": 0, "change": "eval"}],
        [{"layer": 0, "query": 0, "change": "weights", "weights": [float("nan")]}],
        [{"layer": 0, "query": 0, "change": "weights", "weights": [float("inf")]}],
        [{"layer": 0, "query": 0, "change": "weights", "weights": ["1"]}],
        [{"layer": 0, "query": 0, "change": "weights", "weights": [1.0, None]}],
        [{"layer": 0, "query": 0, "change": "weights", "weights": 1.0}],
        [{"layer": 0, "file": "/etc/passwd"}],
        {"layer": 0},
    ],
)
def test_hostile_edits_are_refused(sent: Any) -> None:
    with pytest.raises(HeadlightError):
        edits_of(sent)


def test_edits_of_a_page() -> None:
    assert edits_of([{"layer": 0, "head": 1}, {"layer": 1, "change": "uniform"}]) == (
        Edit(layer=0, head=1),
        Edit(layer=1, change="uniform"),
    )
