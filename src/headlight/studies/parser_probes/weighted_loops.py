"""The loops of sums over heads whose weights depend on both words, compiled where there is numba.

A cell is read once for both directions, and what is added up stays in registers or in the cache.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, no_type_check

import numpy as np
import torch
from torch import Tensor

from headlight.reduce.compiling import compile_loop

WORTH_IT = 1 << 15
"""Numbers of the maps of a batch from which on a second or two of compiling is worth it: there will
be hundreds of batches."""


@dataclass(frozen=True)
class Loops:
    """Both directions of the computation, for tensors of float32 on the CPU.

    Attributes:
        forward: of maps, weights of queries, weights of keys and sums, which it writes.
        backward: of maps, derivatives by the sums, and derivatives by the weights of queries and of
            keys, which it writes.
    """

    forward: Callable[..., Any]
    backward: Callable[..., Any]

    def add_up(self, *tensors: Tensor) -> None:
        """The sums, into the last tensor."""
        self.forward(*(_array(each) for each in tensors))

    def derive(self, *tensors: Tensor) -> None:
        """The derivatives by the weights, into the last two tensors."""
        self.backward(*(_array(each) for each in tensors))


def compiled_for(maps: Tensor) -> Loops | None:
    """Loops for maps of this type and size; None where they cannot be used, or are not worth it."""
    if maps.dtype != torch.float32 or maps.device.type != "cpu" or maps.numel() < WORTH_IT:
        return None
    return compiled()


@cache
def compiled() -> Loops | None:
    """The loops; None without numba."""
    how = {"nogil": True, "fastmath": {"reassoc", "contract", "nsz"}}
    forward, backward = (compile_loop(each, **how) for each in (_forward, _backward))
    return Loops(forward, backward) if forward and backward else None


def _array(tensor: Tensor) -> np.ndarray:
    return tensor.detach().contiguous().numpy()


@no_type_check
def _forward(maps, of_query, of_key, sums):
    sentences, positions, _, heads = maps.shape
    for sentence in range(sentences):
        for query in range(positions):
            for key in range(positions):
                there, back = np.float32(0), np.float32(0)
                for head in range(heads):
                    weight = maps[sentence, query, key, head]
                    there += weight * (
                        of_query[sentence, query, 0, head] + of_key[sentence, key, 0, head]
                    )
                    back += weight * (
                        of_query[sentence, query, 1, head] + of_key[sentence, key, 1, head]
                    )
                sums[0, sentence, query, key] = there
                sums[1, sentence, query, key] = back


@no_type_check
def _backward(maps, of_sums, of_query, of_key):
    sentences, positions, _, heads = maps.shape
    of_query[:] = 0
    of_key[:] = 0
    for sentence in range(sentences):
        for query in range(positions):
            for key in range(positions):
                for direction in range(2):
                    change = of_sums[direction, sentence, query, key]
                    # A loop for each: arrays that may overlap are then vectorised, twice as fast.
                    for head in range(heads):
                        of_query[sentence, query, direction, head] += (
                            maps[sentence, query, key, head] * change
                        )
                    for head in range(heads):
                        of_key[sentence, key, direction, head] += (
                            maps[sentence, query, key, head] * change
                        )
