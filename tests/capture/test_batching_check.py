"""A text in a padded batch is read as it is alone, or the model is refused before it runs."""

import inspect
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import (
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    PreTrainedModel,
)

import example_data
import headlight
from architectures import ARCHITECTURES, case
from headlight.capture import CapturedModel, LayerRecord, OwnObjective
from headlight.capture.prediction_heads import Task
from headlight.catalogue import find_study
from headlight.encode import Encoded, encode_one
from headlight.encode.batch import collate
from headlight.engine.batch_runner import BatchRunner
from headlight.errors import ModelError, UnsupportedModelError
from studies.models import model, texts, tokenizer, transformer
from study_runs import StudyRuns, uneven
from tiny_models import Architecture, randomise, text, text_pair

TEXT = [row for row in ARCHITECTURES if row.make_inputs in (text, text_pair)]
SLIDING = [row for row in TEXT if any(each.window for each in row.attentions)]


def changed(family: str, forward: Callable[..., Any]) -> CapturedModel:
    """A small model whose forward pass is another: it is handed the model's own, and the inputs."""
    made = transformer(family)
    kind = type(made)

    class Changed(kind):  # type: ignore[valid-type,misc]
        def forward(self, input_ids: Any = None, attention_mask: Any = None, **more: Any) -> Any:
            return forward(super().forward, input_ids, attention_mask, **more)

    Changed.forward.__signature__ = inspect.signature(kind.forward)  # type: ignore[attr-defined]
    made.__class__ = Changed
    return CapturedModel(made, tokenizer(family), family)


def unmasked(own: Any, ids: Tensor, mask: Any, **more: Any) -> Any:
    """Drops the attention mask."""
    return own(ids, **more)


def leaking(own: Any, ids: Tensor, mask: Any, **more: Any) -> Any:
    """Adds to the scores of padding a number that leaves it some weight."""
    return own(ids, None if mask is None else (mask[:, None, None] - 1) * 8.0, **more)


