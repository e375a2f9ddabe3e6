"""What a survey says of models whose context is gated before W^O, by loops over the queries."""

from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

import headlight
from architectures import ARCHITECTURES, EXPERTS, GROUPED
from definitions import entropy, merged_norm, weighted_norm, with_gate
from headlight.capture import CapturedModel, LayerRecord
from headlight.capture.attribution import attribute
from headlight.capture.one_text import capture_one
from headlight.encode import encode_one
from headlight.findings import highlights
from headlight.reading.model import Model
from headlight.settings.attribution import AttributionSettings
from headlight.studies.survey.page import sections
from studies.models import VOCABULARY, texts, tokenizer
from studies.test_independence import assert_equal
from studies.test_numbers import examples_of
from tiny_models import build

FULL = {**GROUPED, "layer_types": ["full_attention", "full_attention"], "head_dim": 8}
SUBJECTS = {"qwen3_5_text": FULL, "lfm3": {**FULL, **EXPERTS, "num_experts": 4}}
MOST = 5


def subject(family: str) -> CapturedModel:
    """With gates some of which are nearly closed."""
    network = build(family, {**SUBJECTS[family], "vocab_size": len(VOCABULARY)}, seed=3)
    for name, parameter in network.named_parameters():
        if "q_proj" in name or "g_proj" in name:  # which make the gates
            parameter.data *= 4
    return CapturedModel(network, tokenizer("llama"), family, "1")


def records_of(made: CapturedModel, corpus: list[str]) -> list[list[LayerRecord]]:
    return [
        capture_one(made, example, made.sites, lambda record: record)
        for example in examples_of(made, corpus)
    ]


def numbers(tensor: torch.Tensor) -> Any:
    return tensor[0].double().numpy()


@pytest.mark.slow
@pytest.mark.parametrize("family", SUBJECTS)
def test_how_far_gates_are_open(family: str) -> None:
    made, corpus = subject(family), texts(4, longest=12, seed=3)
    result = headlight.survey(corpus, model=made, progress=False)
    means, closed = [], []
    for records in records_of(made, corpus):
        gates = [numbers(record.gate) for record in records if record.gate is not None]
        means.append([gate.mean((1, 2)) for gate in gates])
        closed.append([(gate < 0.1).mean((1, 2)) for gate in gates])
    assert_allclose(result.gate, np.mean(means, 0), rtol=1e-5)
    assert_allclose(result.gate_closed, np.mean(closed, 0), rtol=1e-5)
    assert 0.05 < float(result.gate_closed.mean()) < 0.95
    (said,) = [each for each in highlights(result) if each.kind == "gate"]
    lowest = np.unravel_index(int(result.gate.values.argmin()), result.gate.shape)
    assert (said.layer, said.head) == tuple(map(int, lowest))
    assert ("at most 32 queries" in said.text) == (family == "qwen3_5_text")
    assert any("gate below 0.1 %" in table.frame for s in sections(result) for table in s.tables)


