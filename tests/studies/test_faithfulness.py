"""Maps of tokens beside each other, against loops over texts, tokens and shares."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import xarray
from hypothesis import given, settings as hypothesis_settings, strategies as st
from scipy.special import stdtrit
from scipy.stats import kendalltau, spearmanr
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    LlamaForCausalLM,
    PreTrainedModel,
)

import headlight
from headlight.capture import CapturedModel
from headlight.engine.text_plan import plan_text_study
from headlight.errors import MissingHeadError, UsageError
from headlight.findings.estimates import estimates
from headlight.findings.faithfulness import beside_best, beside_chance
from headlight.observations.text_ids import text_id
from headlight.observations.variables import Variable, described, long_names, with_slots
from headlight.reading.prediction import predict
from headlight.reduce import Slots
from headlight.settings.flow import METHODS
from headlight.studies.faithfulness import FaithfulnessSettings
from headlight.studies.faithfulness.scores import (
    SHARES,
    flips,
    lost,
    pair_scores,
    removals,
    removed_sets,
    scores_of_removal,
)
from headlight.studies.faithfulness.study import run
from headlight.studies.faithfulness.targets import number_tokens
from headlight.studies.faithfulness.token_maps import FOLLOWED
from headlight.views.result_contents import answers, headline, sections
from headlight.views.result_page import result_page
from headlight.views.sentences import title_of
from page_words import words_when_open
from studies.classifiers import classifier
from studies.intervals import agrees
from studies.models import VOCABULARY, WORDS, model, tokenizer
from tiny_models import randomise

MASK = VOCABULARY.index("<unk>")
ALL = ("removal", "flips", "correlation")
MAPS = ("weight", "merged_norm", "rollout", "prediction", "gradient_input", "leave_one_out")


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


@pytest.mark.slow
@hypothesis_settings(deadline=None, max_examples=60)
@given(st.integers(2, 23), st.integers(1, 3), st.integers(0, 999))
def test_scores_are_their_definitions(tokens: int, draws: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    orders = {"a": [generator.permutation(tokens)]}
    orders["random"] = [generator.permutation(tokens) for _ in range(draws)]

    def without(gone: frozenset[int]) -> tuple[float, bool]:
        return float(np.random.default_rng([seed, *sorted(gone), len(gone)]).random()), True

    def kept(tokens_: set[int]) -> float:
        return without(frozenset(range(tokens)) - frozenset(tokens_))[0]

    found = {
        name: [lost(order, "tenths", without) for order in each] for name, each in orders.items()
    }
    wanted = {
        name: [naive_loss(list(map(int, order)), kept) for order in each]
        for name, each in orders.items()
    }
    for name, each in found.items():
        np.testing.assert_allclose(each, wanted[name], rtol=1e-12)
    np.testing.assert_allclose(
        scores_of_removal(found), list(naive_scores(wanted).values()), rtol=1e-9, atol=1e-12
    )
    assert len(SHARES["tenths"]) == 9


def test_a_prediction_that_rests_on_one_token() -> None:
    """By hand: p is 0.9 with token 2 of ten, and 0.4 without; 0.5 is lost, or nothing."""

    def without(gone: frozenset[int]) -> tuple[float, bool]:
        return (0.4, False) if 2 in gone else (0.9, True)

    best = np.array([2, *(at for at in range(10) if at != 2)])
    scores = scores_of_removal(
        {
            "best": [lost(best, "tenths", without)],
            "worst": [lost(best[::-1], "tenths", without)],
        }
    )
    np.testing.assert_allclose(scores, [[0.5, 0], [1, 0], [0, 0.5]], atol=1e-15)
    middle = np.array([*range(3, 7), 2, 0, 1, 7, 8, 9])  # goes at 50%: lost by 5 of 9 shares
    losses = lost(middle, "tenths", without)
    np.testing.assert_allclose(losses.mean(-1), [0.5 * 5 / 9, 0.5 * 4 / 9])
    np.testing.assert_allclose(flips(best, "tenths", without), [1, 0.1])
    np.testing.assert_allclose(flips(middle, "tenths", without), [0, 0.5])
    most = [len(each) for each, _ in removals(np.arange(3), "tenths")]
    assert most == [1, 1, 1, 1, 2, 2, 2, 2, 3]


def test_the_example_of_the_documentation() -> None:
    """The, film, was, great, fun: two tokens of five matter, and one of them more."""

    def without(gone: frozenset[int]) -> tuple[float, bool]:
        p = {(): 0.9, (3,): 0.5, (4,): 0.8, (3, 4): 0.3}[tuple(sorted(gone & {3, 4}))]
        return p, p > 0.5

    orders = {"A": [3, 4, 1, 0, 2], "B": [2, 0, 1, 4, 3], "C": [3, 0, 1, 2, 4]}
    found = {name: [lost(np.array(order), "tenths", without)] for name, order in orders.items()}
    np.testing.assert_allclose(found["C"][0][0], [*[0.4] * 8, 0.6], atol=1e-12)
    wanted = [[0.556, 0.089, 0.422], [1, 0, 0.714], [0.089, 0.556, 0.156]]
    np.testing.assert_allclose(scores_of_removal(found), wanted, atol=5e-4)


def naive_metrics(order: list[int], prediction: Any) -> dict[str, float]:
    """Those of ERASER; `prediction` gives p of the classes for the words that are kept."""
    size = len(order)
    whole = prediction(set(order))
    chosen = max(range(len(whole)), key=lambda at: whole[at])
    shares = (0.01, 0.05, 0.1, 0.2, 0.5)

    def top(share: float) -> set[int]:
        return set(order[: math.ceil(round(share * size, 6))])

    rest = [prediction(set(order) - top(share)) for share in shares]
    alone = [whole[chosen] - prediction(top(share))[chosen] for share in shares]
    changed = [share for share, row in zip(shares, rest, strict=True) if np.argmax(row) != chosen]
    return {
        "comprehensiveness": sum(whole[chosen] - row[chosen] for row in rest) / 5,
        "sufficiency": sum(alone) / 5,
        "first_flip": float(np.argmax(prediction(set(order[1:]))) != chosen),
        "share_to_flip": changed[0] if changed else 1.0,
    }


@hypothesis_settings(deadline=None, max_examples=60)
@given(st.integers(1, 23), st.integers(2, 4), st.integers(0, 999))
def test_numbers_of_eraser_are_their_definitions(words: int, classes: int, seed: int) -> None:
    known: dict[frozenset[int], np.ndarray] = {}
    order = np.random.default_rng(seed).permutation(words)

    def prediction(kept: set[int]) -> np.ndarray:
        gone = frozenset(range(words)) - frozenset(kept)
        if gone not in known:
            own = np.random.default_rng([seed, *sorted(gone), len(gone)])
            known[gone] = own.dirichlet(np.ones(classes))
        return known[gone]

    chosen = int(prediction(set(range(words))).argmax())
    asked = set(removed_sets(order, "eraser"))

    def without(gone: frozenset[int]) -> tuple[float, bool]:
        assert gone in asked, "all that is needed is asked for before"
        row = prediction(set(range(words)) - gone)
        return float(row[chosen]), int(row.argmax()) == chosen

    expected = naive_metrics(list(map(int, order)), prediction)
    scores = scores_of_removal({"a": [lost(order, "eraser", without)]})[[0, 2], 0]
    found = [*scores, *flips(order, "eraser", without)]
    np.testing.assert_allclose(found, list(expected.values()), atol=1e-12)


@pytest.mark.slow
@hypothesis_settings(deadline=None, max_examples=40)
@given(st.integers(2, 12), st.integers(0, 999), st.booleans())
def test_correlations_are_those_of_scipy(tokens: int, seed: int, signed: bool) -> None:
    generator = np.random.default_rng(seed)
    given_ = {
        name: [generator.integers(-3, 4, tokens).astype(float) for _ in range(number)]
        for name, number in {"one": 1, "reference": 1, "random": 2}.items()
    }
    for coefficient, scipys in (("spearman", spearmanr), ("kendall", kendalltau)):
        found, significant, overlap = pair_scores(given_, coefficient, signed=signed)

        def pair(
            first: np.ndarray, second: np.ndarray, scipys: Any = scipys
        ) -> tuple[float, float, float]:
            both = (first, second) if signed else (abs(first), abs(second))
            count = math.ceil(tokens / 10)
            tops = [set(sorted(range(tokens), key=lambda at: -each[at])[:count]) for each in both]
            top = len(tops[0] & tops[1]) / count
            if any((each == each[0]).all() for each in both):
                return math.nan, math.nan, top
            one = scipys(*both)
            p = 1.0 if math.isnan(one.pvalue) else one.pvalue
            return one.statistic, float(p <= 0.05), top

        reference = given_["reference"][0]
        wanted = [
            pair(given_["one"][0], reference),
            (math.nan, math.nan, math.nan),
            np.mean([pair(each, reference) for each in given_["random"]], axis=0),
        ]
        for each, column in zip((found, significant, overlap), np.transpose(wanted), strict=True):
            np.testing.assert_allclose(each[1], column, atol=1e-12)
            np.testing.assert_array_equal(each, each.T)


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
    plan = plan_text_study("", "", data, made, FaithfulnessSettings())
    asked = [
        number_tokens(made, "masked", each, "tokens", seed=0, text_id=text_id(each))
        for each in plan.examples
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
    settings = FaithfulnessSettings(
        maps=MAPS,
        questions=("removal", "correlation"),
        removal=removal,
        signed=True,
        batch_tokens=40,
    )
    result = run(data, made, settings, progress=False)
    scores: list[dict[str, list[float]]] = []
    rhos = []
    for text, place in zip(data, places_of(made, family, data), strict=True):
        naive = Naive(made, text, removal, place)
        read = text if family != "bert" else _masked(made, naive.ids)
        parts = predict(made, read, position=place if family == "llama" else None)
        reading = headlight.reading.read(made, read)
        given_ = {
            "weight": naive.weight(),
            "rollout": naive.rollout(),
            "merged_norm": reading.dataset["merged_norm"].values[-1, place or 0][naive.own],
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
    for each in (
        found.score.sel(question="leave_one_out"),
        found.correlation.sel(other="leave_one_out"),
    ):
        np.testing.assert_allclose(each[:-1], alike, atol=1e-6)
        assert each.sel(map="leave_one_out").isnull()
    of_texts = np.array([each["comprehensiveness"] for each in scores])
    agrees(found.sel(question="comprehensiveness"), "score", of_texts, np.ones((len(data), 1)))


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
    maps = (
        *MAPS,
        "norm",
        "effective",
        "attribution",
        *(name for name in FOLLOWED if name not in MAPS),
    )
    settings = FaithfulnessSettings(maps=maps)
    result = run(data, planted(), settings, progress=False)
    assert float(result.probability) > 0.9
    scores = result.score.sel(question="comprehensiveness")
    random = estimates(result, "score", (), question="comprehensiveness", map="random")
    for name in (name for name in maps if name != "gradient_input"):
        one = estimates(result, "score", (), question="comprehensiveness", map=name)
        assert float(one.minus(random).low) > 0.1, name
        assert float(scores.sel(map=name)) == pytest.approx(float(scores.max()), abs=0.02), name
        assert float(result.score.sel(question="normalised", map=name)) > 0.95, name
    gradient = beside_best(result, "comprehensiveness").sel(map="gradient_input")
    assert str(gradient.verdict.values) == "worse"


@pytest.mark.slow
def test_nothing_depends_on_batches_and_short_texts_are_left_out() -> None:
    made, data = with_head("llama"), [*corpus(6), "sea", "a sea"]
    settings = FaithfulnessSettings(questions=ALL)
    found = [
        run(data, made, settings.replace(batch_tokens=size), progress=False) for size in (30, 2048)
    ]
    for name in found[0].data_vars:
        np.testing.assert_allclose(found[0][name], found[1][name], atol=2e-5, err_msg=str(name))
    assert int(found[0].texts) == 6


def judged(scores: dict[str, list[float]], width: dict[str, float]) -> xarray.Dataset:
    """A result of 32 texts whose scores of each map vary by its width about these, by question."""
    generator = np.random.default_rng(1)
    maps, questions = list(width), list(scores)
    noise = generator.choice([-1.0, 1.0], (32, len(questions), len(maps)))
    noise -= noise.mean(0)
    value = np.array([scores[each] for each in questions])
    variables = with_slots(
        "score", ("question", "map"), value,
        Slots.of(np.arange(32), value + noise * list(width.values())).compute(),
    )  # fmt: skip
    names = long_names({"score": Variable("score", interval="signed")})
    made = described(variables, {"question": questions, "map": maps, "other": maps}, names)
    attributes = {"stage": "faithfulness", "examples": 32}
    return made.assign(texts=32).assign_attrs(attributes)


def test_verdicts_are_those_of_differences_on_the_same_texts() -> None:
    """c is worse than b, a is inconclusive; sufficiency is turned around."""
    scores = {
        "comprehensiveness": [0.38, 0.4, 0.1, 0.9, 0.0],
        "sufficiency": [0.12, 0.1, 0.3, 0.0, 0.5],
    }
    width = {"a": 0.2, "b": 0.1, "c": 0.1, "leave_one_out": 0.1, "random": 0.1}
    result = judged(scores, width)
    found = beside_best(result, "comprehensiveness")
    assert list(found.verdict.values) == [
        "inconclusive", "inconclusive", "worse", "reference", "control",
    ]  # fmt: skip
    np.testing.assert_allclose(found.behind, [0.02, 0, 0.3, -0.5, 0.4], atol=1e-12)
    assert 0.2 < float(found.behind_low.sel(map="c")) < 0.3
    ahead = beside_best(result.drop_sel(map="a", other="a"), "comprehensiveness")
    assert list(ahead.verdict.values[:2]) == ["best", "worse"]
    turned = beside_best(result, "sufficiency")
    assert list(turned.verdict.values[:3]) == ["inconclusive", "inconclusive", "worse"]
    np.testing.assert_allclose(turned.behind, [0.02, 0, 0.2, -0.1, 0.4], atol=1e-12)
    said = answers(result)
    ends = [f"{float(found[f'score_{end}'].sel(map='b')):.2g}" for end in ("low", "high")]
    assert said[0].startswith("A explains these predictions better than chance: without the tokens")
    assert said[1] == (
        f"Most is lost without the tokens that come first by b: 0.4 (95%: {ends[0]} to {ends[1]}), "
        "in a random order 0, by leave one out 0.9; certainly behind it: c; which of these is "
        "first is inconclusive: b and a."
    )
    assert len(said) == 3
    assert answers(judged(scores, dict.fromkeys(width, 9.0)))[1:] == [
        "Which map is first is inconclusive with 32 texts: most is lost without the tokens that "
        "come first by b: 0.4, in a random order 0, by leave one out 0.9; least is lost without "
        "the tokens that come last by b: 0.1, in a random order 0.5, by leave one out 0."
    ]


@pytest.mark.parametrize(
    ("weight", "noise", "said"),
    [
        (0.4, 0.1, "Attention explains these predictions better than chance: "),
        (0.05, 0.1, "Attention explains these predictions worse than chance: "),
        (0.4, 2.0, "Whether attention explains these predictions better than chance is inconcl"),
    ],
)
def test_the_title_says_whether_attention_explains(weight: float, noise: float, said: str) -> None:
    """The verdict is that of Student's t over the differences of texts, the numbers are means."""
    width = {"norm": 0.1, "weight": noise, "gradient_input": 0.1, "random": 0.1}
    result = judged({"comprehensiveness": [0.9, weight, 0.3, 0.2]}, width).assign(probability=0.8)
    moved = result["score_by_slot"].sel(question="comprehensiveness")
    apart = moved.sel(map="weight") - moved.sel(map="random")
    half = float(stdtrit(31, 0.975) * np.sqrt((apart**2).sum()))
    answer = headline(result)
    assert answer.title.startswith(said)
    assert (half < abs(weight - 0.2)) == ("inconcl" not in said)
    numbers = (
        "without the tokens that it names first their probability falls by "
        f"{100 * weight:.{0 if weight >= 0.1 else 1}f} points, at random by 20"
    )
    assert numbers in answer.title
    assert ("(95%: " in answer.title) == ("inconcl" in said)
    assert answers(result)[0].startswith(answer.title.removesuffix("."))
    assert "better than gradients" in answers(result)[1] or "worse than" in answers(result)[1]
    (bars,) = answer.pictures
    by_label = {bar.label: bar for bar in bars.bars}
    assert next(iter(by_label)) == "norm"
    assert by_label["attention weight"].series == "weight"
    assert by_label["random order (chance)"].value == "20"
    assert by_label["random order (chance)"].is_reference
    assert by_label["attention weight"].share == pytest.approx(weight / 0.9)


