"""Maps of tokens beside each other, against loops over texts, tokens and shares."""

import math
from typing import Any

import numpy as np
import pytest
import torch
import xarray
from hypothesis import given, settings as hypothesis_settings, strategies as st
from scipy.stats import spearmanr
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    LlamaForCausalLM,
    PreTrainedModel,
)

import headlight
from headlight.capture import CapturedModel
from headlight.errors import MissingHeadError, UsageError
from headlight.findings.answers.map_faithfulness import beside_best
from headlight.reading.prediction import predict
from headlight.studies.map_faithfulness import MapFaithfulnessSettings
from headlight.studies.map_faithfulness.maps import FOLLOWED
from headlight.studies.map_faithfulness.scores import (
    SHARES,
    correlations,
    lost,
    removals,
    scores_of_removal,
)
from headlight.studies.map_faithfulness.study import run
from headlight.views.result_page import answers
from studies.classifiers import classifier
from studies.models import VOCABULARY, WORDS, model, tokenizer
from tiny_models import randomise

MASK = VOCABULARY.index("<unk>")
MAPS = ("weight", "norm", "rollout", "prediction", "gradient_input", "leave_one_out")


def with_head(family: str) -> CapturedModel:
    """A classifier, a masked language model or a decoder, with sharp attention."""
    if family == "classifier":
        made = classifier()
    else:
        kind = BertForMaskedLM if family == "bert" else LlamaForCausalLM
        network = kind(model(family).transformer.config).eval()
        with torch.no_grad():
            randomise(network, torch.Generator().manual_seed(3))
        made = CapturedModel(network, tokenizer(family), family, "1")
    if family != "llama":
        made.tokenizer.mask_token = "<unk>"
    return made


def corpus(count: int, longest: int = 11) -> list[str]:
    """Texts without punctuation, so that a word is a token."""
    generator = np.random.default_rng(5)
    lengths = generator.integers(3, longest, count)
    return [" ".join(generator.choice(WORDS, length)) for length in lengths]


# The numbers of one text


def naive_loss(order: list[int], probability: Any) -> list[list[float]]:
    """What is lost, from p of the tokens that are kept: most important, and least, by share."""
    size, everything = len(order), set(order)
    found: list[list[float]] = [[], []]
    for tenth in range(1, 10):
        number = max(1, math.floor(tenth * size / 10 + 0.5))
        whole = probability(everything)
        found[0].append(whole - probability(everything - set(order[:number])))
        found[1].append(whole - probability(everything - set(order[size - number :])))
    return found


def naive_scores(losses: dict[str, list[list[list[float]]]]) -> dict[str, list[float]]:
    areas = {
        name: [[sum(row) / 9 for row in order] for order in orders]
        for name, orders in losses.items()
    }
    known = [area for orders in areas.values() for order in orders for area in order]
    low, high = min(known), max(known)
    found: dict[str, list[float]] = {"comprehensiveness": [], "normalised": [], "sufficiency": []}
    for orders in areas.values():
        first, last = (sum(order[end] for order in orders) / len(orders) for end in (0, 1))
        found["comprehensiveness"].append(first)
        found["normalised"].append((first - low) / (high - low) if high > low else math.nan)
        found["sufficiency"].append(last)
    return found


