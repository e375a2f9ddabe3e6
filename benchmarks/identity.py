"""Token identity: all maps at once against a training loop for each of them.

12 layers, 10 folds and 7 learning rates of linear maps on 20,000 tokens of 256 dimensions. What a
map costs for an epoch does not depend on layer, fold or rate, so a sample is timed: a batch of maps
as the study trains it, and loops of the same fold, both for the same number of epochs.
"""

import statistics
import time

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from headlight.probes.identity_cases import Case, Tokens
from headlight.probes.identity_fitting import fit
from headlight.probes.identity_settings import LEARNING_RATES, IdentitySettings, MapRecipe
from headlight.probes.identity_study import study
from headlight.probes.identity_vectors import TokenVectors

TOKENS, SIZE, SEQUENCES, LAYERS, FOLDS, THREADS = 20_000, 256, 400, 12, 10, 2
MAPS = LAYERS * FOLDS * len(LEARNING_RATES)
EPOCHS, PATIENCE = 4, 20
SAMPLED = 4
"""Layers whose maps are timed; of the loops, every learning rate of one layer."""


def vectors(layers: int = SAMPLED) -> TokenVectors:
    """Hidden tokens that are noisy rotations of the input tokens, noisier in higher layers."""
    generator = np.random.default_rng(0)
    inputs = generator.normal(size=(TOKENS, SIZE)).astype(np.float32)
    rotation = np.linalg.qr(generator.normal(size=(SIZE, SIZE)))[0].astype(np.float32)
    hidden = [
        inputs @ rotation
        + np.float32(0.5 + 0.1 * layer) * generator.normal(size=(TOKENS, SIZE)).astype(np.float32)
        for layer in range(layers)
    ]
    return TokenVectors(inputs, hidden, np.full(SEQUENCES, TOKENS // SEQUENCES))


def settings(loss: str, **recipe: object) -> IdentitySettings:
    """Linear maps of one fold."""
    made = MapRecipe(epochs=EPOCHS, patience=PATIENCE, **recipe)  # type: ignore[arg-type]
    return IdentitySettings(maps=("linear",), losses=(loss,), folds=1, recipe=made)


def batched(tokens: Tokens, how: IdentitySettings) -> float:
    """Seconds for each map and epoch when all are trained by the study, lookup included."""
    began = time.perf_counter()
    study(tokens, how, torch.device("cpu"), None, progress=False)
    return (time.perf_counter() - began) / (SAMPLED * len(how.recipe.rates) * EPOCHS)


def loops(tokens: Tokens, how: IdentitySettings, rates: tuple[float, ...]) -> float:
    """Seconds for each map and epoch of a plain loop over one map at a time."""
    parts = tokens.parts(Case("linear", how.losses[0], 0, 1.0, 0, (0,)))
    sides = [
        (tokens.some(tokens.hidden(0), pairs.source), tokens.some(tokens.goals(0), pairs.goal))
        for pairs in (parts.train, parts.validation)
    ]
    began = time.perf_counter()
    for rate in rates:
        loop(sides[0], sides[1], how.losses[0], rate)
    return (time.perf_counter() - began) / (len(rates) * EPOCHS)


def loop(
    training: tuple[torch.Tensor, torch.Tensor],
    validation: tuple[torch.Tensor, torch.Tensor],
    loss: str,
    rate: float,
) -> None:
    """One map, as it is commonly trained."""
    model = nn.Linear(SIZE, SIZE, bias=False)
    nn.init.xavier_uniform_(model.weight)
    optimiser = torch.optim.Adam(model.parameters(), lr=rate)
    batches = DataLoader(TensorDataset(*training), batch_size=256, shuffle=True)
    best, stale = float("inf"), 0
    weights = model.state_dict()
    for _ in range(EPOCHS):
        for hidden, goals in batches:
            optimiser.zero_grad()
            distance(model(hidden), goals, loss).backward()
            optimiser.step()
        with torch.no_grad():
            found = distance(model(validation[0]), validation[1], loss).item()
        if found < best:
            best, stale = found, 0
            weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        else:
            stale += 1
        if stale == PATIENCE:
            break
    model.load_state_dict(weights)


def distance(predicted: torch.Tensor, goals: torch.Tensor, loss: str) -> torch.Tensor:
    """The mean loss."""
    if loss == "l2":
        return nn.functional.mse_loss(predicted, goals)
    return 1 - nn.functional.cosine_similarity(predicted, goals).mean()


def closed_form(tokens: Tokens, loss: str) -> float:
    """Seconds for each layer and fold with ridge regression, all λ."""
    how = IdentitySettings(maps=("linear",), losses=(loss,), folds=1, solver="ridge")
    began = time.perf_counter()
    fit(tokens, Case("linear", loss, 0, 1.0, 0, (0,)), how, how.recipe)
    return time.perf_counter() - began


def main(count: int = 3) -> list[tuple[str, str, str, str]]:
    """Rows of the table: what, measured, target, remark."""
    torch.set_num_threads(THREADS)
    tokens = Tokens(vectors(), settings("l2"), torch.device("cpu"))
    tokens_cosine = Tokens(vectors(), settings("cosine"), torch.device("cpu"))
    rows = []
    for loss, name, some in (("l2", "L2", tokens), ("cosine", "cosine", tokens_cosine)):
        how = settings(loss)
        fast = settings(loss, precision="medium")
        times = [
            (loops(some, how, LEARNING_RATES[:2]), batched(some, how), batched(some, fast))
            for _ in range(count)
        ]
        one = statistics.median(time[0] for time in times)
        exact, rounded = (
            statistics.median(time[0] / time[place] for time in times) for place in (1, 2)
        )
        ridge = statistics.median(closed_form(some, loss) for _ in range(count))
        rows += [
            (
                f"token identity, {name}: all maps at once, against a loop for each",
                f"{exact:.1f}× faster",
                "≥ 10×",
                f"{MAPS} linear maps, 20,000 × 256; {1e3 * one:.0f} ms per epoch of a loop",
            ),
            (
                f"token identity, {name}: products in bfloat16",
                f"{rounded:.1f}× faster",
                "",
                "precision='medium'",
            ),
            (
                f"token identity, {name}: ridge regression",
                f"{7 * 100 * one / ridge:,.0f}× faster",
                "",
                f"{ridge:.2f} s for a layer and fold, 11 λ, against 7 loops of 100 epochs",
            ),
        ]
    return rows


if __name__ == "__main__":
    for row in main():
        print(*row, sep="\t")