def test_without_weights_the_first_map_is_judged_and_without_chance_none() -> None:
    width = dict.fromkeys(("rollout", "norm", "leave_one_out", "random"), 0.1)
    result = judged({"comprehensiveness": [0.5, 0.3, 0.9, 0.1]}, width).assign(probability=0.8)
    assert headline(result).title.startswith("Rollout explains these predictions better than")
    alone = result.drop_sel(map="random", other="random")
    alone.attrs["settings"] = '{"predicts": "class", "removed_by": "mask"}'
    alone = alone.assign(tokens=9.0)
    assert beside_chance(alone) is None
    few = result.assign(score_by_slot=result["score_by_slot"] * np.nan, texts=4)
    said = "is inconclusive with 4 texts, fewer than the 10 that its interval takes: "
    assert said in answers(few)[0]
    default = headline(alone)
    assert default is not None
    assert default.title == title_of(answers(alone)[0])


def test_a_page_has_at_most_nine_bars_and_few_words() -> None:
    names = ["weight", *METHODS, "leave_one_out", "random"]
    scores = {"comprehensiveness": list(np.linspace(0.1, 0.9, len(names)))}
    result = judged(scores, dict.fromkeys(names, 0.1)).assign(probability=0.8)
    result = result.assign(tokens=9.0)
    result.attrs["settings"] = '{"predicts": "class", "removed_by": "mask"}'
    (bars,) = headline(result).pictures
    assert len(bars.bars) == 9
    assert {"attention weight", "random order (chance)"} <= {bar.label for bar in bars.bars}
    assert "other maps" in bars.note
    assert len(words_when_open(result_page(result))) <= 250


