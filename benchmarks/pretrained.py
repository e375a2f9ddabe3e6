"""The survey of pretrained models as a user runs it: what a batch more costs, and what any does."""

import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from importlib.resources import files
from pathlib import Path

import numpy as np
import torch

import headlight
from benchmarks.timing import rounds
from headlight.encode import encode_one
from headlight.processes import keep_freed_memory
from headlight.reading.model import Model

BATCH, LENGTH, CUT = 16, 128, 120
SIZES = (16, 48, 80)
"""Texts of the surveys, whose times lie on a line over batches."""

NOTE = f"""`headlight.survey(texts, model=model, max_length={LENGTH})`, with all else as it comes,
of models of `make models` on pieces of the sample text of some {CUT} tokens, {BATCH} to a batch.
Processor time in one thread, over that of the plain forward pass of a batch (sdpa). Surveys of
{SIZES[0]}, {SIZES[1]} and {SIZES[2]} texts are timed: *a batch more* is the slope of their line,
and *fixed* is where it begins, for which no batch is read. SmolLM2 is 4-bit weights, written as
float32."""

MODELS: dict[str, tuple[str, tuple[str, str, str]]] = {
    "smollm2": ("SmolLM2-135M", ("≤ 1.10×", "≤ 1.20×", "≤ 1.40×")),
    "minilm": ("MiniLM", ("≤ 1.15×", "≤ 1.35×", "≤ 1.6×")),
}
SURVEYS: dict[str, tuple[str, ...]] = {
    "weights": ("weight",),
    "weights and norms": ("weight", "norm"),
    "the default: effective attention as well": ("weight", "norm", "effective"),
}


def natural(model: Model, number: int) -> list[str]:
    """Return pieces of the sample text, so long that a batch holds `BATCH` of them."""
    text = (files("headlight") / "assets" / "sample.txt").read_text(encoding="utf-8")
    tokenizer = model.tokenizer
    assert tokenizer is not None  # noqa: S101 - the folder has one
    ids = tokenizer(text, add_special_tokens=False, verbose=False).input_ids
    pieces = [ids[first : first + CUT] for first in range(0, number * CUT, CUT)]
    return [tokenizer.decode(piece) for piece in pieces]


def rows_of(title: str, aims: tuple[str, ...], model: Model, count: int) -> list[tuple[str, ...]]:
    """Return the rows of one model: slopes of all surveys, and where the lines begin."""
    texts = natural(model, max(SIZES))
    examples = [encode_one(model.tokenizer, text) for text in texts[:BATCH]]
    functions: dict[str, Callable[[], object]] = {
        "forward": partial(model.run, model.collate(examples)),
        "check": partial(model.verify_on, examples),
    }
    for what, measures in SURVEYS.items():
        options = {"measures": measures, "max_length": LENGTH, "progress": False}
        for size in SIZES:
            survey = partial(headlight.survey, texts[:size], model=model, **options)
            functions[f"{what} {size}"] = survey
    times = rounds(functions, count, time.process_time)
    forward, check = np.array(times["forward"]), np.array(times["check"])
    seconds = f"{statistics.median(forward):.2f} s"
    rows = [(f"{title}, plain forward pass (sdpa)", seconds, "", f"{BATCH} texts")]
    for (what, _), aim in zip(SURVEYS.items(), aims, strict=True):
        of_sizes = np.array([times[f"{what} {size}"] for size in SIZES]) / forward
        more, fixed = np.polyfit(np.array(SIZES) / BATCH, of_sizes, 1)
        beyond = statistics.median(fixed - check / forward)
        remark = f"fixed {statistics.median(fixed):.2f}×, of which beyond the check {beyond:.2f}×"
        slope = f"{statistics.median(more):.2f}×"
        rows.append((f"{title}, a batch more of {what}", slope, aim, f"{remark} (aim ≤ 0.3×)"))
    return rows


def main(count: int = 3) -> list[tuple[str, ...]]:
    """Return the rows of the table: what, measured, target, remark."""
    torch.set_num_threads(1)
    keep_freed_memory()
    rows: list[tuple[str, ...]] = []
    for name, (title, aims) in MODELS.items():
        folder = Path(os.environ.get("HEADLIGHT_MODELS", "build/models")) / name
        if folder.exists():
            rows += rows_of(title, aims, headlight.load(folder), count)
        else:
            rows.append((title, "", "", "left out: `make models` fetches it"))
    return rows


if __name__ == "__main__":
    for row in main():
        print(*row, sep="\t")
