"""What the words of a command line mean."""

import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from headlight.errors import UsageError

if TYPE_CHECKING:
    from headlight.attribution_settings import AttributionSettings
    from headlight.capture import CapturedModel

LAYER_RANGE = re.compile(r"([0-9]{1,4})(?:-([0-9]{1,4}))?")


def load(
    model: str | None,
    revision: str | None,
    device: str,
    dtype: str,
    trust_remote_code: bool,
    head: str = "none",
) -> "CapturedModel":
    """The model, ready to be captured."""
    from headlight.capture import load_model

    return load_model(
        model,
        revision=revision,
        device=device,
        dtype=dtype,
        trust_remote_code=trust_remote_code,
        head=head,
    )


def attribution_settings(
    *, wanted: bool, exact: bool, probes: int | None
) -> "AttributionSettings | None":
    """How contributions of input tokens are computed, if they are.

    Raises:
        UsageError: the options contradict one another, or say how to do what is not asked for.
    """
    if exact and probes is not None:
        raise UsageError("--exact contributions need no --probes; choose one of the two.")
    if not wanted:
        if exact or probes is not None:
            raise UsageError(
                "--exact and --probes say how contributions are computed, and they are not asked "
                "for; add the measure attribution."
            )
        return None
    from headlight.attribution_settings import AttributionSettings

    if exact:
        return AttributionSettings(method="exact")
    return AttributionSettings() if probes is None else AttributionSettings(directions=probes)


def layer_numbers(spec: str | None) -> tuple[int, ...] | None:
    """The numbers in ``0,3-5``.

    Raises:
        UsageError: it cannot be read.
    """
    if spec is None:
        return None
    layers: set[int] = set()
    for part in spec.split(","):
        match = LAYER_RANGE.fullmatch(part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last:
            raise UsageError(
                f"--layers {spec!r}: {part!r} is no layer; write something like 0,3-5."
            )
        layers.update(range(first, last + 1))
    return tuple(sorted(layers))


def names(spec: str) -> list[str]:
    """The names in ``weight,norm``."""
    return [name.strip() for name in spec.split(",") if name.strip()]


def command_line() -> str:
    """What was typed, as it can be typed again."""
    return printable(shlex.join(["headlight", *sys.argv[1:]]))


def printable(text: str | Path) -> str:
    """Text that can be shown and stored, whatever bytes the names of files hold."""
    return str(text).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
