"""The parts of data that a model is trained with: to learn from, to choose on, to be tried on."""

from typing import Literal

Part = Literal["train", "dev", "test"]
PARTS: tuple[Part, ...] = ("train", "dev", "test")