@hypothesis_settings(deadline=None, max_examples=60)
@given(st.integers(2, 23), st.integers(1, 3), st.integers(0, 999))
def test_scores_are_their_definitions(tokens: int, draws: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    orders = {"a": [generator.permutation(tokens)]}
    orders["random"] = [generator.permutation(tokens) for _ in range(draws)]

    def without(gone: frozenset[int]) -> float:
        return float(np.random.default_rng([seed, *sorted(gone), len(gone)]).random())

    def kept(tokens_: set[int]) -> float:
        return without(frozenset(range(tokens)) - frozenset(tokens_))

    found = {name: [lost(order, without) for order in each] for name, each in orders.items()}
    wanted = {
        name: [naive_loss(list(map(int, order)), kept) for order in each]
        for name, each in orders.items()
    }
    for name, each in found.items():
        np.testing.assert_allclose(each, wanted[name], rtol=1e-12)
    np.testing.assert_allclose(
        scores_of_removal(found), list(naive_scores(wanted).values()), rtol=1e-9, atol=1e-12
    )
    assert len(SHARES) == 9


def test_a_prediction_that_rests_on_one_token() -> None:
    """By hand: p is 0.9 with token 2 of ten, and 0.4 without; 0.5 is lost, or nothing."""

    def without(gone: frozenset[int]) -> float:
        return 0.4 if 2 in gone else 0.9

    best = np.array([2, *(at for at in range(10) if at != 2)])
    scores = scores_of_removal(
        {"best": [lost(best, without)], "worst": [lost(best[::-1], without)]}
    )
    np.testing.assert_allclose(scores, [[0.5, 0], [1, 0], [0, 0.5]], atol=1e-15)
    middle = np.array([*range(3, 7), 2, 0, 1, 7, 8, 9])  # goes at 50%: lost by 5 of 9 shares
    np.testing.assert_allclose(lost(middle, without).mean(-1), [0.5 * 5 / 9, 0.5 * 4 / 9])
    assert [len(each) for each in removals(np.arange(3))][::2] == [1, 1, 1, 1, 2, 2, 2, 2, 3]


def test_the_example_of_the_documentation() -> None:
    """The, film, was, great, fun: two tokens of five matter, and one of them more."""

    def without(gone: frozenset[int]) -> float:
        return {(): 0.9, (3,): 0.5, (4,): 0.8, (3, 4): 0.3}[tuple(sorted(gone & {3, 4}))]

    orders = {"A": [3, 4, 1, 0, 2], "B": [2, 0, 1, 4, 3], "C": [3, 0, 1, 2, 4]}
    found = {name: [lost(np.array(order), without)] for name, order in orders.items()}
    np.testing.assert_allclose(found["C"][0][0], [*[0.4] * 8, 0.6], atol=1e-12)
    wanted = [[0.556, 0.089, 0.422], [1, 0, 0.714], [0.089, 0.556, 0.156]]
    np.testing.assert_allclose(scores_of_removal(found), wanted, atol=5e-4)


@hypothesis_settings(deadline=None, max_examples=40)
@given(st.integers(2, 12), st.integers(0, 999), st.booleans())
def test_correlations_are_those_of_scipy(tokens: int, seed: int, signed: bool) -> None:
    generator = np.random.default_rng(seed)
    given_ = {
        name: [generator.integers(-3, 4, tokens).astype(float) for _ in range(number)]
        for name, number in {"one": 1, "reference": 1, "random": 2}.items()
    }
    found = correlations(given_, ["reference"], signed=signed)

    def rho(first: np.ndarray, second: np.ndarray) -> float:
        pair = (first, second) if signed else (abs(first), abs(second))
        if any((each == each[0]).all() for each in pair):
            return math.nan
        return float(spearmanr(*pair).statistic)

    reference = given_["reference"][0]
    wanted = [
        rho(given_["one"][0], reference), math.nan,
        sum(rho(each, reference) for each in given_["random"]) / 2,
    ]  # fmt: skip
    np.testing.assert_allclose(found, [wanted], atol=1e-12)


# The study


class Naive:
    """One text in one model, read by transformers alone."""

    def __init__(self, made: CapturedModel, text: str, removal: str, place: int | None) -> None:
        self.network: Any = made.transformer
        self.removal = removal
        ids = made.tokenizer(text)["input_ids"]
        special = {1, 2}
        self.place = place
        self.own = [at for at, each in enumerate(ids) if each not in special and at != place]
        if place is not None and place != len(ids) - 1:
            ids[place] = MASK
        self.ids = ids
        logits = self.logits(set(self.own))
        self.target = int(logits.argmax())

    def logits(self, kept: set[int]) -> torch.Tensor:
        gone = [at for at in self.own if at not in kept]
        ids, mask, place = list(self.ids), [1] * len(self.ids), self.place
        if self.removal == "mask":
            ids = [MASK if at in gone else each for at, each in enumerate(ids)]
        elif self.removal == "attention":
            mask = [0 if at in gone else 1 for at in range(len(ids))]
        else:
            left = [at for at in range(len(ids)) if at not in gone]
            ids, mask = [ids[at] for at in left], [1] * len(left)
            place = None if place is None else left.index(place)
        with torch.no_grad():
            given_ = {"input_ids": torch.tensor([ids]), "attention_mask": torch.tensor([mask])}
            found = self.network(**given_).logits[0]
        return found if place is None else found[place]

    def probability(self, kept: set[int]) -> float:
        """p of the target, from the places that are kept."""
        return float(self.logits(kept).double().softmax(-1)[self.target])

    def weights(self) -> list[torch.Tensor]:
        """Means over heads of all layers, as the model itself gives them."""
        own = self.network.config._attn_implementation
        self.network.set_attn_implementation("eager")
        with torch.no_grad():
            found = self.network(torch.tensor([self.ids]), output_attentions=True).attentions
        self.network.set_attn_implementation(own)
        return [each[0].double().mean(0) for each in found]

    def weight(self) -> np.ndarray:
        """The row of the last layer."""
        return self.weights()[-1][self.place or 0].numpy()[self.own]

    def rollout(self) -> np.ndarray:
        """The row of the product, with half of each token kept."""
        found = torch.eye(len(self.ids), dtype=torch.float64)
        for each in self.weights():
            found = (each + torch.eye(len(self.ids))) / 2 @ found
        return found[self.place or 0].numpy()[self.own]

    def left_out(self) -> np.ndarray:
        everything = set(self.own)
        whole = self.probability(everything)
        return np.array([whole - self.probability(everything - {at}) for at in self.own])

    def gradient(self) -> np.ndarray:
        table = self.network.get_input_embeddings()
        embedded = table(torch.tensor([self.ids])).detach().requires_grad_()
        logits = self.network(inputs_embeds=embedded).logits[0]
        row = logits if self.place is None else logits[self.place]
        row.softmax(-1)[self.target].backward()
        found = (embedded.grad * embedded).sum(-1)[0].detach().numpy()[self.own]
        self.network.zero_grad()
        return found


def places_of(made: CapturedModel, family: str, data: list[str]) -> list[int | None]:
    """Where each text predicts: what the study has chosen at random is read off its examples."""
    if family == "classifier":
        return [None] * len(data)
    ids = [made.tokenizer(text)["input_ids"] for text in data]
    if family == "llama":
        return [len(each) - 1 for each in ids]
    from headlight.analysis.batch_texts import text_id
    from headlight.analysis.text_plan import plan_text_study
    from headlight.studies.map_faithfulness.asked import asked_of

    plan = plan_text_study("", "", data, made, MapFaithfulnessSettings())
    asked = [
        asked_of(made, "masked", each, seed=0, text_id=text_id(each)) for each in plan.examples
    ]
    for each, before in zip(asked, ids, strict=True):
        assert [at for at, new in enumerate(each.ids) if new == MASK] == [each.place]
        assert each.place not in (0, len(before) - 1)
    return [each.place for each in asked]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "removal"),
    [
        ("classifier", "mask"), ("classifier", "attention"), ("bert", "delete"),
        ("llama", "delete"), ("llama", "mask"),
    ],
)  # fmt: skip
def test_scores_are_those_of_single_texts(family: str, removal: str) -> None:
    made, data = with_head(family), corpus(4)
    settings = MapFaithfulnessSettings(
        maps=MAPS, removal=removal, bootstrap=0, signed=True, batch_tokens=40
    )
    result = run(data, made, settings, progress=False)
    scores: list[dict[str, list[float]]] = []
    rhos = []
    for text, place in zip(data, places_of(made, family, data), strict=True):
        naive = Naive(made, text, removal, place)
        read = text if family != "bert" else _masked(made, naive.ids)
        parts = predict(made, read, position=place if family == "llama" else None)
        reading = headlight.reading.reading.read(made, read)
        given_ = {
            "weight": naive.weight(),
            "rollout": naive.rollout(),
            "norm": reading.dataset["merged_norm"].values[-1, place or 0][naive.own],
            "prediction": parts["token_total"].values[naive.own],
            "gradient_input": naive.gradient(),
            "leave_one_out": naive.left_out(),
        }
        orders = {name: sorted(range(len(naive.own)), key=lambda at: -values[at])
                  for name, values in given_.items()}  # fmt: skip

        def probability(kept: set[int], naive: Naive = naive) -> float:
            return naive.probability({naive.own[at] for at in kept})

        scores.append(
            naive_scores({name: [naive_loss(orders[name], probability)] for name in MAPS})
        )
        rhos.append([spearmanr(given_[name], given_["leave_one_out"]).statistic for name in MAPS])
    found = result.isel(map=slice(0, len(MAPS)))
    for name in ("comprehensiveness", "sufficiency"):
        wanted = np.mean([each[name] for each in scores], 0)
        np.testing.assert_allclose(found.score.sel(question=name), wanted, atol=2e-5)
    alike = np.mean(rhos, 0)[:-1]
    np.testing.assert_allclose(found.score.sel(question="leave_one_out")[:-1], alike, atol=1e-6)
    assert result.score.sel(question="leave_one_out", map="leave_one_out").isnull()
    pair = result.score.sel(question="comprehensiveness")
    np.testing.assert_allclose(
        result.difference.sel(question="comprehensiveness"),
        pair.values[:, None] - pair.values[None],
        atol=1e-12,
    )


