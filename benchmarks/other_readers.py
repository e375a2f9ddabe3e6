"""A small survey by transformers, TransformerLens and nnsight, by the Python that has them.

python other_readers.py READER MODEL OUT

MODEL is a folder with a model of GPT-2's kind and a tokenizer.  Writes what was found to OUT, an
.npz file, with the peak memory and the times.  Nothing of Headlight is imported here.
"""

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from transformers import GPT2LMHeadModel

BATCHES, TEXTS, LENGTH, PIECES = 2, 8, 128, 1000
ROUNDS = 2
NAMES = ("entropy", "previous", "first", "norm_previous", "norm_first")
"""What is found for each head: a row of means."""

Found = list[Tensor]
"""Of one batch: for each layer, a row of `NAMES` for each head."""

Reader = Callable[[Tensor], Found]


def texts() -> Iterator[Tensor]:
    """Random pieces, no padding."""
    generator = torch.Generator().manual_seed(0)
    for _ in range(BATCHES):
        yield torch.randint(10, PIECES, (TEXTS, LENGTH), generator=generator)


def model(folder: str, attention: str = "eager") -> GPT2LMHeadModel:
    """With weights in memory, which were else read from their file by the first pass."""
    found = GPT2LMHeadModel.from_pretrained(folder, attn_implementation=attention).eval()
    for parameter in found.parameters():
        parameter.data = parameter.data.clone()
    return found


def by_head(weight: Tensor, value: Tensor, output: Tensor) -> Tensor:
    """What is asked of one layer.

    Args:
        weight: α: text, head, query, key.
        value: text, head, key, and the width of a head.
        output: the part of W^O of each head: head, its width, the width of the model.
    """
    size = (value @ output).norm(dim=-1)
    previous, first = weight.diagonal(-1, dim1=2, dim2=3), weight[..., 0]
    found = [
        torch.special.entr(weight).sum(-1),
        previous,
        first,
        previous * size[..., :-1],
        first * size[..., :1],
    ]
    texts, _, queries, _ = weight.shape  # the first query gives its previous token nothing
    return torch.stack([each.sum((0, 2)) for each in found], dim=1) / (texts * queries)


def outputs(given: GPT2LMHeadModel) -> list[Tensor]:
    """W^O of each layer, cut into heads."""
    heads = given.config.n_head
    return [block.attn.c_proj.weight.unflatten(0, (heads, -1)) for block in given.transformer.h]


def values(joint: Tensor, heads: int) -> Tensor:
    """The values of each head, out of what gives queries, keys and values."""
    return joint.chunk(3, dim=-1)[2].unflatten(-1, (heads, -1)).transpose(1, 2)


def output_attentions(folder: str) -> Reader:
    """Everything is returned by the model, the values as its cache of keys and values."""
    subject = model(folder)
    projections = outputs(subject)

    def read(ids: Tensor) -> Found:
        given = subject(ids, output_attentions=True, use_cache=True)
        layers = zip(given.attentions, given.past_key_values.layers, projections, strict=True)
        return [by_head(weight, layer.values, output) for weight, layer, output in layers]

    return read


def hooks(folder: str) -> Reader:
    """Forward hooks of torch, which keep nothing but the means."""
    subject = model(folder)
    found: Found = []
    value: list[Tensor] = []
    heads = subject.config.n_head
    for block, output in zip(subject.transformer.h, outputs(subject), strict=True):
        block.attn.c_attn.register_forward_hook(
            lambda module, given, out: value.append(values(out, heads))
        )
        block.attn.register_forward_hook(
            lambda module, given, out, output=output: found.append(
                by_head(out[1], value.pop(), output)
            )
        )

    def read(ids: Tensor) -> Found:
        found.clear()
        subject(ids, use_cache=False)
        return list(found)

    return read


def bridge(folder: str) -> tuple[GPT2LMHeadModel, list[Tensor]]:
    """TransformerLens' view of the model, with W^O of each layer."""
    from transformer_lens.model_bridge import TransformerBridge

    subject = TransformerBridge.boot_transformers(folder, hf_model=model(folder), device="cpu")
    return subject, list(subject.W_O)


def transformer_lens_cache(folder: str) -> Reader:
    """Its cache, of nothing but what is asked for."""
    subject, projections = bridge(folder)
    wanted = {
        f"blocks.{layer}.attn.hook_{what}"
        for layer in range(len(projections))
        for what in ("pattern", "v")
    }

    def read(ids: Tensor) -> Found:
        _, cache = subject.run_with_cache(ids, return_type=None, names_filter=wanted.__contains__)
        return [
            by_head(cache["pattern", layer], cache["v", layer].transpose(1, 2), output)
            for layer, output in enumerate(projections)
        ]

    return read


def transformer_lens_hooks(folder: str) -> Reader:
    """Its hooks, which keep nothing but the means."""
    subject, projections = bridge(folder)

    def read(ids: Tensor) -> Found:
        found: Found = []
        value: list[Tensor] = []

        def at_value(given: Tensor, hook: object) -> None:
            value.append(given.transpose(1, 2))

        def at_pattern(weight: Tensor, hook: object) -> None:
            found.append(by_head(weight, value.pop(), projections[len(found)]))

        wanted = [
            (f"blocks.{layer}.attn.hook_{what}", function)
            for layer in range(len(projections))
            for what, function in (("v", at_value), ("pattern", at_pattern))
        ]
        subject.run_with_hooks(ids, return_type=None, fwd_hooks=wanted)
        return found

    return read


def nnsight(folder: str) -> Reader:
    """A trace, within which everything is reduced."""
    import nnsight

    inner = model(folder)
    subject = nnsight.NNsight(inner)
    projections, heads = outputs(inner), inner.config.n_head

    def read(ids: Tensor) -> Found:
        with subject.trace(ids, use_cache=False):
            found = nnsight.save([])
            for block, output in zip(subject.transformer.h, projections, strict=True):
                value = values(block.attn.c_attn.output, heads)
                found.append(by_head(block.attn.output[1], value, output))
        return found

    return read


READERS = (output_attentions, hooks, transformer_lens_cache, transformer_lens_hooks, nnsight)


def peak() -> float:
    """The most memory, in MB, since it was last set back."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def over_texts(read: Reader) -> np.ndarray:
    """The means over all batches: layer, head, and one of `NAMES`."""
    found = [torch.stack(read(batch)).double().numpy() for batch in texts()]
    return np.mean(found, axis=0)


def seconds(function: Callable[[], object]) -> float:
    """Of CPU time."""
    began = time.process_time()
    function()
    return time.process_time() - began


def measure(survey: Callable[[], np.ndarray], folder: str, out: str) -> None:
    """Memory of one survey above what was held before, then times in turn with the plain pass."""
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # the peak is set back
    before = peak()
    found = survey()
    memory = peak() - before
    plain = model(folder, "sdpa")

    def forward() -> None:
        for batch in texts():
            plain(batch, use_cache=False)

    forward()
    times = [(seconds(forward), seconds(survey)) for _ in range(ROUNDS)]
    np.savez(out, found=found, memory=memory, times=times)


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    name, folder, out = sys.argv[1:]
    reader = {each.__name__: each for each in READERS}[name](folder)
    measure(lambda: over_texts(reader), folder, out)
