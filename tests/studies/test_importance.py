"""Gradient importance against loops over texts of a model in eager mode, and its independence."""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import xarray
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
)

from headlight.capture import (
    CapturedModel,
    CausalLanguageModel,
    MaskedLanguageModel,
    Objective,
    OwnObjective,
    Prepared,
    SequenceToSequence,
)
from headlight.corpora import Document
from headlight.encode import Encoded, adjacent_segments, texts as encode_texts
from headlight.encode.batch import collate
from headlight.engine.folder import RunFolder
from headlight.errors import CaptureError, CorpusError, MissingHeadError, RunError, UsageError
from headlight.result import load
from headlight.studies.survey.importance import KEY_CATEGORIES, QUERY_CATEGORIES
from headlight.studies.survey.study import run as run_study
from headlight.vocabulary import CATEGORIES
from open_folders import opening
from studies.chosen_numbers import only, settings_for, survey_with
from studies.models import SETTINGS, VOCABULARY, documents, subject, texts, tokenizer
from tiny_models import randomise

run = opening(run_study)

gradient_importance = partial(survey_with, "importance")
MASK = 3
"""`<unk>`, which no text has."""
MASKED = MaskedLanguageModel(
    mask_id=MASK, vocabulary=len(VOCABULARY), special_ids=frozenset(range(4)), rate=0.3
)
CLASSES = {
    "bert": AutoModelForMaskedLM,
    "llama": AutoModelForCausalLM,
    "bart": AutoModelForSeq2SeqLM,
    "t5": AutoModelForSeq2SeqLM,
}
OBJECTIVES: dict[str, Objective] = {
    "bert": MASKED,
    "llama": CausalLanguageModel(),
    "bart": SequenceToSequence(),
    "t5": SequenceToSequence(),
}


def with_head(family: str) -> CapturedModel:
    tokens = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    config = AutoConfig.for_model(family, **{**tokens, **SETTINGS[family]})
    model = CLASSES[family].from_config(config)
    randomise(model, torch.Generator().manual_seed(5))
    return CapturedModel(model.eval(), tokenizer(family), family, "1")


# The definition


def naive(
    found: CapturedModel, examples: Sequence[Encoded], objective: Objective, kind: str
) -> dict[str, Any]:
    """One text at a time, every pair of positions by itself."""
    model = found.transformer
    model.set_attn_implementation("eager")
    values: dict[tuple[int, int, str, str], list[float]] = {}
    losses, predicted, masked, unpredicted = [], 0, 0, 0
    for example in examples:
        prepared = objective.prepare(collate([example], 0))
        count = None if prepared.predicted is None else int(prepared.predicted)
        masked += int(prepared.masked.sum())
        if count == 0:
            unpredicted += 1
            continue
        predicted += count or 0
        output = model(**found.inputs(prepared), output_attentions=True)
        maps = {
            "encoder": output.get("encoder_attentions", output.get("attentions")),
            "decoder": output.get("decoder_attentions", output.get("attentions")),
            "cross": output.get("cross_attentions"),
        }[kind]
        for one in maps:
            one.retain_grad()
        loss = objective.loss(output, prepared)[0]
        loss.backward()
        losses.append(
            float(loss.detach()) / (count if count and objective.reduction == "sum" else 1)
        )
        average(values, [one.grad[0].abs().double().numpy() for one in maps], prepared, kind)
    model.set_attn_implementation("sdpa")
    model.zero_grad()
    return {
        "values": values,
        "loss": np.mean(losses),
        "predicted": predicted,
        "masked": masked,
        "unpredicted": unpredicted,
    }


def average(values: Any, layers: list[np.ndarray], prepared: Prepared, kind: str) -> None:
    source = names(prepared.category[0].tolist(), prepared.masked[0].tolist())
    target = source
    if prepared.target_category is not None:
        target = names(prepared.target_category[0].tolist())
    queries, keys = {
        "encoder": (source, source),
        "decoder": (target, target),
        "cross": (target, source),
    }[kind]
    for layer, head in np.ndindex(len(layers), max(map(len, layers))):
        if head < len(layers[layer]):
            cells = collected(layers[layer][head], queries, keys, causal=kind == "decoder")
            for (query, key), seen in cells.items():
                values.setdefault((layer, head, query, key), []).append(float(np.mean(seen)))


def collected(
    gradient: np.ndarray, queries: list[str], keys: list[str], *, causal: bool
) -> dict[tuple[str, str], list[float]]:
    """The pairs of positions that count, by the categories of query and key."""
    cells: dict[tuple[str, str], list[float]] = {}
    for i, j in np.ndindex(*gradient.shape):
        if causal and j > i:
            continue
        of_key = [keys[j]] if keys[j] == "masked" else [keys[j], "unmasked"]
        for pair in product(("all", queries[i]), of_key):
            cells.setdefault(pair, []).append(gradient[i, j])
    return cells


def names(categories: list[int], masked: list[bool] | None = None) -> list[str]:
    hidden = masked or [False] * len(categories)
    return [
        "masked" if hide else CATEGORIES[category]
        for category, hide in zip(categories, hidden, strict=True)
    ]