@pytest.mark.slow
def test_maps_of_equal_numbers_are_shown_once() -> None:
    """Weights and effective attention of texts shorter than a head are the same."""
    made, data = classifier(), corpus(6, longest=5)
    result = headlight.faithfulness(
        data, model=made, maps=["weight", "effective", "merged_norm", "leave_one_out"],
        questions=ALL, removal="delete", coefficient="kendall", **QUICK,
    )  # fmt: skip
    assert float(result.correlation.sel(map="weight", other="effective")) > 0.9
    for name, frame in ((each, result.headlight.table(each)) for each in result.headlight.tables):
        labels = {*frame["map"], *frame.get("with", [])}
        assert "weight = effective here" in labels, name
        assert not {"weight", "effective"} & labels
    said = answers(result)
    assert not any("eight and effective agree" in each for each in said)
    assert any("agree most: τ" in each for each in said)
    apart = result.copy(deep=True)
    apart["score"].loc[{"map": "effective"}] += 0.1
    assert "weight = effective here" not in set(apart.headlight.table("comprehensiveness")["map"])
    assert not any("eight and effective agree" in each for each in answers(apart))


# Words of a classifier


QUICK = {"progress": False, "random_orders": 2}


def texts_of_words(count: int) -> list[tuple[str, str]]:
    """Texts without punctuation, so that a word is a piece."""
    generator = np.random.default_rng(5)
    lengths = generator.integers(1, 12, count)
    return [(" ".join(generator.choice(WORDS, length)), "good") for length in lengths]


