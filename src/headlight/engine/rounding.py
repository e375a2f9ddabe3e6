"""Rounding of the numbers of a device: its hardware, and a digest of products and functions."""

import hashlib

import numpy as np
import torch
from torch.nn import functional

from headlight.capture.torch_settings import one_thread
from headlight.measures.compiled_loops import import_numba

PRODUCTS = ((3, 16, 5), (7, 64, 33), (16, 200, 16), (1, 384, 48), (40, 96, 40))
"""Rows, terms of a sum, and columns of the products by which `rounding_of` tells kernels apart."""


def hardware_of(device: torch.device) -> dict[str, str | int]:
    """Return a description of the hardware that the last bits of a result depend on."""
    if device.type == "cuda":
        return {"device": torch.cuda.get_device_name(device)}
    if device.type != "cpu":
        return {"device": device.type}
    return {
        "device": "cpu",
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
    }


@torch.inference_mode()
def rounding_of(device: torch.device) -> str:
    """Return a digest of how small products and functions are rounded, and of the loop compiler.

    Libraries choose their kernels by the processor, each by a rule of its own; their output shows
    which they chose.  One thread computes it, so that it does not depend on the number of threads.
    The code of numba is identified by its version and the processor for which it compiles.

    Args:
        device: Device of the model.
    """
    digest = hashlib.sha256()
    with one_thread():
        for rows, inner, columns in PRODUCTS:
            drawn = np.random.default_rng(inner).random((2, max(rows, columns), inner), np.float32)
            first, second = (drawn[0, :rows] - np.float32(0.5), drawn[1, :columns].T)
            digest.update((first @ second).tobytes())
            digest.update((first.astype(np.float64) @ second).tobytes())
            digest.update(np.exp(first).sum(-1).tobytes())
            left, right = (torch.from_numpy(part.copy()).to(device) for part in (first, second))
            product = left @ right
            # Batches, the functions of a layer and lower precisions have kernels of their own.
            results = [
                product,
                torch.stack([left, -left]) @ right,
                product.softmax(-1),
                left.exp().sum(-1),
            ]
            results += [functional.gelu(left), functional.layer_norm(left, (inner,)), left.tanh()]
            results += [(left.bfloat16() @ right.bfloat16()).float()]
            if device.type != "mps":  # which has no float64
                results += [left.double() @ right.double()]
            for result in results:
                digest.update(result.cpu().numpy().tobytes())
    if device.type != "cpu":
        return digest.hexdigest()[:12]
    version = import_numba().__version__
    from llvmlite.binding import get_host_cpu_name  # comes with numba

    return f"{digest.hexdigest()[:12]}, numba {version} for {get_host_cpu_name()}"
