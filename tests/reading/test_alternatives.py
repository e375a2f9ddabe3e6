"""Other attention of the same output, tried on tiny models with language-model heads."""

from functools import cache

import numpy as np
import pytest
import torch
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
)

from headlight.capture import LayerRecord
from headlight.catalogue.question_settings import AlternativeSettings
from headlight.encode import encode_one
from headlight.encode.batch import collate
from headlight.errors import UsageError
from headlight.reading.alternatives import Alternatives
from headlight.reading.model import Model
from studies.models import SETTINGS, tokenizer
from tiny_models import randomise

HEADS = {
    "bert": AutoModelForMaskedLM,
    "roberta": AutoModelForMaskedLM,
    "llama": AutoModelForCausalLM,
    "bart": AutoModelForSeq2SeqLM,
    "t5": AutoModelForSeq2SeqLM,
}
LONG = "the town was old , the mill has sand and the river falls near a bridge of stone ."
OTHER = "snow melts in spring and the sea keeps mud , water builds a valley down the lake ."
SHORT = "the old mill ."


@cache
def model(family: str) -> Model:
    special = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    config = AutoConfig.for_model(family, **special, **SETTINGS[family])
    made = HEADS[family].from_config(config)
    randomise(made, torch.Generator().manual_seed(1))
    return Model(made.eval(), tokenizer(family), family, "1")


def in_the_simplex(found: Alternatives) -> None:
    attention = found.attention.values
    assert attention.min() >= 0
    np.testing.assert_allclose(
        attention.sum(-1),
        np.broadcast_to(found.original.sum("key"), attention.shape[:2]),
        atol=1e-9,
    )


CASES = [
    ("bert", None), ("roberta", None), ("llama", None),
    ("bart", "encoder"), ("bart", "decoder"), ("bart", "cross"),
    ("t5", "encoder"), ("t5", "decoder"), ("t5", "cross"),
]  # fmt: skip


@pytest.mark.parametrize(("family", "kind"), CASES)
def test_alternatives_leave_the_logits_as_they_are(family: str, kind: str | None) -> None:
    """In float64 to 1e-9, and in the precision of the model to 1e-6 of their size.

    Llama takes its softmax in float32 also in float64, which its fast attention does not.
    """
    subject = model(family)
    pair = OTHER if family in ("bart", "t5") else None
    exact = subject.alternatives(
        LONG, pair, layer=1, head=2, number=2, kind=kind, precision="float64"
    )
    in_the_simplex(exact)
    assert exact.dataset.attrs["output"] == "logits"
    assert float(exact.output_difference.max()) < 1e-9 + 1.01 * exact.dataset.attrs["rounding"]
    assert exact.dataset.attrs["rounding"] < (1e-6 if family == "llama" else 1e-12)
    single = subject.alternatives(LONG, pair, layer=1, head=2, kind=kind)
    in_the_simplex(single)
    assert float(single.output_difference.max()) < 1e-6 * single.dataset.attrs["output_size"]
    assert float(single.total_variation.max()) > 1e-3
    assert subject.transformer.dtype == torch.float32
    seen = exact.dataset
    changed = exact.exists.values
    assert (seen["keys"].values[changed] > seen["rank_with_ones"].values[changed]).all()
    assert not (exact.total_variation.values[:, ~changed]).any()


def test_what_a_causal_query_cannot_see_stays_without_weight() -> None:
    found = model("llama").alternatives(LONG, layer=0, head=3, method="farthest", queries=(4, 15))
    attention = found.attention.values[0]
    assert not np.triu(attention, 1).any()
    assert found.exists.values[15]
    assert not found.exists.values[4]  # five tokens, head_dim 8
    assert found.dataset["keys"].values[4] == 5
    assert (attention[4] == found.original.values[4]).all()


def test_grouped_heads_use_the_values_of_their_group() -> None:
    """By the definition: A′ T = A T with T of the group's values."""
    subject = model("llama")
    found = subject.alternatives(LONG, layer=1, head=1, precision="float64")
    records: list[LayerRecord] = []
    with subject.capture(subject.sites_of("decoder", [1])) as recorder:
        recorder.visit = records.append
        subject.run(collate([encode_one(subject.tokenizer, LONG)], pad_id=0))
    site = records[0].site
    group = 1 * site.kv_heads // site.heads
    assert site.kv_heads < site.heads
    t = records[0].value[0, group] @ site.projection.weight[1]
    change = torch.from_numpy((found.attention - found.original).values[0]).float()
    assert change.abs().max() > 1e-3
    assert (change @ t).abs().max() < 1e-5


