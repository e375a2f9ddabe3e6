"""Token identity as its definition says, one map, token and pair at a time; knows no headlight."""

import copy

import numpy as np
import torch
from torch import nn


def nearest(predicted, candidates, loss):
    """The number of the nearest candidate, the first of equals."""
    best, number = np.inf, -1
    for place, candidate in enumerate(candidates):
        if loss == "l2":
            distance = np.sqrt(sum((p - c) ** 2 for p, c in zip(predicted, candidate, strict=True)))
        else:
            lengths = np.linalg.norm(predicted) * np.linalg.norm(candidate)
            distance = 1 - float(np.dot(predicted, candidate)) / lengths
        if distance < best - 1e-12:
            best, number = distance, place
    return number


def rate(predicted, goals, lengths):
    """Share of tokens whose nearest neighbour in their sequence is their own, for both measures."""
    found = {}
    for loss in ("cosine", "l2"):
        hits, first = [], 0
        for length in lengths:
            for place in range(length):
                near = nearest(predicted[first + place], goals[first : first + length], loss)
                hits.append(near == place)
            first += length
        found[loss] = float(np.mean(hits))
    return found


def distance(predicted, goals, loss):
    """The loss of torch.nn, a mean over tokens."""
    if loss == "l2":
        return nn.MSELoss()(predicted, goals)
    return (1 - nn.CosineSimilarity(dim=-1)(predicted, goals)).mean()


def module(weights):
    """The map with these weights as a module of torch."""
    if len(weights) == 1:
        made = nn.Linear(*reversed(weights[0].shape), bias=False)
    else:
        made = nn.Sequential(
            nn.Linear(*reversed(weights[0].shape)),
            nn.GELU(),
            nn.Linear(*reversed(weights[2].shape)),
        )
    with torch.no_grad():
        for parameter, weight in zip(made.parameters(), weights, strict=True):
            parameter.copy_(weight)
    return made


def loop(weights, training, validation, loss, rate, settings, orders):
    """One training loop: the best weights, their loss and epoch, and the epochs trained."""
    model = module(weights)
    optimiser = torch.optim.Adam(model.parameters(), lr=rate)
    best = (copy.deepcopy(model.state_dict()), float("inf"), 0)
    for epoch in range(1, settings.epochs + 1):
        for rows in torch.from_numpy(orders(epoch - 1)).split(settings.batch):
            optimiser.zero_grad()
            distance(model(training[0][rows]), training[1][rows], loss).backward()
            optimiser.step()
        with torch.no_grad():
            found = distance(model(validation[0]), validation[1], loss).item()
        if found < best[1]:
            best = (copy.deepcopy(model.state_dict()), found, epoch)
        if epoch - best[2] == settings.patience:
            break
    return list(best[0].values()), best[1], best[2], epoch
