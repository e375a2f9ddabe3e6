"""Train a small ViT that says in which quadrant of a picture the blob is.

``scripts/train_quadrants.py FOLDER`` writes the model with its processor, and in it ``pictures``
that it has not seen; one minute of a processor.  Pictures are generated: grey noise, a few pale
specks, and one bright blob whose place is known, so that what heads look at can be judged.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from scipy.stats import binomtest
from transformers import ViTConfig, ViTForImageClassification, ViTImageProcessorPil

import headlight

SIDE, PATCH = 48, 6
BLOB = 5.0
"""Pixels from the middle of a blob to where it is half as bright."""
NAMES = ("top left", "top right", "bottom left", "bottom right")
STEPS, BATCH = 400, 64
METHODS = ("rollout", "rollout_norm", "rollout_block_norm", "alti", "value_zeroing", "decompx")
"""Methods of flow that are tried."""
SEEN_BY_NONE = 10**9
"""Pictures from this number on are not trained on."""


def draw(number: int) -> tuple[np.ndarray, tuple[float, float]]:
    """Return a picture as ``row column channel`` and the row and column of its blob's middle."""
    random = np.random.default_rng(number)
    rows, columns = np.mgrid[:SIDE, :SIDE]

    def near(row: float, column: float, size: float) -> np.ndarray:
        return np.exp(-((rows - row) ** 2 + (columns - column) ** 2) / size**2)[..., None]

    pixels = random.normal(90, 14, (SIDE, SIDE, 1)) + random.normal(0, 5, (SIDE, SIDE, 3))
    for _ in range(4):
        pixels = pixels + 55 * near(*random.uniform(0, SIDE, 2), 2)
    half = SIDE / 2
    row, column = (random.uniform(7, half - 4) + half * random.integers(0, 2) for _ in range(2))
    pixels = pixels + random.uniform([10, 80, 90], [50, 130, 150]) * near(row, column, BLOB / 0.83)
    return np.clip(pixels, 0, 255).astype(np.uint8), (row, column)


def quadrant(place: tuple[float, float]) -> int:
    """Return the number of the quadrant that a place is in, by `NAMES`."""
    return 2 * (place[0] >= SIDE / 2) + (place[1] >= SIDE / 2)


def train(steps: int = STEPS) -> Any:
    """Return the trained classifier."""
    torch.manual_seed(0)
    config = ViTConfig(
        image_size=SIDE,
        patch_size=PATCH,
        hidden_size=64,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=128,
        hidden_dropout_prob=0.0,
        id2label=dict(enumerate(NAMES)),
        label2id={name: at for at, name in enumerate(NAMES)},
    )
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
        pixels, _ = draw(SEEN_BY_NONE + number)
        Image.fromarray(pixels).save(folder / "pictures" / f"{number:03}.png")
    return folder


def pointing_game(
    model: headlight.Model, numbers: Sequence[int]
) -> tuple[dict[str, np.ndarray], float]:
    """Return how often the patch that gets most of the row of ``cls`` is one of the blob.

    Args:
        model: read from the folder of `write`.
        numbers: of the pictures.

    Returns:
        By measure, for each layer and head, the share of the pictures; and the share of patches
        that are of a blob, which a guess would hit.
    """
    hits: dict[str, list[np.ndarray]] = {"weight": [], "norm": [], "effective": []}
    chance = []
    for number in numbers:
        pixels, place = draw(number)
        reading = model.read(image=Image.fromarray(pixels)).dataset
        of_blob = blob_patches(place)
        chance.append(of_blob.mean())
        for measure, shares in hits.items():
            row = reading[measure].sel(query=0).values[..., 1:]  # without the position of cls
            shares.append(of_blob[row.argmax(-1)])
    return {name: np.mean(each, axis=0) for name, each in hits.items()}, float(np.mean(chance))


def blob_patches(place: tuple[float, float]) -> np.ndarray:
    """Return which patches are of the blob with its middle at a place."""
    middles = PATCH * (np.indices((SIDE // PATCH, SIDE // PATCH)).reshape(2, -1).T + 0.5)
    return np.hypot(*(middles - place).T) <= BLOB + PATCH / 2


def flow_game(model: headlight.Model, numbers: Sequence[int]) -> dict[str, list[bool]]:
    """Return for each picture whether the patch that ``cls`` has most of is one of the blob.

    By each method of flow after the last layer, and by the mean weight of the heads of that layer.
    """
    hits: dict[str, list[bool]] = {}
    for number in numbers:
        pixels, place = draw(number)
        image = Image.fromarray(pixels)
        share = model.flow(image=image, methods=METHODS).dataset["share"].isel(layer=-1, query=0)
        weight = model.read(image=image, layers=[2]).dataset["weight"].sel(query=0).mean("head")
        rows = {name: share.sel(map=name) for name in METHODS} | {"weight": weight.squeeze()}
        for name, row in rows.items():
            hits.setdefault(name, []).append(bool(blob_patches(place)[row.values[1:].argmax()]))
    return hits


def main() -> None:
    """Train, and say how often each head, and each method of flow, points at the blob."""
    folder = write(Path(sys.argv[1]))
    hits, chance = pointing_game(headlight.load(folder), range(SEEN_BY_NONE, SEEN_BY_NONE + 100))
    for name, found in flow_game(
        headlight.load(folder), range(SEEN_BY_NONE, SEEN_BY_NONE + 100)
    ).items():
        ends = binomtest(sum(found), len(found)).proportion_ci()
        print(f"{name}  {np.mean(found):.0%} (95%: {ends.low:.0%} to {ends.high:.0%})")
    print(f"by chance {chance:.0%}")
    for name, shares in hits.items():
        print(name, *(" ".join(f"{share:.0%}" for share in layer) for layer in shares), sep="  ")


if __name__ == "__main__":
    main()
