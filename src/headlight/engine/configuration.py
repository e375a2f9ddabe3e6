"""The configuration of a run: everything that repeats it."""

from pathlib import Path
from typing import Any

from headlight.capture import CapturedModel
from headlight.catalogue import Study
from headlight.catalogue.embedded_models import EMBEDDED_NAME, embedded_models
from headlight.settings import StudySettings


def configuration(
    study: Study,
    source: Any,
    settings: StudySettings,
    model: CapturedModel,
    corpus_name: str | None = None,
) -> dict[str, Any]:
    """Return everything that repeats a run, as a config file of the command holds it."""
    options: dict[str, Any] = {"study": study.name}
    if isinstance(source, str | Path):
        options["source"] = str(source)
    if model.name != EMBEDDED_NAME:
        options["model"] = model.name
    if (tokenizer := _other_tokenizer_name(model)) is not None:
        options["tokenizer"] = tokenizer
    if not model.revision.startswith("sha256:"):  # which is of the weights in a folder
        options["revision"] = model.revision
    options |= {"name": model.label} if model.label else {}
    options |= {"corpus_name": corpus_name} if corpus_name else {}
    if getattr(model.tokenizer, "split_special_tokens", False):
        options["split_special_tokens"] = True
    options["dtype"] = str(model.transformer.dtype).removeprefix("torch.")
    return options | settings.signature()


def _other_tokenizer_name(model: CapturedModel) -> str | None:
    named = str(getattr(model.tokenizer, "name_or_path", ""))
    model_names = {"", model.name, str(embedded_models().get(model.name, ""))}
    return None if named in model_names else named
