"""Contexts of heads, changed on their way to the output projection, for the time of a block."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from headlight.capture.attention_site import AttentionSite
from headlight.capture.captured_model import CapturedModel
from headlight.capture.custom_attention.function_mode import own_code_seen
from headlight.capture.hooks import Registration, hooked
from headlight.errors import CaptureError


@contextmanager
def contexts_changed(
    model: CapturedModel,
    sites: Collection[AttentionSite],
    change: Callable[[AttentionSite, Tensor], Tensor],
) -> Iterator[None]:
    """Change the contexts of heads, which their output projection reads, within the block.

    All layers keep their fast attention.  The model must not be traced meanwhile.

    Args:
        model: Model in evaluation mode.
        sites: Sites whose contexts change.
        change: Function of a site and of the input of its projection, whose last axis holds the
            heads one after the other; it returns a tensor of the same shape.

    Raises:
        CaptureError: one of the sites was not reached by any pass; raised at the end of the block.
    """
    changer = _Changer(model, sites, change)
    with hooked(changer.hooks(model.transformer)), own_code_seen(model.transformer):
        yield
    changer.check_used(model.name)


class _Changer:
    """Hooks of projections that know which site runs, also where sites share a projection."""

    def __init__(
        self,
        model: CapturedModel,
        sites: Collection[AttentionSite],
        change: Callable[[AttentionSite, Tensor], Tensor],
    ) -> None:
        self._sites, self._change = sites, change
        self._runs: dict[nn.Module, list[AttentionSite]] = {}
        for site in model.sites:
            self._runs.setdefault(site.projection.module, []).append(site)
        self._seen: dict[nn.Module, int] = {}
        self._passes = 0
        self._used: set[AttentionSite] = set()

    def hooks(self, network: nn.Module) -> list[Registration]:
        """Return a hook that notices when a pass begins, and hooks of the projections concerned."""
        projections = dict.fromkeys(site.projection.module for site in self._sites)
        return [
            (network.register_forward_pre_hook, self._begin),
            *((module.register_forward_pre_hook, self._project) for module in projections),
        ]

    def _begin(self, *_: Any) -> None:
        self._seen.clear()
        self._passes += 1

    def _project(self, module: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...] | None:
        runs, number = self._runs[module], self._seen.get(module, 0)
        self._seen[module] = number + 1
        site = runs[min(number, len(runs) - 1)]
        if site not in self._sites:
            return None
        self._used.add(site)
        return (self._change(site, inputs[0]), *inputs[1:])

    def check_used(self, name: str) -> None:
        """Check that passes have run all sites that change, if there was any pass.

        Raises:
            CaptureError: there was a pass, and none has run some site.
        """
        missed = [site for site in self._sites if site not in self._used]
        if self._passes and missed:
            raise CaptureError(
                f"{name} was run, and its {missed[0].kind} layer {missed[0].layer} was not: no "
                "head of it was removed or changed; run the part of the model that has it."
            )
