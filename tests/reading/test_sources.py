"""Sources of an answer: passages by attention, by contributions and by removal."""

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import headlight
from encode.small_tokenizers import chat_tokenizer, decoder
from headlight.capture.linear_network.logit_decomposition import decompose
from headlight.catalogue.question_settings import SourceSettings
from headlight.cli.sources import _passage as passage_of
from headlight.corpora import Chat
from headlight.encode.passage_prompts import Prompt
from headlight.errors import MissingHeadError, UsageError
from headlight.measures.agreement import linear_fit
from headlight.reading.answers import answer_ids, answer_scores, lookback
from headlight.reading.model import Model
from headlight.reading.sources import texts_to_read
from headlight.result import load
from headlight.result.estimate import estimate_of
from headlight.studies.circuits import CircuitsSettings
from headlight.studies.circuits.study import retrieval_scores
from headlight.views.reading.sources import findings, headline

TEMPLATE = (
    "{% for m in messages %}<|endoftext|>{{ m.role }}\n{{ m.content | trim }}\n{% endfor %}"
    "{% if add_generation_prompt %}<|endoftext|>assistant\n{% endif %}"
)
CONTEXT = ["the sea is old.", "the lake is full.", "the river is near the mill."]
MANY = [*CONTEXT, "the mill is old.", "the sea is near the lake."]
QUESTION = "is the lake full?"
ANSWER = "the lake is full."
QUICK: dict[str, Any] = {"chosen": ["L1H0", "L0H1"], "orders": 1, "masks": 0, "predict": False}
_load = headlight.load  # the fixture has the name of the package


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return chat_tokenizer(TEMPLATE)


@pytest.fixture(scope="module")
def model(tokenizer: Any) -> Model:
    return _load(decoder(tokenizer, initializer_range=0.4, max_position_embeddings=400), tokenizer)


