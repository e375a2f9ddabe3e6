"""A capture is a visit: the model is as it was, others go on undisturbed, and nothing is missed."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from transformers import BertModel, RobertaConfig, RobertaModel, T5Config, T5Model
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

import definitions
from architectures import ARCHITECTURES
from headlight.capture import (
    AttributionSettings,
    CapturedModel,
    LayerRecord,
    attention_replaced,
    attribute,
)
from headlight.capture.attention_interface import _listeners, _patched
from headlight.encode import Encoded
from headlight.encode.batch import Batch, collate
from headlight.errors import CaptureError, UsageError
from headlight.measures import Scores
from measures.layers import keeps_promise, wide
from tiny_models import Inputs, eager_attention, real_tokens

SOME = ("BERT", "ALBERT", "Llama", "Gemma 2", "T5", "ViT", "Whisper")


def model_of(name: str) -> CapturedModel:
    """Built anew, so that no test can spoil another."""
    return CapturedModel(architecture(name).build(), name=name)


def architecture(name: str) -> Any:
    return next(row for row in ARCHITECTURES if row.name == name)


def inputs_of(name: str, padding: str = "none") -> Inputs:
    made: Inputs = architecture(name).inputs(torch.Generator().manual_seed(3), padding)
    return made


def run(model: CapturedModel, inputs: Inputs) -> Tensor:
    with torch.no_grad():
        output: Tensor = model.transformer(**inputs).last_hidden_state
    return output


@contextmanager
def recorded(model: CapturedModel, *sites: Any) -> Iterator[list[LayerRecord]]:
    records: list[LayerRecord] = []
    with model.capture(sites or None) as recorder:
        recorder.visit = records.append
        yield records


def weights_are_right(records: list[LayerRecord], wanted: list[Tensor]) -> None:
    assert len(records) == len(wanted)
    for record, weight in zip(records, wanted, strict=True):
        assert torch.equal(record.weight, weight)


def state(model: nn.Module) -> dict[str, Any]:
    """All that a capture touches: settings, hooks, listeners; and what it must not: weights."""
    found: dict[str, Any] = {}
    for name, module in model.named_modules():
        hooks = {key: dict(value) for key, value in vars(module).items() if key.endswith("_hooks")}
        found[f"{name}: hooks"] = hooks
        found[f"{name}: attributes"] = sorted(vars(module))
        found[f"{name}: forward"] = module.forward
        config = getattr(module, "config", None)
        if config is not None:
            found[f"{name}: config"] = config.to_dict()
            found[f"{name}: implementation"] = config._attn_implementation
            found[f"{name}: internal"] = config._attn_implementation_internal
    found["listeners"] = [module for module in model.modules() if module in _listeners]
    found["held"] = dict(_patched)
    found["weights"] = {name: value.sum().item() for name, value in model.state_dict().items()}
    return found


# The model is as it was


class Trouble(Exception):  # noqa: N818 - not an error of anyone's
    """Raised on purpose."""


def raising(*_: Any) -> None:
    raise Trouble


def ends_well(model: CapturedModel, inputs: Inputs) -> None:
    with recorded(model) as records:
        run(model, inputs)
    assert records


def is_not_used(model: CapturedModel, inputs: Inputs) -> None:
    with model.capture():
        pass


def raises_in_the_block(model: CapturedModel, inputs: Inputs) -> None:
    def block() -> None:
        with recorded(model):
            run(model, inputs)
            raise Trouble

    with pytest.raises(Trouble):
        block()


def raises_in_the_visit(model: CapturedModel, inputs: Inputs) -> None:
    def block() -> None:
        with model.capture(model.sites[1:2]) as recorder:
            recorder.visit = raising
            run(model, inputs)

    with pytest.raises(Trouble):
        block()


def raises_in_the_model(model: CapturedModel, inputs: Inputs) -> None:
    """Within the last attention: every other layer has been seen by then."""
    hook = model.sites[-1].module.register_forward_pre_hook(raising)
    try:
        with pytest.raises(Trouble), recorded(model):
            run(model, inputs)
    finally:
        hook.remove()


ENDINGS = (ends_well, is_not_used, raises_in_the_block, raises_in_the_visit, raises_in_the_model)


@pytest.mark.parametrize("name", SOME)
@pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: ending.__name__)
def test_the_model_is_left_as_it_was(
    name: str, ending: Callable[[CapturedModel, Inputs], None]
) -> None:
    model, inputs = model_of(name), inputs_of(name)
    wanted = eager_attention(model.transformer, inputs)
    before = state(model.transformer)
    output = run(model, inputs)
    ending(model, inputs)
    assert state(model.transformer) == before
    assert torch.equal(run(model, inputs), output)
    with recorded(model) as records:  # and can be captured again
        run(model, inputs)
    weights_are_right(records, wanted)
    assert state(model.transformer) == before


@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
def test_whatever_attention_the_model_had_comes_back(implementation: str) -> None:
    model = model_of("BERT")
    model.transformer.set_attn_implementation(implementation)
    ends_well(model, inputs_of("BERT"))
    assert model.transformer.config._attn_implementation == implementation


def test_a_pass_that_failed_does_not_disturb_the_next() -> None:
    model, inputs = model_of("BERT"), inputs_of("BERT")
    with recorded(model) as records:
        with pytest.raises((IndexError, RuntimeError)):
            run(model, {"input_ids": torch.full((2, 5), 10_000)})
        hook = model.sites[1].module.register_forward_pre_hook(raising)
        with pytest.raises(Trouble):
            run(model, inputs)
        hook.remove()
        records.clear()
        run(model, inputs)
    weights_are_right(records, eager_attention(model.transformer, inputs))


def test_several_passes_are_recorded_one_after_the_other() -> None:
    model, inputs = model_of("T5"), inputs_of("T5")
    with recorded(model) as records:
        run(model, inputs)
        run(model, inputs)
    weights_are_right(records, eager_attention(model.transformer, inputs) * 2)


# Nested captures


def refused_while_captured(outer: CapturedModel, inner: CapturedModel, name: str) -> None:
    inputs = inputs_of(name)
    for model in (outer, inner):
        assert model.sites
    before = state(outer.transformer)
    with recorded(outer) as records:
        with pytest.raises(CaptureError, match=r"^this \w+ is being captured already; .*\.$"):
            inner.capture().__enter__()
        if outer.has_decoder_inputs or not outer.transformer.config.is_encoder_decoder:
            run(outer, inputs)
        else:
            run(outer, {"input_ids": inputs["input_ids"]})
    assert [record.site for record in records] == outer.sites
    assert state(outer.transformer) == before


def test_a_second_capture_is_refused_and_leaves_the_first() -> None:
    model = model_of("BERT")
    refused_while_captured(model, model, "BERT")
    refused_while_captured(model, CapturedModel(model.transformer), "BERT")


def test_a_part_of_a_captured_model_is_refused() -> None:
    model = model_of("T5")
    refused_while_captured(model, model.encoder(), "T5")


def test_the_whole_of_a_captured_part_is_refused() -> None:
    model = model_of("T5")
    refused_while_captured(model.encoder(), model, "T5")


# Several models


def test_two_models_at_once() -> None:
    first, second = model_of("BERT"), model_of("T5")
    with recorded(first) as of_first, recorded(second) as of_second:
        run(first, inputs_of("BERT"))
        run(second, inputs_of("T5"))
        run(first, inputs_of("BERT"))
    wanted = eager_attention(first.transformer, inputs_of("BERT"))
    weights_are_right(of_first, wanted * 2)
    weights_are_right(of_second, eager_attention(second.transformer, inputs_of("T5")))


def twins() -> tuple[CapturedModel, CapturedModel]:
    """Two models with weights of their own and one configuration object."""
    first = model_of("BERT")
    second = BertModel(first.transformer.config).eval()
    assert second.config is first.transformer.config
    return first, CapturedModel(second, name="twin")


@pytest.mark.parametrize("first_to_close", [0, 1])
def test_models_that_share_a_configuration(first_to_close: int) -> None:
    pair, inputs = twins(), inputs_of("BERT")
    config = pair[0].transformer.config
    wanted = [eager_attention(model.transformer, inputs) for model in pair]
    captures = [ExitStack(), ExitStack()]
    records = [
        capture.enter_context(recorded(model))
        for capture, model in zip(captures, pair, strict=True)
    ]
    for model in pair:
        run(model, inputs)
    captures[first_to_close].close()
    still_open = 1 - first_to_close
    for model in pair:
        run(model, inputs)
    captures[still_open].close()
    assert config._attn_implementation == "sdpa"
    assert not _patched
    weights_are_right(records[first_to_close], wanted[first_to_close])
    weights_are_right(records[still_open], wanted[still_open] * 2)


def test_a_twin_that_is_not_captured_is_right_and_unseen() -> None:
    (first, second), inputs = twins(), inputs_of("BERT", "right")
    before = run(second, inputs)
    with recorded(first) as records:
        output = run(second, inputs)
    assert not records
    real = real_tokens(second.transformer, inputs, "source", before.shape[1])
    torch.testing.assert_close(output[real], before[real], rtol=0, atol=1e-5)


# Other threads


def in_a_thread(work: Callable[[], Tensor]) -> Tensor:
    results: list[Tensor] = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    thread.join(timeout=60)
    assert results, "the thread did not finish"
    return results[0]


@pytest.mark.parametrize("name", ["BERT", "Llama", "T5", "Gemma 2"])
def test_a_pass_in_another_thread_is_right_and_unseen(name: str) -> None:
    model, inputs = model_of(name), inputs_of(name)
    other = architecture(name).inputs(torch.Generator().manual_seed(8), "none")
    before = run(model, other)
    found: list[Tensor] = []
    records: list[LayerRecord] = []

    def visit(record: LayerRecord) -> None:
        records.append(record)
        found.append(in_a_thread(lambda: run(model, other)))

    with model.capture() as recorder:
        recorder.visit = visit
        run(model, inputs)
    weights_are_right(records, eager_attention(model.transformer, inputs))
    scale = float(before.abs().max())
    for output in found:
        torch.testing.assert_close(output, before, rtol=0, atol=1e-5 * scale)


def traced(model: CapturedModel, text: Batch) -> None:
    model.verify(text)


def captured(model: CapturedModel, text: Batch) -> None:
    with recorded(model):
        model.run(text)


def replaced(model: CapturedModel, text: Batch) -> None:
    with attention_replaced(model, {0: lambda weight, site: weight.flip(-1)}):
        model.run(text)


def attributed(model: CapturedModel, text: Batch) -> None:
    attribute(model, text, AttributionSettings(method="exact", embeddings="output"))


@pytest.mark.parametrize("work", [traced, captured, replaced, attributed])
@pytest.mark.parametrize("name", ["BERT", "Llama"])
def test_another_thread_finds_the_model_as_always_whatever_is_done_with_it(
    name: str, work: Callable[[CapturedModel, Batch], None]
) -> None:
    """It runs the model within every attention of every pass of this thread."""
    model, inputs = model_of(name), inputs_of(name)
    assert model.sites
    before = run(model, inputs)
    found: list[Tensor] = []
    this = threading.get_ident()

    def meanwhile(*_: Any) -> None:
        if threading.get_ident() == this:
            found.append(in_a_thread(lambda: run(model, inputs)))

    modules = {site.module for site in model.sites}
    hooks = [module.register_forward_pre_hook(meanwhile) for module in modules]
    text = Encoded("text", (7, 8, 9, 10, 11), (0,) * 5, (3,) * 5, (0, 1, 2, 3, 4))
    work(model, collate([text], pad_id=0))
    for hook in hooks:
        hook.remove()
    assert len(found) >= len(model.sites)
    scale = float(before.abs().max())
    for output in found:
        torch.testing.assert_close(output, before, rtol=0, atol=1e-5 * scale)


@pytest.mark.parametrize("name", ["BERT", "Llama", "T5", "Mistral"])
@pytest.mark.parametrize("padding", ["none", "right"])
def test_a_capture_may_begin_or_end_in_the_middle_of_another_threads_pass(
    name: str, padding: str
) -> None:
    """That pass has made its masks for one attention function, and then meets another."""
    model, inputs = model_of(name), inputs_of(name, padding)
    side = "target" if "decoder_input_ids" in inputs else "source"
    before = run(model, inputs)
    real = torch.ones(before.shape[:2], dtype=torch.bool)
    if padding != "none":
        real = real_tokens(model.transformer, inputs, side, before.shape[1])
    captures = ExitStack()
    second = model.sites[1].module  # the first has run when it does

    def begin() -> None:
        captures.enter_context(recorded(model))

    for step in (begin, captures.close):
        hook = second.register_forward_pre_hook(lambda *_, step=step: main_thread(step))
        output = beside(lambda: run(model, inputs))
        hook.remove()
        scale = float(before[real].abs().max())
        torch.testing.assert_close(output[real], before[real], rtol=0, atol=1e-5 * scale)
    assert model.transformer.config._attn_implementation == "sdpa"


errands: list[tuple[Callable[[], None], threading.Event]] = []


def main_thread(step: Callable[[], None]) -> None:
    """Have the main thread do something, and wait until it is done."""
    done = threading.Event()
    errands.append((step, done))
    assert done.wait(timeout=60)


def beside(work: Callable[[], Tensor]) -> Tensor:
    """Run in another thread, and meanwhile do what it asks for in this one."""
    results: list[Tensor] = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    asked = 0
    while thread.is_alive():
        thread.join(timeout=0.01)
        if errands:
            step, done = errands.pop()
            step()
            asked += 1
            done.set()
    assert asked == 1
    assert results, "the pass failed"
    return results[0]


# What is captured, and what is not


@pytest.fixture
def sdpa_calls(monkeypatch: pytest.MonkeyPatch) -> list[nn.Module]:
    """The modules that have called sdpa."""
    calls: list[nn.Module] = []
    sdpa = ALL_ATTENTION_FUNCTIONS["sdpa"]

    def spy(module: nn.Module, *arguments: Any, **options: Any) -> Any:
        calls.append(module)
        return sdpa(module, *arguments, **options)

    monkeypatch.setitem(ALL_ATTENTION_FUNCTIONS, "sdpa", spy)
    return calls


@pytest.mark.parametrize("name", ["BERT", "Llama", "Mistral", "BART"])
@pytest.mark.parametrize("padding", ["none", "right", "left"])
def test_only_the_layers_asked_for_leave_sdpa(
    name: str, padding: str, sdpa_calls: list[nn.Module]
) -> None:
    model, inputs = model_of(name), inputs_of(name, padding)
    asked = model.sites[1]
    sdpa_calls.clear()
    with recorded(model, asked) as records:
        run(model, inputs)
    assert [record.site for record in records] == [asked]
    assert sdpa_calls == [site.module for site in model.sites if site is not asked]
    sdpa_calls.clear()
    wanted = eager_attention(model.transformer, inputs)[1]
    record = records[0]
    real = torch.ones(wanted.shape[::2], dtype=torch.bool)
    if padding != "none":
        real = real_tokens(model.transformer, inputs, "source", wanted.shape[2])
    rows = real[:, None].expand(wanted.shape[:3])
    torch.testing.assert_close(record.weight[rows], wanted[rows], rtol=0, atol=1e-5)


def test_without_a_visitor_every_layer_keeps_sdpa(sdpa_calls: list[nn.Module]) -> None:
    model = model_of("BERT")
    assert model.sites
    sdpa_calls.clear()
    with model.capture():
        run(model, inputs_of("BERT"))
    assert sdpa_calls == [site.module for site in model.sites]


def test_a_shared_module_gives_one_record_per_layer() -> None:
    model, inputs = model_of("ALBERT"), inputs_of("ALBERT")
    assert len({site.module for site in model.sites}) == 1 < len(model.sites)
    wanted = eager_attention(model.transformer, inputs)
    with recorded(model) as records:
        run(model, inputs)
    weights_are_right(records, wanted)
    assert [record.site.layer for record in records] == [0, 1]
    assert not torch.equal(records[0].weight, records[1].weight)
    with recorded(model, *model.sites_of("encoder", [1])) as records:
        run(model, inputs)
    assert [record.site.layer for record in records] == [1]
    torch.testing.assert_close(records[0].weight, wanted[1], rtol=0, atol=1e-5)


def test_sites_of_a_kind_and_some_layers() -> None:
    model = model_of("T5")
    assert model.kinds == ("encoder", "decoder", "cross")
    assert [site.layer for site in model.sites_of("cross")] == [0, 1]
    assert [site.kind for site in model.sites_of("decoder", [1])] == ["decoder"]
    with pytest.raises(UsageError, match=r"T5 has no decoder layer 2: its layers are 0 to 1\.$"):
        model.sites_of("decoder", [0, 2])
    with pytest.raises(UsageError, match=r"BERT has no cross attention; it has: encoder\.$"):
        model_of("BERT").sites_of("cross")


def test_sites_of_another_model_are_refused() -> None:
    with pytest.raises(UsageError, match=r"belongs to another model or trace; .* BERT itself\.$"):
        model_of("BERT").capture(model_of("BERT").sites).__enter__()


# Every pass is counted


def layers_of(model: CapturedModel) -> nn.ModuleList:
    found: nn.ModuleList = model.transformer.encoder.layer
    return found


@pytest.mark.parametrize(
    ("order", "sentence"),
    [
        ([0], r"^the model ran 1 attention modules, where tracing had found 2; "),
        ([], r"^the model ran 0 attention modules, where tracing had found 2; "),
        ([0, 1, 0], r"^BertSelfAttention ran where the traced pass had another module; "),
        ([1, 0], r"^BertSelfAttention ran where the traced pass had another module; "),
    ],
)
@pytest.mark.parametrize("asked", [slice(None), slice(0, 1)])
def test_a_pass_with_other_attention_than_traced_is_refused(
    order: list[int], sentence: str, asked: slice
) -> None:
    """In any pass of a capture, whichever layers are asked for."""
    model, inputs = model_of("BERT"), inputs_of("BERT")
    layers = layers_of(model)
    with recorded(model, *model.sites[asked]) as records:
        run(model, inputs)
        assert len(records) == len(model.sites[asked])
        model.transformer.encoder.layer = nn.ModuleList([layers[number] for number in order])
        with pytest.raises(CaptureError, match=sentence + r".*\.$"):
            run(model, inputs)
    assert model.transformer.config._attn_implementation == "sdpa"


def test_attention_that_leaves_the_interface_is_noticed() -> None:
    """Someone sets another implementation while the capture is open."""
    model, inputs = model_of("BERT"), inputs_of("BERT")
    with recorded(model):
        model.transformer.set_attn_implementation("eager")
        with pytest.raises(CaptureError, match=r"^the model ran 0 attention modules"):
            run(model, inputs)
    assert model.transformer.config._attn_implementation == "sdpa"


# Precision, padding, batches


@pytest.mark.parametrize("name", ["BERT", "Llama", "T5"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_measures_keep_their_promise_in_every_precision(name: str, dtype: torch.dtype) -> None:
    """As defined in float64 from the tensors that the model of that precision computed with."""
    model, inputs = CapturedModel(architecture(name).build().to(dtype)), inputs_of(name)
    with recorded(model) as records:
        run(model, inputs)
    weights_are_right(records, eager_attention(model.transformer, inputs))
    for record in records:
        assert record.weight.dtype == record.value.dtype == dtype
        scores = Scores(record)
        output = wide(record.site.projection.weight)
        for number in range(len(record.weight)):
            weight, value = wide(record.weight[number]), wide(record.value[number])
            keeps_promise(scores.vector_norm[number], definitions.vector_norm(value, output))
            wanted = definitions.weighted_norm(weight, value, output)
            keeps_promise(scores.norm[number], wanted)
            wanted = definitions.merged_norm(weight, value, output)
            keeps_promise(scores.merged_norm[number], wanted)
            keeps_promise(scores.entropy[number], definitions.entropy(weight))
            visible = np.ones(weight.shape[1:], dtype=bool)
            if record.visible is not None:
                visible = np.broadcast_to(record.visible[number].numpy(), weight.shape[1:])
            wanted = definitions.effective(weight, value, output, visible)
            keeps_promise(scores.effective[number], wanted, scale=1)


TEXTS = [
    Encoded(f"text {number}", ids, (0,) * len(ids), (3,) * len(ids), tuple(range(len(ids))))
    for number, ids in enumerate(
        [tuple(range(5, 17)), (40, 41, 42, 43), (60, 61, 60, 61, 60, 62, 63), (70,)]
    )
]
PAIRWISE = ("weight", "norm", "merged_norm", "effective", "null")
PER_QUERY, PER_KEY = ("entropy",), ("vector_norm", "input_norm")


def scored(
    model: CapturedModel, texts: list[Encoded], side: str
) -> dict[str, list[dict[str, Tensor]]]:
    """By the name of the text, layer by layer: every measure, without padding."""
    batch = collate(texts, pad_id=0, side=side)
    found: dict[str, list[dict[str, Tensor]]] = {text.name: [] for text in texts}

    def visit(record: LayerRecord) -> None:
        scores = Scores(record)
        for number, text in enumerate(texts):
            kept = batch.category[number] >= 0
            one = {name: getattr(scores, name)[number][..., kept] for name in PAIRWISE}
            one = {name: score[..., kept, :] for name, score in one.items()}
            one |= {name: getattr(scores, name)[number][..., kept] for name in PER_QUERY + PER_KEY}
            found[text.name].append(one)

    with model.capture(model.sites_of(model.kinds[0])) as recorder:
        recorder.visit = visit
        model.run(batch, side=side)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", ["BERT", "RoBERTa", "ModernBERT", "GPT-2", "Llama", "Mistral"])
def test_batches_their_order_and_padding_change_nothing(name: str) -> None:
    """Each text scores as it does alone, to 1e-5 of the largest of a measure in its layer."""
    model = model_of(name)
    alone = {text.name: scored(model, [text], "right")[text.name] for text in TEXTS}
    for texts in (TEXTS, TEXTS[::-1], TEXTS[1:3], [TEXTS[3], TEXTS[0]]):
        for side in ("right", "left"):
            for text, layers in scored(model, texts, side).items():
                assert len(layers) == len(alone[text]) == 2
                for found, wanted in zip(layers, alone[text], strict=True):
                    for measure, score in wanted.items():
                        scale = float(score.abs().max()) if measure != "null" else 1.0
                        torch.testing.assert_close(
                            found[measure], score, rtol=0, atol=1e-5 * scale, msg=measure
                        )


def test_positions_behind_the_padding_id_are_not_counted_as_room_for_text() -> None:
    config = RobertaConfig(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        vocab_size=40,
        max_position_embeddings=20,
        pad_token_id=1,
    )
    model = CapturedModel(RobertaModel(config).eval())
    assert model.longest == 18
    with torch.no_grad():
        model.transformer(torch.full((1, 18), 5))  # as many as fit
        with pytest.raises((IndexError, RuntimeError)):
            model.transformer(torch.full((1, 19), 5))


def test_a_decoder_without_a_beginning_is_a_usage_error() -> None:
    config = T5Config(d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2, vocab_size=40)
    config.decoder_start_token_id = None
    model = CapturedModel(T5Model(config).eval(), name="t5")
    with pytest.raises(UsageError, match="t5 has no decoder_start_token_id; set it"):
        _ = model.decoder_start
