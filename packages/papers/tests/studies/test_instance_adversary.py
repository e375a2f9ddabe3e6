"""The most different attention with nearly the same prediction, checked in the model itself."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import headlight
from headlight.capture import CapturedModel, attention_replaced
from headlight.engine.labelled_texts import Classified
from headlight.errors import MissingHeadError, UsageError
from headlight.measures.adversaries import AdversarySearch
from headlight.observations.classifier_outputs import LabelPositions
from headlight.observations.positions import Texts
from headlight_papers.studies.instance_adversary import InstanceAdversarySettings
from headlight_papers.studies.instance_adversary.search import InstanceSearch
from headlight_papers.studies.instance_adversary.study import (
    InstanceAdversaryStudy,
    InstanceObserver,
)
from studies.classifiers import classifier, labelled, tagged
from studies.intervals import agrees
from studies.models import model

QUICK: dict[str, Any] = {"progress": False, "steps": 6}


def divergence(p: np.ndarray, q: np.ndarray) -> float:
    """JSD of two rows, key by key."""
    total = 0.0
    for a, b in zip(p.tolist(), q.tolist(), strict=True):
        for one in (a, b):
            total += one * math.log(2 * one / (a + b)) / 2 if one > 0 else 0
    return total


def calm(made: CapturedModel) -> CapturedModel:
    """The classifier, less sure of its predictions."""
    network: Any = made.transformer
    with torch.no_grad():
        network.classifier.weight *= 0.05
        network.classifier.bias.zero_()
    return made


def observed(made: CapturedModel, data: Any, **settings: Any) -> tuple[InstanceObserver, Any]:
    asked = InstanceAdversarySettings(**settings)
    study = InstanceAdversaryStudy(data, made, asked)
    examples: list[Classified] = list(study.plan.examples)
    batch = made.collate(examples)
    return study.observe(study.plan, batch, examples), (batch, examples, study.plan.sites)


@pytest.mark.parametrize("head", [None, 1])
@pytest.mark.parametrize("tokens", [False, True])
def test_what_is_found_has_nearly_the_same_answer(tokens: bool, head: int | None) -> None:
    """In a pass with this attention, text by text; rows that are padding stay as they are."""
    made, data = calm(classifier(tokens)), (tagged if tokens else labelled)(3)
    observer, (batch, examples, sites) = observed(made, data, exact="none")
    positions = LabelPositions(examples, "cpu")
    with made.capture(sites) as recorder:
        recorder.visit = observer._look
        before = positions.probabilities(made, batch)
    parts = [part if head is None else part.of_head(head) for part in observer._free.values()]
    search = InstanceSearch(made, batch, positions, before, AdversarySearch(steps=12))
    found = search.run(parts)
    rows = torch.split_with_sizes(
        found.weight, [part.weight.shape[1] * part.weight.shape[2] for part in parts], 1
    )
    replaced: dict[Any, torch.Tensor] = {}
    for part, each in zip(parts, rows, strict=True):
        layer = part.site.layer
        replaced[layer if head is None else (layer, head)] = (
            each.unflatten(1, part.weight.shape[1:3]) if head is None else each
        )
    with attention_replaced(made, replaced):
        after = positions.probabilities(made, batch)
    moved = positions.by_text((after - before).abs().sum(-1).numpy() / 2)
    np.testing.assert_allclose(moved, found.moved, atol=1e-6)
    assert (moved <= 0.05).all()
    own = torch.cat([part.weight.flatten(1, 2) for part in parts], 1)
    real = Texts.of(batch, examples, "encoder").queries.repeat(
        1, own.shape[1] // batch.input_ids.shape[1]
    )
    for text in range(3):
        pairs = zip(found.weight[text][real[text]], own[text][real[text]], strict=True)
        apart = [divergence(new.double().numpy(), old.double().numpy()) for new, old in pairs]
        assert float(found.jsd[text]) == pytest.approx(np.mean(apart), abs=1e-5)
        assert torch.equal(found.weight[text][~real[text]], own[text][~real[text]])
    assert bool((found.jsd > 0.05).all())


@pytest.mark.slow
def test_places_are_all_layers_one_and_a_head() -> None:
    made, data = calm(classifier()), labelled(3)
    options: dict[str, Any] = {**QUICK, "steps": 2}
    result = headlight.instance_adversary(data, model=made, by=("all", "layer", "head"), **options)
    assert result.layer_jsd.shape == (2,)
    assert result.head_jsd.shape == (2, 4)
    assert result.points.shape == (3, 5, 11)
    assert (result.moved <= 0.05).all()
    assert (result.points.sel(quantity="jsd").mean("point")[0] == result.jsd).all()
    np.testing.assert_allclose(result.layer_exact_jsd, result.head_exact_jsd.mean("head"))
    np.testing.assert_allclose(result.exact_jsd, result.layer_exact_jsd.mean("layer"))
    assert result.predicted_class_texts.sum() == 3


@pytest.mark.parametrize("exact", ["corner", "farthest"])
def test_exact_alternatives_change_nothing(exact: str) -> None:
    """They exist where a text has more tokens than [T, 1] has independent columns."""
    made = calm(classifier())
    width = made.sites[0].head_dim
    data = [(" ".join(["cat the dog"] * width), "good")]
    options: dict[str, Any] = {"model": made, "layers": (1,), "exact": exact, **QUICK}
    options["steps"] = 1
    result = headlight.instance_adversary(data, rows="first", **options)
    assert float(result.exact_moved) < 1e-5
    assert 0 < float(result.exact_jsd) <= math.log(2)
    assert 0 < float(result.exact_rows) <= 1
    short = headlight.instance_adversary([("cat", "good")], **options)
    assert float(short.exact_jsd) == float(short.exact_rows) == 0


@pytest.mark.parametrize("rows", ["first", "last"])
def test_only_some_rows_may_change(rows: str) -> None:
    made, data = calm(classifier()), labelled(2)
    observer, (batch, examples, sites) = observed(made, data, exact="none", rows=rows)
    with made.capture(sites) as recorder:
        recorder.visit = observer._look
        made.run(batch)
    for part in observer._free.values():
        for text, example in enumerate(examples):
            free = np.flatnonzero(part.keys[text, 0].any(-1))
            assert free.tolist() == [0 if rows == "first" else len(example.ids) - 1]


@pytest.mark.slow
def test_nothing_depends_on_batches() -> None:
    made, data = calm(classifier()), labelled(4)
    options: dict[str, Any] = {"model": made, **QUICK, "layers": (1,)}
    whole = headlight.instance_adversary(data, **options)
    parts = headlight.instance_adversary(data, batch_tokens=30, **options)
    for name in whole.data_vars:
        if name != "exact_moved":  # rounding
            np.testing.assert_allclose(whole[name], parts[name], atol=2e-4, err_msg=str(name))
    found = whole.points.sel(quantity="jsd", place="all").values
    agrees(whole, "jsd", found, np.ones_like(found))


@pytest.mark.slow
def test_a_run_is_kept_and_reported(tmp_path: Path) -> None:
    options: dict[str, Any] = {"model": classifier(), "by": ["layer"], **QUICK, "exact": "none"}
    result = headlight.instance_adversary(labelled(4), out=tmp_path, **options)
    again = headlight.instance_adversary(labelled(4), out=tmp_path, resume=True, **options)
    assert result.identical(again)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "It is a lower bound: what is not found may exist." in page
    assert set(result.headlight.tables) == {"layers", "texts", "largest"}


@pytest.mark.slow
def test_a_tagger_has_no_answer_of_a_text() -> None:
    result = headlight.instance_adversary(tagged(2), model=classifier(tokens=True), **QUICK)
    assert "predicted_class" not in result.coords
    assert set(result.headlight.tables) == {"all", "texts", "largest"}
    assert (result.points.sel(quantity="predicted_class") == -1).all()


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"by": ()}, "by is"),
        ({"margin": 0.2}, "the margin is 0.2 and epsilon 0.05"),
        ({"epsilon": 0.0}, "epsilon must be above 0"),
        ({"layers": (7,)}, "no encoder layer 7"),
    ],
)
def test_wrong_requests(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        headlight.instance_adversary(labelled(2), model=classifier(), progress=False, **settings)


def test_a_model_without_a_head_is_refused() -> None:
    with pytest.raises(MissingHeadError, match="has no classification head"):
        headlight.instance_adversary(labelled(2), model=model("bert"), progress=False)
