"""Attention matrices of the caller in the forward pass, by the same interface hook as capture.

Where attention is replaced, the model's own weights are computed first, so that a replacement may
depend on them; then the context is recomputed as A V, with the values that the model made.  All
other attention stays what it was, fast kernels included.  Gradients flow through the new weights to
whatever they were made from.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from headlight.capture.attention_interface import (
    has_listener,
    install,
    register,
    replacer_of,
    set_replacer,
    uninstall,
)
from headlight.capture.attention_site import AttentionSite
from headlight.capture.captured_model import CapturedModel
from headlight.capture.custom_attention.function_mode import own_code_seen
from headlight.capture.custom_attention.products import context_with
from headlight.capture.hooks import Registration, hooked
from headlight.capture.query_blocks import AttentionFunction
from headlight.capture.recorder import configurations
from headlight.capture.tensor_parallel import require_all_heads
from headlight.errors import CaptureError, UsageError
from headlight.tensors import Weight
from headlight.vocabulary import Kind

Replacement = Tensor | np.ndarray | Callable[[Tensor, AttentionSite], Tensor]
"""New weights, or a function of the old weights and their site."""
Replacements = Mapping[int | tuple[int, int], Replacement]
"""Replacements by layer, or by layer and head; both count from 0."""

_Change = Callable[[Tensor, AttentionSite], Tensor]


@contextmanager
def attention_replaced(
    model: CapturedModel, replacements: Replacements, *, kind: Kind | None = None
) -> Iterator[None]:
    """Replace attention matrices of the model by the given ones within the block.

    A key of `replacements` is a layer, or a pair of layer and head; heads are changed after their
    layer.  A value is a tensor that broadcasts to the weights of the layer, ``batch head query
    key``, or of the head, ``batch query key``, with its own queries and keys; or a function that is
    given these weights and the `AttentionSite`, and returns new ones.  Weights are taken as they
    are: they need not be positive, add up to 1, or respect a mask, though keys that a query cannot
    see should be left at 0.

    Blocks may be nested; the inner one is given what the outer one has made.  A capture that is
    opened inside the block records the new weights, and gradients with respect to them.  Nothing
    is differentiated unless the caller does so, and nothing prevents it.

    Args:
        model: Model in evaluation mode.
        replacements: New weights by layer, or by layer and head (see above).
        kind: Attention kind; by default the first of ``encoder``, ``decoder`` and ``cross`` that
            the model has.

    Raises:
        UsageError: there is no such kind, layer or head, or new weights have another shape than
            those that they replace; the latter when the model runs.
        CaptureError: a capture is open on the model already; or, at the end of the block, the model
            was run and some of the attention to be replaced was not part of it.
    """
    network = model.transformer
    require_all_heads(network, "replaced attention weights")
    changes = _changes(model, replacements, kind or model.kinds[0])
    if has_listener(network):
        raise CaptureError(
            f"{model} is being captured; replace its attention first, and open the capture inside."
        )
    outer = replacer_of(network)
    before = outer.changes_before(changes) if isinstance(outer, Replacer) else changes
    replacer = Replacer(model.sites, before)
    register()
    configs = configurations(network)
    install(configs)
    set_replacer(network, replacer)
    try:
        with hooked(replacer.hooks(network)), own_code_seen(network):
            yield
    finally:
        replacer.active = False  # for a capture that outlives the block
        set_replacer(network, outer)
        uninstall(configs)
        if isinstance(outer, Replacer):
            outer.note_used(replacer)
    replacer.check_used(changes, model.name)


class Replacer:
    """Replacer of a model's own attention weights by new ones, pass after pass.

    Args:
        sites: Attention modules of the model, all of them, in the order in which they run.
        changes: Functions applied to the weights of some sites, one after the other.
    """

    def __init__(
        self, sites: list[AttentionSite], changes: Mapping[AttentionSite, list[_Change]]
    ) -> None:
        self.active = True
        self._sites = sites
        self._changes = changes
        self._runs: dict[nn.Module, list[AttentionSite]] = {}
        for site in sites:
            self._runs.setdefault(site.module, []).append(site)
        self._seen: dict[nn.Module, int] = {}
        self._used: set[AttentionSite] = set()
        self._current: AttentionSite | None = None
        self._depth = 0
        self._passes = 0

    def changes_before(
        self, later: Mapping[AttentionSite, list[_Change]]
    ) -> dict[AttentionSite, list[_Change]]:
        """Return these changes, followed by others.

        Raises:
            CaptureError: the sites are not of the same trace.
        """
        if any(site not in self._sites for site in later):
            raise CaptureError(
                "the attention of this model is replaced already, through another object of it; "
                "use the same object for both."
            )
        sites = {*self._changes, *later}
        return {site: [*self._changes.get(site, ()), *later.get(site, ())] for site in sites}

    def hooks(self, network: nn.Module) -> list[Registration]:
        """Return hooks that notice when the model, or a model inside it, begins and ends to run."""
        whole = [module for module in network.modules() if isinstance(module, PreTrainedModel)]
        begin = [(module.register_forward_pre_hook, self._begin) for module in whole]
        # Also after an exception, or the next pass would seem to be a part of this one.
        end = [
            (partial(module.register_forward_hook, always_call=True), self._end) for module in whole
        ]
        return [*begin, *end]

    def _begin(self, *_: Any) -> None:
        if not self._depth:
            self._seen.clear()
            self._passes += self.active
        self._depth += 1

    def _end(self, *_: Any) -> None:
        self._depth -= 1

    def begin_module(self, module: nn.Module) -> None:
        """Note that the attention of `module` is about to run once.

        Raises:
            CaptureError: the module runs more often than when it was traced.
        """
        runs, number = self._runs.get(module, []), self._seen.get(module, 0)
        self._seen[module] = number + 1
        if len(runs) == 1:
            number = 0  # also where a part of the model is run by itself
        if number >= len(runs):
            raise CaptureError(
                f"{type(module).__name__} ran more often than in the traced pass, so it is not "
                "known which layer this is; run the whole model, as it was traced."
            )
        self._current = runs[number]

    def wrap(self, eager: AttentionFunction, usual: AttentionFunction) -> AttentionFunction:
        """Return a function that calls `usual`, or `eager` where weights are replaced."""
        return partial(self._attend, eager, usual)

    def _attend(
        self,
        eager: AttentionFunction,
        usual: AttentionFunction,
        module: nn.Module,
        *arguments: Any,
        **options: Any,
    ) -> tuple[Tensor, Tensor | None]:
        site = self._current
        changes = self._changes.get(site, []) if site is not None and self.active else []
        if site is None or not changes:
            return usual(module, *arguments, **options)
        context, weight = eager(module, *arguments, **options)
        assert weight is not None  # noqa: S101 - tracing has seen it
        changed = weight
        for change in changes:
            changed = change(changed, site)
        if weight.requires_grad and not changed.requires_grad:
            changed = changed + 0 * weight  # so that a loss can be differentiated by them
        self._used.add(site)
        # Contiguous, as from an eager function: models call `view` on it.
        new_context = context_with(changed, arguments, options)
        return new_context.reshape(context.shape).contiguous(), changed

    def note_used(self, inner: "Replacer") -> None:
        """Add the modules and passes of another replacer that stood in for this one."""
        self._used |= inner._used
        self._passes += inner._passes

    def check_used(self, sites: Iterable[AttentionSite], name: str) -> None:
        """Check that some pass has run each of these sites, if there was any pass.

        Raises:
            CaptureError: there was a pass, and none has run some site.
        """
        missed = [site for site in sites if site not in self._used]
        if self._passes and missed:
            raise CaptureError(
                f"{name} was run, and its {missed[0].kind} layer {missed[0].layer} was not: the "
                "attention there was not replaced; run the part of the model that has it."
            )


def _changes(
    model: CapturedModel, replacements: Replacements, kind: Kind
) -> dict[AttentionSite, list[_Change]]:
    """Return the changes by site: first those of its whole layer, then those of its heads."""
    changes: dict[AttentionSite, list[_Change]] = {}
    by_layer = {site.layer: site for site in model.sites_of(kind)}
    for key in sorted(replacements, key=lambda key: isinstance(key, tuple)):
        layer, head = key if isinstance(key, tuple) else (key, None)
        site = by_layer.get(layer) or model.sites_of(kind, [layer])[0]  # which refuses
        if head is not None:
            site.require_head(head)
        change = partial(_replace_weights, replacement=replacements[key], head=head)
        changes.setdefault(site, []).append(change)
    return changes


def _replace_weights(
    weight: Weight, site: AttentionSite, *, replacement: Replacement, head: int | None
) -> Weight:
    """Return the weights of a layer, with all of them or those of one head replaced."""
    part = weight if head is None else weight[:, head]
    other = replacement(part, site) if callable(replacement) else torch.as_tensor(replacement)
    fits = other.ndim >= 2 and other.shape[-2:] == part.shape[-2:] and other.ndim <= part.ndim
    leading = zip(other.shape[-3::-1], part.shape[-3::-1], strict=False)
    if not fits or any(size not in (1, whole) for size, whole in leading):
        place = f"{site.kind} layer {site.layer}" + ("" if head is None else f", head {head}")
        axes = "batch, head, query, key" if head is None else "batch, query, key"
        raise UsageError(
            f"the attention given for {place} has the shape {tuple(other.shape)}, and that of the "
            f"model has {tuple(part.shape)} ({axes}) on this input; give one that broadcasts to it."
        )
    other = other.to(weight).expand(part.shape)
    # An assignment would write into weights that the graph needs as they were.
    return other if head is None else torch.select_scatter(weight, other, 1, head)
