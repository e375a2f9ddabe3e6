"""Load a model from a hub, a folder, or the package."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import AutoConfig, AutoModel, AutoTokenizer

from headlight.capture.subject import Subject
from headlight.errors import ModelError, UnknownNameError, UsageError

EMBEDDED = Path(__file__).parents[1] / "assets" / "model"
EMBEDDED_NAME = "headlight-small"

DTYPES = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
    "float64": torch.float64,
}

_READ_AT_ONCE = 1 << 22


def load_subject(
    name: str | Path | None = None,
    *,
    revision: str | None = None,
    device: str = "auto",
    dtype: str = "float32",
    trust_remote_code: bool = False,
) -> Subject:
    """Load a model and its tokenizer, ready to be captured.

    Args:
        name: a name on the hub, a folder, or nothing for the embedded model.
        revision: branch, tag or commit on the hub.
        device: ``cpu``, ``cuda``, ``cuda:1``, ``mps``, or ``auto`` for the best there is.
        dtype: precision of the weights: ``float32``, ``bfloat16``, ``float16`` or ``float64``.
        trust_remote_code: run code that comes with the model. Off unless you ask for it.

    Raises:
        ModelError: there is no such model, or its weights are not safetensors.
        UsageError: unknown dtype or device.
    """
    if dtype not in DTYPES:
        raise UnknownNameError("precision", dtype, DTYPES)
    place = _device(device)
    source = str(EMBEDDED if name is None else name)
    options = {"revision": revision, "trust_remote_code": trust_remote_code}
    with _quiet():
        try:
            config = AutoConfig.from_pretrained(source, **options)
            model = AutoModel.from_pretrained(
                source, config=config, dtype=DTYPES[dtype], use_safetensors=True, **options
            )
        except (OSError, ValueError, KeyError, ImportError) as problem:
            raise ModelError(_loading_sentence(source, problem)) from problem
        tokenizer = _tokenizer(source, options)
    label = EMBEDDED_NAME if name is None else str(name)
    return Subject(model.to(place).eval(), tokenizer, label, _revision(source, model))


def _tokenizer(source: str, options: dict[str, Any]) -> Any:
    """The tokenizer, or None for a model of pictures or sound."""
    try:
        return AutoTokenizer.from_pretrained(source, use_fast=True, **options)
    except (OSError, ValueError, KeyError, ImportError, TypeError):
        return None


def _device(name: str) -> torch.device:
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as problem:
        raise UsageError(
            f"there is no device {name!r} here; use cpu, cuda, mps or auto."
        ) from problem
    return device


def _loading_sentence(source: str, problem: Exception) -> str:
    first = str(problem).strip().splitlines()[0] if str(problem).strip() else type(problem).__name__
    if "safetensors" in str(problem):
        return (
            f"{source} has no safetensors weights, and other formats can run code when they are "
            "read; save it with save_pretrained of transformers 5 first."
        )
    folder = Path(source)
    if folder.exists() and not (folder / "config.json").exists():
        return f"{source} holds no config.json; give the folder of a transformers model."
    return f"the model {source!r} cannot be loaded: {first}"


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the progress bars and notes of transformers, which belong to training."""
    log = transformers.utils.logging
    level, bars = log.get_verbosity(), log.is_progress_bar_enabled()
    log.set_verbosity_error()
    log.disable_progress_bar()
    try:
        yield
    finally:
        log.set_verbosity(level)
        if bars:
            log.enable_progress_bar()


def _revision(source: str, model: Any) -> str:
    """The commit on the hub, else a digest of the weights in the folder."""
    commit = getattr(model.config, "_commit_hash", None)
    if commit:
        return str(commit)
    digest = hashlib.sha256()
    for path in sorted(Path(source).glob("*.safetensors")):
        with path.open("rb") as file:
            while block := file.read(_READ_AT_ONCE):
                digest.update(block)
    return f"sha256:{digest.hexdigest()[:16]}"
