"""A model run again with the statistics, slopes and attention weights of one run, by hooks.

Nothing here knows how Headlight does it: norms and activations are modules, whose outputs are
computed anew from numbers that were written down.  What a part adds to the output is then what is
lost without it.
"""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from headlight.capture import AttentionSite, CapturedModel, attention_replaced

ACTIVATIONS = ("GELUActivation", "NewGELUActivation", "GELU", "ReLU", "SiLU", "SiLUActivation")


class Replay:
    """One run, written down; `without` runs the model again.

    Args:
        model: in float64, whose norms and activations are modules.
        inputs: of one text.
        score: a number of its output.
        gated: whether the activation is a gate, and so a constant.
    """

    def __init__(
        self,
        model: CapturedModel,
        inputs: dict[str, Tensor],
        score: Callable[[Any], Tensor],
        *,
        gated: bool,
    ) -> None:
        self.model, self.inputs, self.score, self.gated = model, inputs, score, gated
        network: Any = model.transformer
        self._norms = [each for each in network.modules() if "Norm" in type(each).__name__]
        self._bends = [each for each in network.modules() if type(each).__name__ in ACTIVATIONS]
        self._inner = [
            module
            for name, module in network.named_modules()
            if isinstance(module, nn.Linear | Conv1D)
            and any(f"{part}." in name for part in ("layer", "layers", "h", "block"))
            and all(module is not site.projection.module for site in model.sites)
        ]
        self.scales: dict[nn.Module, list[Tensor]] = {}
        self.slopes: dict[nn.Module, list[Tensor]] = {}
        self.put_out: dict[nn.Module, list[Tensor]] = {}
        self.weights: dict[AttentionSite, Tensor] = {}
        self.values: dict[AttentionSite, Tensor] = {}
        with ExitStack() as stack, torch.no_grad():
            for norm in self._norms:
                self._hook(stack, norm, self._note_norm)
            for bend in self._bends:
                self._hook(stack, bend, self._note_bend)
            for inner in self._inner:
                self._hook(stack, inner, self._note_output)
            recorder = stack.enter_context(model.capture())
            recorder.visit = self._note_attention
            self.whole = float(score(network(**inputs)))

    def without(
        self,
        *,
        embedding: tuple[int, int] | None = None,
        cell: tuple[AttentionSite, int, int] | None = None,
        linear: nn.Module | None = None,
        direct: bool = False,
    ) -> float:
        """What the output loses without a part.

        Args:
            embedding: 0 for what the text is embedded by, 1 for the target's; and a token.
            cell: what a head takes from a key: attention, head and key.
            linear: what a linear map puts out, but its bias.
            direct: nothing but norms comes after it.
        """
        network: Any = self.model.transformer
        with ExitStack() as stack, torch.no_grad():
            self._freeze(stack, direct=direct, besides=linear)
            if embedding is not None:
                number, token = embedding
                stacks = [network]
                if "decoder_input_ids" in self.inputs:
                    stacks = [network.get_encoder(), network.get_decoder()]
                table = stacks[number].get_input_embeddings()

                def blank(_: Any, __: Any, output: Tensor) -> Tensor:
                    output = output.clone()
                    output[0, token] = 0
                    return output

                self._hook(stack, table, blank)
            if cell is not None:
                self._take(stack, *cell)
            if linear is not None:
                bias: Any = linear.bias
                shape = self.put_out[linear][0]
                rest = torch.zeros_like(shape) if bias is None else bias.expand_as(shape)
                self._hook(stack, linear, lambda *_: rest)
            return self.whole - float(self.score(network(**self.inputs)))

    def _freeze(self, stack: ExitStack, *, direct: bool, besides: nn.Module | None) -> None:
        for norm in self._norms:
            self._hook(stack, norm, self._again(self.scales[norm], self._normed))
        for bend in self._bends:
            self._hook(stack, bend, self._again(self.slopes[bend], self._bent))
        for inner in self._inner if direct else ():
            if inner is not besides:
                self._hook(stack, inner, self._again(self.put_out[inner], lambda _, __, kept: kept))
        for kind in {site.kind for site in self.weights}:
            kept = {s.layer: weight for s, weight in self.weights.items() if s.kind == kind}
            stack.enter_context(attention_replaced(self.model, kept, kind=kind))

    def _take(self, stack: ExitStack, site: AttentionSite, head: int, key: int) -> None:
        value = self.values[site][0, head * site.kv_heads // site.heads, key]
        taken = self.weights[site][0, head, :, key, None] * value
        columns = slice(head * site.head_dim, (head + 1) * site.head_dim)

        def less(_: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            given = inputs[0].clone()
            given[..., columns] -= taken
            return (given, *inputs[1:])

        handle = site.projection.module.register_forward_pre_hook(less)
        stack.callback(handle.remove)

    @staticmethod
    def _hook(stack: ExitStack, module: nn.Module, hook: Callable[..., Any]) -> None:
        stack.callback(module.register_forward_hook(hook).remove)

    @staticmethod
    def _again(kept: list[Tensor], rule: Callable[..., Tensor]) -> Callable[..., Tensor]:
        calls = iter(kept)
        return lambda module, inputs, _: rule(module, inputs[0], next(calls))

    def _note_norm(self, module: nn.Module, inputs: Any, _: Tensor) -> None:
        x = inputs[0] - inputs[0].mean(-1, keepdim=True) if _centres(module) else inputs[0]
        eps = getattr(module, "eps", None) or getattr(module, "variance_epsilon", 0.0)
        scale = (x.square().mean(-1, keepdim=True) + eps).sqrt()
        self.scales.setdefault(module, []).append(scale)

    def _normed(self, module: Any, x: Tensor, scale: Tensor) -> Tensor:
        centred = x - x.mean(-1, keepdim=True) if _centres(module) else x
        found = centred / scale * module.weight
        bias = getattr(module, "bias", None)
        return found if bias is None else found + bias

    def _note_bend(self, module: nn.Module, inputs: Any, output: Tensor) -> None:
        kept = output if self.gated else output / inputs[0].where(inputs[0] != 0, 1)
        self.slopes.setdefault(module, []).append(kept)

    def _bent(self, _: nn.Module, x: Tensor, kept: Tensor) -> Tensor:
        return kept if self.gated else kept * x

    def _note_output(self, module: nn.Module, _: Any, output: Tensor) -> None:
        self.put_out.setdefault(module, []).append(output)

    def _note_attention(self, record: Any) -> None:
        self.weights[record.site] = record.weight
        self.values[record.site] = record.value


def _centres(module: nn.Module) -> bool:
    return isinstance(module, nn.LayerNorm)