@pytest.fixture(scope="module")
def folder(model: Model, tokenizer: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("decoder")
    model.transformer.save_pretrained(path)  # type: ignore[operator]
    tokenizer.save_pretrained(path)
    return path


def text_of(passages: list[str]) -> str:
    return "\n".join(["Context:", *passages, f"\nQuestion: {QUESTION}\nAnswer:"])


def log_probability(model: Model, text: str, answer: str) -> float:
    """One forward pass over one text, by transformers alone."""
    tokenizer: Any = model.tokenizer
    before, ids = (tokenizer(each, add_special_tokens=False).input_ids for each in (text, answer))
    with torch.inference_mode():
        logits = model.transformer(torch.tensor([before + ids])).logits[0]
    logs = logits.log_softmax(-1)
    return float(sum(logs[len(before) + at - 1, token] for at, token in enumerate(ids)))


def test_removal_is_that_of_single_passes(model: Model) -> None:
    data = model.sources(QUESTION, CONTEXT, answer=ANSWER, **QUICK).dataset
    whole = log_probability(model, text_of(CONTEXT), f" {ANSWER}")
    assert float(data["log_probability"][0]) == pytest.approx(whole, abs=1e-5)
    for at in range(3):
        rest = CONTEXT[:at] + CONTEXT[at + 1 :]
        fall = whole - log_probability(model, text_of(rest), f" {ANSWER}")
        assert float(data["value"].sel(signal="removal")[0, at]) == pytest.approx(fall, abs=1e-5)


def test_orders_are_averaged(model: Model) -> None:
    data = model.sources(QUESTION, CONTEXT, answer=ANSWER, **{**QUICK, "orders": 3}).dataset
    generator = np.random.default_rng([0, 0])
    orders = [[0, 1, 2], *(generator.permutation(3).tolist() for _ in range(2))]
    falls = np.zeros(3)
    for order in orders:
        whole = log_probability(model, text_of([CONTEXT[at] for at in order]), f" {ANSWER}")
        for at in range(3):
            rest = text_of([CONTEXT[each] for each in order if each != at])
            falls[at] += (whole - log_probability(model, rest, f" {ANSWER}")) / 3
    np.testing.assert_allclose(data["value"].sel(signal="removal")[0], falls, atol=1e-5)


@pytest.mark.parametrize("orders", [2, 3])
def test_orders_differ_and_are_no_more_than_there_are(model: Model, orders: int) -> None:
    """Of two passages the second order is the other one, whatever the seed."""

    def measured(passages: list[str], orders: int, seed: int = 0) -> Any:
        chosen = {**QUICK, "orders": orders, "seed": seed}
        return model.sources(QUESTION, passages, answer=ANSWER, **chosen).dataset

    one, other = (
        measured(passages, 1)["value"].sel(signal="removal").values[0]
        for passages in (CONTEXT[:2], CONTEXT[1::-1])
    )
    for seed in (0, 1, 2):
        data = measured(CONTEXT[:2], orders, seed)
        mean = (one + other[::-1]) / 2
        np.testing.assert_allclose(data["value"].sel(signal="removal")[0], mean, atol=1e-5)
        assert data.attrs["orders"] == 2


def test_all_orders_of_three_passages_are_six(model: Model, tmp_path: Path) -> None:
    chosen = {**QUICK, "orders": 100}
    result = model.sources(QUESTION, CONTEXT[:3], answer=ANSWER, **chosen)
    assert result.dataset.attrs["orders"] == 6
    page = result.save(tmp_path / "page.html").read_text()
    assert "Means over 6 orders of the passages, all that there are." in page


def test_shares_are_sums_of_cells(model: Model) -> None:
    result = model.sources(
        QUESTION, CONTEXT, answer=ANSWER, measures=("weight", "norm"), **QUICK
    ).dataset
    tokenizer: Any = model.tokenizer
    text = text_of(CONTEXT)
    encoding = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    prompt = len(encoding.input_ids)
    reading = model.read(f"{text} {ANSWER}")
    for number, passage in enumerate(CONTEXT):
        start = text.index(passage)
        begins = [
            first + (len(text[first:last]) - len(text[first:last].lstrip())) % (last - first)
            for first, last in encoding.offset_mapping
        ]
        keys = [at for at, first in enumerate(begins) if 0 <= first - start < len(passage)]
        for measure in ("weight", "norm"):
            cells = reading.dataset[measure].values[:, :, prompt - 1 : -1][..., keys]
            shares = cells.astype(float).sum(-1).mean(-1)
            own = result["head_share"].sel(measure=measure)[0, :, :, number]
            np.testing.assert_allclose(own, shares, rtol=1e-5, atol=1e-7)
            value = result["value"].isel(answer=0, passage=number)
            of_all = float(value.sel(signal=f"all heads by {measure}"))
            assert of_all == pytest.approx(shares.mean(), rel=1e-5)
            of_chosen = float(value.sel(signal=f"chosen heads by {measure}"))
            assert of_chosen == pytest.approx((shares[1, 0] + shares[0, 1]) / 2, rel=1e-5)


def test_contributions_are_those_of_each_token(model: Model) -> None:
    settings = {**QUICK, "predict": True}
    result = model.sources(QUESTION, CONTEXT, answer=ANSWER, **settings).dataset
    prompt = Prompt.from_question(QUESTION, CONTEXT)
    tokenizer: Any = model.tokenizer
    example, owners = prompt.encode(tokenizer, [0, 1, 2], {0, 1, 2})
    ids = answer_ids(tokenizer, text_of(CONTEXT), ANSWER)
    sums = np.zeros(3)
    for at, token in enumerate(ids):
        read = example.continued(ids)
        place = len(example.ids) + at - 1
        parts = decompose(
            model, model.inputs(model.collate([read])),
            lambda output, place=place, token=token: output.logits[0, place, token],
            {"text": len(read.ids)},
        )  # fmt: skip
        for head in parts.heads:
            for key, owner in enumerate(owners):
                sums[owner] += float(head.direct[:, key].sum()) if owner >= 0 else 0
    np.testing.assert_allclose(result["value"].sel(signal="predict")[0], sums, atol=1e-4)


def test_a_linear_model_is_recovered() -> None:
    draw = np.random.default_rng(3)
    coefficients = draw.normal(size=5)
    kept = np.concatenate(
        [np.ones((1, 5), bool), ~np.eye(5, dtype=bool), draw.random((9, 5)) < 0.5]
    )
    np.testing.assert_allclose(linear_fit(kept, kept @ coefficients - 2), coefficients, atol=1e-12)


def test_sets_are_fitted_to_the_passes_of_single_texts(model: Model) -> None:
    settings = {**QUICK, "masks": 6}
    data = model.sources(QUESTION, CONTEXT, answer=ANSWER, **settings).dataset
    masks = np.random.default_rng([0, 0]).random((6, 3)) < 0.5
    kept = np.concatenate([np.ones((1, 3), bool), ~np.eye(3, dtype=bool), masks])
    logs = [
        log_probability(model, text_of([t for t, use in zip(CONTEXT, row, strict=True) if use]),
                        f" {ANSWER}")
        for row in kept
    ]  # fmt: skip
    wanted = linear_fit(kept, np.array(logs))
    np.testing.assert_allclose(data["value"].sel(signal="sets")[0], wanted, atol=1e-4)


def test_the_ratio_is_of_means() -> None:
    rows = torch.softmax(torch.randn(2, 3, 7, dtype=torch.float64), -1)
    rows[:, 0, 4:] = rows[:, 1, 5:] = rows[:, 2, 6:] = 0  # causal
    ratios = lookback(rows, 4)
    assert bool(ratios[:, 0].isnan().all())
    for at in (1, 2):
        prompt, new = rows[:, at, :4].mean(-1), rows[:, at, 4 : 4 + at].mean(-1)
        torch.testing.assert_close(ratios[:, at], prompt / (prompt + new))


@pytest.mark.parametrize("in_place", [False, True])
def test_a_chat_has_passages(model: Model, in_place: bool) -> None:
    asked = (
        f"Read {CONTEXT[2]}\n\n{CONTEXT[0]}\n\n{CONTEXT[1]} {QUESTION}" if in_place else QUESTION
    )
    chat = [{"role": "system", "content": " be brief "}, {"role": "user", "content": f" {asked} "}]
    prompt = Prompt.from_question(Chat(tuple(chat), answer=True), CONTEXT)
    tokenizer: Any = model.tokenizer
    example, owners = prompt.encode(tokenizer, [0, 1, 2], {0, 1, 2})
    content = asked if in_place else "\n".join([*CONTEXT, f"\n {asked}"])
    whole = tokenizer.apply_chat_template(
        [chat[0], {"role": "user", "content": content}], add_generation_prompt=True,
        return_dict=True,
    )  # fmt: skip
    assert list(example.ids) == list(whole["input_ids"])
    for number, passage in enumerate(CONTEXT):
        ids = [token for token, owner in zip(example.ids, owners, strict=True) if owner == number]
        assert tokenizer.decode(ids).strip() == passage
    text, _ = prompt.written(tokenizer, [0, 1, 2], {1})
    assert CONTEXT[1] in text
    assert CONTEXT[0] not in text
    assert "\n\n\n" not in text
    answered = [*chat, {"role": "assistant", "content": ANSWER}]
    data = model.sources(answered, CONTEXT, **QUICK).dataset
    assert data["answer_text"].values.tolist() == [ANSWER]


def test_passages_change_places(model: Model) -> None:
    prompt = Prompt.from_question(f"{CONTEXT[0]} {CONTEXT[1]} {CONTEXT[2]} {QUESTION}", CONTEXT)
    text, places = prompt.written(model.tokenizer, [2, 0, 1], {0, 2})
    assert text == f"{CONTEXT[2]} {CONTEXT[0]} {QUESTION}"
    assert {n: text[each.start : each.stop] for n, each in places.items()} == {
        0: CONTEXT[0],
        2: CONTEXT[2],
    }


def test_the_model_answers(model: Model) -> None:
    data = model.sources(QUESTION, CONTEXT, max_new_tokens=4, **QUICK).dataset
    tokenizer: Any = model.tokenizer
    ids = torch.tensor([tokenizer(text_of(CONTEXT), add_special_tokens=False).input_ids])
    with torch.inference_mode():
        first = int(model.transformer(ids).logits[0, -1].argmax())
    assert data["token_text"].values[0, 0] == tokenizer.convert_ids_to_tokens(first)


def test_batches_change_nothing(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    prompt = Prompt.from_question(QUESTION, CONTEXT)
    tokenizer: Any = model.tokenizer
    ids = answer_ids(tokenizer, text_of(CONTEXT), ANSWER)
    kept = [{0, 1, 2}, {0}, {1, 2}, set()]
    read = [prompt.encode(tokenizer, [0, 1, 2], each)[0].continued(ids) for each in kept]
    together = answer_scores(model, read, ids)
    monkeypatch.setattr("headlight.reading.answers.BATCH", 1)
    np.testing.assert_allclose(answer_scores(model, read, ids), together, atol=1e-5)


@pytest.mark.slow
def test_several_answers_have_intervals_and_files(model: Model, tmp_path: Path) -> None:
    examples = [
        {"question": QUESTION, "context": MANY[: 4 + number % 2], "answer": f"the {word}."}
        for number, word in enumerate(["sea", "lake", "mill", "river"] * 6)
    ]
    result = model.sources(examples, **QUICK)
    agreement = estimate_of(result.dataset, "agreement")
    assert agreement is not None
    assert np.isfinite(agreement.low[1:]).all()
    ranks = result.dataset["rank"].values
    assert np.isnan(ranks[::2, 2]).all()  # of four passages
    assert float(agreement.value[2]) == pytest.approx(np.nanmean(ranks[:, 2]))
    for suffix in ("html", "json", "csv", "nc"):
        assert result.save(tmp_path / f"used.{suffix}").stat().st_size > 0
    table = pd.read_csv(tmp_path / "used.csv")
    assert len(table) == sum(len(each["context"]) for each in examples)
    told = json.loads((tmp_path / "used.json").read_text(encoding="utf-8"))
    assert told["heads"] == ["L0H1", "L1H0"]
    assert load(tmp_path / "used.nc").attrs["stage"] == "sources"
    page = (tmp_path / "used.html").read_text(encoding="utf-8")
    assert "Which signal agrees with removal" in page
    assert "Over 12 answers" in " ".join(findings(result.dataset))
    values = result.dataset["value"].sel(signal=["removal", "all heads by weight"]).values
    for (falls, shares), right in zip(values, result.dataset["right"].values[:, 2], strict=True):
        passages = falls[np.isfinite(falls)]
        second, first = np.exp(np.sort(passages)[-2:])
        clear = first >= 2 and second <= first / 2
        wanted = float(np.nanargmax(shares) == passages.argmax()) if clear else np.nan
        np.testing.assert_equal(right, wanted)


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_one_passage_and_one_token_have_a_page(
    model: Model, tokenizer: Any, precision: torch.dtype, tmp_path: Path
) -> None:
    network = copy.deepcopy(model.transformer).to(precision)
    settings = QUICK | {"predict": True, "masks": 2, "orders": 2}
    result = _load(network, tokenizer).sources(QUESTION, CONTEXT[:1], answer=".", **settings)
    page = result.save(tmp_path / "used.html").read_text(encoding="utf-8")
    assert CONTEXT[0] in page
    halved = precision == torch.bfloat16
    assert bool(result.dataset["value"].sel(signal="predict").isnull().any()) == halved
    assert bool(result.dataset.attrs["notes"]) == halved
    assert result.as_json()["passages"][0]["text"] == CONTEXT[0]


class Counting:
    """Progress that adds up what it is told."""

    def __init__(self) -> None:
        self.texts = 0

    def advance(self, examples: int, tokens: int, seconds: float = 0.0) -> None:
        self.texts += examples


@pytest.mark.parametrize("more", [{}, {"masks": 3, "orders": 2, "predict": True}])
def test_all_texts_are_announced_and_told(model: Model, more: dict[str, Any]) -> None:
    told, chosen = Counting(), QUICK | more
    examples = [{"question": QUESTION, "context": CONTEXT[:count], "answer": ANSWER}
                for count in (1, 3)]  # fmt: skip
    asked: dict[str, Any] = chosen | {"progress": told}
    model.sources(examples, **asked)
    assert told.texts == texts_to_read(examples, SourceSettings.from_mapping(chosen))


def test_who_wrote_the_answer_is_said(model: Model) -> None:
    given = model.sources(QUESTION, CONTEXT, answer=ANSWER, **QUICK).dataset
    assert given.attrs["written"] == 0
    assert "read the answer “the lake is full.” to" in headline(given).read
    own = model.sources(QUESTION, CONTEXT, max_new_tokens=4, **QUICK).dataset
    assert own.attrs["written"] == 1
    assert " answered “" in headline(own).read


def test_one_answer_decides_nothing(model: Model) -> None:
    result = model.sources(QUESTION, CONTEXT, answer=ANSWER, **QUICK)
    assert any("inconclusive" in each for each in findings(result.dataset)) or "no less" in str(
        result
    )


def test_heads_are_those_of_circuits(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    settings: dict[str, Any] = {
        "orders": 1,
        "masks": 0,
        "predict": False,
        "needles": 2,
        "haystack": 12,
    }
    result = model.sources(QUESTION, CONTEXT, answer=ANSWER, **settings)  # finds no fact
    assert not result.dataset["chosen"].values.any()
    assert "No heads are chosen" in str(result)
    scores = np.array([[0.0, 0.5], [0.25, 0.75]])

    monkeypatch.setattr("headlight.studies.circuits.study.retrieval_scores", lambda *_: scores)
    result = model.sources(QUESTION, CONTEXT, answer=ANSWER, number=2, **settings)
    assert result.as_json()["heads"] == ["L1H1", "L0H1"]


@pytest.mark.slow
def test_scores_are_those_that_a_study_of_circuits_finds(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headlight.studies.circuits.retrieval.FOUND", -1.0)  # this model says none
    asked: dict[str, Any] = {
        "parts": ("needle",),
        "measures": ("weight",),
        "needles": 2,
        "haystack": 12,
    }
    settings = CircuitsSettings(kind="decoder", **asked)
    mine = retrieval_scores(model, model.sites_of("decoder"), settings)
    found = headlight.circuits(model=model, kind="decoder", **asked, progress=False)
    wanted = found["retrieval"].sel(version="paper", measure="weight")
    np.testing.assert_array_equal(mine, wanted)
    assert np.isfinite(mine).all()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"context": []}, "no passage"),
        ({"context": None}, "no passage"),
        ({"context": ["a", " "]}, "passage 2 is empty"),
        ({"context": "a text"}, "no list of texts"),
        (
            {"question": [{"question": "x", "context": ["a", 3]}], "context": None, "answer": None},
            "no list of texts",
        ),
        ({"context": ["a", "\ud800"]}, "passage 2 holds half"),
        ({"question": "what \udcff?"}, "the question holds half"),
        ({"answer": "the \udcff"}, "the answer holds half"),
        ({"question": "what \ue0009\ue001?"}, "private use"),
        ({"measures": ["effective"]}, "effective"),
        ({"question": ""}, "question is empty"),
        ({"answer": " "}, "answer is empty"),
        ({"answer": "the lake " * 400}, "and the answer"),
        ({"context": ["the lake is full " * 300]}, "leave passages out"),
        ({"chosen": ["L9H0"]}, "no head 'L9H0'"),
        ({"chosen": ["L0H9"]}, "has no head 9"),
        ({"chosen": ["best"]}, "no head 'best'"),
        ({"question": f"{CONTEXT[0]} {CONTEXT[0]}?"}, "stands 2 times"),
        ({"question": f"{CONTEXT[0]} what?"}, "stands 0 times"),
        ({"question": [{"role": "system", "content": "x"}]}, "no message of the chat"),
        (
            {"question": [{"role": "assistant", "content": "x"}], "answer": None},
            "write the question",
        ),
        ({"question": [{"question": "x"}], "context": None, "answer": None}, "example 1 is no"),
        ({"question": [], "context": None, "answer": None}, "at least one"),
        ({"question": [{"question": "x", "context": ["y"]}]}, "either examples"),
    ],
)
def test_mistakes_are_refused(model: Model, arguments: dict[str, Any], sentence: str) -> None:
    whole = {"question": QUESTION, "context": CONTEXT, "answer": ANSWER, **QUICK, **arguments}
    with pytest.raises(UsageError, match=sentence) as refusal:
        model.sources(whole.pop("question"), whole.pop("context"), **whole)
    assert len(str(refusal.value)) < 300


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.pdf", b"%PDF-1.7", "is a PDF; save it as plain text"),
        ("a.txt", "the sea".encode("utf-16"), "is not UTF-8"),
        ("b.txt", "the sea".encode("utf-16-be"), "is in UTF-16, not UTF-8"),
        ("a.html", b"<p>the sea</p>", "is a web page, which is read with its tags"),
        ("missing.txt", None, "there is no file .*missing.txt"),
    ],
)
def test_files_that_are_no_passage(
    tmp_path: Path, name: str, content: bytes | None, sentence: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=sentence):
        passage_of(str(tmp_path / name))
    (tmp_path / "good.txt").write_bytes(b"\xef\xbb\xbfthe sea\n")
    assert passage_of(str(tmp_path / "good.txt")) == "the sea"
    assert passage_of("the sea.txt is old") == "the sea.txt is old"


