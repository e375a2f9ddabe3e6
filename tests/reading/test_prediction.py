"""What a prediction is made of, against models that run again without a part."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings as hypothesis_settings, strategies as st

from headlight.capture import CapturedModel
from headlight.capture.linear_network.linear_pass import Attended
from headlight.capture.linear_network.logit_decomposition import by_head
from headlight.capture.one_text import one_text
from headlight.errors import MissingHeadError, UnsupportedModelError, UsageError
from headlight.reading.model import Model
from headlight.reading.prediction import Prediction, predict
from headlight.result import load
from headlight.views.reading import prediction as prediction_page
from reading.replay import Replay
from reading.test_alternatives import model as family_model
from studies.classifiers import classifier, sequence_classifier as twice
from studies.models import model as headless
from studies.test_ablation import SUBJECTS

TEXT = "the old river keeps a town ."
OTHER = "snow melts in spring ."
FAMILIES = {"bert": False, "gpt2": False, "llama": True, "bart": False, "t5": False}
"""Families of models, and whether their feed-forward layers have gates."""


@cache
def subject(family: str) -> CapturedModel:
    made = SUBJECTS["gpt2"].made() if family == "gpt2" else family_model(family)
    made.transformer.double()
    return made


def asked(family: str) -> dict[str, Any]:
    pair = {"pair": OTHER} if family in ("bart", "t5") else {}
    return pair | ({"position": 3} if family == "bert" else {})


@cache
def explained(family: str) -> Prediction:
    return predict(subject(family), TEXT, target="mill", against="sand", **asked(family))


@cache
def replayed(family: str) -> Replay:
    made, data = subject(family), explained(family).dataset
    _, example = one_text(made, TEXT, asked(family).get("pair"), None, purpose="a test")
    first, second = made.tokenizer.convert_tokens_to_ids(["mill", "sand"])
    place = int(data.attrs["position"])

    def score(output: Any) -> torch.Tensor:
        return output.logits[0, place, first] - output.logits[0, place, second]

    inputs = made.inputs(made.collate([example]))
    return Replay(made, inputs, score, gated=FAMILIES[family])


def close(found: Any, wanted: Any) -> None:
    """Norms of Llama and T5 are computed in float32."""
    np.testing.assert_allclose(found, wanted, atol=3e-6, rtol=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_token_adds_what_is_lost_without_its_embedding(family: str) -> None:
    data, again = explained(family).dataset, replayed(family)
    close(float(data["logit"]), again.whole)
    tokens = data["token_total"].values
    sides = data["token_side"].values.tolist()
    for place, side in enumerate(sides):
        number = 1 if side == "target" else 0
        token = place - sides.index(side)
        close(tokens[place], again.without(embedding=(number, token)))


@pytest.mark.slow
@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_head_adds_what_is_lost_without_what_it_takes_from_a_token(
    family: str, *, direct: bool
) -> None:
    data, again = explained(family).dataset, replayed(family)
    found = data["head_direct" if direct else "head_total"].values
    starts = {"text": 0, "target": data["token_side"].values.tolist().count("text")}
    several = "target" in data["token_side"].values
    for row, site in enumerate(again.model.sites):
        assert (data["kind"].values[row], data["layer"].values[row]) == (site.kind, site.layer)
        start = starts["target" if several and site.kind == "decoder" else "text"]
        for head in range(site.heads):
            for key in (0, 2, 3):
                lost = again.without(cell=(site, head, key), direct=direct)
                close(found[row, head, start + key], lost)
    assert np.nanmax(np.abs(found)) > 1e-3


@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_feed_forward_layer_adds_what_is_lost_without_it(family: str, *, direct: bool) -> None:
    data, again = explained(family).dataset, replayed(family)
    modules = dict(again.model.transformer.named_modules())
    rows = np.flatnonzero(data["component_kind"].values == "feed_forward")
    assert len(rows) >= 2
    for row in rows:
        module = modules[str(data["component_name"].values[row])]
        value = data["direct" if direct else "total"].values[row]
        close(value, again.without(linear=module, direct=direct))


@pytest.mark.parametrize("family", FAMILIES)
def test_the_parts_add_up(family: str) -> None:
    data = explained(family).dataset
    logit = float(data["logit"])
    close(float(data["direct"].sum()), logit)
    biases = data["total"].values[data["component_kind"].values == "bias"].sum()
    through = float(data["token_total"].sum() + data["position_total"].sum()) + biases
    close(through, logit)
    close(float(data["remainder_direct"]), logit - float(data["direct"].sum()))
    heads = data["head_direct"].sum(("head", "token")).values
    of = data["component_kind"].values == "attention"
    close(sorted(heads[heads != 0]), sorted(value for value in data["direct"].values[of] if value))


def test_a_contrast_is_the_difference_of_two_words() -> None:
    made = subject("bert")
    first, second = (predict(made, TEXT, target=word, position=3) for word in ("mill", "sand"))
    both = explained("bert").dataset
    for name in ("token_total", "direct", "total", "head_direct", "head_total"):
        difference = first.dataset[name].values - second.dataset[name].values
        np.testing.assert_allclose(both[name].values, difference, atol=1e-10)


def test_one_head_by_hand() -> None:
    """Two queries, three keys, heads of two numbers; keys are shared by both heads."""
    weight = torch.tensor([[[[0.5, 0.5, 0.0], [0.25, 0.25, 0.5]], [[1.0, 0, 0], [0, 1.0, 0]]]])
    value = torch.tensor([[[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]]])
    slope = torch.tensor([[[[1.0, 0.0], [1.0, 1.0]], [[0.0, 2.0], [-1.0, 0.0]]]])
    done = Attended(None, weight, value, slope, 0)  # type: ignore[arg-type]
    # Head 0: query 0 looks at the first number, query 1 at twice the second.
    expected = [[0.5 * 1 + 0.25 * 4, 0.5 * 3 + 0.25 * 8, 0.5 * 12], [3.0, -3.0, 0.0]]
    np.testing.assert_allclose(by_head(done, slope), expected)
    np.testing.assert_allclose(by_head(done, None), np.zeros((2, 3)))


@hypothesis_settings(max_examples=10)
@given(st.integers(1, 4), st.integers(1, 5), st.integers(0, 99))
def test_heads_by_loops(shared: int, keys: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    weight = torch.rand(1, 2 * shared, 3, keys, generator=generator, dtype=torch.float64)
    value = torch.randn(1, 2, keys, 4, generator=generator, dtype=torch.float64)
    slope = torch.randn(1, 3, 2 * shared, 4, generator=generator, dtype=torch.float64)
    found = by_head(Attended(None, weight, value, slope, 0), slope)  # type: ignore[arg-type]
    for head in range(2 * shared):
        for key in range(keys):
            expected = sum(
                float(weight[0, head, query, key])
                * float((slope[0, query, head] * value[0, head // shared, key]).sum())
                for query in range(3)
            )
            assert float(found[head, key]) == pytest.approx(expected, abs=1e-12)


def test_classes_are_explained() -> None:
    made = classifier()
    found = predict(made, TEXT, target="good")
    data = found.dataset
    assert (data.attrs["target"], data.attrs["classes"]) == ("good", 1)
    with torch.no_grad():
        logits = made.transformer(torch.tensor([made.tokenizer(TEXT).input_ids])).logits[0]
    assert found.logit == pytest.approx(float(logits[1]), rel=1e-5)
    assert float(data["direct"].sum()) == pytest.approx(found.logit, rel=1e-5)
    other = predict(made, TEXT, target="good", against="bad")
    assert other.logit == pytest.approx(float(logits[1] - logits[0]), rel=1e-5)
    tagger = classifier(tokens=True)
    assert predict(tagger, TEXT, position=2).dataset.attrs["position"] == 2
    with pytest.raises(UsageError, match="position"):
        predict(tagger, TEXT)
    with pytest.raises(UsageError, match="no class 'better'; it has: bad, good"):
        predict(made, TEXT, target="better")
    with pytest.raises(UsageError, match="whole texts"):
        predict(made, TEXT, position=1)


def test_what_is_predicted_is_asked_for_by_default() -> None:
    made = subject("llama")
    found = predict(made, TEXT)
    with torch.no_grad():
        logits = made.transformer(torch.tensor([made.tokenizer(TEXT).input_ids])).logits[0, -1]
    assert found.dataset.attrs["target"] == f"id {int(logits.argmax())}"  # which no piece has
    assert found.logit == pytest.approx(float(logits.max()), rel=1e-5)
    assert found.dataset.attrs["probability"] == pytest.approx(float(logits.softmax(-1).max()))


def test_refusals() -> None:
    made = subject("bert")
    for options, words in (
        ({"target": "mill"}, "masked, and the text has none"),
        ({"position": 99}, "no position 99"),
        ({"position": 1, "target": ""}, "is empty"),
        ({"position": 1, "target": " "}, "does not have ' '"),
        ({"position": 1, "target": "mill", "against": "\n"}, r"does not have '\\n'"),
        ({"position": 1, "target": "zebra"}, "does not have 'zebra'"),
        ({"position": 1, "target": "mill", "against": "mill"}, "differ by nothing"),
        ({"position": 1, "slope": "steep"}, "steep"),
    ):
        with pytest.raises(UsageError, match=words):
            predict(made, TEXT, **options)
    with pytest.raises(MissingHeadError, match="predicts nothing"):
        predict(headless("bert"), TEXT)
    with pytest.raises(UsageError, match="what its decoder has read"):
        predict(subject("t5"), TEXT)
    with pytest.raises(UnsupportedModelError, match="moved by one place"):
        predict(twice("bart"), TEXT)


def test_the_largest_token_of_a_decoder_is_named_beside_its_first() -> None:
    said = str(explained("llama"))
    tokens = explained("llama").to_dataframe("token")
    first = explained("llama").dataset["token_text"].values[0]
    assert f"the first, “{first}”, which heads attend to for want of others, adds" in said
    found = re.search(r"Beside the first token, the largest part is that of “([^”]+)”", said)
    assert found
    largest = found[1]
    assert largest == next(name for name in tokens["token"] if name != first)
    assert "Of the text, the largest part is that of “" in str(explained("bert"))


@pytest.mark.parametrize("family", ["llama", "bert"])
def test_the_largest_component_is_named_whatever_it_is(family: str) -> None:
    row = explained(family).to_dataframe("component").iloc[0]
    number = f"{row['direct']:+.3f}".replace("-", "−")
    name = f"that of {row['component']} ({number})"
    said = f"Directly, of components the largest part is {name}, of single heads that of "
    assert said in str(explained(family))


@pytest.mark.parametrize("family", ["llama", "bert"])
def test_pictures_say_what_they_leave_out(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is drawn and what is left out add up to the logit."""
    monkeypatch.setattr(prediction_page, "SHOWN", 3)
    monkeypatch.setattr(prediction_page, "MOST_TOKENS", 2)
    dataset = explained(family).dataset
    sections = prediction_page.sections(dataset)
    drawings = {each.name: each.drawings[0] for each in sections if each.drawings}
    for name in ("tokens", "components", "heads"):
        figure = drawings[name].draw()
        (axes,) = figure.axes
        _, *lines = axes.get_xlabel().split("\n")
        assert lines
        assert all(line.startswith("left out: ") for line in lines)
        assert all(line in drawings[name].alternative for line in lines)
        numbers = [re.search(r"\(([+−][\d.]+)(?: together)?\)$", line)[1] for line in lines]
        left = sum(float(number.replace("−", "-")) for number in numbers)
        bars = [bar.get_width() for bar in axes.patches]
        drawn = bars if name == "tokens" else bars[::2]
        if name != "heads":  # which add up with other components alone
            assert sum(drawn) + left == pytest.approx(float(dataset["logit"]), abs=4e-3)
    first = dataset["token_text"].values[0]
    tokens = drawings["tokens"].draw().axes[0].get_xlabel()
    assert (f"left out: the first token, “{first}” (" in tokens) == (family == "llama")


