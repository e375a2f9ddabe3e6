"""Every study that is installed, on what is read in a moment."""

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from example_data import TRANSLATIONS
from headlight.capture import CapturedModel, MaskedLanguageModel
from studies.classifiers import classifier
from studies.models import VOCABULARY, model, texts
from studies.test_gradient import with_head
from translators import FAMILIES

MASKED = MaskedLanguageModel(
    mask_id=3, vocabulary=len(VOCABULARY), special_ids=frozenset(range(4)), rate=0.3
)


@dataclass(frozen=True)
class Victim:
    """A study on what is read in a moment.

    Its settings are the smallest, but for those that change what is written while it runs.
    """

    changed: dict[str, Any] = field(default_factory=dict)
    source: Callable[[], Any] = lambda: texts(14, longest=8)
    with_head: bool = False
    translates: bool = False
    classifies: bool = False
    decodes: bool = False

    @property
    def model(self) -> CapturedModel:
        if self.decodes:
            found = with_head("llama")
            found.transformer.config.max_position_embeddings = 256  # which are computed
            return found
        if self.classifies:
            return classifier()
        if self.translates:
            return FAMILIES["marian"].model(head=True)
        return with_head("bert") if self.with_head else model("bert")

    @property
    def options(self) -> dict[str, Any]:
        return {"objective": MASKED} if self.with_head else {}


def translations(count: int) -> list[tuple[tuple[str, str], str]]:
    """Pairs and their links, again and again."""
    rows = [((source, target), links) for source, target, links in TRANSLATIONS]
    return [rows[at % len(rows)] for at in range(count)]


VICTIMS = {
    "survey": Victim({"token_types": 20}, with_head=True),
    "distances": Victim({"measures": ["weight"]}),
    "ablation": Victim(with_head=True),
    "flow": Victim({"methods": ["rollout", "globenc", "alti", "mixing"]}),
    "circuits": Victim({"tokens": 4}, decodes=True),
    "faithfulness": Victim({"maps": ["weight", "leave_one_out"]}, classifies=True),
}

if find_spec("headlight_words"):
    VICTIMS |= import_module("studies.word_victims").VICTIMS
if find_spec("headlight_papers"):
    VICTIMS |= import_module("studies.paper_victims").VICTIMS
