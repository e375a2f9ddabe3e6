"""Recorder of the attention of one model, which leaves the model exactly as it was."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from headlight.capture.attention_interface import (
    Listener,
    add_listener,
    eager_function,
    install,
    listener_of,
    own_code,
    register,
    remove_listener,
    replacer_of,
    uncaptured_function,
    uninstall,
)
from headlight.capture.attention_masks import mask_of, real_keys, visible_keys
from headlight.capture.attention_site import AttentionSite
from headlight.capture.custom_attention.function_mode import own_code_seen
from headlight.capture.finite_numbers import require_finite_attention
from headlight.capture.gradient_tape import GradientTape
from headlight.capture.hooks import Place, Registration, hooked
from headlight.capture.kernel_check import difference_of
from headlight.capture.output_projection import TOLERANCE
from headlight.capture.plain_attention import (
    AttentionKernel,
    PlainCall,
    PlainRecord,
    SeenRanges,
    is_plain,
    plain_call,
    seen_ranges,
)
from headlight.capture.query_blocks import AttentionFunction, block_size, blocks
from headlight.capture.record import LayerRecord, QueryBlock
from headlight.capture.residual_connection import Residual, ResidualSite
from headlight.capture.residual_stream import Stream, StreamKeeper, StreamPlaces, stream_hooks
from headlight.errors import CaptureError, UsageError
from headlight.tensors import GateValues, Visible


@contextmanager
def interface_hook(model: nn.Module, listener: Listener) -> Iterator[None]:
    """Send every attention of `model` to `listener` for the time of the block.

    Raises:
        CaptureError: the model, or a part of it, is being captured already.
    """
    register()
    if not add_listener(model, listener):
        raise CaptureError(
            f"this {type(model).__name__} is being captured already; close the first capture "
            "before opening another, or load the model twice."
        )
    configs = configurations(model)
    install(configs)
    try:
        with own_code_seen(model):
            yield
    finally:
        uninstall(configs)
        remove_listener(model)


def home_of(model: nn.Module) -> torch.device:
    """Return the device of the first weights, where inputs go and measures are computed."""
    return next(model.parameters()).device


def configurations(model: nn.Module) -> list[Any]:
    """Return every distinct configuration from which a part of a model reads its attention."""
    configurations_by_id: dict[int, Any] = {}
    for module in model.modules():
        config = getattr(module, "config", None)
        if hasattr(config, "_attn_implementation_internal"):
            configurations_by_id[id(config)] = config
    return list(configurations_by_id.values())


class Recorder:
    """Listener of a capture, which passes on a record of each requested site as the model runs.

    Nothing is kept, so memory holds one layer.  Sites that are not requested are computed by the
    function that the model had before.  When the model is run backward, records are passed on in
    that pass, with gradients, from the last layer to the first.

    Where the residual is requested, a record is passed on when the projection has run.

    Where a gate stands between the attention and its projection, the model is handed ones for the
    context, so that the projection is given the gate; there the record is passed on, and the input
    of the projection becomes the context times the gate.
    """

    def __init__(
        self,
        sites: list[AttentionSite],
        wanted: frozenset[int],
        usual: dict[nn.Module, AttentionFunction],
        home: torch.device,
        function_of: Callable[[nn.Module], AttentionFunction] = eager_function,
        residuals: Mapping[AttentionSite, ResidualSite] = MappingProxyType({}),
    ) -> None:
        self.visit: Callable[[LayerRecord], object] | None = None
        self.query_block: int | None = 0
        """Number of queries of a record; 0 for all, None for as many as memory is meant for."""
        self.stream: StreamKeeper | None = None
        """Keeper of what enters blocks, where records should hold it."""
        self.watch: Callable[[LayerRecord], object] | None = None
        """Function called with every record before anything is made of it."""
        self._sites = sites
        self._wanted = wanted
        self._usual = usual
        self._home = home
        self._function_of = function_of
        self._next = 0
        self._inputs: dict[nn.Module, Tensor] = {}
        self._gated: _Gated | None = None
        self._tape: GradientTape | None = None
        self._residuals = residuals
        self._added_to: dict[Place, Tensor] = {}
        self._waiting: tuple[int, LayerRecord] | None = None
        self._masked: tuple[Tensor | None, torch.Size, Visible | None] | None = None
        self.kernel: AttentionKernel | None = None
        """Function that computes the attention of plain calls; None for the model's own."""
        self.refused: dict[AttentionSite, float] = {}
        """Relative difference of the kernel from the model's function, where it is too large."""
        self._compared: set[AttentionSite] = set()
        self._ranges: tuple[Tensor | None, tuple[int, ...], SeenRanges | None] | None = None

    @contextmanager
    def open_tape(self) -> Iterator[GradientTape]:
        """Let records wait on the tape for their gradients within the block."""
        tape = GradientTape(self._visit)
        self._tape = tape
        try:
            yield tape
        finally:
            self._tape = self._gated = self._waiting = None
            self._added_to.clear()
            self._inputs.clear()  # after an exception they hang on the graph

    def begin(self, *_: Any) -> None:
        """Start a forward pass: count from the first site."""
        self._next = 0
        self._gated = self._waiting = self._masked = self._ranges = None
        self._added_to.clear()
        self._inputs.clear()
        self._forget_stream()

    def end(self, *_: Any) -> None:
        """End a forward pass, in which every site must have been seen.

        Raises:
            CaptureError: the pass ran other attention than the traced one.
        """
        self._inputs.clear()
        self._added_to.clear()
        self._masked = self._ranges = None
        self._forget_stream()
        if self._next != len(self._sites):
            raise CaptureError(
                f"the model ran {self._next} attention modules, where tracing had found "
                f"{len(self._sites)}; trace it with inputs of the same form."
            )
        if self._waiting is not None:
            name = self._waiting[1].site.projection.name
            raise CaptureError(f"{name} did not run after its attention, as it did when traced.")

    def _forget_stream(self) -> None:
        if self.stream is not None:
            self.stream.begin()

    def _stream_before(self, site: AttentionSite, batch: int, queries: int) -> Stream | None:
        if self.stream is None or site.sequence_first:
            return None
        return self.stream.before(site.kind, batch, queries)

    def keep_input(self, module: nn.Module, inputs: tuple[Any, ...]) -> None:
        """Keep the input of a source of values, which is x (a forward pre-hook)."""
        self._inputs[module] = inputs[0]

    def keep_residual(self, place: Place, tensor: Tensor) -> None:
        """Keep the tensor at the place of a residual; the last before W^O has run counts."""
        self._added_to[place] = tensor

    def attend(
        self, module: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> tuple[Tensor, Tensor | None]:
        """Count the call; record it if it is requested."""
        index = self._count(module)
        if index not in self._wanted or self.visit is None:
            return self._usual[module](module, *arguments, **options)
        site = self._sites[index]
        if (made := self._made_by_kernel(site, arguments, options)) is not None:
            context, record = made
            self._watch(record)
            self.visit(record.on(self._home))
            return context, None
        if (size := self._block_size(site, arguments)) is not None:
            by_blocks = partial(self._attend_by_blocks, site, size, arguments, options)
            return self._await_gate(site, arguments[0], by_blocks), None
        if self._tape is not None:
            arguments = self._tape.attach_leaf(arguments)
        context, weight = self._function_of(module)(module, *arguments, **options)
        assert weight is not None  # noqa: S101 - tracing has seen it
        record = self._record(site, weight, arguments, options)
        place = (record.site.kind, record.site.layer)
        per_head = record.site.all_heads(context, axis=2)
        require_finite_attention(place, per_head, record.weight, record.value, record.visible)
        self._watch(record)
        if site.gate is None:
            if not self._hold(index, record):
                self.visit(record.on(self._home))
            return context, weight

        def finish(gate: GateValues) -> Tensor:
            require_finite_attention(place, gate, gate, record.value, record.visible)
            self._pass_on(index, replace(record, gate=gate))
            return context

        ones = torch.ones_like(context)
        self._gated = _Gated(site, ones, finish)
        return ones, weight

    def _count(self, module: nn.Module) -> int:
        """Return the number of the site that is called."""
        index = self._next
        self._next += 1
        if index >= len(self._sites) or self._sites[index].module is not module:
            raise CaptureError(
                f"{type(module).__name__} ran where the traced pass had another module; trace the "
                "model with inputs of the same form."
            )
        return index

    def _plain_call(
        self, site: AttentionSite, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> PlainCall | None:
        """Return the call for the kernel; None where the model's own function is to make it."""
        module = site.module
        if self.kernel is None or site in self.refused or site in self._residuals:
            return None
        if self._tape is not None or module in own_code or replacer_of(module) is not None:
            return None
        if not is_plain(site, arguments, options):
            return None
        mask, query, key = mask_of(arguments, options), *arguments[:2]
        form = len(query), query.shape[2], key.shape[2]
        if self._ranges is None or self._ranges[0] is not mask or self._ranges[1] != form:
            self._ranges = mask, form, seen_ranges(mask, *form)
        seen = self._ranges[2]
        return None if seen is None else plain_call(arguments, options, seen)

    def _made_by_kernel(
        self, site: AttentionSite, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> tuple[Tensor, LayerRecord] | None:
        """Return the context that the kernel makes, and its record; None where it makes none.

        At the first call of a site the kernel is compared with the model's function.
        """
        call = self._plain_call(site, arguments, options)
        if call is None or self.kernel is None:
            return None
        batch, _, queries, keys = call.shape
        source = None if site.source is None else self._inputs.get(site.source)
        inputs = None if source is None else source.reshape(batch, keys, -1)
        record = PlainRecord(site, call, inputs, self._stream_before(site, batch, queries))
        context = self.kernel(record)
        if context is None:
            return None
        if site not in self._compared:
            self._compared.add(site)
            function = self._function_of(site.module)
            error = difference_of(record, context, function, arguments, options)
            if not error <= TOLERANCE[torch.float32]:
                self.refused[site] = error
                return None
        self._input_of(site, batch, keys)
        return context, record

    def _await_gate(
        self, site: AttentionSite, query: Tensor, finish: Callable[[GateValues | None], Tensor]
    ) -> Tensor:
        """Return the context; ones for a site with a gate, until the gate is known."""
        if site.gate is None:
            return finish(None)
        ones = query.new_ones(len(query), query.shape[2], query.shape[1], site.head_dim)
        self._gated = _Gated(site, ones, finish)
        return ones

    def _hold(self, index: int, record: LayerRecord) -> bool:
        """Keep a record that waits for its residual or for gradients; return whether it does."""
        if record.site in self._residuals and record.residual is None:
            self._waiting = index, record
        elif self._tape is not None:
            self._tape.watch(index, record)
        else:
            return False
        return True

    def _pass_on(self, index: int, record: LayerRecord) -> None:
        if not self._hold(index, record):
            self._visit(record)

    def complete(self, module: nn.Module, _: object, output: Tensor) -> None:
        """Complete the record that waits for a projection (a forward hook of projections)."""
        waiting = self._waiting
        if waiting is not None and waiting[1].site.projection.module is module:
            self._waiting = None
            index, record = waiting
            residual = self._residual(record.site, output, len(record.weight))
            self._pass_on(index, replace(record, residual=residual))

    def _residual(
        self, site: AttentionSite, written: Tensor, batch: int, queries: slice = slice(None)
    ) -> Residual:
        """Return the output of W^O for these queries, and the vectors to which it is added.

        Some models have no axis for texts at W^O.
        """
        residual = self._residuals[site]
        added_to = self._added_to[residual.residual]
        stream_rows = added_to.reshape(batch, -1, added_to.shape[-1])[:, queries]
        return Residual(residual, stream_rows, written.reshape(stream_rows.shape))

    def open_gate(self, module: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Multiply context and gate, where a projection is given the gate alone (a pre-hook).

        Raises:
            CaptureError: the heads of a layer whose gates were numbers are given vectors.
        """
        gated, self._gated = self._gated, None
        if gated is None:
            return None
        site, gated_input = gated.site, inputs[0]
        whole = gated_input.reshape(gated.context.shape)
        gate = site.all_heads(whole, axis=2).transpose(1, 2)
        if site.gate == "head":
            if not torch.equal(gate, gate[..., :1].expand_as(gate)):
                raise CaptureError(
                    f"{site.name}: the gate is another for each component of a head here, where "
                    "tracing had found one for all; trace the model with inputs of the same form."
                )
            gate = gate[..., :1]
        context = gated.finish(gate)
        return ((context * whole).reshape(gated_input.shape), *inputs[1:])

    def _block_size(self, site: AttentionSite, arguments: tuple[Any, ...]) -> int | None:
        """Return the number of queries in a block; None for all, as with gradients."""
        query, key = arguments[:2]
        if self._tape is not None or not site.blocks or replacer_of(site.module) is not None:
            return None
        return block_size(self.query_block, site.heads, query, key)

    def _attend_by_blocks(
        self,
        site: AttentionSite,
        size: int,
        arguments: tuple[Any, ...],
        options: dict[str, Any],
        gate: GateValues | None,
    ) -> Tensor:
        """Return the context, each block of which is recorded as it is computed."""
        function = self._function_of(site.module)
        query, value = arguments[0], site.all_heads(arguments[2])
        inputs = self._input_of(site, len(value), value.shape[2])
        mask = mask_of(arguments, options)
        real, uniform = real_keys(mask, query.shape[2], value)
        stream = self._stream_before(site, len(value), query.shape[2])
        whole_context: Tensor | None = None
        for block in blocks(size, arguments, options):
            context, weight = function(site.module, *block.arguments, **block.options)
            assert weight is not None  # noqa: S101 - tracing has seen it
            visible = visible_keys(block.arguments, block.options, weight, collapse=uniform)
            weight, part = site.all_heads(weight), value[:, :, : weight.shape[3]]
            place, all_contexts = (site.kind, site.layer), site.all_heads(context, axis=2)
            require_finite_attention(place, all_contexts, weight, part, visible)
            whole = QueryBlock(block.first, query.shape[2], value, real, inputs)
            block_inputs = None if inputs is None else inputs[:, : weight.shape[3]]
            rows = slice(block.first, block.first + weight.shape[2])
            of_block = None if gate is None else gate[:, :, rows]
            if of_block is not None:
                require_finite_attention(place, of_block, of_block, part, visible)
            record = LayerRecord(
                site,
                weight,
                part,
                visible,
                block_inputs,
                block=whole,
                gate=of_block,
                stream=stream,
                difference=self.refused.get(site),
            )
            if site in self._residuals:
                written = _project(site, all_contexts, of_block)
                residual = self._residual(site, written, len(value), rows)
                record = replace(record, residual=residual)
            self._watch(record)
            self._visit(record)
            if whole_context is None:
                whole_context = context.new_empty(len(value), query.shape[2], *context.shape[2:])
            whole_context[:, block.first : block.first + context.shape[1]] = context
        assert whole_context is not None  # noqa: S101 - a text has queries
        return whole_context

    def _input_of(self, site: AttentionSite, batch: int, keys: int) -> Tensor | None:
        """Return the input x of this many keys."""
        inputs = self._inputs.pop(site.source, None) if site.source is not None else None
        if inputs is None:
            return None
        # Some models keep an axis for their single latent head.
        return inputs.reshape(batch, keys, -1)

    def _watch(self, record: LayerRecord) -> None:
        if self.watch is not None:
            self.watch(record)

    def _visit(self, record: LayerRecord) -> None:
        if self.visit is not None:
            self.visit(record.on(self._home))

    def _visible(
        self, arguments: tuple[Any, ...], options: dict[str, Any], weight: Tensor
    ) -> Visible | None:
        """Return the keys that queries may attend to, shared by layers with one mask."""
        mask = mask_of(arguments, options)
        known = self._masked
        if known is None or known[0] is not mask or known[1] != weight.shape:
            known = mask, weight.shape, visible_keys(arguments, options, weight)
            self._masked = known
        return known[2]

    def _record(
        self,
        site: AttentionSite,
        weight: Tensor,
        arguments: tuple[Any, ...],
        options: dict[str, Any],
    ) -> LayerRecord:
        inputs = self._input_of(site, weight.shape[0], weight.shape[3])
        visible = self._visible(arguments, options, weight)
        weight, value = site.all_heads(weight), site.all_heads(arguments[2])
        stream = self._stream_before(site, *weight.shape[::2])
        difference = self.refused.get(site)
        return LayerRecord(
            site, weight, value, visible, inputs, stream=stream, difference=difference
        )


def _project(site: AttentionSite, context: Tensor, gate: GateValues | None) -> Tensor:
    """Return the projection by W^O of the contexts of some queries."""
    if gate is not None:
        context = context * gate.transpose(1, 2)
    output, bias = site.projection.weight.flatten(0, 1), site.projection.bias
    written = context.flatten(2).to(output.device) @ output
    return (written if bias is None else written + bias).to(context.device)


class _Gated(NamedTuple):
    """Site whose gate is awaited."""

    site: AttentionSite
    context: Tensor
    """Ones, as they were handed to the model."""
    finish: Callable[[GateValues], Tensor]
    """Function that passes the record on, and returns the context."""


def recorder_of(model: nn.Module) -> Recorder:
    """Return the recorder of the capture that is open on `model` in this thread.

    Raises:
        UsageError: no capture is open.
    """
    listener = listener_of(model)
    if not isinstance(listener, Recorder):
        raise UsageError(
            f"this {type(model).__name__} is not being captured; run it backward within "
            "`with model.capture() as recorder`."
        )
    return listener


@contextmanager
def recording(
    model: nn.Module,
    sites: list[AttentionSite],
    wanted: frozenset[int],
    function_of: Callable[[nn.Module], AttentionFunction] = eager_function,
    residuals: Mapping[AttentionSite, ResidualSite] = MappingProxyType({}),
    stream: StreamPlaces | None = None,
) -> Iterator[Recorder]:
    """Record the sites with the numbers `wanted` in every forward pass of the block.

    Args:
        model: Model that runs.
        sites: Attention modules of the model, all of them, in order.
        wanted: Numbers of the sites to record.
        function_of: Function from a module that is recorded to its attention function.
        residuals: Residual sites of those sites whose records are to hold the residual.
        stream: Modules that are given hidden states; with them, records say what entered the block.
    """
    usual = {site.module: uncaptured_function(site.module) for site in sites}
    recorder = Recorder(sites, wanted, usual, home_of(model), function_of, residuals)
    sources = [source for source in {sites[index].source for index in wanted} if source]
    projections = {sites[index].projection.module for index in wanted if sites[index].gate}
    hooks: list[Registration] = [
        (model.register_forward_pre_hook, recorder.begin),
        (model.register_forward_hook, recorder.end),
        *((source.register_forward_pre_hook, recorder.keep_input) for source in sources),
        *((projection.register_forward_pre_hook, recorder.open_gate) for projection in projections),
        *(
            place.watch(partial(recorder.keep_residual, place))
            for place in dict.fromkeys(residual.residual for residual in residuals.values())
        ),
        *(
            (projection.register_forward_hook, recorder.complete)
            for projection in {site.projection.module for site in residuals}
        ),
    ]
    if stream is not None:
        recorder.stream = StreamKeeper(stream)
        hooks += stream_hooks(recorder.stream)
    with interface_hook(model, recorder), hooked(hooks):
        yield recorder
