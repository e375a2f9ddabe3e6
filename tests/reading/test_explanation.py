"""Why a head attends: scores as sums, against the modules of a model taken apart by hand."""

import json

import numpy as np
import pytest
import torch
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

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
HEADS, SHARED, SIZE = 4, 2, 8


def seen_in(network, ids):
    """What the modules that matter put out in one pass, and the weights of the first layer."""
    first, second = network.layers[0], network.layers[1]
    wanted = {
        "embedded": network.embed_tokens,
        "value": first.self_attn.v_proj,
        "written": first.mlp,
        "queries": second.self_attn.q_proj,
        "keys": second.self_attn.k_proj,
    }
    found, hooks = {}, []
    for name, module in wanted.items():
        hooks.append(
            module.register_forward_hook(
                lambda _, __, output, name=name: found.__setitem__(name, output[0].detach())
            )
        )
    network.set_attn_implementation("eager")
    with torch.no_grad():
        found["weight"] = network(ids, output_attentions=True).attentions[0][0]
    network.set_attn_implementation("sdpa")
    for hook in hooks:
        hook.remove()
    return found


def naive_key_side(network, ids, head, query, key):
    """The score, and what each part of the residual stream of the key adds to it."""
    found = seen_in(network, ids)
    first, second = network.layers[0], network.layers[1]
    cos, sin = network.rotary_emb(found["embedded"][None], torch.arange(ids.shape[1])[None])

    def turned(vector, place):
        row = vector.reshape(1, 1, 1, SIZE)
        return apply_rotary_pos_emb(row, row, cos[:, place : place + 1], sin[:, place : place + 1])[
            0
        ].flatten()

    q = turned(found["queries"][query].reshape(HEADS, SIZE)[head], query)
    shared = head // (HEADS // SHARED)
    block = slice(shared * SIZE, (shared + 1) * SIZE)
    k = turned(found["keys"][key][block], key)
    scale = SIZE**-0.5

    values = found["value"].reshape(-1, SHARED, SIZE)
    output = first.self_attn.o_proj.weight.T.reshape(HEADS, SIZE, -1)
    parts = {"embedding": found["embedded"][key], "mlp": found["written"][key]}
    for h in range(HEADS):
        for j in range(ids.shape[1]):
            moved = values[j, h // (HEADS // SHARED)] @ output[h]
            parts[h, j] = found["weight"][h, key, j] * moved
    parts["bias"] = first.self_attn.o_proj.bias
    stream = sum(parts.values())
    norm = second.input_layernorm
    size = (stream.square().mean() + norm.variance_epsilon).sqrt()

    def added(part):
        inner = second.self_attn.k_proj.weight[block] @ (norm.weight * part / size)
        return float(q @ turned(inner, key) * scale)

    scores = {name: added(part) for name, part in parts.items()}
    scores["key bias"] = float(q @ turned(second.self_attn.k_proj.bias[block], key) * scale)
    return float(q @ k * scale), scores


@pytest.fixture(scope="module")
def llama():
    model = subject("llama")
    model.transformer.double()
    return model


@pytest.mark.parametrize(("head", "query", "key"), [(0, 9, 3), (3, 5, 5), (2, 7, 0)])
def test_the_key_side_by_hand(llama, head, query, key):
    found = explain(llama, TEXT, layer=1, head=head, query=query, key=key)
    ids = torch.tensor([llama.tokenizer(TEXT)["input_ids"]])
    with torch.no_grad():
        score, parts = naive_key_side(llama.transformer, ids, head, query, key)
    assert float(found.dataset["score"]) == pytest.approx(score, abs=1e-6)
    of_heads = found.dataset["head_part"].sel(of="key")[0].values
    for (h, j), part in ((name, part) for name, part in parts.items() if isinstance(name, tuple)):
        assert of_heads[h, j] == pytest.approx(part, abs=1e-6)
    frame = found.to_dataframe("key").set_index("part")["score"]
    assert frame["embedding of the token"] == pytest.approx(parts["embedding"], abs=1e-6)
    assert frame["feed-forward 0"] == pytest.approx(parts["mlp"], abs=1e-6)
    biases = found.to_dataframe("key")
    biases = biases[biases["kind"] == "bias"]["score"].sum()
    assert biases == pytest.approx(parts["bias"] + parts["key bias"], abs=1e-6)


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
    ],
)
def test_mistakes_are_refused(llama, choice, sentence):
    with pytest.raises(UsageError, match=sentence):
        explain(llama, TEXT, **{"layer": 1, "head": 0, **choice})
