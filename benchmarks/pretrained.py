"""The survey of pretrained models on natural text: tokens repeat, as they do not in random ids."""

import os
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib.resources import files
from pathlib import Path

import torch

import headlight
from benchmarks.survey import BATCH, LENGTH, batch, whole_survey
from benchmarks.timing import ratio, rounds
from headlight.capture import Kind
from headlight.processes import keep_freed_memory
from headlight.reading.model import Model

NOTE = f"""Models of `make models`, and the sample text of the package, {BATCH} texts of {LENGTH}
tokens. Processor time in one thread, of one batch more. SmolLM2 is 4-bit weights, written as
float32."""

MODELS: dict[str, tuple[str, Kind, str]] = {
    "smollm2": ("SmolLM2-135M", "decoder", "≤ 1.6×"),
    "minilm": ("MiniLM", "encoder", "≤ 1.8×"),
}
SURVEYS = {
    "survey of weights": ("weight",),
    "survey of weights and norms": ("weight", "norm"),
    "whole survey, with effective attention": ("weight", "norm", "effective"),
}


def natural(model: Model) -> torch.Tensor:
    """Ids of the sample text; where the model has special tokens, one at each end."""
    text = (files("headlight") / "assets" / "sample.txt").read_text(encoding="utf-8")
    tokenizer = model.tokenizer
    assert tokenizer is not None  # noqa: S101 - the folder has one
    given = tokenizer(text, add_special_tokens=False, return_tensors="pt", verbose=False)
    ids: torch.Tensor = given.input_ids[0, : BATCH * LENGTH].view(BATCH, LENGTH).clone()
    if tokenizer.cls_token_id is not None:
        ids[:, 0], ids[:, -1] = tokenizer.cls_token_id, tokenizer.sep_token_id
    return ids


def main(count: int = 5) -> list[tuple[str, str, str, str]]:
    """Rows of the table: what, measured, target, remark."""
    torch.set_num_threads(1)
    keep_freed_memory()
    rows = []
    for name, (title, kind, aim) in MODELS.items():
        folder = Path(os.environ.get("HEADLIGHT_MODELS", "build/models")) / name
        if not folder.exists():
            rows.append((title, "", "", "left out: `make models` fetches it"))
            continue
        model = headlight.load(folder)
        texts = replace(batch(), input_ids=natural(model))
        functions: dict[str, Callable[[], object]] = {
            what: whole_survey(model, texts, kind, measures) for what, measures in SURVEYS.items()
        }
        functions["forward"] = partial(model.run, texts)
        times = rounds(functions, count, time.process_time)
        seconds = statistics.median(times["forward"])
        rows.append((f"{title}, plain forward pass (sdpa)", f"{seconds:.2f} s", "", ""))
        rows += [
            (f"{title}, {what}", f"{ratio(times, what, 'forward'):.2f}×", each, "")
            for what, each in zip(SURVEYS, ("", "", aim), strict=True)
        ]
    return rows


if __name__ == "__main__":
    for row in main():
        print(*row, sep="\t")