def _masked(made: CapturedModel, ids: list[int]) -> str:
    return " ".join(VOCABULARY[each] for each in ids[1:-1])


def planted() -> CapturedModel:
    """A BERT of one layer that looks for the word "sea", and says that it is there."""
    config = BertConfig(
        **{**model("bert").transformer.config.to_dict(), "num_hidden_layers": 1,
           "id2label": {0: "no", 1: "yes"}}
    )  # fmt: skip
    network: PreTrainedModel = BertForSequenceClassification(config).eval()
    layer, size = network.bert.encoder.layer[0], config.hidden_size
    attention = layer.attention
    with torch.no_grad():
        randomise(network, torch.Generator().manual_seed(3))
        words = network.bert.embeddings.word_embeddings.weight
        words.mul_(0.3)[:, 0] = 0.0
        words[VOCABULARY.index("sea"), 0] = 6.0
        for each in (network.bert.embeddings.position_embeddings,
                     network.bert.embeddings.token_type_embeddings):  # fmt: skip
            each.weight.zero_()
        for linear in (attention.self.query, attention.self.key, layer.output.dense,
                       network.classifier):  # fmt: skip
            linear.weight.zero_()
            linear.bias.zero_()
        wide = attention.self.attention_head_size
        attention.self.query.bias[::wide] = 2.0
        attention.self.key.weight[::wide, 0] = 2.0
        for linear in (attention.self.value, attention.output.dense, network.bert.pooler.dense):
            linear.weight.copy_(torch.eye(size))
            linear.bias.zero_()
        for norm in (network.bert.embeddings.LayerNorm, attention.output.LayerNorm,
                     layer.output.LayerNorm):  # fmt: skip
            norm.weight.fill_(1.0)
            norm.bias.zero_()
        network.classifier.weight[1, 0] = 8.0
        network.classifier.bias[0] = 4.0
    made = CapturedModel(network, tokenizer("bert"), "planted", "1")
    made.tokenizer.mask_token = "<unk>"
    return made


