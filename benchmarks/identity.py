"""Token identity: all maps at once against a training loop for each of them.

12 layers, 10 folds and 7 learning rates of linear maps on 20,000 tokens of 256 dimensions. What a
map costs for an epoch does not depend on layer, fold or rate, so a sample is timed: maps of two
layers and all rates as the study trains them, and a loop over one map, for the same epochs.
"""

import statistics
import time

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from headlight.processes import keep_freed_memory
from headlight_papers.studies.token_identity import (
    LEARNING_RATES,
    MapTrainingSettings,
    TokenIdentitySettings,
)
from headlight_papers.studies.token_identity.cases import Case, Tokens
from headlight_papers.studies.token_identity.extraction import TokenVectors
from headlight_papers.studies.token_identity.outcomes import evaluate_maps
from headlight_papers.studies.token_identity.training import fit

TOKENS, SIZE, SEQUENCES, LAYERS, FOLDS, THREADS = 20_000, 256, 400, 12, 10, 2
MAPS = LAYERS * FOLDS * len(LEARNING_RATES)
PATIENCE = 20
EPOCHS = 50
"""For so many epochs times are reported; with patience 20 no map is done before 21."""
SAMPLED = 2
"""Layers whose maps are timed: one for each thread."""
AIMS = {"l2": 12, "cosine": 10}
FEW, MORE = 2, 6
"""Epochs that are timed; what does not depend on them is told apart by the difference."""


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


def settings(loss: str, epochs: int, precision: str = "highest") -> TokenIdentitySettings:
    """Linear maps of one fold."""
    how = MapTrainingSettings(epochs=epochs, patience=PATIENCE, precision=precision)
    return TokenIdentitySettings(maps=("linear",), losses=(loss,), folds=1, training=how)


def batched(tokens: Tokens, loss: str, precision: str) -> float:
    """Seconds for each map when all are trained by the study; its preparation and lookup too."""
    seconds = []
    for epochs in (FEW, MORE):
        began = time.perf_counter()
        evaluate_maps(tokens, settings(loss, epochs, precision), torch.device("cpu"))
        seconds.append(time.perf_counter() - began)
    each = (seconds[1] - seconds[0]) / (MORE - FEW)
    return (seconds[1] + each * (EPOCHS - MORE)) / (SAMPLED * len(LEARNING_RATES))


def loops(tokens: Tokens, loss: str) -> float:
    """Seconds for a map in a plain loop over one map at a time, without any lookup."""
    parts = tokens.parts(Case("linear", loss, 0, 1.0, 0, (0,)))
    sides = [
        (tokens.some(tokens.hidden(0), pairs.source), tokens.some(tokens.goals(0), pairs.goal))
        for pairs in (parts.train, parts.validation)
    ]
    began = time.perf_counter()
    loop(sides[0], sides[1], loss, LEARNING_RATES[1], FEW)
    return (time.perf_counter() - began) / FEW * EPOCHS


def loop(
    training: tuple[torch.Tensor, torch.Tensor],
    validation: tuple[torch.Tensor, torch.Tensor],
    loss: str,
    rate: float,
    epochs: int,
) -> None:
    """One map, as it is commonly trained."""
    model = nn.Linear(SIZE, SIZE, bias=False)
    nn.init.xavier_uniform_(model.weight)
    optimiser = torch.optim.Adam(model.parameters(), lr=rate)
    batches = DataLoader(TensorDataset(*training), batch_size=256, shuffle=True)
    best, stale = float("inf"), 0
    weights = model.state_dict()
    for _ in range(epochs):
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
    how = TokenIdentitySettings(maps=("linear",), losses=(loss,), folds=1, solver="ridge")
    began = time.perf_counter()
    fit(tokens, Case("linear", loss, 0, 1.0, 0, (0,)), how, how.training)
    return time.perf_counter() - began


def main(count: int = 3) -> list[tuple[str, str, str, str]]:
    """Rows of the table: what, measured, target, remark."""
    torch.set_num_threads(THREADS)
    keep_freed_memory()  # as the command line does
    rows = []
    for loss, name in (("l2", "L2"), ("cosine", "cosine")):
        tokens = Tokens(vectors(), settings(loss, FEW), torch.device("cpu"))
        closed_form(tokens, loss)  # warms up
        times = [
            (
                loops(tokens, loss),
                batched(tokens, loss, "highest"),
                batched(tokens, loss, "medium"),
                closed_form(tokens, loss),
            )
            for _ in range(count)
        ]
        one = statistics.median(time[0] for time in times)
        exact, rounded, ridge = (
            statistics.median(time[0] / time[place] for time in times) for place in (1, 2, 3)
        )
        rows += [
            (
                f"token identity, {name}: all maps at once, against a loop for each",
                f"{exact:.1f}× faster",
                f"≥ {AIMS[loss]}×",
                f"{MAPS} linear maps, {EPOCHS} epochs on 20,000 × 256, from a sample of "
                f"{SAMPLED * len(LEARNING_RATES)}; a loop takes {1e3 * one / EPOCHS:.0f} ms an "
                "epoch",
            ),
            (
                f"token identity, {name}: the same with products in bfloat16",
                f"{rounded:.1f}× faster",
                "≥ 10×",
                "`precision='medium'`; weights and sums in float32",
            ),
            (
                f"token identity, {name}: ridge regression, against loops over all learning rates",
                f"{ridge * len(LEARNING_RATES):,.0f}× faster",
                "",
                "11 λ for a layer and fold, against 7 loops",
            ),
        ]
    return rows


if __name__ == "__main__":
    for row in main():
        print(*row, sep="\t")