def test_the_distance_is_as_asked() -> None:
    subject = model("bert")
    whole = subject.alternatives(LONG, layer=0, head=1)
    half = subject.alternatives(LONG, layer=0, head=1, distance=0.5)
    np.testing.assert_allclose(half.total_variation, whole.total_variation / 2, rtol=1e-6)


@pytest.mark.slow
def test_the_farthest_is_farther_than_random_and_within_its_bounds() -> None:
    subject, queries = model("bert"), (2, 7)
    near = subject.alternatives(
        LONG, layer=0, head=1, number=3, queries=queries, precision="float64"
    )
    far = subject.alternatives(
        LONG, layer=0, head=1, number=2, method="farthest", queries=queries, certify=True,
        precision="float64",
    )  # fmt: skip
    chosen = list(queries)
    distance = far.total_variation.values[:, chosen]
    assert (distance[0] >= distance[1]).all()
    assert (distance[0] >= near.total_variation.values[:, chosen].max(0)).all()
    assert (distance[0] <= far.dataset["bound"].values[chosen] + 1e-9).all()
    assert float(far.output_difference.max()) < 1e-8
    in_the_simplex(far)
    others = np.setdiff1d(np.arange(far.exists.size), chosen)
    assert not far.exists.values[others].any()
    assert np.isnan(far.dataset["bound"].values[others]).all()


def test_a_seed_gives_the_same_again_and_another_something_else() -> None:
    subject = model("bert")
    first, again, other = (
        subject.alternatives(LONG, layer=0, head=0, seed=seed) for seed in (3, 3, 4)
    )
    assert first.attention.equals(again.attention)
    assert not np.allclose(first.attention, other.attention, atol=1e-6)


def test_a_short_text_has_no_alternative_and_the_result_says_so() -> None:
    found = model("bert").alternatives(SHORT, layer=0, head=0, number=3)
    assert found.attention.shape[0] == 0
    assert found.output_difference.size == 0
    assert not found.exists.any()
    assert (found.dataset["rank"].values == 6).all()
    assert str(found).startswith("No other attention of encoder head L0H0 gives the same")


@pytest.mark.parametrize("method", ["random", "farthest"])
def test_attention_that_is_one_hot_has_no_alternative(method: str) -> None:
    """Sharp logits: every weight is 0 or 1, though the text is longer than the head is wide."""
    subject = model("bert")
    sharp = Model(subject.transformer, subject.tokenizer, "sharp", "1")
    query = subject.transformer.bert.encoder.layer[0].attention.self.query
    before = query.weight.detach().clone()
    try:
        with torch.no_grad():
            query.weight.mul_(1e5)
            query.bias.mul_(1e5)
        found = sharp.alternatives(LONG, layer=0, head=1, method=method)
    finally:
        with torch.no_grad():
            query.weight.copy_(before)
            query.bias.mul_(1e-5)
    assert set(np.unique(found.original)) == {0.0, 1.0}
    assert (found.dataset["keys"].values > found.dataset["rank_with_ones"].values).all()
    assert not found.exists.any()
    assert str(found).startswith("No other attention")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layer": 2}, "no encoder layer 2"),
        ({"head": 4}, "no head 4"),
        ({"number": 0}, "number must be at least 1"),
        ({"distance": 0.0}, "distance must be above 0"),
        ({"queries": (99,)}, "there is no query 99"),
        ({"kind": "cross"}, "has no cross attention"),
    ],
)
def test_what_cannot_be_found_is_refused_in_a_sentence(
    options: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        model("bert").alternatives(LONG, **{"layer": 0, "head": 0, **options})


@pytest.mark.parametrize("name", ["method", "precision"])
def test_choices_are_checked(name: str) -> None:
    chosen = AlternativeSettings()
    object.__setattr__(chosen, name, "near")  # the types of the tests would refuse it before
    with pytest.raises(UsageError, match=f"no {name} is called 'near'"):
        chosen.__post_init__()


def test_attention_of_a_decoder_needs_a_second_text() -> None:
    with pytest.raises(UsageError, match="needs a second text"):
        model("t5").alternatives(LONG, layer=0, head=0, kind="cross")
