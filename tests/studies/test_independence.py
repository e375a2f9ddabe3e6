"""What a result must not depend on: batches, order, shards, the side of padding."""

import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import xarray

from headlight.capture import CapturedModel
from headlight.corpora import Document
from headlight.encode import Encoded, texts as encode_texts
from headlight.encode.batch import collate
from headlight.engine.plan import Pass
from headlight.engine.shard_runner import BatchJob
from headlight.engine.text_plan import plan_text_study
from headlight.observations.positions import Positions
from headlight.studies.survey import SurveySettings
from headlight.studies.survey.observer import HeadsObserver
from headlight.studies.survey.part import Outcome
from headlight.studies.survey.study import dataset, run as survey
from studies.models import documents, model, texts


def assert_equal(one: xarray.Dataset, other: xarray.Dataset, **tolerance: float) -> None:
    assert set(one.data_vars) == set(other.data_vars)
    for name in one.data_vars:
        if one[name].dtype.kind in "OU":
            assert one[name].values.tolist() == other[name].values.tolist()
            continue
        np.testing.assert_allclose(one[name], other[name], err_msg=str(name), **tolerance)


CLOSE = {"rtol": 1e-5, "atol": 1e-5}


@pytest.mark.slow
def test_neither_batches_nor_the_order_of_documents_change_the_result():
    found, corpus = model("llama"), texts(5, longest=14)
    alone = survey(corpus, found, SurveySettings(batch_tokens=1), progress=False)
    for tokens in (50, 100_000):
        together = survey(corpus, found, SurveySettings(batch_tokens=tokens), progress=False)
        assert_equal(together, alone, **CLOSE)
        assert together.attrs["corpus_digest"] == alone.attrs["corpus_digest"]
    shuffled = [corpus[i] for i in np.random.default_rng(0).permutation(len(corpus))]
    assert_equal(survey(shuffled, found, progress=False), alone, **CLOSE)


@pytest.mark.slow
def test_batches_of_two_texts_do_not_change_the_result():
    found, corpus = model("bart"), [" \n\n ".join(d.paragraphs) for d in documents(4)]
    for kind in ("decoder", "cross"):
        settings = SurveySettings(pairs=True, max_length=32, kind=kind, batch_tokens=1)
        alone = survey(corpus, found, settings, progress=False)
        together = survey(corpus, found, replace(settings, batch_tokens=10**6), progress=False)
        assert_equal(together, alone, **CLOSE)


@pytest.mark.slow
def test_the_size_of_shards_does_not_change_the_result(monkeypatch):
    found, corpus = model("bert"), texts(10, seed=4)
    whole = survey(corpus, found, progress=False)
    monkeypatch.setattr(sys.modules["headlight.engine.passes"], "BatchJob", _with_shards_of(3))
    assert_equal(survey(corpus, found, progress=False), whole, **CLOSE)


def _with_shards_of(size: int):
    def made(**options):
        return BatchJob(**{**options, "shard_size": size})

    return made


def observed(found: CapturedModel, examples: Sequence[Encoded], side: str) -> xarray.Dataset:
    """One batch of them, padded on a side."""
    kind = found.kinds[0]
    batch = collate(examples, pad_id=0, side=side)
    observer = HeadsObserver(*Positions.for_kind(batch, kind), kind, "include")
    with found.capture(found.sites_of(kind)) as recorder:
        recorder.visit = observer.visit
        found.run(batch, side=side)
    plan = plan_text_study("survey", "", texts(1), found, SurveySettings())
    one = Pass(("weight", "norm", "effective"))
    return dataset(Outcome(plan, one, SurveySettings(), observer.tally()))


@pytest.mark.parametrize("family", ["bert", "roberta", "llama"])
def test_padding_on_the_left_gives_what_padding_on_the_right_gives(family):
    found = model(family)
    given = [Document(f"text {i}", (text,)) for i, text in enumerate(texts(5, longest=16, seed=5))]
    examples = list(encode_texts(given, found.tokenizer, max_length=64))
    assert len({len(example.ids) for example in examples}) > 3
    right, left = (observed(found, examples, side) for side in ("right", "left"))
    assert_equal(left, right, **CLOSE)