def spread_out(own: Any, ids: Tensor, mask: Any, **more: Any) -> Any:
    """Places the tokens of shorter batches farther apart."""
    return own(
        ids, mask, position_ids=torch.arange(len(ids[0]))[None] * (24 // len(ids[0])), **more
    )


def of_encoder_alone(own: Any, ids: Tensor, mask: Any, **more: Any) -> Any:
    """Hands the mask to the encoder, and none to cross-attention."""
    return own(ids, None, **{**more, "encoder_outputs": (own.__self__.encoder(ids, mask)[0],)})


def refusal(subject: CapturedModel, example: Encoded | None = None) -> str:
    with pytest.raises(UnsupportedModelError) as refused:
        subject.verify_batching(example)
    sentence = str(refused.value)
    assert "\n" not in sentence
    assert sentence.endswith(".")
    return sentence


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("architecture", [case(row) for row in TEXT])
def test_no_model_of_texts_is_refused(architecture: Architecture, dtype: torch.dtype) -> None:
    error = CapturedModel(architecture.build().to(dtype), name=architecture.name).verify_batching()
    assert error is not None
    assert error < 1e-5


@pytest.mark.parametrize("padding", ["left", "right"])
@pytest.mark.parametrize("architecture", [case(row) for row in SLIDING])
def test_in_float64_the_same_is_seen(architecture: Architecture, padding: Any) -> None:
    """Padding sees nothing through a window; transformers' own mask would make NaN of that."""
    given = architecture.inputs(torch.Generator().manual_seed(0), padding)
    single: list[LayerRecord] = []
    double: list[LayerRecord] = []
    for records, dtype in ((single, torch.float32), (double, torch.float64)):
        subject = CapturedModel(architecture.build().to(dtype), name=architecture.name)
        with subject.capture() as recorder, torch.no_grad():
            recorder.visit = records.append
            subject.transformer(**given)
    for record, wanted in zip(double, single, strict=True):
        assert record.weight.isfinite().all()
        torch.testing.assert_close(record.weight.float(), wanted.weight, atol=1e-4, rtol=0)
        assert (record.visible is None) == (wanted.visible is None)
        assert record.visible is None or torch.equal(record.visible, wanted.visible)


def demanding(own: Any, ids: Tensor, mask: Any, **more: Any) -> Any:
    """Reads texts of several lengths only where each has a token that stands far in."""
    if mask is not None and not (ids == 29).any(1).all():
        raise ValueError("token 29 is not in each text")
    return own(ids, mask, **more)


def test_a_model_that_no_short_text_suits_is_not_tried() -> None:
    ids = (1, *range(5, 29), *range(5, 29), 29, 5, 2)
    words = (-1, *range(len(ids) - 2), -1)
    example = Encoded("text", ids, (0,) * len(ids), (0,) * len(ids), words)
    subject = changed("bert", demanding)
    assert subject.verify_batching(example) is None
    assert subject.verify_on([example]) is not None


def shifted(size: float) -> CapturedModel:
    """A Llama in float64 whose first queries are larger in a batch, by this share of them."""
    made = transformer("llama").double()
    queries = made.layers[0].self_attn.q_proj
    queries.register_forward_hook(
        lambda _, __, output: output * (1 + size) if len(output) > 1 else output
    )
    return CapturedModel(made, tokenizer("llama"), "llama")


def test_a_softmax_in_float32_rounds_in_float64_too() -> None:
    """Llama takes its softmax in float32, whose sums depend on the padding and on the processor."""
    error = shifted(1e-8).verify_batching()
    assert error is not None
    assert error > 1e-9
    assert "otherwise than alone" in refusal(shifted(1e-3))


IN_DOUBLE = """
from architectures import ARCHITECTURES
from headlight.capture import CapturedModel, LayerRecord, OwnObjective
for row in ARCHITECTURES:
    if row.name in ("Llama", "Qwen2", "Qwen3", "OLMo", "EuroBERT", "LFM3"):
        CapturedModel(row.build().double(), name=row.name).verify_batching()
"""


@pytest.mark.long
@pytest.mark.parametrize("capability", ["avx2", "default"])
def test_no_model_in_float64_is_refused_on_another_processor(capability: str) -> None:
    folders = [str(Path(__file__).parent.parent), os.environ.get("PYTHONPATH", "")]
    environment = {"ATEN_CPU_CAPABILITY": capability, "PYTHONPATH": os.pathsep.join(folders)}
    program = [sys.executable, "-c", IN_DOUBLE]
    subprocess.run(program, env={**os.environ, **environment}, check=True)


@pytest.mark.parametrize("architecture", [case(row) for row in ARCHITECTURES if row not in TEXT])
def test_pictures_and_sound_have_no_padding_to_check(architecture: Architecture) -> None:
    assert CapturedModel(architecture.build(), name=architecture.name).verify_batching() is None


@pytest.mark.parametrize("forward", [unmasked, leaking])
def test_weight_on_padding(forward: Callable[..., Any]) -> None:
    assert "attends to padding: in encoder layer 0" in refusal(changed("bert", forward))


def test_weight_of_cross_attention_on_padding() -> None:
    sentence = refusal(changed("bart", of_encoder_alone))
    assert "attends to padding: in cross layer 0" in sentence


@pytest.mark.parametrize("family", ["bert", "llama"])
def test_positions_that_depend_on_padding(family: str) -> None:
    subject = changed(family, spread_out)
    assert "reads a text in a batch otherwise than alone" in refusal(subject)


def hooked_embeddings(change: Callable[[Tensor], Tensor]) -> PreTrainedModel:
    made = transformer("bert")
    made.embeddings.register_forward_hook(lambda _, __, output: change(output))
    return made


def test_statistics_of_a_batch() -> None:
    made = hooked_embeddings(lambda states: states - states.mean((0, 1)))
    assert "otherwise than alone" in refusal(CapturedModel(made, tokenizer("bert")))


def test_prompts_before_a_text() -> None:
    """Rows and columns would be named after the wrong tokens."""

    def prompted(own: Any, ids: Tensor, mask: Any, **more: Any) -> Any:
        kinds = more.pop("token_type_ids", None)
        more |= {} if kinds is None else {"token_type_ids": nn.functional.pad(kinds, (2, 0))}
        mask = None if mask is None else nn.functional.pad(mask, (2, 0), value=1)
        return own(nn.functional.pad(ids, (2, 0), value=5), mask, **more)

    sentence = refusal(changed("bert", prompted))
    assert "14 queries attend to 14 keys" in sentence
    assert "2 texts of 12 and 12 tokens" in sentence


def test_a_decoder_needs_no_mask_of_what_follows_a_text() -> None:
    """Padding on the right cannot be seen by the tokens before it."""
    error = changed("llama", unmasked).verify_batching()
    assert error is not None
    assert error < 1e-5


def test_a_survey_is_refused_before_the_first_batch() -> None:
    subject = changed("bert", unmasked)
    for corpus in (texts(4), texts(1)):  # a batch of one text has no padding of its own
        with pytest.raises(UnsupportedModelError, match="attends to padding"):
            headlight.survey(corpus, model=subject, progress=False)


def unmasked_when_long(own: Any, ids: Tensor, mask: Any, **more: Any) -> Any:
    return own(ids, None if ids.shape[1] > 12 else mask, **more)


def unmasked_among_many(own: Any, ids: Tensor, mask: Any, **more: Any) -> Any:
    return own(ids, None if len(ids) > 2 else mask, **more)


def prompted_when_long(own: Any, ids: Tensor, mask: Any, **more: Any) -> Any:
    if ids.shape[1] <= 12:
        return own(ids, mask, **more)
    more.pop("token_type_ids", None)
    return own(nn.functional.pad(ids, (2, 0), value=5), nn.functional.pad(mask, (2, 0), value=1))


@pytest.mark.parametrize("way", ["whole", "blocks", "backward"])
@pytest.mark.parametrize(
    ("forward", "reason"),
    [
        (unmasked_when_long, "attends to padding: in encoder layer 0"),
        (unmasked_among_many, "attends to padding: in encoder layer 0"),
        (prompted_when_long, "22 queries attend to 22 keys .* 20 and 20 tokens"),
    ],
)
def test_every_batch_is_looked_at(forward: Callable[..., Any], reason: str, way: str) -> None:
    """What two short texts do not show is seen where it happens."""
    subject = changed("bert", forward)
    assert subject.verify_batching() is not None
    blank = (0,) * 20
    whole = Encoded("text", tuple(range(5, 25)), blank, blank, blank)
    batch = subject.collate([whole, whole.beginning(13), whole.beginning(13)])
    with subject.capture() as recorder:
        recorder.visit, recorder.query_block = (lambda _: None), 4 if way == "blocks" else 0
        along = OwnObjective(lambda output, _: output[0].sum((1, 2)), "sum")
        backward = partial(subject.run_backward, objective=along)
        run = backward if way == "backward" else subject.run
        with pytest.raises(UnsupportedModelError, match=reason):
            run(batch)
        if forward is unmasked_when_long:  # and the next batch is another
            subject.run(subject.collate([whole.beginning(12), whole.beginning(7)]))


@pytest.mark.parametrize("family", ["bert", "llama", "bart"])
def test_padding_of_any_batch_is_no_reason(family: str) -> None:
    subject, blank = model(family), (0,) * 20
    ids = tuple(range(5, 25))
    target = (ids, blank, blank) if family == "bart" else ()
    whole = Encoded("text", ids, blank, blank, blank, *target)
    examples = [whole, whole.beginning(3), whole.beginning(11)]
    for query_block in (0, 4):
        with subject.capture() as recorder:
            recorder.visit, recorder.query_block = (lambda _: None), query_block
            subject.run(subject.collate(examples))
            if family != "bart":
                subject.run(collate(examples, 0, "left"), side="left")


@pytest.mark.parametrize("family", ["bert", "llama", "bart"])
@pytest.mark.parametrize("tokens", [1, 2, 40])
def test_texts_of_any_length_will_do(family: str, tokens: int) -> None:
    ids, blank = tuple(range(5, 5 + tokens)), (0,) * tokens
    target = (ids, blank, blank) if family == "bart" else ()
    example = Encoded("text", ids, blank, blank, blank, *target)
    for subject in (model(family), CapturedModel(transformer(family))):  # without a padding token
        error = subject.verify_batching(example)
        assert error is not None
        assert error < 1e-5


@pytest.mark.slow
def test_it_is_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[Encoded] = []
    own = CapturedModel.verify_batching

    def counting(self: CapturedModel, example: Encoded) -> Any:
        checked.append(example)
        return own(self, example)

    monkeypatch.setattr(CapturedModel, "verify_batching", counting)
    batches: list[int] = []
    call = BatchRunner.__call__

    def called(self: Any, examples: Any) -> Any:
        batches.append(len(examples))
        return call(self, examples)

    monkeypatch.setattr(BatchRunner, "__call__", called)
    headlight.survey(texts(8), model=model("bert"), progress=False, batch_tokens=24)
    assert len(batches) > 1
    assert len(checked) == 1


@pytest.mark.slow
@pytest.mark.parametrize("study", ["adversary", "guided", "permutation", "ablation", "flow"])
def test_every_kind_of_study_is_held_to_it(
    study: str, study_runs: StudyRuns, tmp_path: Path
) -> None:
    row = find_study(study)
    head = row.settings.from_mapping(row.smallest).required_head
    made = uneven(study_runs.data, {"none": None, "any": "language_model"}.get(head, head))
    # Where its head is not asked, the model is run without it.
    made.transformer.base_model.register_forward_pre_hook(
        lambda _, places, named: (places, {**named, "attention_mask": None}), with_kwargs=True
    )
    source = study_runs.data / example_data.SOURCES[row.reads]
    with pytest.raises(UnsupportedModelError, match="attends to padding"):
        getattr(headlight, study)(
            source, model=made, out=tmp_path / "run", progress=False, **row.smallest
        )


AUTO = {"sequence": AutoModelForSequenceClassification, "token": AutoModelForTokenClassification}


def headed(family: str, task: Task, **settings: Any) -> PreTrainedModel:
    """Such a model with the head of a classifier of three classes."""
    config = transformer(family, num_labels=3, **settings).config
    made: PreTrainedModel = AUTO[task].from_config(config)
    randomise(made, torch.Generator().manual_seed(3))
    return made.eval()


def classifying_decoder(padding: int | None, of_tokenizer: str | None = None) -> CapturedModel:
    """A classifier of texts whose tokenizer pads otherwise than its configuration."""
    reader = tokenizer("llama")
    reader.pad_token = of_tokenizer
    return CapturedModel(headed("llama", "sequence", pad_token_id=padding), reader, "a classifier")


@pytest.mark.parametrize(("padding", "of_tokenizer"), [(2, None), (2, "<pad>"), (0, "</s>")])
def test_a_decoder_that_classifies_is_padded_with_its_own_padding(
    padding: int, of_tokenizer: str | None
) -> None:
    """It takes the class from the last token that is not this."""
    subject = classifying_decoder(padding, of_tokenizer)
    examples = [encode_one(subject.tokenizer, each) for each in texts(4)]
    together = subject.run(subject.collate(examples)).logits
    alone = [subject.run(subject.collate([each])).logits[0] for each in examples]
    torch.testing.assert_close(together, torch.stack(alone))
    subject.verify_batching(examples[0])


def test_a_decoder_that_classifies_cannot_be_padded_without_padding() -> None:
    """It says what to set, and with that it is read as each text alone."""
    subject = classifying_decoder(None)
    reader: Any = subject.tokenizer
    subject.run(subject.collate([encode_one(reader, texts(1)[0])]))  # one alone is read
    with pytest.raises(ModelError, match="write pad_token_id into it"):
        headlight.faithfulness(texts(4), model=subject, maps=["weight"], progress=False)
    subject.transformer.config.pad_token_id = 2
    headlight.faithfulness(texts(4), model=subject, maps=["weight"], progress=False)


@pytest.mark.parametrize("family", ["bert", "llama"])
@pytest.mark.parametrize("task", ["sequence", "token"])
def test_predictions_that_depend_on_the_batch(family: str, task: Task) -> None:
    """Attention is that of the text alone, and what is made of it is not."""
    network = headed(family, task)
    subject = CapturedModel(network, tokenizer(family), family)
    assert subject.verify_batching() is not None
    last = next(each for name, each in network.named_modules() if name in ("classifier", "score"))
    last.register_forward_pre_hook(lambda _, given: (given[0] * len(given[0]),))
    assert "predicts otherwise of a text in a batch" in refusal(subject)