def probabilities(made: CapturedModel, text: str, kept: set[int], removal: str) -> np.ndarray:
    """What the model itself says of a text of which some words are removed."""
    ids = made.tokenizer([text], return_tensors="pt")["input_ids"]
    words = ids.shape[1] - 2
    gone = [word + 1 for word in range(words) if word not in kept]
    mask = torch.ones_like(ids)
    if removal == "mask":
        ids[0, gone] = MASK
    elif removal == "attention":
        mask[0, gone] = 0
    else:
        left = [at for at in range(ids.shape[1]) if at not in gone]
        ids, mask = ids[:, left], mask[:, left]
    with torch.no_grad():
        logits = made.transformer(input_ids=ids, attention_mask=mask).logits
    return logits.double().softmax(-1)[0].numpy()


def importance(made: CapturedModel, text: str, measure: str, removal: str, rows: str) -> np.ndarray:
    """Of each word, by the definition of the measure."""
    inputs = made.tokenizer([text], return_tensors="pt")
    words = inputs["input_ids"].shape[1] - 2
    network: Any = made.transformer
    everything = set(range(words))
    whole = probabilities(made, text, everything, removal)
    chosen = int(whole.argmax())
    if measure == "leave_one_out":
        return np.array(
            [
                whole[chosen] - probabilities(made, text, everything - {word}, removal)[chosen]
                for word in range(words)
            ]
        )
    if measure == "gradient_input":
        embedded = network.bert.embeddings.word_embeddings(inputs["input_ids"]).detach()
        embedded.requires_grad_()
        output = network(inputs_embeds=embedded, attention_mask=inputs["attention_mask"])
        output.logits.softmax(-1)[0, chosen].backward()
        products = (embedded.grad * embedded).sum(-1)[0].detach().numpy()
        network.zero_grad()
        return products[1:-1]
    reading = headlight.reading.read(made, text)
    values = np.abs(reading.dataset[measure].values)  # layer, head, query, key
    chosen_rows = {"mean": slice(None), "first": slice(0, 1), "last": slice(-1, None)}[rows]
    total = np.zeros(values.shape[-1])
    for layer in values:
        given_ = np.zeros(values.shape[-1])
        for head in layer:
            for row in head[chosen_rows]:
                given_ += row
        total += given_ / given_.sum()
    return total[1:-1]