@pytest.mark.slow
def test_every_map_finds_the_one_token_that_decides_but_a_gradient_where_all_is_saturated() -> None:
    """A small change of the word moves nothing: norms and softmax have it near their limits."""
    generator = np.random.default_rng(0)
    others = [word for word in WORDS if word != "sea"]
    data = []
    for _ in range(12):
        words = list(generator.choice(others, 9))
        words[int(generator.integers(9))] = "sea"
        data.append(" ".join(words))
    maps = (*MAPS, "attribution", *(name for name in FOLLOWED if name not in MAPS))
    settings = MapFaithfulnessSettings(maps=maps, bootstrap=100, attribution=EXACT)
    result = run(data, planted(), settings, progress=False)
    assert float(result.probability) > 0.9
    beside_random = result.sel(question="comprehensiveness", other="random")
    scores = result.score.sel(question="comprehensiveness")
    for name in (name for name in maps if name != "gradient_input"):
        assert float(beside_random.difference_low.sel(map=name)) > 0.1, name
        assert float(scores.sel(map=name)) == pytest.approx(float(scores.max()), abs=0.02), name
        assert float(result.score.sel(question="normalised", map=name)) > 0.95, name
    gradient = beside_best(result, "comprehensiveness").sel(map="gradient_input")
    assert str(gradient.verdict.values) == "worse"


