"""What a study can know to be missing is refused before the model runs, which may take hours."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from headlight.capture import CapturedModel
from headlight.catalogue import studies
from headlight.encode import sentences
from headlight.errors import HeadlightError
from studies.models import model, texts


@dataclass(frozen=True)
class Lack:
    """A study that lacks something, and what it says."""

    study: str
    source: Callable[[CapturedModel], Any]
    says: str
    settings: dict[str, Any] = field(default_factory=dict)


def bare() -> Any:
    """Sentences without trees and tags."""
    from studies.test_dependency import trees  # which needs headlight-words

    return [replace(sentence, heads=(), relations=(), upos=()) for sentence in trees(20)]


def bank(count: int, seed: int) -> Any:
    from studies.test_parser_probes import bank  # which needs headlight-words

    return bank(count, seed)


LACKS = {
    "ranks": Lack("survey", lambda _: texts(4), "file:1: three whole numbers",
                  {"numbers": ["ranks"], "frequency_ranks": "{file}", "sinks": "on"}),
    "sequences": Lack("token_identity", lambda _: texts(2), "2 sequences cannot be split"),
    "tags": Lack("attribution", lambda made: sentences(bare(), made.tokenizer, max_length=32),
                 "no tags in 'upos'", {"tags": "upos"}),
    "governors": Lack("dependency", lambda _: bare(), "has no heads"),
    "trees": Lack("parser_probes", lambda _: bare(), "has no heads"),
    "vectors": Lack("parser_probes", lambda _: bank(20, 0), "file:1: the word has 0 numbers",
                    {"word_vectors": "{file}"}),
    "embeddings": Lack("parser_probes", lambda _: bank(20, 0), "has no input embeddings; give a",
                       {"probes": ["attention_and_words"]}),
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in LACKS if LACKS[name].study in studies()])
def test_what_is_missing_is_told_before_the_model_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unwanted(*_: object, **__: object) -> None:
        raise AssertionError("the model has run")

    lack, made = LACKS[name], model("bert")
    file = tmp_path / "file"
    file.write_text("damaged\n")
    if name == "embeddings":
        made.transformer.get_input_embeddings = lambda: None
    monkeypatch.setattr(CapturedModel, "run", unwanted)
    given = {
        key: value.format(file=file) if isinstance(value, str) else value
        for key, value in lack.settings.items()
    }
    study = studies()[lack.study]
    with pytest.raises(HeadlightError, match=lack.says):
        study.run(lack.source(made), made, study.settings.from_mapping(given), progress=False)