@pytest.mark.parametrize("removal", ["mask", "delete", "attention"])
@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("weight", "mean"), ("weight", "first"), ("norm", "last"), ("effective", "mean"),
        ("gradient_input", "mean"), ("leave_one_out", "mean"),
    ],
)  # fmt: skip
@pytest.mark.slow
def test_numbers_of_words_are_those_of_single_texts(removal: str, name: str, rows: str) -> None:
    """Of all layers, as ERASER counts."""
    made, data = with_head("classifier"), [text for text, _ in texts_of_words(4)]
    result = headlight.faithfulness(
        data, model=made, maps=(name,), questions=("removal", "flips"), units="words",
        shares="eraser", removal=removal, rows=rows, layers=[site.layer for site in made.sites],
        **QUICK,
    )  # fmt: skip
    expected: list[dict[str, float]] = []
    for text in data:
        if len(text.split()) < 2:
            continue
        important = importance(made, text, name, removal, rows)
        order = sorted(range(len(important)), key=lambda word: -important[word])
        expected.append(
            naive_metrics(order, lambda kept, text=text: probabilities(made, text, kept, removal))
        )
    scores = result.score.sel(map=name)
    for score in expected[0]:
        mean = np.mean([row[score] for row in expected])
        assert float(scores.sel(question=score)) == pytest.approx(mean, abs=1e-5), score