EXACT = headlight.settings.attribution.AttributionSettings(method="exact")


@pytest.mark.slow
def test_nothing_depends_on_batches_and_short_texts_are_left_out() -> None:
    made, data = with_head("llama"), [*corpus(6), "sea", "a sea"]
    found = [
        run(data, made, MapFaithfulnessSettings(batch_tokens=size, bootstrap=20), progress=False)
        for size in (30, 2048)
    ]
    for name in found[0].data_vars:
        np.testing.assert_allclose(found[0][name], found[1][name], atol=2e-5, err_msg=str(name))
    assert int(found[0].texts) == 6
    assert (found[0].score_low <= found[0].score).sum() == found[0].score.notnull().sum()


def test_verdicts_are_those_of_paired_intervals() -> None:
    """By hand: c is worse than b by its interval, a is inconclusive, and sufficiency is turned."""
    names = ["a", "b", "c", "leave_one_out", "random"]
    score = np.array([[0.3, 0.4, 0.1, 0.9, 0.0], [0.2, 0.1, 0.3, 0.0, 0.5]])
    difference = score[:, :, None] - score[:, None, :]
    half = np.where(np.isin(names, ["c", "random"]), 0.05, 0.15)[:, None]
    half = np.maximum(half, half.T * 0)
    width = np.broadcast_to(np.minimum(half, half.T), difference.shape)
    axes = ("question", "map", "other")
    result = xarray.Dataset(
        {
            "score": (axes[:2], score),
            "score_low": (axes[:2], score - 0.1),
            "score_high": (axes[:2], score + 0.1),
            "difference": (axes, difference),
            "difference_low": (axes, difference - width),
            "difference_high": (axes, difference + width),
        },
        {"question": ["comprehensiveness", "sufficiency"], "map": names, "other": names},
        {"stage": "map_faithfulness", "examples": 100},
    )
    four = beside_best(result.assign_attrs(examples=4), "comprehensiveness")
    assert "worse" not in four.verdict.values.tolist()
    found = beside_best(result, "comprehensiveness")
    assert list(found.verdict.values) == [
        "inconclusive", "best", "worse", "removes tokens itself", "control",
    ]  # fmt: skip
    np.testing.assert_allclose(found.behind, [0.1, 0, 0.3, -0.5, 0.4], atol=1e-12)
    assert float(found.behind_low.sel(map="c")) == pytest.approx(0.25)
    turned = beside_best(result, "sufficiency")
    assert list(turned.verdict.values[:3]) == ["inconclusive", "best", "worse"]
    np.testing.assert_allclose(turned.behind, [0.1, 0, 0.2, -0.1, 0.4], atol=1e-12)
    assert (turned.behind_low <= turned.behind_high).all()
    said = answers(result)
    assert said[0] == (
        "Most is lost without the tokens that come first by b: 0.4 (95%: 0.3 to 0.5), in a random "
        "order 0, by leave one out 0.9; certainly behind it: c; which of these is first is "
        "inconclusive: b and a."
    )


# What is refused


def test_what_cannot_be_asked_is_refused() -> None:
    def ask(made: CapturedModel, **settings: Any) -> None:
        run(corpus(2), made, MapFaithfulnessSettings(bootstrap=0, **settings), progress=False)

    with pytest.raises(UsageError, match="predicts a class for every word"):
        ask(classifier(tokens=True))
    with pytest.raises(MissingHeadError, match="predicts nothing"):
        ask(model("bert"))
    with pytest.raises(UsageError, match="has an encoder and a decoder"):
        ask(model("bart"))
    with pytest.raises(UsageError, match="maps is"):
        ask(with_head("llama"), maps=())
    without_mask = with_head("bert")
    without_mask.tokenizer.mask_token = None
    with pytest.raises(UsageError, match="has no mask token"):
        ask(without_mask)
