"""Coverage of a model by the interface: all of its attention, or only a part."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from transformers.pytorch_utils import Conv1D

from headlight.capture.hooks import Registration, hooked
from headlight.capture.plain_modules import PlainModel
from headlight.errors import UnsupportedModelError
from headlight.vocabulary import Kind

_NAMED = re.compile(r"att(?:n|ention)", re.IGNORECASE)
"""Pattern in the class names of attention modules, whatever the architecture."""
_LINEAR = nn.Linear | Conv1D | nn.Conv1d | nn.Conv2d


class ModulesRun(TorchFunctionMode):
    """Recorder of the modules that run in a pass, and of those that turn scores into weights."""

    def __init__(self) -> None:
        super().__init__()
        self._ran: dict[nn.Module, None] = {}
        self._attending: dict[tuple[nn.Module, ...], None] = {}
        """Modules around every softmax, outermost first."""
        self._within: list[nn.Module] = []

    @contextmanager
    def watching(self, model: nn.Module) -> Iterator[None]:
        """Watch the passes of `model` within the block."""
        hooks: list[Registration] = []
        for module in model.modules():
            hooks += [
                (module.register_forward_pre_hook, self._enter),
                (module.register_forward_hook, self._leave),
            ]
        with hooked(hooks), self:
            yield

    def beside(self, passed: Iterable[nn.Module]) -> list[nn.Module]:
        """Return the attention modules that ran without calling the interface.

        Args:
            passed: Modules that called it.
        """
        interface_modules = set(passed)
        classes = {type(module) for module in interface_modules}
        # A module of a class that calls the interface attends, even if no softmax was seen in it.
        others = {module: None for module in self._ran if type(module) in classes}
        for within in self._attending:
            if interface_modules.isdisjoint(within):
                named = [module for module in within if _is_attention(module)]
                others |= dict.fromkeys(named[-1:])
        return [module for module in others if interface_modules.isdisjoint(module.modules())]

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        queries = _QUERIES.get(getattr(func, "__name__", ""))
        if queries is not None and queries(result) > 1:
            self._attending[tuple(self._within)] = None
        return result

    def _enter(self, module: nn.Module, *_: Any) -> None:
        self._ran[module] = None
        self._within.append(module)

    def _leave(self, *_: Any) -> None:
        self._within.pop()


def _is_attention(module: nn.Module) -> bool:
    named = _NAMED.search(type(module).__name__)
    return bool(named) and any(isinstance(submodule, _LINEAR) for submodule in module.modules())


def _rows(result: Tensor) -> int:
    return result.shape[-2] if result.ndim > 1 else 1


_QUERIES: Mapping[str, Callable[[Any], int]] = {
    "softmax": _rows,
    "scaled_dot_product_attention": _rows,
    "multi_head_attention_forward": lambda result: len(result[0]),
}
"""Functions of torch that turn scores into weights, with the number of queries of their results."""


class AttentionBesideError(UnsupportedModelError):
    """Refusal of attention that does not pass the interface; `passed` are the modules that do."""

    def __init__(self, message: str, passed: Iterable[nn.Module]) -> None:
        super().__init__(message)
        self.passed = frozenset(passed)


def check_all_found(
    model: nn.Module,
    counts: Mapping[Kind, int],
    passed: Iterable[nn.Module],
    run: ModulesRun,
    *,
    both_sides: bool,
) -> None:
    """Refuse a model of which no attention, or only a part, calls the interface.

    Raises:
        AttentionBesideError: nothing, or one of two sides, calls the interface.
    """
    name = type(model.module if isinstance(model, PlainModel) else model).__name__
    passed = set(passed)
    if not sum(counts.values()):
        raise AttentionBesideError(
            f"{name} is not supported, because no attention of it goes through transformers' "
            "attention interface: nothing was captured.",
            passed,
        )
    missing = [kind for kind, count in counts.items() if not count]
    if missing and both_sides:
        raise AttentionBesideError(
            f"{name} is not supported, because its {missing[0]} attention does not go through "
            "transformers' attention interface, though other attention of the model does.",
            passed,
        )
    expected = _count_promised(model)
    layers = max(counts["encoder"], counts["decoder"])
    if expected is not None and layers < expected:
        raise AttentionBesideError(
            f"{name} is not supported, because only {layers} of its {expected} attention layers go "
            "through transformers' attention interface.",
            passed,
        )
    if others := run.beside(passed):
        classes = ", ".join(sorted({type(module).__name__ for module in others}))
        raise AttentionBesideError(
            f"{name} is not supported, because only {len(passed)} of its "
            f"{len(passed) + len(others)} attention modules go through transformers' attention "
            f"interface; the others ({classes}) attend in code of their own.",
            passed,
        )


def _count_promised(model: nn.Module) -> int | None:
    """Return the number of self-attention layers in the configuration, if it names one."""
    config: Any = getattr(model, "config", None)
    kinds = getattr(config, "layer_types", None) or getattr(config, "layers_block_type", None)
    if kinds:  # layers of linear attention have no softmax
        return sum("attention" in kind and "linear" not in kind for kind in kinds)
    layers = getattr(config, "num_hidden_layers", None)
    return layers if isinstance(layers, int) else None
