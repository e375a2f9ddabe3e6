"""Two processes that run one model together, as torchrun would start them; they talk by gloo."""

import os
import pickle  # noqa: TID251 - from one process of a test to another
import warnings
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
from torch import distributed, multiprocessing
from transformers import AutoModel, PreTrainedModel
from transformers.distributed import DistributedConfig

PROCESSES = 2
_PATIENCE = timedelta(seconds=60)


def together(work: Callable[[int, Path], Any], folder: Path) -> list[Any]:
    """What each of two processes makes of its number and the folder.

    Raises:
        ProcessRaisedException: one of them has failed, and both have been ended.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=DeprecationWarning)  # threads, and a fork
        multiprocessing.start_processes(_run, (work, folder), nprocs=PROCESSES, start_method="fork")
    return [pickle.loads((folder / f"{rank}.pickle").read_bytes()) for rank in range(PROCESSES)]


def shared(folder: Path) -> PreTrainedModel:
    """The model in a folder, of which each process has a part."""
    config = DistributedConfig(tp_size=PROCESSES)
    return AutoModel.from_pretrained(folder, distributed_config=config).eval()


def _run(rank: int, work: Callable[[int, Path], Any], folder: Path) -> None:
    torch.set_num_threads(1)  # other threads have not been forked
    place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": PROCESSES}
    os.environ.update({name: str(value) for name, value in place.items()})
    distributed.init_process_group(
        "gloo", f"file://{folder / 'meeting'}", _PATIENCE, rank=rank, world_size=PROCESSES
    )
    try:
        found = work(rank, folder)
        (folder / f"{rank}.pickle").write_bytes(pickle.dumps(found))
        distributed.barrier()  # nobody leaves while another still talks to it
    finally:
        distributed.destroy_process_group()
        (folder / "meeting").unlink(missing_ok=True)