def evenly_spread(count: int) -> list[int]:
    """Of so many queries at most `MOST`."""
    parts = [query * MOST // count for query in range(count + 1)]
    return [query for query in range(count) if parts[query + 1] > parts[query]]


@pytest.mark.slow
@pytest.mark.parametrize("block", [0, 3])
def test_norms_of_some_queries_where_f_depends_on_the_query(block: int) -> None:
    made, corpus = subject("qwen3_5_text"), texts(4, longest=14, seed=3)
    whole = headlight.survey(corpus, model=made, gated_queries=0, progress=False)
    result = headlight.survey(
        corpus, model=made, gated_queries=MOST, query_block=block, progress=False
    )
    totals, entropies, merged = [], [], []
    for records in records_of(made, corpus):
        chosen = evenly_spread(records[0].weight.shape[2])
        parts = []
        for record in records:
            given = [numbers(record.weight), numbers(record.value)]
            given.append(record.site.projection.weight.double().numpy())
            gate = numbers(record.gate)
            norm = with_gate(weighted_norm, *given, gate)[:, chosen]
            together = with_gate(merged_norm, *given, gate, axis=0)[chosen]
            parts.append((norm.sum(-1).mean(-1), entropy(norm).mean(-1), together.sum(-1).mean()))
        for kept, found in zip((totals, entropies, merged), zip(*parts, strict=True), strict=True):
            kept.append(found)
    of_norm = result.sel(measure="norm", query_category="all")
    assert_allclose(of_norm.total.sum("key_category"), np.mean(totals, 0), rtol=1e-4)
    assert_allclose(of_norm.entropy, np.mean(entropies, 0), rtol=1e-4)
    of_all = result.merged_total.sel(query_category="all").sum("key_category")
    assert_allclose(of_all, np.mean(merged, 0), rtol=1e-4)
    assert abs(whole.sel(measure="norm").total - result.sel(measure="norm").total).max() > 1e-3
    others = ["weight", "effective"]
    for name in ("total", "share", "neighbour", "entropy"):
        assert_allclose(
            result[name].sel(measure=others), whole[name].sel(measure=others), rtol=1e-4, atol=1e-6
        )
    alone = headlight.survey(corpus, model=made, gated_queries=MOST, batch_tokens=1, progress=False)
    assert_equal(alone, result, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_a_head_wise_gate_leaves_no_query_out() -> None:
    made, corpus = subject("lfm3"), texts(3, longest=12, seed=3)
    some, whole = (
        headlight.survey(corpus, model=made, gated_queries=most, progress=False) for most in (2, 0)
    )
    assert_equal(some, whole)
    assert "gated_queries" not in some.attrs


def test_a_model_without_gates_says_nothing_of_them() -> None:
    made = CapturedModel(
        build("llama", {**GROUPED, "vocab_size": len(VOCABULARY)}, seed=3),
        tokenizer("llama"),
        "llama",
        "1",
    )
    result = headlight.survey(texts(2), model=made, progress=False)
    assert not {"gate", "gate_closed"} & set(result.data_vars)
    assert all(each.kind != "gate" for each in highlights(result))


@pytest.mark.parametrize("family", SUBJECTS)
def test_alternatives_of_gated_heads_change_no_output(family: str) -> None:
    """They are put below the gate, so that the null space of the values is what counts."""
    made = subject(family)
    model = Model(made.transformer, made.tokenizer, family, "1")
    found = model.alternatives(
        "the sea is full of old snow , the town keeps down near", layer=1, head=0
    )
    assert bool(found.exists.any())
    assert float(found.total_variation.max()) > 0.1
    assert float(found.output_difference.max()) < 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("family", SUBJECTS)
def test_contributions_go_through_the_gate(family: str) -> None:
    """Those of the first block are the lengths of its derivatives by autograd."""
    made = subject(family)
    example = encode_one(made.tokenizer, "the sea is full of old snow", None, max_length=64)
    batch = made.collate([example])
    found = attribute(made, batch, AttributionSettings(method="exact"), kind="decoder").contribution
    embedded = made.transformer.get_input_embeddings()(batch.input_ids).detach()

    def first_block(vectors: torch.Tensor) -> Any:
        output = made.transformer(inputs_embeds=vectors, output_hidden_states=True, use_cache=False)
        return output.hidden_states[1]

    derivative = torch.autograd.functional.jacobian(first_block, embedded)[0, :, :, 0]
    lengths = derivative.square().sum((1, 3)).sqrt()
    torch.testing.assert_close(found[0, 0], lengths / lengths.sum(-1, keepdim=True))


@pytest.mark.slow
def test_what_learnt_sinks_take_is_what_rows_lack() -> None:
    row = next(row for row in ARCHITECTURES if row.name == "GPT-OSS")
    network = build("gpt_oss", {**row.settings, "vocab_size": len(VOCABULARY)}, seed=3)
    made, corpus = CapturedModel(network, tokenizer("llama"), "gpt-oss", "1"), texts(4, seed=3)
    result = headlight.survey(corpus, model=made, progress=False)
    lacking = [
        [1 - numbers(record.weight).sum(-1).mean(-1) for record in records]
        for records in records_of(made, corpus)
    ]
    found = result.behaviour_share.sel(behaviour="missing", measure="weight")
    assert_allclose(found, np.mean(lacking, 0), rtol=1e-5)
    assert float(found.min()) > 0.01
