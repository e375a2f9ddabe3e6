"""Capture of attention in code of a model's own, beside capture by the interface: base shapes."""

import statistics
import time

import torch
from transformers import (
    BertConfig,
    BertModel,
    DebertaV2Config,
    DebertaV2Model,
    MPNetConfig,
    MPNetModel,
    PreTrainedModel,
    XLNetConfig,
    XLNetModel,
)

from benchmarks.survey import captured
from benchmarks.timing import ratio, rounds
from headlight.capture import CapturedModel
from headlight.encode.batch import Batch

BATCH, LENGTH = 4, 128

NOTE = """Processor time in one thread, over the pass of the same model with its own attention
(of BERT the eager one); random weights, 4×128 tokens."""


def models() -> dict[str, PreTrainedModel]:
    """Base shapes with random weights; the first by the interface."""
    torch.manual_seed(0)
    positions = {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]}
    return {
        "BERT, by the interface": BertModel(BertConfig(attn_implementation="eager")),
        "MPNet": MPNetModel(MPNetConfig()),
        "XLNet": XLNetModel(XLNetConfig(d_model=768, n_head=12, n_layer=12, d_inner=3072)),
        "DeBERTa-v2": DebertaV2Model(
            DebertaV2Config(
                hidden_size=768,
                num_attention_heads=12,
                num_hidden_layers=12,
                intermediate_size=3072,
                **positions,
            )
        ),
    }


def texts() -> Batch:
    """Random pieces without padding."""
    ids = torch.randint(1000, 30000, (BATCH, LENGTH), generator=torch.Generator().manual_seed(0))
    zeros = torch.zeros_like(ids)
    lengths = torch.full((BATCH,), LENGTH)
    word = torch.arange(LENGTH).expand(BATCH, -1)
    return Batch(ids, torch.ones_like(ids), zeros, zeros, word, lengths)


def main(count: int = 7) -> list[tuple[str, str, str, str]]:
    """Rows of the table: what, measured, target, remark."""
    torch.set_num_threads(1)
    batch, rows = texts(), []
    for name, network in models().items():
        model = CapturedModel(network.eval(), name=name)
        assert model.sites  # noqa: S101 - traced before the clock runs
        times = rounds(
            {
                "forward": lambda model=model: model.run(batch),
                "weights": captured(model, batch, lambda record: record.weight),
            },
            count,
            time.process_time,
        )
        aim = "" if "interface" in name else "≤ 1.10×"
        seconds = f"plain pass {statistics.median(times['forward']):.2f} s"
        measured = f"{ratio(times, 'weights', 'forward'):.2f}×"
        rows.append((f"{name}: capture of the weights alone", measured, aim, seconds))
    return rows
