"""Hidden token attribution against reverse mode by layer, its own floor, and the estimate.

Processor time, for one thread, and the least of some rounds: what is compared takes seconds.
"""

import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor
from transformers import BertConfig, BertModel

from headlight.capture import AttributionSettings, CapturedModel, attribute, load_model
from headlight.capture.attribution import exact
from headlight.capture.differentiation import frozen
from headlight.capture.embedding_changes import Run, prepared
from headlight.capture.forward_mode import portions
from headlight.encode.batch import Batch

WIDTH, LAYERS, LENGTH = 256, 6, 32
PROBES = 11
MEMORY = 2**28
NOTE = "the aim was set when exact took twice as long"
SENTENCE = "the old man sat by the river and it was cold ."


def subject() -> CapturedModel:
    """A narrow BERT with random weights."""
    torch.manual_seed(0)
    config = BertConfig(
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=WIDTH // 64,
        intermediate_size=4 * WIDTH,
    )
    model = BertModel(config, add_pooling_layer=False)
    return CapturedModel(model.eval(), name="BERT of width 256, random weights")


def batch(ids: Tensor) -> Batch:
    """One text."""
    zeros = torch.zeros_like(ids)
    return Batch(
        input_ids=ids,
        attention_mask=torch.ones_like(ids),
        token_type_ids=zeros,
        category=zeros,
        word=zeros,
        lengths=torch.tensor([ids.shape[1]]),
    )


def least(function: Callable[[], object], count: int = 3) -> float:
    """Seconds of processor time, after one run that is not counted."""
    function()
    times = []
    for _ in range(count):
        began = time.process_time()
        function()
        times.append(time.process_time() - began)
    return min(times)


def reverse(run: Run, changes: int) -> Callable[[], None]:
    """As many rows of the Jacobian of every layer: vector-Jacobian products, batched as well."""
    with torch.enable_grad():
        change = torch.zeros_like(run.embedded).requires_grad_()
        states = run.hidden(change)
    cotangents = torch.randn(changes, *states[0].shape)

    def go() -> None:
        for state in states:
            for part in portions(run, changes, MEMORY):
                torch.autograd.grad(
                    state, change, cotangents[part], is_grads_batched=True, retain_graph=True
                )

    return go


def plain(model: CapturedModel, text: Batch, copies: int = 32) -> Callable[[], object]:
    """The forward pass of a batch of such texts, as fast as the model can (sdpa)."""
    given = model.inputs(text)
    tensors = {name: value for name, value in given.items() if isinstance(value, Tensor)}
    many = {name: value.expand(copies, -1) for name, value in tensors.items()}
    return lambda: model.transformer(**many)


def costs() -> tuple[float, float, float]:
    """Seconds for one change: a plain forward pass, forward mode, reverse mode layer by layer."""
    model = subject()
    text = batch(
        torch.randint(1000, 20000, (1, LENGTH), generator=torch.Generator().manual_seed(0))
    )
    assert model.sites  # noqa: S101 - traced before the clock runs
    count = 128
    with torch.no_grad():
        floor = least(plain(model, text)) / 32
    with prepared(model, text, "encoder") as run:
        pushed = least(lambda: exact(run, MEMORY), 2) / (LENGTH * WIDTH)
        with frozen(model.transformer):
            pulled = least(reverse(run, count)) / count
    return floor, pushed, pulled


def errors(model: CapturedModel, text: Batch) -> tuple[float, float]:
    """Exact time over estimated time, and the mean relative error of the contributions."""
    estimate = AttributionSettings(directions=PROBES)
    whole = AttributionSettings(method="exact")
    truth = attribute(model, text, whole).contribution
    took = least(lambda: attribute(model, text, whole), 2)
    quick = least(lambda: attribute(model, text, estimate), 4)
    found = [
        attribute(model, text, AttributionSettings(directions=PROBES, seed=seed)).contribution
        for seed in range(5)
    ]
    error = statistics.mean(float(((one - truth).abs() / truth).mean()) for one in found)
    return took / quick, error


def main() -> list[tuple[str, str, str, str]]:
    """Rows of the table: what, measured, target, remark."""
    torch.set_num_threads(1)
    floor, pushed, pulled = costs()
    random = subject()
    ids = torch.randint(1000, 20000, (1, 16), generator=torch.Generator().manual_seed(1))
    faster, error = errors(random, batch(ids))
    trained = load_model()
    assert trained.tokenizer is not None  # noqa: S101 - it comes with one
    text = batch(trained.tokenizer(SENTENCE, return_tensors="pt")["input_ids"])
    faster_trained, error_trained = errors(trained, text)
    shape = f"{LAYERS} layers of {WIDTH}, {LENGTH} tokens, 1 thread"
    return [
        (
            "attribution, exact: reverse mode by layer over forward mode",
            f"{pulled / pushed:.1f}×",
            f"≥ {LAYERS / 2:.0f}×",
            shape,
        ),
        (
            "attribution, exact: time over tangents × plain forward pass",
            f"{pushed / floor:.2f}×",
            "≤ 1.15×",
            shape,
        ),
        (
            f"attribution, {PROBES} probes: how much faster than exact",
            f"{faster:.0f}×",
            "≥ 20×",
            f"mean error {100 * error:.1f}% (aim 3%); random weights; {NOTE}",
        ),
        (
            f"attribution, {PROBES} probes: how much faster than exact",
            f"{faster_trained:.0f}×",
            "≥ 20×",
            f"mean error {100 * error_trained:.1f}% (aim 3%); the embedded model; {NOTE}",
        ),
    ]


if __name__ == "__main__":
    for row in main():
        print(*row, sep="\t")