@pytest.mark.slow
def test_files_and_tables(tmp_path: Path) -> None:
    made = subject("bert")
    model = Model(made.transformer, made.tokenizer, "a <b>model</b>")
    found = model.predict(TEXT, target="mill", against="sand", position=3)
    dataset = load(found.save(tmp_path / "found.nc"), stage="prediction")
    np.testing.assert_array_equal(dataset["direct"], found["direct"])
    said = json.loads(found.save(tmp_path / "found.json").read_text())
    assert said["logit"] == found.logit
    assert sum(row["direct"] for row in said["component"]) == pytest.approx(found.logit)
    page = found.save(tmp_path / "found.html").read_text()
    assert "What each token adds" in page
    assert "<b>model" not in page
    with pytest.raises(UsageError, match=r"\.html, \.json or \.nc"):
        found.save(tmp_path / "found.csv")
    for name in ("token", "component", "head"):
        frame = found.to_dataframe(name)
        sizes = frame["sum" if name == "token" else "direct"].abs()
        assert sizes.is_monotonic_decreasing
        assert found.dataset.headlight.tables
    assert "add up to it within" in str(found) == repr(found)


@pytest.mark.parametrize("family", ["llama", "gpt2", "bert"])
def test_two_texts_are_compared_part_by_part(family: str) -> None:
    made, place = subject(family), {} if family == "gpt2" else {"position": 3}
    other = TEXT.replace("river", "mill")
    two = predict(made, TEXT, target="sand", compare_text=other, **place)
    first, second = (predict(made, each, target="sand", **place) for each in (TEXT, other))
    for name in ("logit", "token_total", "direct", "total", "head_direct", "head_total"):
        np.testing.assert_allclose(two[name], first[name].values - second[name].values, atol=1e-12)
    assert two.logit == pytest.approx(float(two["direct"].sum()), abs=1e-6)
    names = two.to_dataframe("token")["token"].tolist()
    assert sum(" / " in name for name in names) == 1
    assert any("river / " in name and "mill" in name for name in names)
    assert "All numbers are differences" in str(two)
    assert two.as_json()["compare_text"] == other
    with pytest.raises(UsageError, match="of as many tokens"):
        predict(made, TEXT, target="sand", compare_text="the old river", **place)
