"""Effect of removing important words on predictions, against loops over words, heads and rows."""

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings as hypothesis_settings, strategies as st

import headlight
from headlight.capture import CapturedModel
from headlight.errors import MissingHeadError, UsageError
from headlight.studies.faithfulness.study import SHARES, STEPS, TOTALS, metrics, parts, removals
from studies.classifiers import classifier, labelled, tagged
from studies.models import WORDS, model

QUICK = {"bootstrap": 0, "progress": False, "random_orders": 2}
MASK = 3


def with_mask() -> CapturedModel:
    """The classifier, whose tokenizer has a mask token: the unknown one."""
    made = classifier()
    made.tokenizer.mask_token = "<unk>"
    return made


def texts_of_words(count: int) -> list[tuple[str, str]]:
    """Texts without punctuation, so that a word is a piece."""
    generator = np.random.default_rng(5)
    lengths = generator.integers(1, 12, count)
    return [(" ".join(generator.choice(WORDS, length)), "good") for length in lengths]


# The metrics of one order


def naive_metrics(order: list[int], prediction: Any) -> dict[str, float]:
    """By their definitions; `prediction` gives p of the classes for the words that are kept."""
    size = len(order)
    whole = prediction(set(order))
    chosen = max(range(len(whole)), key=lambda at: whole[at])

    def top(share: float) -> set[int]:
        return set(order[: math.ceil(round(share * size, 6))])

    lost = [whole[chosen] - prediction(set(order) - top(share))[chosen] for share in SHARES]
    alone = [whole[chosen] - prediction(top(share))[chosen] for share in SHARES]
    left = [prediction(set(order) - top(step / 10)) for step in range(11)]
    given_ = [prediction(top(step / 10))[chosen] for step in range(11)]

    def area(heights: list[float]) -> float:
        return sum((first + second) / 20 for first, second in pairwise(heights))

    flips = [step / 10 for step in range(11) if np.argmax(left[step]) != chosen]
    return {
        "comprehensiveness": sum(lost) / 5,
        "sufficiency": sum(alone) / 5,
        "deletion": area([row[chosen] for row in left]),
        "insertion": area(given_),
        "first_flip": float(np.argmax(prediction(set(order[1:]))) != chosen),
        "share_to_flip": flips[0] if flips else 1.0,
    }


@hypothesis_settings(deadline=None, max_examples=60)
@given(st.integers(1, 23), st.integers(2, 4), st.integers(0, 999))
def test_metrics_are_their_definitions(words: int, classes: int, seed: int) -> None:
    known: dict[frozenset[int], np.ndarray] = {}
    order = np.random.default_rng(seed).permutation(words)

    def without(gone: frozenset[int]) -> np.ndarray:
        if gone not in known:
            own = np.random.default_rng([seed, *sorted(gone), len(gone)])
            known[gone] = own.dirichlet(np.ones(classes))
        return known[gone]

    asked = set(removals(order))
    found = metrics(order, without)
    assert set(known) <= asked, "all that is needed is asked for before"
    expected = naive_metrics(
        list(map(int, order)), lambda kept: without(frozenset(range(words)) - kept)
    )
    np.testing.assert_allclose(found[: len(TOTALS)], [expected[name] for name in TOTALS])
    numbers = parts(found)
    assert [len(numbers[name]) for name in numbers] == [6, 5, 5, 11, 11]
    assert numbers["comprehensiveness"].mean() == pytest.approx(expected["comprehensiveness"])
    assert numbers["deletion"][-1] == pytest.approx(numbers["insertion"][0])
    assert (STEPS[0], STEPS[-1]) == (0, 1)


def test_a_rule_that_looks_at_one_word_is_found_out() -> None:
    """p is 0.9 with word 2 and 0.4 without it; of ten words, the order that begins with it wins."""

    def without(gone: frozenset[int]) -> np.ndarray:
        return np.array([0.1, 0.9]) if 2 not in gone else np.array([0.6, 0.4])

    best = metrics(np.array([2, *(n for n in range(10) if n != 2)]), without)
    worst = metrics(np.array([*(n for n in range(10) if n != 2), 2]), without)
    np.testing.assert_allclose(best[:2], [0.5, 0])
    np.testing.assert_allclose(worst[:2], [0, 0.5])
    assert (best[4], best[5]) == (1, 0.1)
    assert (worst[4], worst[5]) == (0, 1)
    assert best[2] == pytest.approx(0.4 * 0.9 + 0.65 * 0.1)
    assert best[3] == pytest.approx(0.9 * 0.9 + 0.65 * 0.1)


