"""Attention replaced and heads removed in the forward pass.

Attention matrices of the caller in the forward pass, by the same interface hook as capture.
Where attention is replaced, the model's own weights are computed first, so that a replacement may
depend on them; then the context is recomputed as A V, with the values that the model made.  All
other attention stays what it was, fast kernels included.  Gradients flow through the new weights to
whatever they were made from.

Heads taken out of a model for the time of a block, some of them from each part of a batch.
What a removed head hands to the output projection is zero, which is what weights of zero do, and
what zeros in its rows of W^O do; b^O stays.  Nothing else changes: all layers keep their fast
attention.

Attention with its graph, so that a model can be trained by it.
What transformers hands out as ``attentions`` is what dropout has left of the weights in training,
and so is what an ordinary capture would see.  Here weights are taken as the softmax makes them;
the model goes on with what dropout leaves of them, as it would by itself.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor, nn
from transformers import PreTrainedModel

from headlight.capture.attention import (
    eager_function,
    has_listener,
    install,
    register,
    replacer_of,
    set_replacer,
    uninstall,
)
from headlight.capture.captured_model import CapturedModel
from headlight.capture.own_code import own_code_seen
from headlight.capture.own_products import context_of, context_with
from headlight.capture.query_blocks import AttentionFunction
from headlight.capture.record import AttentionSite, LayerRecord, require_all_heads
from headlight.capture.residual_stream import Registration, hooked
from headlight.capture.session import configurations, recording
from headlight.errors import CaptureError, UsageError
from headlight.tensors import Weight
from headlight.vocabulary import Kind

Replacement = Tensor | np.ndarray | Callable[[Tensor, AttentionSite], Tensor]
"""New weights, or a function of the old ones and of where they are."""
Replacements = Mapping[int | tuple[int, int], Replacement]
"""By layer, or by layer and head; both count from 0."""

_Change = Callable[[Tensor, AttentionSite], Tensor]


@contextmanager
def attention_replaced(
    model: CapturedModel, replacements: Replacements, *, kind: Kind | None = None
) -> Iterator[None]:
    """Within the block, the model works with these attention matrices instead of its own.

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
        model: the model, in evaluation mode.
        replacements: see above.
        kind: of attention; by default the first of ``encoder``, ``decoder`` and ``cross`` that the
            model has.

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
    """Puts new weights in the place of a model's own, pass after pass.

    Args:
        sites: all attention of the model, in the order in which it runs.
        changes: what becomes of the weights of some of them, one change after the other.
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
        """These changes, followed by others.

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
        """Hooks that notice when the model, or a model inside it, begins to run and ends."""
        whole = [module for module in network.modules() if isinstance(module, PreTrainedModel)]
        begin = [(each.register_forward_pre_hook, self._begin) for each in whole]
        # Also after an exception, or the next pass would seem to be a part of this one.
        end = [(partial(each.register_forward_hook, always_call=True), self._end) for each in whole]
        return [*begin, *end]

    def _begin(self, *_: Any) -> None:
        if not self._depth:
            self._seen.clear()
            self._passes += self.active
        self._depth += 1

    def _end(self, *_: Any) -> None:
        self._depth -= 1

    def begin_module(self, module: nn.Module) -> None:
        """The attention of `module` is about to run once.

        Raises:
            CaptureError: it runs more often than when it was traced.
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

    def wrap(self, eager: AttentionFunction, own: AttentionFunction) -> AttentionFunction:
        """A function that calls `own`, or `eager` where weights are replaced."""
        return partial(self._attend, eager, own)

    def _attend(
        self,
        eager: AttentionFunction,
        own: AttentionFunction,
        module: nn.Module,
        *arguments: Any,
        **options: Any,
    ) -> tuple[Tensor, Tensor | None]:
        site = self._current
        changes = self._changes.get(site, []) if site is not None and self.active else []
        if site is None or not changes:
            return own(module, *arguments, **options)
        context, weight = eager(module, *arguments, **options)
        assert weight is not None  # noqa: S101 - tracing has seen it
        changed = weight
        for change in changes:
            changed = change(changed, site)
        if weight.requires_grad and not changed.requires_grad:
            changed = changed + 0 * weight  # so that a loss can be differentiated by them
        self._used.add(site)
        new_context = context_with(changed, arguments, options)
        return new_context.reshape(context.shape).contiguous(), changed

    def note_used(self, inner: "Replacer") -> None:
        """Add the modules and passes of another replacer that stood in for this one."""
        self._used |= inner._used
        self._passes += inner._passes

    def check_used(self, sites: Iterable[AttentionSite], name: str) -> None:
        """Some pass must have run each of these sites, if there was any pass.

        Raises:
            CaptureError: it was not so.
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
    """By site: first of its whole layer, then of its heads."""
    changes: dict[AttentionSite, list[_Change]] = {}
    by_layer = {site.layer: site for site in model.sites_of(kind)}
    for key in sorted(replacements, key=lambda key: isinstance(key, tuple)):
        layer, head = key if isinstance(key, tuple) else (key, None)
        site = by_layer.get(layer) or model.sites_of(kind, [layer])[0]  # which refuses
        if head is not None:
            site.require_head(head)
        change = partial(_changed, replacement=replacements[key], head=head)
        changes.setdefault(site, []).append(change)
    return changes


