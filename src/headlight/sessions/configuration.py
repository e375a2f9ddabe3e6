"""What repeats a run, as a config file of the command holds it."""

from pathlib import Path
from typing import Any

from headlight.capture import CapturedModel
from headlight.catalogue import Study
from headlight.catalogue.models import EMBEDDED_MODELS, EMBEDDED_NAME
from headlight.settings import StudySettings


def configuration(
    study: Study, source: Any, settings: StudySettings, model: CapturedModel
) -> dict[str, Any]:
    """Everything that repeats a run, as a config file of the command holds it."""
    found: dict[str, Any] = {"study": study.name}
    if isinstance(source, str | Path):
        found["source"] = str(source)
    if model.name != EMBEDDED_NAME:
        found["model"] = model.name
    if (tokenizer := _name_of_another(model)) is not None:
        found["tokenizer"] = tokenizer
    if not model.revision.startswith("sha256:"):  # which is of the weights in a folder
        found["revision"] = model.revision
    found["dtype"] = str(model.transformer.dtype).removeprefix("torch.")
    return found | settings.signature()


def _name_of_another(model: CapturedModel) -> str | None:
    """Where the tokenizer is from, if it did not come with the model."""
    named = str(getattr(model.tokenizer, "name_or_path", ""))
    own = {"", model.name, str(EMBEDDED_MODELS.get(model.name, ""))}
    return None if named in own else named
