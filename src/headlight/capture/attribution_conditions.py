"""What a model is changed in while it is differentiated; afterwards it is as it was."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import Tensor, nn

from headlight.capture.attention import eager_function
from headlight.capture.session import door_opened


class Eager:
    """A listener that only sees to it that attention has derivatives: fused kernels have not."""

    def attend(
        self, module: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> tuple[Tensor, Tensor | None]:
        """The model's own eager attention."""
        return eager_function(module)(module, *arguments, **options)


@contextmanager
def differentiable(model: Any) -> Iterator[None]:
    """Run attention and experts eagerly, and no projection on the vocabulary.

    Raises:
        CaptureError: the model is being captured.
    """
    with ExitStack() as conditions:
        conditions.enter_context(door_opened(model, Eager()))
        conditions.enter_context(_eager_experts(model))
        conditions.enter_context(_without_logits(model))
        yield


@contextmanager
def _eager_experts(model: nn.Module) -> Iterator[None]:
    """Experts one after the other: the fused product of many matrices has no forward derivative."""
    found = {id(config): config for config in map(_config, model.modules()) if config is not None}
    before = {key: config._experts_implementation for key, config in found.items()}
    try:
        for config in found.values():
            config._experts_implementation = "eager"
        yield
    finally:
        for key, config in found.items():
            config._experts_implementation = before[key]


def _config(module: nn.Module) -> Any:
    config = getattr(module, "config", None)
    return config if getattr(config, "_experts_implementation", None) is not None else None


@contextmanager
def _without_logits(model: Any) -> Iterator[None]:
    """Some models have the projection on the vocabulary in their base as well (T5, say)."""
    head = model.get_output_embeddings()
    if head is None:
        yield
        return
    hook = head.register_forward_pre_hook(_no_positions)
    try:
        yield
    finally:
        hook.remove()


def _no_positions(_: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    return (arguments[0][:, :0], *arguments[1:])