def _changed(
    weight: Weight, site: AttentionSite, *, replacement: Replacement, head: int | None
) -> Weight:
    """The weights of a layer, all of them or those of one head replaced."""
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
    return other if head is None else torch.select_scatter(weight, other, 1, head)


Heads = Collection[tuple[AttentionSite, int]]
"""Some heads of a model, each by its layer and its number there."""


@contextmanager
def heads_removed(
    model: CapturedModel, removals: Sequence[Heads], source: int | None = None
) -> Iterator[None]:
    """Within the block, each of several equal parts of a batch is read without some heads.

    A batch of as many parts as there are removals, one after the other, loses in each part the
    heads of one removal; with one removal, that is the whole batch.  Many removals can thus be
    tried in one pass, on copies of the same texts (`headlight.encode.batch.Batch.repeated`).  The
    model must not be traced meanwhile: to read or survey it without a head, replace the attention
    of the head by zeros (`attention_replaced`).

    Args:
        model: the model, in evaluation mode.
        removals: the heads that each part does without.
        source: the part whose heads take the place of removed ones; None for zeros.

    Raises:
        UsageError: a head is none of the model's; or a batch cannot be divided, when it runs.
        CaptureError: at the end of the block: a pass did not reach a layer that loses heads.
    """
    require_all_heads(model.transformer, "models without some of their heads")
    remover = _Remover(model, removals, source)
    with hooked(remover.hooks(model.transformer)), own_code_seen(model.transformer):
        yield
    remover.check_used(model.name)


class _Remover:
    """Puts zeros, or another part, in the place of what heads hand to their output projection."""

    def __init__(self, model: CapturedModel, removals: Sequence[Heads], source: int | None) -> None:
        self._source = source
        self._removed: dict[AttentionSite, Bool[Tensor, "part head"]] = {}
        for part, heads in enumerate(removals):
            for site, head in heads:
                self._add(model, site, head, part, len(removals))
        self._runs: dict[nn.Module, list[AttentionSite]] = {}
        for site in model.sites:
            self._runs.setdefault(site.projection.module, []).append(site)
        self._seen: dict[nn.Module, int] = {}
        self._passes = 0
        self._used: set[AttentionSite] = set()

    def _add(
        self, model: CapturedModel, site: AttentionSite, head: int, part: int, parts: int
    ) -> None:
        if site not in model.sites or not 0 <= head < site.heads:
            raise UsageError(
                f"{site.kind} layer {site.layer} of {model} has no head {head} to remove; "
                f"take its layers from its sites, and heads from 0 to {site.heads - 1}."
            )
        nothing = torch.zeros(parts, site.heads, dtype=torch.bool)
        self._removed.setdefault(site, nothing)[part, head] = True

    def hooks(self, network: nn.Module) -> list[Registration]:
        """One that notices when a pass begins, and one for each projection that is concerned."""
        projections = dict.fromkeys(site.projection.module for site in self._removed)
        return [
            (network.register_forward_pre_hook, self._begin),
            *((module.register_forward_pre_hook, self._remove) for module in projections),
        ]

    def _begin(self, *_: Any) -> None:
        self._seen.clear()
        self._passes += 1

    def _remove(self, module: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...] | None:
        runs, number = self._runs[module], self._seen.get(module, 0)
        self._seen[module] = number + 1
        site = runs[min(number, len(runs) - 1)]
        removed = self._removed.get(site)
        if removed is None:
            return None
        self._used.add(site)
        contexts: Tensor = inputs[0]
        parts = _parts(contexts, len(removed), site)
        others = parts.new_zeros(()) if self._source is None else parts[self._source]
        remaining = parts.where(~removed.to(contexts.device)[:, None, :, None], others)
        return (remaining.reshape(contexts.shape), *inputs[1:])

    def check_used(self, name: str) -> None:
        """Every pass must have come by all layers that lose heads.

        Raises:
            CaptureError: none did.
        """
        missed = [site for site in self._removed if site not in self._used]
        if self._passes and missed:
            raise CaptureError(
                f"{name} was run, and its {missed[0].kind} layer {missed[0].layer} was not: no "
                "head of it was removed; run the part of the model that has it."
            )


