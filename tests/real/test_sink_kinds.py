"""The sink of a trained encoder of sentences, which does nothing."""

from pathlib import Path

import headlight
from headlight.findings import sink_kinds
from headlight.findings.survey import survey
from real.models import MODELS, needs_models

pytestmark = needs_models


def test_heads_of_an_encoder_do_nothing_by_the_class_token() -> None:
    options = {"measures": ["weight", "norm"], "numbers": ["sinks"], "progress": False}
    model = Path(str(MODELS)) / "minilm"
    result = headlight.survey(model=model, max_examples=60, max_length=64, **options)
    weight, norm = result["behaviour_share"].sel(behaviour="first").mean(("layer", "head")).values
    assert 0.2 < weight < 0.35
    assert norm < 0.03
    kinds = sink_kinds(result)
    assert len(kinds) > 20
    assert set(kinds["sink_kind"]) == {"no-op"}
    assert survey(result)[-1].endswith("has no loss, without which no head is known to broadcast.")
