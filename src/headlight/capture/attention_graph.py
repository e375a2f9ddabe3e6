"""Attention with its graph, so that a model can be trained by it.

In training, transformers hands out as ``attentions`` the weights that dropout has left, which an
ordinary capture would see as well.  Here weights are taken as the softmax makes them; the model
goes on with those that dropout leaves, as it would by itself.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType
from typing import Any

from torch import Tensor, nn

from headlight.capture.attention_interface import eager_function
from headlight.capture.attention_site import AttentionSite
from headlight.capture.captured_model import CapturedModel
from headlight.capture.custom_attention.products import context_of
from headlight.capture.query_blocks import AttentionFunction
from headlight.capture.record import LayerRecord
from headlight.capture.recorder import recording


@contextmanager
def attention_with_graph(
    model: CapturedModel, sites: Iterable[AttentionSite] | None = None
) -> Iterator[Mapping[AttentionSite, LayerRecord]]:
    """Yield the attention of the latest forward pass by site, to be differentiated.

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
        model: Model whose `sites` have been found, which has to be done in evaluation mode.
        sites: Attention modules observed; by default all.  The others keep the fast attention that
            they had.

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
        if record.site is model.sites[first]:  # a new pass keeps nothing of the last alive
            latest.clear()
        latest[record.site] = record

    with recording(model.transformer, model.sites, wanted, _before_dropout) as recorder:
        recorder.visit = keep
        yield MappingProxyType(latest)


def _before_dropout(module: nn.Module) -> AttentionFunction:
    return partial(_attend, eager_function(module))


def _attend(
    eager: AttentionFunction, module: nn.Module, *arguments: Any, **options: Any
) -> tuple[Tensor, Tensor | None]:
    share = options.get("dropout", 0.0) if module.training else 0.0
    with _evaluating(module):
        context, weight = eager(module, *arguments, **options)
    assert weight is not None  # noqa: S101 - tracing has seen it
    if (
        own_attention := options.get("own_attention")
    ) is not None:  # the model has dropped what it drops
        return own_attention.context, weight
    if share:
        # The eager function has drawn nothing: these random numbers are those that it would draw.
        dropped = nn.functional.dropout(weight, share)
        context = context_of(dropped, arguments[2]).reshape(context.shape)
    return context, weight


@contextmanager
def _evaluating(module: nn.Module) -> Iterator[None]:
    """Disable all dropout of a module within the block, be it a function or a submodule."""
    before = [(part, part.training) for part in module.modules()]
    try:
        module.eval()
        yield
    finally:
        for part, training in before:
            part.training = training