def test_a_word_is_removed_with_all_its_pieces() -> None:
    made = with_head("bert")
    plan = plan_text_study("", "", ["the sea, near"], made, FaithfulnessSettings())
    (example,) = plan.examples
    words = number_tokens(made, "class", example, "words", seed=0, text_id=0)
    tokens = number_tokens(made, "class", example, "tokens", seed=0, text_id=0)
    assert (words.tokens, tokens.tokens) == (3, 4)
    comma = VOCABULARY.index(",")
    assert words.words[example.ids.index(comma)] == words.words[example.ids.index(comma) - 1] == 1
    hidden = [
        number_tokens(made, "masked", example, "words", seed=seed, text_id=0) for seed in range(9)
    ]
    for each in hidden:
        at = each.place
        assert each.words[at] == each.tokens == 2, "the word of the mask stays whole"
        pieces = [place for place, word in enumerate(example.words) if word == example.words[at]]
        assert all(each.words[place] in (-1, 2) for place in pieces)


@pytest.mark.slow
def test_the_same_words_are_removed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Maps that agree cost no more than one of them."""
    made, data = classifier(), corpus(3)
    counted: list[int] = []
    own = CapturedModel.run

    def counting(self: CapturedModel, batch: Any, **options: Any) -> Any:
        counted.append(len(batch.lengths))
        return own(self, batch, **options)

    monkeypatch.setattr(CapturedModel, "run", counting)
    passes = []
    for maps in (("leave_one_out",), ("leave_one_out", "gradient_input")):
        counted.clear()
        headlight.faithfulness(data, model=made, maps=maps, removal="delete", **QUICK)
        passes.append(sum(counted))
    words = sum(len(text.split()) for text in data)
    assert passes[0] < passes[1] < passes[0] + 20 * len(data)
    assert passes[0] < words + 3 * 20 * len(data)
    counted.clear()
    headlight.faithfulness(
        data, model=made, maps=("weight", "gradient_input"), questions=("correlation",), **QUICK
    )
    assert sum(counted) == 3 * len(data), "correlation alone removes nothing"


@pytest.mark.slow
def test_a_run_is_kept_and_reported(tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "model": classifier(), "maps": ["weight", "merged_norm"], "questions": ALL,
        "removal": "delete", **QUICK,
    }  # fmt: skip
    result = headlight.faithfulness(corpus(5), out=tmp_path, **options)
    again = headlight.faithfulness(corpus(5), out=tmp_path, resume=True, **options)
    assert result.identical(again)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Comprehensiveness: p less p without the most important tokens" in page
    assert "This describes maps and is no test of them" in page
    assert set(result.headlight.tables) == {
        "comprehensiveness", "curves", "normalised", "sufficiency", "first_flip", "share_to_flip",
        "correlation",
    }  # fmt: skip
    table = result.headlight.table("correlation")
    assert list(table["with"]) == ["merged norm", "random order", "random order"]


@pytest.mark.slow
@pytest.mark.parametrize("questions", [("removal",), ("flips",), ("correlation",)])
def test_each_question_alone_has_a_page(questions: tuple[str, ...]) -> None:
    result = headlight.faithfulness(
        corpus(3), model=classifier(), maps=["weight", "leave_one_out"], questions=questions,
        removal="delete", **QUICK,
    )  # fmt: skip
    assert ("lost" in result, "correlation" in result) == (
        questions == ("removal",), questions == ("correlation",),
    )  # fmt: skip
    assert result.headlight.tables
    assert answers(result)
    for section in sections(result):
        assert all(drawing.draw() for drawing in section.drawings)


@pytest.mark.slow
def test_a_classifier_reads_the_sample_reviews() -> None:
    result = headlight.faithfulness(
        model="headlight-classifier", maps=["weight"], questions=["correlation"], max_examples=2,
        **QUICK,
    )  # fmt: skip
    assert json.loads(result.attrs["settings"])["predicts"] == "class"
    assert result.attrs["corpus"] == "the sample reviews"


# What is refused


def test_what_cannot_be_asked_is_refused() -> None:
    def ask(made: CapturedModel, **settings: Any) -> None:
        run(corpus(2), made, FaithfulnessSettings(**settings), progress=False)

    with pytest.raises(UsageError, match="predicts a class for every word"):
        ask(classifier(tokens=True))
    with pytest.raises(MissingHeadError, match="predicts nothing"):
        ask(model("bert"))
    with pytest.raises(UsageError, match="has an encoder and a decoder"):
        ask(model("bart"))
    for wrong, says in (
        ({"maps": ()}, "maps is"),
        ({"maps": ("weight", "weight")}, "maps is"),
        ({"questions": ()}, "questions is"),
        ({"layers": (7,)}, "layer 7"),
    ):
        with pytest.raises(UsageError, match=says):
            ask(with_head("llama"), **wrong)
    without_mask = with_head("bert")
    without_mask.tokenizer.mask_token = None
    with pytest.raises(UsageError, match="has no mask token"):
        ask(without_mask)
