"""Why a head attends: scores as sums, their sentences, bars and pages."""

import json

import numpy as np
import pytest

from headlight.errors import UsageError
from headlight.findings import labels_of
from headlight.findings.candidates import NOT_UNDERSTOOD
from headlight.reading import read
from headlight.reading.explanation import Explanation, explain
from headlight.result import load
from headlight.views.reading.explanation import headline
from headlight.views.result_page import result_page
from page_words import words_when_open
from studies.models import model as subject

TEXT = "the river is old , the mill near it fell"
HEADS = 4


@pytest.fixture(scope="module")
def llama():
    model = subject("llama")
    model.transformer.double()
    return model


@pytest.mark.parametrize("family", ["bert", "roberta", "llama", "t5", "bart"])
def test_both_sides_add_up(family):
    model = subject(family)
    for layer in (0, 1):
        found = explain(model, TEXT, layer=layer, head=2, query=4)
        score = float(found.dataset["score"])
        for side in ("query", "key"):
            assert found.to_dataframe(side)["score"].sum() == pytest.approx(score, abs=1e-4)
    assert found.dataset.attrs["of_key"] not in (0, 4)


@pytest.mark.slow
def test_weights_follow_from_scores(llama):
    """Without biases of positions the softmax of scores is the row of α."""
    row = llama.transformer.config
    assert row.model_type == "llama"
    query = 6
    scores = [
        float(explain(llama, TEXT, layer=1, head=1, query=query, key=key).dataset["score"])
        for key in range(query + 1)
    ]
    weights = [
        float(explain(llama, TEXT, layer=1, head=1, query=query, key=key).dataset["weight"])
        for key in range(query + 1)
    ]
    expected = np.exp(scores) / np.exp(scores).sum()
    np.testing.assert_allclose(weights, expected, atol=1e-6)


def test_it_is_saved_and_said(llama, tmp_path):
    found = explain(llama, TEXT, layer=1, head=1)
    told = json.loads(found.save(tmp_path / "why.json").read_text(encoding="utf-8"))
    assert (told["of_layer"], told["of_head"], told["of_query"]) == (1, 1, 10)
    assert sum(row["score"] for row in told["key"]) == pytest.approx(told["score"], abs=1e-4)
    assert float(load(found.save(tmp_path / "why.nc"))["score"]) == told["score"]
    assert told["findings"][0] in str(found)
    assert str(found).startswith("L1H1 looks from “<unk> (10)” at “near” (17% of its weight): ")
    with pytest.raises(UsageError, match="saved as"):
        found.save(tmp_path / "why.svg")


def signed(number):
    return f"{number:+.2f}".replace("-", "−")


@pytest.mark.slow
def test_the_title_is_the_largest_part_whatever_it_is_with_its_sign(llama):
    """Against the parts of the dataset, searched one by one."""
    kinds = set()
    for head in range(HEADS):
        for query in (4, 7, 10):
            found = explain(llama, TEXT, layer=1, head=head, query=query)
            dataset = found.dataset
            largest = None
            for number in range(dataset.sizes["part_number"]):
                part = dataset.isel(part_number=number)
                is_wanted = str(part["side"].values) == "key" and str(part["kind"].values) != "bias"
                if is_wanted and (largest is None or abs(part["part"]) > abs(largest["part"])):
                    largest = part
            score, value = float(dataset["score"]), float(largest["part"])
            title = headline(dataset).title
            assert f"the largest part of the score, {signed(value)} in a sum of" in title
            assert f"in a sum of {signed(score)}, " in title
            assert f"({float(dataset['weight']):.0%} of its weight)" in title
            assert ("works against it" in title) == (value * score < 0)
            kind = str(largest["kind"].values)
            name = {
                "head": f"L{int(largest['layer'])}H{int(largest['head'])} brought there",
                "feed_forward": f"what feed-forward layer {int(largest['layer'])} wrote there",
                "token": "the embedding of “",
            }[kind]
            assert name in title
            assert str(found).startswith(title)
            kinds |= {(kind, value > 0)}
    assert {kind for kind, _ in kinds} >= {"head", "feed_forward"}
    assert {is_positive for _, is_positive in kinds} == {True, False}