def test_encoders_are_refused() -> None:
    with pytest.raises(MissingHeadError, match="does not go on with a text; load a decoder that"):
        _load().sources(QUESTION, CONTEXT, answer=ANSWER)


@pytest.mark.slow
def test_the_command(headlight: Any, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "sea.txt").write_text(f"{CONTEXT[0]}\n", encoding="utf-8")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(20))
    lines = [{"question": QUESTION, "context": CONTEXT, "answer": "the sea."}] * 2
    (tmp_path / "all.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    common = ("--model", str(folder), "--chosen", "L1H0", "--masks", "2", "--orders", "1")
    page = tmp_path / "used.html"
    code, said, _ = headlight(
        "sources", QUESTION, "--context", str(tmp_path / "sea.txt"), "--context", CONTEXT[1],
        "--context", CONTEXT[2], "--answer", ANSWER, "--html", str(page), *common,
    )  # fmt: skip
    assert code == 0
    assert said.startswith("The answer ")
    assert "How much less likely the answer is without it" in said
    assert CONTEXT[0] in page.read_text(encoding="utf-8")
    code, said, _ = headlight("sources", "--examples", str(tmp_path / "all.jsonl"), *common)
    assert code == 0
    assert "What the 2 answers rest on" in " ".join(said.split())
    for arguments, sentence in (
        ((), "no question"),
        ((QUESTION,), "give some as --context"),
        ((QUESTION, "--context", str(tmp_path / "picture.png")), "picture"),
        ((QUESTION, "--context", str(tmp_path)), "a folder"),
        ((QUESTION, "--examples", str(tmp_path / "all.jsonl")), "leave the others out"),
        (("--examples", str(tmp_path / "sea.txt")), "line 1: no JSON"),
    ):
        code, _, complaints = headlight("sources", *arguments, *common)
        assert code == 2
        assert sentence in " ".join(complaints.split())
