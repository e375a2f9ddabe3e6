"""Train a small ViT that says in which quadrant of a picture the blob is.

``scripts/train_quadrants.py FOLDER`` writes the model with its processor, and beside it
``pictures`` with examples; one minute on two cores.  Pictures are generated: coloured noise, a few
pale specks, and one bright blob whose place is known, so that what heads look at can be judged.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from transformers import ViTConfig, ViTForImageClassification, ViTImageProcessorPil

SIDE, PATCH = 48, 6
BLOB = 5.0
"""Pixels from the middle of a blob to where it is half as bright."""
NAMES = ("top left", "top right", "bottom left", "bottom right")
STEPS, BATCH = 400, 64


def draw(number: int) -> tuple[np.ndarray, tuple[float, float]]:
    """Return a picture as ``row column channel`` and the row and column of its blob's middle."""
    random = np.random.default_rng(number)
    pixels = random.normal(95, 22, (SIDE, SIDE, 3))
    rows, columns = np.mgrid[:SIDE, :SIDE]
    for _ in range(4):
        row, column = random.uniform(0, SIDE, 2)
        near = np.exp(-((rows - row) ** 2 + (columns - column) ** 2) / 4)
        pixels += 60 * near[..., None]
    half = SIDE / 2
    row, column = (random.uniform(7, half - 4) + half * random.integers(0, 2) for _ in range(2))
    shade = np.exp(-((rows - row) ** 2 + (columns - column) ** 2) / (2 * BLOB**2) * 1.4)
    colour = random.uniform([120, 60, -60], [160, 120, 10])
    pixels += shade[..., None] * colour
    return np.clip(pixels, 0, 255).astype(np.uint8), (row, column)


def quadrant(place: tuple[float, float]) -> int:
    """Return the number of the quadrant that a place is in, by `NAMES`."""
    return 2 * (place[0] >= SIDE / 2) + (place[1] >= SIDE / 2)


def train(steps: int = STEPS) -> Any:
    """Return the trained classifier."""
    torch.manual_seed(0)
    config = ViTConfig(
        image_size=SIDE, patch_size=PATCH, hidden_size=64, num_hidden_layers=3,
        num_attention_heads=4, intermediate_size=128, hidden_dropout_prob=0.0,
        id2label=dict(enumerate(NAMES)), label2id={name: at for at, name in enumerate(NAMES)},
    )  # fmt: skip
    model = ViTForImageClassification(config)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, steps)
    for step in range(steps):
        pixels, labels = batch(range(step * BATCH, (step + 1) * BATCH))
        loss = model(pixels, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return model.eval()


def batch(numbers: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return pictures as the model is given them, and their quadrants."""
    drawn = [draw(number) for number in numbers]
    pixels = torch.tensor(np.stack([each for each, _ in drawn])).permute(0, 3, 1, 2)
    return pixels / 127.5 - 1, torch.tensor([quadrant(place) for _, place in drawn])


def write(folder: Path, *, steps: int = STEPS, examples: int = 40) -> Path:
    """Train, and write the model with its processor and some pictures that it has not seen."""
    model = train(steps)
    model.save_pretrained(folder)
    size = {"height": SIDE, "width": SIDE}
    ViTImageProcessorPil(size=size).save_pretrained(folder)
    (folder / "pictures").mkdir(exist_ok=True)
    for number in range(examples):
        pixels, _ = draw(10**9 + number)
        Image.fromarray(pixels).save(folder / "pictures" / f"{number:03}.png")
    return folder


if __name__ == "__main__":
    print(write(Path(sys.argv[1])))
