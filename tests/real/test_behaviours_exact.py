"""What heads of a trained decoder do, in float64, against plain loops to 1e-9; and in bfloat16.

The survey itself looks at measures in float32; here its counters are given them as they are.
"""

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch

import headlight
from headlight.capture import LayerRecord
from headlight.catalogue.statistics import FUNCTION_WORDS
from headlight.corpora import Document
from headlight.encode.texts import texts as encode_texts
from headlight.encode.token_categories import word_ids
from headlight.measures import Scores
from headlight.reduce.keyed_sums import UNIT
from headlight.studies.survey.head_behaviours.induction_and_sinks import BehaviourCounter
from headlight.studies.survey.massive_activations import ResidualObserver
from headlight.studies.survey.part_observer import SeenLayer
from headlight.studies.survey.token_types import TokenCounter
from headlight.vocabulary import measure
from real.models import MODELS, needs_models
from real.test_behaviours import TEXT
from studies import behaviours_naive as naive
from studies.row_sums import asked_of, seen_block
from studies.test_behaviours import NAIVE_NAMES
from studies.test_residual import of_text
from studies.test_token_types import naive_sums

pytestmark = needs_models
MEASURES = ("weight", "norm", "effective")
LAYERS = (1, 17)
SECOND = "Mr. Okonkwo said: the tortoise, the tortoise! Mrs. Ravenhill laughed at the keeper again."


def test_every_behaviour_is_that_of_loops_in_float64() -> None:
    model = headlight.load(Path(str(MODELS)) / "smollm2", dtype="float64")
    given = [Document(str(number), (text,)) for number, text in enumerate((TEXT, SECOND))]
    encoded = list(encode_texts(given, model.tokenizer, max_length=90))
    batch = model.collate(encoded)
    known = word_ids(model.tokenizer, FUNCTION_WORDS)
    counter = BehaviourCounter(batch, encoded, "decoder", MEASURES, {"function_words": known})
    asked = asked_of(batch, counter)
    tokens = TokenCounter(batch, "decoder", MEASURES, 1000)
    stream = ResidualObserver(batch, encoded, "decoder")
    kept: dict[int, dict[str, torch.Tensor]] = {}
    states: dict[int, torch.Tensor] = {}

    def visit(record: LayerRecord) -> None:
        scores, layer = Scores(record), record.site.layer
        kept[layer] = {name: scores.of(name).double() for name in MEASURES}
        block = seen_block(asked, kept[layer], 0, compiled=False)
        tokens.note_block(block)
        counter.note_block(block)
        whole = SeenLayer(record, scores, {})
        counter.note_layer(whole)
        tokens.note_layer(whole)
        stream.note_layer(whole)
        assert record.stream is not None
        states[layer] = record.stream

    sites = model.sites_of("decoder", LAYERS)
    with model.capture(sites, stream=True) as recorder:
        recorder.visit = visit
        model.run(batch)
    found = {name: each.compute() for name, each in counter.members().items()}
    of_types = {name: each.compute() for name, each in tokens.members().items()}
    of_stream = {name: each.compute() for name, each in stream.members().items()}
    for at, layer in enumerate(LAYERS):
        for number, name in enumerate(MEASURES):
            share = measure(name).share
            alone, sums = [], []
            for text, example in enumerate(encoded):
                own = slice(len(example.ids))
                score = kept[layer][name][text, :, own, own].numpy()
                kinds = example.ids, example.words, example.categories
                alone.append(naive.of_text(score, *kinds, known, share=share))
                sums.append(naive_sums(score, example, share=share))
            expected = naive.joined(alone)
            for place, behaviour in enumerate(NAIVE_NAMES):
                for part, values in (
                    ("share", found["behaviour"]["ratio"]),
                    ("rest", found["behaviour_rest"]["ratio"]),
                ):
                    np.testing.assert_allclose(
                        values[at, :, number, place], expected[f"{behaviour} {part}"],
                        rtol=1e-9, atol=1e-9, err_msg=behaviour,
                    )  # fmt: skip
            np.testing.assert_allclose(
                found["distance"]["ratio"][at, :, number, 0], expected["distance with"], rtol=1e-9
            )
            _assert_types(of_types, (at, slice(None), number), sums)
        _assert_drain_and_stream(found, of_stream, at, states[layer], encoded)


def _assert_types(of_types, where, sums) -> None:
    """Each sum is a whole number of units, and so is that of loops but for half a unit a text."""
    for side, which in (("key", "gets"), ("query", "gives")):
        counted = of_types[f"token_{side}_sums"]
        assert set(counted["key"].tolist()) == set(sum((each["count"] for each in sums), Counter()))
        for key, row in zip(counted["key"].tolist(), counted["sum"], strict=True):
            wanted = sum(each[which][key] for each in sums)
            np.testing.assert_allclose(row[where], wanted, rtol=0, atol=UNIT)


def _assert_drain_and_stream(found, of_stream, at, states, encoded) -> None:
    alone = [
        of_text(state[: len(each.ids)].numpy()) for state, each in zip(states, encoded, strict=True)
    ]
    for place, name in enumerate(("max", "ratio", "massive", "length")):
        wanted = math.fsum(each[name] for each in alone) / len(alone)
        np.testing.assert_allclose(of_stream["residual"]["mean"][at, place], wanted, rtol=1e-9)
    assert np.isfinite(found["drain"]["mean"]).all()


@pytest.mark.parametrize("dtype", ["bfloat16"])
def test_it_is_surveyed_in_bfloat16(dtype: str) -> None:
    """The capture holds, rows of weights give 1, and what is found is that of float32, roughly."""
    folder = Path(str(MODELS)) / "smollm2"
    options = {"max_examples": 3, "max_length": 64, "progress": False, "layers": [0, 12, 17, 28]}
    model = headlight.load(folder, dtype=dtype)
    assert model.transformer.dtype == torch.bfloat16
    assert 0 < max(site.error for site in model.sites) < 2e-2
    found = headlight.survey(model=model, **options)
    exact = headlight.survey(model=folder, **options)
    weight = found.sel(measure="weight", query_category="all")
    np.testing.assert_allclose(weight["share"].sum("key_category"), 1, atol=4e-3)
    for name, tolerance in (("behaviour_share", 0.05), ("share", 0.05), ("first_share", 0.02)):
        of_both = (each[name].sel(measure=["weight", "norm"]) for each in (found, exact))
        difference = abs(np.subtract(*of_both))
        assert float(difference.mean()) < tolerance / 5
    # What is effective is a part of the weight, and no longer than it.
    assert (found["rank"] <= 64).all()
    out = found["share"].sel(query_category="all").sum("key_category")
    assert (out.sel(measure="effective") <= out.sel(measure="weight") + 0.02).all()
    assert found["residual_dimension"].sel(layer=12) == exact["residual_dimension"].sel(layer=12)