@pytest.mark.parametrize("family", ["bert", "llama"])
def test_bars_add_up_to_the_score_and_have_its_signs(family):
    found = explain(subject(family), TEXT, layer=1, head=2, query=4)
    for picture in headline(found.dataset).pictures:
        values = [float(bar.value.replace("−", "-")) for bar in picture.bars]
        score = float(found.dataset["score"])
        assert sum(values) == pytest.approx(score, abs=0.005 * (len(values) + 1))
        assert [bar.series == "norm" for bar in picture.bars] == [value < 0 for value in values]
        longest = max(map(abs, values))
        assert [bar.share for bar in picture.bars] == pytest.approx(
            [abs(value) / longest for value in values], abs=0.05
        )


def test_a_head_is_said_to_take_from_a_token_only_where_it_does(llama):
    found = explain(llama, TEXT, layer=1, head=1)
    labels = labels_of(found.dataset, "token_text")
    of_heads = found.dataset["head_part"].sel(of="key")[0].values
    for bar in headline(found.dataset).pictures[0].bars:
        name, _, source = bar.label.partition(" from ")
        if source:
            row = of_heads[int(name.partition("H")[2].removesuffix(", mostly"))]
            share = row[labels.index(source[1:-1])] / row.sum()
            assert share > (0.5 if "mostly" in name else 0.95)


def test_biases_are_set_aside_and_what_works_against_the_score_is_said(llama):
    dataset = explain(llama, TEXT, layer=1, head=1).dataset.copy(deep=True)
    key = (dataset["side"] == "key").values
    kinds = dataset["kind"].values
    dataset["score"] = 2.0
    dataset["part"][:] = 0.01
    dataset["part"][np.flatnonzero(key & (kinds == "bias"))[0]] = -9.0
    dataset["part"][np.flatnonzero(key & (kinds == "feed_forward"))[0]] = -3.0
    title = headline(dataset).title
    assert "biases aside, the largest part of the score, −3.00 in a sum of +2.00, works" in title
    assert title.endswith("works against it: what feed-forward layer 0 wrote there.")


def test_of_tokens_that_are_not_known_nothing_is_said(llama):
    dataset = explain(llama, "xyzzy plugh river quux").dataset
    assert headline(dataset).title == str(Explanation(dataset)) == NOT_UNDERSTOOD


def test_the_first_token_of_a_decoder_has_no_choice(llama):
    title = headline(explain(llama, TEXT, layer=1, head=1, query=0).dataset).title
    assert "at itself (100% of its weight): the first token has no other to look at." in title


def test_of_the_first_layer_no_part_is_named(llama):
    title = headline(explain(llama, TEXT, layer=0, head=1).dataset).title
    assert "before this layer there are embeddings alone" in title


def test_the_page_opens_with_the_answer_in_few_words(llama):
    found = explain(llama, TEXT, layer=1, head=1)
    words = words_when_open(found.to_html())
    assert headline(found.dataset).title in " ".join(words)
    assert len(words) <= 200


def test_words_that_run_right_to_left_are_kept_apart_from_numbers(llama):
    dataset = explain(llama, TEXT, layer=1, head=1).dataset
    tokens = dataset["token_text"].values.astype(object)
    tokens[int(dataset.attrs["of_key"])] = "עולם"
    page = result_page(dataset.assign_coords(token_text=("token", tokens)))
    assert "at “\u2068עולם\u2069” (" in page


def test_what_a_head_takes_most_from_has_the_sign_of_the_head(llama):
    found = explain(llama, TEXT, layer=1, head=1)
    of_heads = found.dataset["head_part"].sel(of="key")
    labels = labels_of(found.dataset, "token_text")
    frame = found.to_dataframe("key")
    for row in frame[frame["kind"] == "head"].to_dict("records"):
        parts = of_heads[0, int(row["part"].partition("H")[2])].values
        assert parts[labels.index(row["takes from"])] * row["score"] > 0