def agrees(result: xarray.Dataset, wanted: dict[str, Any]) -> None:
    values = wanted["values"]
    for layer in result["layer"].values:
        for head in result["head"].values:
            for query in QUERY_CATEGORIES:
                for key in KEY_CATEGORIES:
                    seen = values.get((int(layer), int(head), query, key), [])
                    place = {"layer": layer, "head": head, "importance_key": key}
                    found = float(result["importance"].sel(**place, importance_query=query))
                    assert found == pytest.approx(
                        np.mean(seen) if seen else np.nan, rel=1e-4, nan_ok=True
                    ), (layer, head, query, key)
    assert float(result["loss"]) == pytest.approx(wanted["loss"], rel=1e-5)
    assert int(result["predicted_tokens"]) == wanted["predicted"]
    assert int(result["masked_tokens"]) == wanted["masked"]
    assert result.attrs["unpredicted"] == wanted["unpredicted"]


def encoded(corpus: list[str], found: CapturedModel) -> list[Encoded]:
    given = [Document(f"text {i}", (text,)) for i, text in enumerate(corpus)]
    return list(encode_texts(given, found.tokenizer, max_length=64))


@pytest.mark.slow
@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_a_masked_language_model(reduction: Any) -> None:
    found, corpus = with_head("bert"), texts(6, longest=12)
    objective = replace(MASKED, reduction=reduction)
    result = gradient_importance(corpus, found, objective=objective)
    agrees(result, naive(found, encoded(corpus, found), objective, "encoder"))
    assert result.attrs["stage"] == "survey"
    assert result.attrs["kind"] == "encoder"
    assert json.loads(result.attrs["objective"])["reduction"] == reduction
    assert 0 < int(result["masked_tokens"]) < int(result["predicted_tokens"])


@pytest.mark.slow
def test_a_causal_model_in_which_weights_that_cannot_be_are_not_counted() -> None:
    found, corpus = with_head("llama"), texts(5, longest=10)
    result = gradient_importance(corpus, found)
    agrees(result, naive(found, encoded(corpus, found), CausalLanguageModel(), "decoder"))
    assert int(result["masked_tokens"]) == 0
    assert np.isnan(result["importance"].sel(importance_key="masked")).all()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
@pytest.mark.parametrize("family", ["bart", "t5"])
def test_an_encoder_decoder(family: str, kind: Any) -> None:
    found, corpus = with_head(family), documents(4)
    settings = settings_for("importance", pairs=True, max_length=24, kind=kind)
    result = gradient_importance(
        [" \n\n ".join(each.paragraphs) for each in corpus], found, settings=settings
    )
    examples = list(
        adjacent_segments(
            corpus,
            found.tokenizer,
            length=24,
            seed=0,
            segment_ids="pair",
            lone_units="join",
            decoder_start=found.decoder_start,
        )
    )
    assert len(examples) > 2
    agrees(result, naive(found, examples, SequenceToSequence(), kind))


@pytest.mark.slow
def test_texts_of_which_nothing_is_predicted_are_left_out_and_counted() -> None:
    found = with_head("bert")
    never = VOCABULARY.index("sea")
    objective = replace(MASKED, special_ids=MASKED.special_ids | {never})
    corpus = [*texts(3, longest=8), "sea", "sea sea"]
    result = gradient_importance(corpus, found, objective=objective)
    agrees(result, naive(found, encoded(corpus, found), objective, "encoder"))
    assert result.attrs["unpredicted"] == 2
    assert result.attrs["examples"] == 5
    with pytest.raises(CorpusError, match="nothing in it can be predicted"):
        gradient_importance(["sea", "sea sea"], found, objective=objective)


@pytest.mark.slow
def test_a_loss_of_your_own_is_reported_as_it_is() -> None:
    found, corpus = with_head("bert"), texts(4, longest=8)

    def squares(output: Any, batch: Prepared) -> torch.Tensor:
        return (output.logits.square().mean(-1) * batch.attention_mask).sum(-1)

    own = OwnObjective(squares, "squares")
    result = gradient_importance(corpus, found, objective=own)
    agrees(result, naive(found, encoded(corpus, found), own, "encoder"))
    assert json.loads(result.attrs["objective"]) == {"objective": "own", "name": "squares"}


@pytest.mark.slow
def test_layers_with_different_numbers_of_heads_and_layers_left_out() -> None:
    found, corpus = with_head("bert"), texts(3, longest=8)
    attention = found.transformer.bert.encoder.layer[1].attention.self
    attention.num_attention_heads, attention.attention_head_size = 2, 16
    attention.scaling = 16**-0.5
    both = gradient_importance(corpus, found, objective=MASKED)
    agrees(both, naive(found, encoded(corpus, found), MASKED, "encoder"))
    assert np.isnan(both["importance"].sel(layer=1, head=[2, 3])).all()
    last = gradient_importance(
        corpus, found, settings_for("importance", layers=(1,)), objective=MASKED
    )
    assert last["layer"].values.tolist() == [1]
    np.testing.assert_allclose(
        last["importance"].sel(layer=1), both["importance"].sel(layer=1, head=[0, 1]), rtol=1e-5
    )


