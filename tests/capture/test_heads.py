"""What a model predicts is known by what it inherits from, or by what it puts out."""

import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import (
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    CLIPVisionConfig,
    LlamaConfig,
    LlamaForCausalLM,
    LlavaConfig,
    LlavaForConditionalGeneration,
    PreTrainedModel,
    ViTConfig,
    ViTForImageClassification,
)
from transformers.modeling_outputs import MaskedLMOutput

import headlight
from headlight.capture import CapturedModel, load_model
from headlight.errors import MissingHeadError
from own_models import OwnConfig
from studies.models import VOCABULARY, model, texts, tokenizer
from tiny_models import randomise

PICTURES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 32,
            "patch_size": 8, "intermediate_size": 48}  # fmt: skip


def made(kind: type[PreTrainedModel], config: Any) -> PreTrainedModel:
    network = kind(config).eval()
    randomise(network, torch.Generator().manual_seed(3))
    return network


class Own(PreTrainedModel):
    """PyTorch's own encoder with logits: of each token, or of the first."""

    config_class = OwnConfig
    causal, classifies, whole = False, False, False

    def __init__(self, config: OwnConfig) -> None:
        super().__init__(config)
        config.vocab_size = len(VOCABULARY)
        self.embedding = nn.Embedding(len(VOCABULARY), 32)
        layer = nn.TransformerEncoderLayer(32, 4, 48, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(32, config.num_labels if self.classifies else len(VOCABULARY))
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        return self.embedding

    def get_output_embeddings(self) -> nn.Module:
        return self.head

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, **_: Any
    ) -> MaskedLMOutput:
        length = input_ids.shape[1]
        mask = torch.ones(length, length, dtype=torch.bool).triu(1) if self.causal else None
        padding = None if attention_mask is None else attention_mask == 0
        logits = self.head(self.encoder(self.embedding(input_ids), mask, padding))
        return MaskedLMOutput(logits=logits[:, 0] if self.whole else logits)


class OwnDecoder(Own):
    causal = True


class OwnTagger(Own):
    classifies = True


class OwnClassifier(OwnTagger):
    whole = True


class OfAnotherSize(Own):
    """Has logits of neither a vocabulary nor classes."""

    def forward(self, *arguments: Any, **named: Any) -> MaskedLMOutput:
        return MaskedLMOutput(logits=super().forward(*arguments, **named).logits[..., :3])


@pytest.mark.parametrize(
    ("kind", "task", "language"),
    [
        (Own, None, "masked"),
        (OwnDecoder, None, "causal"),
        (OwnTagger, "token", None),
        (OwnClassifier, "sequence", None),
    ],
)
def test_own_code_has_the_head_that_its_logits_show(
    kind: type[PreTrainedModel], task: str | None, language: str | None
) -> None:
    subject = load_model(made(kind, OwnConfig()), tokenizer("bert"), head="any")
    assert (subject.head.task, subject.head.language) == (task, language)


@pytest.mark.slow
def test_an_own_decoder_answers() -> None:
    subject = headlight.load(made(OwnDecoder, OwnConfig()), tokenizer("llama"), head="any")
    passages = ["the river falls", "a mill is old"]
    answered = subject.sources("what slows", passages, max_new_tokens=2)
    assert answered.dataset.sizes["passage"] == 2
    with pytest.raises(MissingHeadError, match="inherits from its GenerationMixin"):
        subject.generate("the river")


class Renamed(LlamaForCausalLM):
    pass


class Sorted(BertForSequenceClassification):
    pass


def test_a_class_has_the_head_that_it_inherits() -> None:
    network = made(LlamaForCausalLM, model("llama").transformer.config)
    same = Renamed(network.config).eval()
    same.load_state_dict(network.state_dict())
    text = texts(1)[0]
    own, inherited = (
        headlight.load(each, tokenizer("llama"), head="any").predict(text)
        for each in (network, same)
    )
    assert own.dataset.attrs["probability"] == inherited.dataset.attrs["probability"]
    bert = made(Sorted, model("bert").transformer.config)
    assert load_model(bert, tokenizer("bert"), head="classification").head.task == "sequence"


def test_models_of_pictures_have_heads(tmp_path: Path) -> None:
    made(ViTForImageClassification, ViTConfig(**PICTURES)).save_pretrained(tmp_path / "vit")
    config = LlavaConfig(
        text_config=model("llama").transformer.config,
        vision_config=CLIPVisionConfig(**PICTURES),
        vision_feature_layer=-1,
        image_token_id=3,
    )
    made(LlavaForConditionalGeneration, config).save_pretrained(tmp_path / "llava")
    tokenizer("llama").save_pretrained(tmp_path / "llava")
    assert load_model(tmp_path / "vit", head="any").head.task == "sequence"
    subject = headlight.load(tmp_path / "llava", head="any")
    assert subject.head.language == "causal"
    assert 0 < subject.predict(texts(1)[0]).dataset.attrs["probability"] < 1


CODE = """
from torch import nn
from transformers import LlamaConfig, LlamaModel, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutput

class RemoteConfig(LlamaConfig):
    model_type = "remote-llama"

class Remote(PreTrainedModel):
    config_class = RemoteConfig

    def __init__(self, config):
        super().__init__(config)
        self.model = LlamaModel(config)
        self.last = nn.Linear(config.hidden_size, config.vocab_size)
        self.post_init()

    def forward(self, input_ids, attention_mask=None, use_cache=False):
        states = self.model(input_ids, attention_mask, use_cache=False).last_hidden_state
        return CausalLMOutput(logits=self.last(states))
"""


def test_a_checkpoint_with_code_names_its_head(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "remote_llama.py").write_text(CODE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    import remote_llama  # type: ignore[import-not-found]

    settings = {**LlamaConfig(num_hidden_layers=2, num_attention_heads=4, hidden_size=32).to_dict(),
                "vocab_size": len(VOCABULARY), "intermediate_size": 48}  # fmt: skip
    config = remote_llama.RemoteConfig(**settings)
    config.auto_map = {
        "AutoConfig": "remote_llama.RemoteConfig",
        "AutoModelForCausalLM": "remote_llama.Remote",
    }
    made(remote_llama.Remote, config).save_pretrained(tmp_path)
    tokenizer("llama").save_pretrained(tmp_path)
    monkeypatch.delitem(sys.modules, "remote_llama")
    monkeypatch.setenv("HF_MODULES_CACHE", str(tmp_path / "cache"))
    subject = headlight.load(tmp_path, head="any", trust_remote_code=True)
    assert subject.head.language == "causal"
    assert 0 < subject.predict(texts(1)[0]).dataset.attrs["probability"] < 1


@pytest.mark.parametrize(
    ("kind", "cure"),
    [
        (BertForQuestionAnswering, "leave the head out to read its attention"),
        (BertForPreTraining, "load its weights by AutoModelForMaskedLM"),
        (Sorted, "it has a classification head"),
    ],
)
def test_a_model_with_another_head_says_what_it_is(kind: type[PreTrainedModel], cure: str) -> None:
    network = made(kind, model("bert").transformer.config)
    with pytest.raises(MissingHeadError, match=cure):
        load_model(network, tokenizer("bert"), head="language_model")
    assert CapturedModel(network, tokenizer("bert")).sites


def test_own_code_without_logits_says_what_is_missing() -> None:
    with pytest.raises(MissingHeadError, match="as many as its vocabulary"):
        load_model(made(OfAnotherSize, OwnConfig()), tokenizer("bert"), head="any")