@pytest.mark.parametrize(("key", "other"), [(5, 2), (2, 5), (9, 0)])
def test_the_difference_to_another_key_is_what_moves_the_weight(llama, key, other):
    """By the softmax of the row, and by the explanation of the other key."""
    ask = {"layer": 1, "head": 2, "query": 9}
    found = explain(llama, TEXT, **ask, key=key, against_key=other)
    dataset, beside = found.dataset, explain(llama, TEXT, **ask, key=other).dataset
    difference, product = dataset["difference"], dataset["product"]
    assert float(dataset["other_weight"]) == float(beside["weight"])
    ratio = float(dataset["weight"] / dataset["other_weight"])
    assert float(difference.sum()) == pytest.approx(np.log(ratio), abs=1e-5)
    np.testing.assert_allclose(product - difference, beside["product"], atol=1e-6)
    for side, margin in (("query", product.sum("key_part")), ("key", product.sum("query_part"))):
        parts = dataset["part"][(dataset["side"] == side).values]
        np.testing.assert_allclose(margin, parts, atol=1e-6)
    by_part = difference.sum("query_part").to_series()
    part = by_part.abs().idxmax()
    largest = by_part[part]
    title, labels = headline(dataset).title, labels_of(dataset, "token_text")
    names = ["itself" if at == 9 else f"“{labels[at]}”" for at in (key, other)]
    how = "at {} rather than at {}" if ratio > 1 else "less at {} than at {}"
    assert f"L1H2 looks from “{labels[9]}” {how.format(*names)} (" in title
    assert f": {part} in the keys " in title
    assert f"the difference between the scores ({signed(np.log(ratio))} in all)" in title
    assert ("works against" in title) == (largest * np.log(ratio) < 0)
    assert signed(largest) in title
    for picture in headline(dataset).pictures:
        values = [float(bar.value.replace("−", "-")) for bar in picture.bars]
        assert sum(values) == pytest.approx(np.log(ratio), abs=0.005 * (len(values) + 1))
    pair = difference.to_series().abs().idxmax()
    assert f"The largest pairs, query × key, are {pair[0]} × {pair[1]} (" in str(found)
    words = words_when_open(found.to_html())
    assert title in " ".join(words)
    assert len(words) <= 250


def test_by_default_it_is_about_the_head_that_attends_most(llama):
    reading = read(llama, TEXT).dataset["weight"].isel(query=-1).values
    reading[..., 0] = reading[..., -1] = 0
    layer, head, key = np.unravel_index(reading.argmax(), reading.shape)
    about = explain(llama, TEXT).dataset.attrs
    assert (about["of_layer"], about["of_head"], about["of_key"]) == (layer, head, key)
    assert explain(llama, TEXT, layer=1).dataset.attrs["of_layer"] == 1
    assert explain(llama, TEXT, head=0).dataset.attrs["of_head"] == 0


@pytest.mark.parametrize(
    ("choice", "sentence"),
    [
        ({"query": 40}, "there is no query 40"),
        ({"key": -40}, "there is no key -40"),
        ({"head": 9}, "layer 1 has no head 9"),
        ({"layer": 5}, "layer"),
        ({"kind": "cross"}, "cross"),
        ({"against_key": 40}, "there is no key 40"),
        ({"query": 4, "against_key": 7}, "query 4 does not see token 7, which comes behind it"),
        ({"key": 3, "against_key": 3}, "key 3 cannot be held against itself"),
        ({"query": 0, "against_key": 0}, "key 0 cannot be held against itself"),
        ({"query": 4, "key": 7, "against_key": 3}, "L1H0 gives token 7 no weight at all"),
    ],
)
def test_mistakes_are_refused(llama, choice, sentence):
    with pytest.raises(UsageError, match=sentence):
        explain(llama, TEXT, **{"layer": 1, "head": 0, **choice})
