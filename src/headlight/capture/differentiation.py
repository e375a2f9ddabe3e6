"""Model made ready to be differentiated, for the time of a block."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from headlight.capture.attention_interface import eager_function
from headlight.capture.hooks import hooked
from headlight.capture.recorder import interface_hook
from headlight.capture.tensor_parallel import require_all_heads
from headlight.errors import UsageError


def check_differentiable(model: nn.Module, name: str) -> None:
    """Refuse weights through which nothing can be differentiated.

    Raises:
        UsageError: the weights were made in inference mode.
        UnsupportedModelError: each process has a part of the weights.
    """
    require_all_heads(model, "gradients and contributions")
    if any(parameter.is_inference() for parameter in model.parameters()):
        raise UsageError(
            f"the weights of {name} were made under torch.inference_mode, so that nothing can be "
            "differentiated; load the model outside of it."
        )


@contextmanager
def frozen(model: nn.Module) -> Iterator[None]:
    """Let no parameter of `model` require a gradient within the block; afterwards as before."""
    wanting = [parameter for parameter in model.parameters() if parameter.requires_grad]
    for parameter in wanting:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in wanting:
            parameter.requires_grad_(True)


class Eager:
    """Listener that runs eager attention, which has all derivatives; fused kernels have not."""

    def attend(
        self, module: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> tuple[Tensor, Tensor | None]:
        """Compute the model's own eager attention."""
        return eager_function(module)(module, *arguments, **options)


@contextmanager
def differentiable(model: Any) -> Iterator[None]:
    """Run attention and experts eagerly, and no projection on the vocabulary.

    Raises:
        CaptureError: the model is being captured.
    """
    with interface_hook(model, Eager()), eager_experts(model), _without_logits(model):
        yield


@contextmanager
def eager_experts(model: nn.Module) -> Iterator[None]:
    """Run experts one after the other: their fused product has no forward derivative."""
    configs = {id(config): config for config in map(_config, model.modules()) if config is not None}
    before = {key: config._experts_implementation for key, config in configs.items()}
    try:
        for config in configs.values():
            config._experts_implementation = "eager"
        yield
    finally:
        for key, config in configs.items():
            config._experts_implementation = before[key]


def _config(module: nn.Module) -> Any:
    config = getattr(module, "config", None)
    return config if getattr(config, "_experts_implementation", None) is not None else None


@contextmanager
def _without_logits(model: Any) -> Iterator[None]:
    """Leave out the projection on the vocabulary, which some bases have as well (T5, say)."""
    head = model.get_output_embeddings()

    def leave_out(_: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        return (arguments[0][:, :0], *arguments[1:])

    with hooked([] if head is None else [(head.register_forward_pre_hook, leave_out)]):
        yield