def _parts(contexts: Tensor, number: int, site: AttentionSite) -> Tensor:
    """Return the input of a projection, as ``part position head head_dim``."""
    if contexts.shape[0] % number:
        raise UsageError(
            f"a batch of {contexts.shape[0]} rows has no {number} equal parts, from each of which "
            "other heads are removed; give as many copies of the texts."
        )
    return contexts.reshape(number, -1, site.heads, site.head_dim)


@contextmanager
def attention_with_graph(
    model: CapturedModel, sites: Iterable[AttentionSite] | None = None
) -> Iterator[Mapping[AttentionSite, LayerRecord]]:
    """Within the block, the attention of the latest forward pass by site, to be differentiated.

    The model may be in training mode, and is run by the caller.  Weights are those before dropout;
    dropout of attention weights works as ever where the model hands its share to the attention
    function, as nearly all do, with the same random numbers; what else a model has for it is left
    out.

        with attention_with_graph(model, model.sites_of("encoder", [0])) as attention:
            for batch in batches:
                loss = model.transformer(**batch).loss
                rows = {site.layer: record.weight for site, record in attention.items()}
                ...

    Args:
        model: with its `sites` found, which has to be done in evaluation mode.
        sites: which; by default all.  The others keep the fast attention that they had.

    Raises:
        UsageError: a site is not one of the model's, or they are not found yet and the model is in
            training mode.
        CaptureError: the model is being captured already, or runs otherwise than when traced; the
            latter when it runs.
    """
    wanted = model.numbers_of(sites)
    first = min(wanted, default=0)
    latest: dict[AttentionSite, LayerRecord] = {}

    def keep(record: LayerRecord) -> None:
        if record.site is model.sites[first]:  # of an earlier pass nothing is kept alive
            latest.clear()
        latest[record.site] = record

    with recording(model.transformer, model.sites, wanted, _before_dropout) as recorder:
        recorder.visit = keep
        yield MappingProxyType(latest)


def _before_dropout(module: nn.Module) -> AttentionFunction:
    """The eager attention of a module, which hands out weights before dropout."""
    return partial(_attend, eager_function(module))


def _attend(
    eager: AttentionFunction, module: nn.Module, *arguments: Any, **options: Any
) -> tuple[Tensor, Tensor | None]:
    share = options.get("dropout", 0.0) if module.training else 0.0
    with _evaluating(module):
        context, weight = eager(module, *arguments, **options)
    assert weight is not None  # noqa: S101 - tracing has seen it
    if (own := options.get("own_attention")) is not None:  # the model has dropped what it drops
        return own.context, weight
    if share:
        dropped = nn.functional.dropout(weight, share)
        context = context_of(dropped, arguments[2]).reshape(context.shape)
    return context, weight


@contextmanager
def _evaluating(module: nn.Module) -> Iterator[None]:
    """Within the block no dropout of a module is active, be it a function or a part of it."""
    before = [(part, part.training) for part in module.modules()]
    try:
        module.eval()
        yield
    finally:
        for part, training in before:
            part.training = training