# The study


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
    reading = headlight.reading.reading.read(made, text)
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
    ("measure", "rows"),
    [
        ("weight", "mean"), ("weight", "first"), ("norm", "last"), ("effective", "mean"),
        ("gradient_input", "mean"), ("leave_one_out", "mean"),
    ],
)  # fmt: skip
@pytest.mark.slow
def test_metrics_are_those_of_single_texts(removal: str, measure: str, rows: str) -> None:
    made, data = with_mask(), texts_of_words(4)
    result = headlight.faithfulness(
        data, model=made, measures=(measure,), removals=(removal,), rows=rows, **QUICK
    )
    expected: list[dict[str, float]] = []
    for text, _ in data:
        important = importance(made, text, measure, removal, rows)
        order = sorted(range(len(important)), key=lambda word: -important[word])
        expected.append(
            naive_metrics(order, lambda kept, text=text: probabilities(made, text, kept, removal))
        )
    cell = result.sel(measure=measure, removal=removal)
    for name in TOTALS:
        mean = np.mean([row[name] for row in expected])
        assert float(cell[name]) == pytest.approx(mean, abs=1e-5), name


def tags(made: CapturedModel, words: list[str], kept: set[int], removal: str) -> np.ndarray:
    """What a tagger says of every word of a sentence, of which some are removed."""
    ids = made.tokenizer([words], is_split_into_words=True, return_tensors="pt")["input_ids"]
    gone = [word + 1 for word in range(len(words)) if word not in kept]
    mask = torch.ones_like(ids)
    if removal == "mask":
        ids[0, gone] = MASK
    else:
        mask[0, gone] = 0
    with torch.no_grad():
        logits = made.transformer(input_ids=ids, attention_mask=mask).logits
    return logits.double().softmax(-1)[0, 1:-1].numpy()


@pytest.mark.parametrize("removal", ["mask", "attention"])
@pytest.mark.parametrize("measure", ["leave_one_out", "gradient_input"])
@pytest.mark.slow
def test_a_tagger_is_asked_for_every_word(removal: str, measure: str) -> None:
    """One order of the words of a sentence; the metrics of each of its predictions; their mean."""
    made, data = classifier(tokens=True), tagged(3)
    made.tokenizer.mask_token = "<unk>"
    result = headlight.faithfulness(
        data, model=made, measures=(measure,), removals=(removal,), **QUICK
    )
    expected, right = [], []
    for words, gold in data:
        everything = set(range(len(words)))
        whole = tags(made, words, everything, removal)
        chosen = [int(row.argmax()) for row in whole]
        right.append(np.mean([("bad", "good")[at] for at in chosen] == np.array(gold)))
        if measure == "leave_one_out":
            important = [
                sum(
                    whole[at, label] - tags(made, words, everything - {word}, removal)[at, label]
                    for at, label in enumerate(chosen)
                )
                for word in range(len(words))
            ]
        else:
            important = slopes(made, words, chosen)
        order = sorted(range(len(words)), key=lambda word: -important[word])
        rows = [
            naive_metrics(
                order, lambda kept, at=at, words=words: tags(made, words, kept, removal)[at]
            )
            for at in range(len(words))
        ]
        expected.append({name: np.mean([row[name] for row in rows]) for name in TOTALS})
    cell = result.sel(measure=measure, removal=removal)
    for name in TOTALS:
        mean = np.mean([row[name] for row in expected])
        assert float(cell[name]) == pytest.approx(mean, abs=1e-5), name
    assert float(result.own_accuracy) == pytest.approx(np.mean(right))


