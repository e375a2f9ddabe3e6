"""Induction on a trained decoder: the head that attends to the token before is why it happens."""

from pathlib import Path

import pytest

import headlight
from real.models import MODELS, needs_models

pytestmark = needs_models

TEXT = "Mary met John in the garden, and later in the evening Mary met"


@pytest.fixture(scope="module")
def model():
    assert MODELS is not None
    return headlight.load(Path(MODELS) / "smollm2")


@pytest.mark.parametrize(("layer", "head"), [(17, 3), (18, 6), (18, 7)])
def test_induction_heads_find_what_the_previous_token_head_wrote(model, layer, head):
    found = model.explain(TEXT, layer=layer, head=head, query=-1, key=2)
    frame = found.to_dataframe("key")
    score = float(found.dataset["score"])
    assert frame["score"].sum() == pytest.approx(score, abs=1e-3)
    heads = frame[frame["kind"] == "head"]
    first = heads.iloc[0]
    assert first["part"] == "L16H0"
    assert first["score"] > 0
    assert first["takes from"].strip().startswith("met")


def test_routes_go_through_both(model):
    routes = model.routes(TEXT).dataset
    parts = routes.isel(part=(routes["share"] >= 0.02).values)
    layers = routes["layer"].values[parts["part_layer"].values]
    rest = (parts[f"part_{name}"].values for name in ("head", "query", "key"))
    found = set(zip(layers.tolist(), *(each.tolist() for each in rest), strict=True))
    last = routes.sizes["query"] - 1
    assert (18, 6, last, 2) in found  # from John
    assert (16, 0, 2, 1) in found  # where "met" was brought
