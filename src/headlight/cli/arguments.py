"""What the words of a command line mean."""

import shlex
import sys
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from headlight.characters import storable
from headlight.errors import UsageError

if TYPE_CHECKING:
    from headlight.capture import CapturedModel


def load(
    model: str | None,
    revision: str | None,
    device: str,
    dtype: str,
    trust_remote_code: bool,
    tokenizer: str | None = None,
    *,
    layers: Collection[int] | None = None,
    head: str = "none",
) -> "CapturedModel":
    """The model, ready to be captured; layers that it cannot have are refused before."""
    from headlight.capture import load_model

    return load_model(
        model,
        tokenizer,
        revision=revision,
        device=device,
        dtype=dtype,
        trust_remote_code=trust_remote_code,
        layers=layers,
        head=head,
    )


def names(spec: str) -> list[str]:
    """The names in ``weight,norm``."""
    return [name.strip() for name in spec.split(",") if name.strip()]


def command_line() -> str:
    """What was typed, as it can be typed again."""
    return storable(shlex.join(["headlight", *sys.argv[1:]]))


def demand_place(path: Path | None, suffix: str) -> None:
    """Complain before the work about a file that could not be written after it."""
    if path is None:
        return
    if path.suffix != suffix:
        raise UsageError(f"{path}: the name of this file must end in {suffix}.")
    if not path.parent.is_dir():
        raise UsageError(f"{path}: there is no folder {path.parent}; create it first.")
    if path.is_dir():
        raise UsageError(f"{path} is a folder; give the name of a file.")
