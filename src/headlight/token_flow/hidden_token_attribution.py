"""Attribution of hidden tokens to input tokens, through all layers at once."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import torch

from headlight.capture import AttributionSettings, attribute
from headlight.capture.embedding_changes import Run, prepared
from headlight.capture.forward_mode import portions, refusing, squared_moves
from headlight.capture.linear_network.token_parts import token_parts
from headlight.errors import UnsupportedModelError
from headlight.token_flow.followed_text import Subject
from headlight.token_flow.rollout import Maps


def attributed(subject: Subject, settings: AttributionSettings) -> Maps:
    """Return hidden token attribution: sizes of the Jacobians, as shares."""
    batch = subject.model.collate([subject.example])
    attribution = attribute(subject.model, batch, settings, kind=subject.kind)
    return _check_layers(subject, attribution.contribution[:, 0])


def gradient_times_input(subject: Subject, settings: AttributionSettings) -> Maps:
    """Return ‖(∂e_i/∂x_j) x_j‖: how far a hidden token moves with an input token, to first order.

    x_j is the input of the first block.
    """
    with _running(subject) as run:
        keys = torch.arange(run.tokens)
        squared_by_part = [
            squared_moves(run, run.embedded[0, some], keys[some])
            for some in portions(run, run.tokens, settings.memory)
        ]
    return _check_layers(subject, torch.cat(squared_by_part, 1).sqrt().transpose(1, 2))


def decomposed(subject: Subject, settings: AttributionSettings) -> Maps:
    """Return lengths of the parts of a hidden token, in the network with the run's constants.

    Attention weights, statistics of norms and slopes act(x)/x are constants.  What biases add is no
    part of any token.

    Source: Modarressi et al. (2023), DecompX, Section 2, without biases.
    """
    with _running(subject) as run:
        norms = [parts.norm(dim=-1) for _, parts in token_parts(run, settings.memory)]
    return _check_layers(subject, torch.cat(norms).permute(1, 2, 0))


THROUGH_ALL: Mapping[str, Callable[[Subject, AttributionSettings], Maps]] = {
    "attribution": attributed,
    "gradient_hidden": gradient_times_input,
    "decompx": decomposed,
}


@contextmanager
def _running(subject: Subject) -> Iterator[Run]:
    model, batch = subject.model, subject.model.collate([subject.example])
    with (
        model.running(batch.names),
        prepared(model, batch, subject.kind, "output") as run,
        refusing(model.name),
    ):
        yield run


def _check_layers(subject: Subject, maps: Maps) -> Maps:
    """Return the maps on the CPU; refuse maps that are not one for each layer of attention."""
    if len(maps) != len(subject.sites):
        raise UnsupportedModelError(
            f"{subject.model} has {len(maps)} blocks and {len(subject.sites)} layers of "
            f"{subject.kind} attention, so that maps of layers and of hidden tokens are not of the "
            "same places; take methods that multiply maps of layers."
        )
    return maps.cpu().double()