def slopes(made: CapturedModel, words: list[str], chosen: list[int]) -> list[float]:
    """Gradient × input of the mean probability of the classes that are chosen, by word."""
    network: Any = made.transformer
    ids = made.tokenizer([words], is_split_into_words=True, return_tensors="pt")["input_ids"]
    embedded = network.bert.embeddings.word_embeddings(ids).detach().requires_grad_()
    found = network(inputs_embeds=embedded).logits.softmax(-1)[0, 1:-1]
    sum(found[at, label] for at, label in enumerate(chosen)).backward()
    products: list[float] = (embedded.grad * embedded).sum(-1)[0, 1:-1].tolist()
    network.zero_grad()
    return products


@pytest.mark.slow
def test_nothing_depends_on_batches() -> None:
    made, data = classifier(), labelled(7)
    options = {"model": made, "removals": ("delete",), "bootstrap": 50, "progress": False}
    whole = headlight.faithfulness(data, **options)
    parts_ = headlight.faithfulness(data, batch_tokens=30, **options)
    for name in whole.data_vars:
        np.testing.assert_allclose(whole[name], parts_[name], atol=1e-5, err_msg=str(name))
    assert (whole.comprehensiveness_low <= whole.comprehensiveness).all()
    assert (whole.comprehensiveness <= whole.comprehensiveness_high).all()


def test_the_same_words_are_taken_away_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measures that agree cost no more than one of them."""
    made, data = classifier(), labelled(3)
    counted: list[int] = []
    own = CapturedModel.run

    def run(self: CapturedModel, batch: Any, **options: Any) -> Any:
        counted.append(len(batch.lengths))
        return own(self, batch, **options)

    monkeypatch.setattr(CapturedModel, "run", run)
    passes = []
    for measures in (("leave_one_out",), ("leave_one_out", "gradient_input")):
        counted.clear()
        headlight.faithfulness(data, model=made, measures=measures, removals=("delete",), **QUICK)
        passes.append(sum(counted))
    words = sum(len(text.split()) for text, _ in data)
    assert passes[0] < passes[1] < passes[0] + 2 * 15 * len(data)
    assert passes[0] < words + 3 * 2 * 15 * len(data)


def test_contributions_can_order_words() -> None:
    result = headlight.faithfulness(
        labelled(2), model=classifier(), measures=("attribution",), removals=("delete",),
        attribution={"directions": 2}, **QUICK,
    )  # fmt: skip
    assert np.isfinite(result.comprehensiveness).all()


@pytest.mark.slow
def test_a_run_is_kept_and_reported(tmp_path: Path) -> None:
    options = {"model": classifier(), "removals": ["delete"], **QUICK, "bootstrap": 3}
    result = headlight.faithfulness(labelled(5), out=tmp_path, **options)
    again = headlight.faithfulness(labelled(5), out=tmp_path, resume=True, **options)
    assert result.identical(again)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Comprehensiveness: p less p without the most important words" in page
    assert "faithful" not in page.replace("headlight-faithfulness", "").replace(
        "headlight.faithfulness", ""
    ).replace("faithfulness", "")
    assert set(result.headlight.tables) == {"metrics-delete", "intervals-delete", "shares"}
    assert list(result.headlight.table()["order by"])[-1] == "random order"


# What is refused


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"removals": ("mask",)}, "the tokenizer of classifier has no mask token; .*delete or att"),
        ({"removals": ()}, "removals is"),
        ({"measures": ("weight", "weight")}, "measures is"),
        ({"layers": (7,)}, "no encoder layer 7"),
    ],
)
def test_wrong_requests(settings: dict[str, Any], says: str) -> None:
    given_ = {"removals": ("delete",), **settings}
    with pytest.raises(UsageError, match=says):
        headlight.faithfulness(labelled(2), model=classifier(), progress=False, **given_)


def test_models_that_do_not_answer_once_are_refused() -> None:
    with pytest.raises(MissingHeadError, match="has no classification head"):
        headlight.faithfulness(labelled(2), model=model("bert"), progress=False)
    with pytest.raises(UsageError, match="there is no prediction for one that is left out"):
        headlight.faithfulness(
            tagged(2), model=classifier(tokens=True), removals=("delete",), progress=False
        )
