"""Classifiers of texts and of tokens: loading them, their classes, and their attention replaced."""

from pathlib import Path

import pytest
import torch
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    LlamaConfig,
    LlamaForSequenceClassification,
    PreTrainedModel,
)

from headlight.capture import CapturedModel, Classes, attention_replaced, load_model
from headlight.errors import CorpusError, MissingHeadError, UsageError

SMALL = {
    "vocab_size": 30,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 32,
}
NAMES = {"id2label": {0: "bad", 1: "fair", 2: "good"}, "label2id": {"bad": 0, "fair": 1, "good": 2}}


def config(**settings: object) -> BertConfig:
    return BertConfig(**SMALL, **NAMES, **settings)


@pytest.mark.parametrize(
    ("kind", "task"),
    [(BertForSequenceClassification, "sequence"), (BertForTokenClassification, "token")],
)
def test_a_checkpoint_says_what_it_classifies(
    tmp_path: Path, kind: type[PreTrainedModel], task: str
) -> None:
    kind(config()).save_pretrained(tmp_path)
    loaded = load_model(tmp_path, device="cpu", head="classification")
    assert type(loaded.transformer) is kind
    assert Classes.from_model(loaded) == Classes(task, ("bad", "fair", "good"))  # type: ignore[arg-type]
    assert not hasattr(load_model(tmp_path, device="cpu").transformer, "classifier")


@pytest.mark.parametrize("kind", [BertModel, BertForMaskedLM])
def test_another_checkpoint_is_refused(tmp_path: Path, kind: type[PreTrainedModel]) -> None:
    network = kind(config())
    network.save_pretrained(tmp_path)
    sentence = f"holds a {kind.__name__}, and so has no classification head; give a checkpoint"
    with pytest.raises(MissingHeadError, match=sentence):
        load_model(tmp_path, device="cpu", head="classification")
    with pytest.raises(MissingHeadError, match=f"is a {kind.__name__}, which has no classificat"):
        load_model(network, head="classification")


def test_a_checkpoint_that_lacks_its_head_is_refused(tmp_path: Path) -> None:
    BertModel(config()).save_pretrained(tmp_path)
    said = (tmp_path / "config.json").read_text().replace("BertModel", "BertForTokenClassification")
    (tmp_path / "config.json").write_text(said)
    with pytest.raises(MissingHeadError, match=r"no classification head: its weights lack 'class"):
        load_model(tmp_path, device="cpu", head="classification")


def test_a_classifier_in_memory_is_used_as_it_is() -> None:
    network = BertForSequenceClassification(config()).eval()
    assert load_model(network, head="classification").transformer is network
    with pytest.raises(MissingHeadError, match="has no language-model head"):
        load_model(network, head="language_model")


def test_a_model_that_was_loaded_without_its_head_says_how_to_load_it() -> None:
    bare = CapturedModel(BertModel(config()).eval(), name="bare")
    with pytest.raises(MissingHeadError, match=r"bare is a BertModel.*headlight-classifier"):
        Classes.from_model(bare)


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"num_labels": 1}, "one number"),
        ({"problem_type": "regression"}, "regression"),
        ({"problem_type": "multi_label_classification"}, "multi label classification"),
    ],
)
def test_what_does_not_choose_a_class_is_refused(settings: dict[str, object], what: str) -> None:
    network = BertForSequenceClassification(BertConfig(**SMALL, **settings)).eval()
    with pytest.raises(UsageError, match=f"gives {what} for each text, and does not choose one"):
        Classes.from_model(CapturedModel(network))


def test_labels_are_names_or_numbers() -> None:
    classes = Classes("sequence", ("bad", "fair", "good"))
    assert [classes.number(label, "a:1") for label in ("good", "0", "2")] == [2, 0, 2]
    assert Classes("sequence", ("1", "0")).number("0", "a:1") == 1  # a name goes first
    for label in ("great", "3", "-1", "²"):
        with pytest.raises(CorpusError, match=rf"^a:1: the label '{label}' is none of .*0 to 2; "):
            classes.number(label, "a:1")
    with pytest.raises(CorpusError, match=r"^a:1: there is no label"):
        classes.number(None, "a:1")


def test_classes_can_be_named() -> None:
    model = CapturedModel(BertForSequenceClassification(config()).eval())
    assert Classes.from_model(model, ("x", "y", "z")).number("z", "a:1") == 2
    for names in (("x", "y"), ("x", "x", "y")):
        with pytest.raises(UsageError, match="has 3 classes, and 2 are named"):
            Classes.from_model(model, names)


def test_attention_of_a_classifier_is_replaced_below_its_head() -> None:
    torch.manual_seed(0)
    llama = LlamaConfig(**SMALL, num_labels=3, pad_token_id=0)
    for network in (
        BertForSequenceClassification(config()),
        BertForTokenClassification(config()),
        LlamaForSequenceClassification(llama),
    ):
        model = load_model(network.eval(), head="classification")
        ids = torch.randint(5, 30, (2, 6))

        def logits(network: PreTrainedModel = network, ids: torch.Tensor = ids) -> torch.Tensor:
            with torch.no_grad():
                found: torch.Tensor = network(ids).logits
            return found

        before = logits()
        with attention_replaced(model, {0: lambda weight, _: weight}):
            torch.testing.assert_close(logits(), before)
        with attention_replaced(model, {1: lambda weight, _: weight.flip(-1)}):
            assert not torch.allclose(logits(), before)