# What a result must not depend on


def assert_equal(one: xarray.Dataset, other: xarray.Dataset, rtol: float = 1e-5) -> None:
    assert set(one.data_vars) == set(other.data_vars)
    for name in one.data_vars:
        np.testing.assert_allclose(one[name], other[name], rtol=rtol, atol=1e-9, err_msg=str(name))


@pytest.mark.slow
@pytest.mark.parametrize("family", ["bert", "llama"])
def test_neither_batches_nor_the_order_of_documents_change_the_result(family: str) -> None:
    found, corpus, objective = with_head(family), texts(6, longest=14), OBJECTIVES[family]

    def result(corpus: list[str], tokens: int) -> xarray.Dataset:
        settings = settings_for("importance", batch_tokens=tokens)
        return gradient_importance(corpus, found, settings, objective=objective)

    alone = result(corpus, 1)
    for tokens in (40, 100_000):
        assert_equal(result(corpus, tokens), alone, rtol=1e-4)
    shuffled = [corpus[i] for i in np.random.default_rng(0).permutation(len(corpus))]
    assert_equal(result(shuffled, 100_000), alone, rtol=1e-4)


class Interruption(Exception):  # noqa: N818 - not an error of anyone's
    """Raised on purpose."""


@pytest.mark.slow
def test_an_interrupted_run_goes_on_to_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes = sys.modules["headlight.engine.passes"]
    work = passes.BatchJob
    monkeypatch.setattr(passes, "BatchJob", lambda **options: work(**{**options, "shard_size": 3}))
    found, corpus = with_head("bert"), texts(10, longest=8)
    whole = gradient_importance(corpus, found, objective=MASKED)
    calls = []

    def loss(output: Any, batch: Prepared) -> torch.Tensor:
        calls.append(len(batch.lengths))
        if sum(calls) == 6:
            raise Interruption
        return MASKED.loss(output, batch)

    class Interrupted(MaskedLanguageModel):
        def loss(self, output: Any, batch: Prepared) -> torch.Tensor:
            return loss(output, batch)

    broken = Interrupted(
        mask_id=MASK, vocabulary=len(VOCABULARY), special_ids=frozenset(range(4)), rate=0.3
    )
    folder = RunFolder(path=tmp_path / "run")
    with pytest.raises(Interruption):
        gradient_importance(corpus, found, objective=broken, folder=folder)
    again = RunFolder(path=tmp_path / "run", resume=True)
    resumed = gradient_importance(corpus, found, objective=MASKED, folder=again)
    assert sum(calls) == 6
    xarray.testing.assert_equal(resumed, whole)
    kept = load(tmp_path / "run" / "result.nc", stage="survey")
    xarray.testing.assert_equal(only("importance", kept), whole)
    finished = gradient_importance(corpus, found, objective=MASKED, folder=again)
    xarray.testing.assert_equal(finished, whole)
    other = replace(MASKED, seed=1)
    with pytest.raises(RunError, match=r"other settings \(objective\)"):
        gradient_importance(corpus, found, objective=other, folder=again)


@pytest.mark.slow
def test_it_shares_the_pass_of_gradients_and_looks_at_all_words_beside_other_measures() -> None:
    """Words are hidden from the measures of a survey where one of them is the gradient alone."""
    found, corpus = with_head("bert"), texts(6, longest=12)
    apart = settings_for("importance", measures=("weight",))
    both = {
        measures: run(
            corpus,
            found,
            settings_for("importance", measures=measures),
            objective=MASKED,
            progress=False,
        )
        for measures in (("weight",), ("gradient",), ("weight", "gradient"))
    }
    first, *others = (only("importance", each) for each in both.values())
    for other in others:
        assert_equal(other, first, rtol=1e-12)
    plain = run(corpus, found, apart.replace(numbers=()), progress=False)
    assert not set(first.data_vars) & set(plain.data_vars)
    seen = both["weight",]
    seen = seen.drop_vars([name for name in seen.variables if name not in plain.variables])
    xarray.testing.assert_equal(seen, plain)
    hidden = both["weight", "gradient"]["share"].sel(measure="weight")
    assert not np.allclose(hidden, plain["share"].sel(measure="weight"), equal_nan=True)


# Refused


def test_a_model_without_a_head() -> None:
    with pytest.raises(MissingHeadError, match="bert is a BertModel"):
        gradient_importance(["the sea"], subject("bert"))


def test_an_encoder_decoder_needs_two_texts() -> None:
    with pytest.raises(UsageError, match=r"^the loss of bart needs two texts per example; use"):
        gradient_importance(["the sea"], with_head("bart"))


def test_gradients_that_are_no_numbers() -> None:
    """A finite loss with an infinite slope."""
    found = with_head("bert")

    def steep(output: Any, batch: Prepared) -> torch.Tensor:
        return (output.logits.sum((1, 2)) * 0).abs().sqrt()

    with pytest.raises(CaptureError, match=r"gradient by .* encoder layer 1 is not finite"):
        gradient_importance(["the sea"], found, objective=OwnObjective(steep, "steep"))
