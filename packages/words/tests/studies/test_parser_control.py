"""The random control keeps its embeddings and nothing else."""

import pytest
import torch

from headlight.capture import CapturedModel
from headlight.errors import UnsupportedModelError
from headlight_words.studies.parser_probes.batches import random_control
from studies import models
from studies.models import uneven

KEPT = {
    "bert": {"word_embeddings", "position_embeddings", "token_type_embeddings"},
    "roberta": {"word_embeddings", "position_embeddings", "token_type_embeddings"},
    "llama": {"embed_tokens"},
    "bart": {"shared", "encoder.embed_positions", "decoder.embed_positions"},
    "t5": {"shared"},
}


@pytest.mark.parametrize("family", KEPT)
def test_embeddings_are_kept_and_everything_else_is_new(family):
    pretrained = models.model(family)
    control = random_control(pretrained, seed=1)
    assert {
        name.removeprefix("embeddings.").removesuffix(".weight") for name in control.kept
    } == KEPT[family]
    before = dict(pretrained.transformer.named_parameters())
    for name, parameter in control.transformer.named_parameters():
        assert torch.equal(parameter, before[name]) == (name in control.kept), name
        assert parameter is not before[name]
    assert not control.transformer.training


def test_the_seed_decides_and_the_generator_of_others_is_left_alone():
    pretrained = models.model("bert")
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    controls = [random_control(pretrained, seed=seed).transformer for seed in (0, 0, 1)]
    assert torch.equal(torch.rand(4), expected)
    weights = [model.encoder.layer[0].attention.self.query.weight for model in controls]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_it_can_be_captured_and_says_what_it_is():
    pretrained = models.model("bert")
    control = random_control(pretrained, seed=4)
    assert isinstance(control, CapturedModel)
    assert [site.heads for site in control.sites] == [site.heads for site in pretrained.sites]
    assert "random" in control.name
    assert control.revision.endswith("seed 4")
    assert control.tokenizer is pretrained.tokenizer


def test_the_encoder_of_an_encoder_decoder_has_a_control_too():
    for family in ("bart", "t5"):
        control = random_control(models.model(family).encoder())
        assert any("embed_tokens" in name or "shared" in name for name in control.kept)
        assert control.sites


def test_attention_tables_of_positions_are_random():
    """T5 keeps its positions inside attention: they are learned weights like any other."""
    control = random_control(models.model("t5"))
    assert not any("relative_attention_bias" in name for name in control.kept)


def test_half_precision_stays():
    pretrained = models.model("bert")
    pretrained.transformer.half()
    assert random_control(pretrained).transformer.dtype == torch.float16


def wider() -> CapturedModel:
    odd = models.model("bert")
    odd.transformer.config.intermediate_size += 1
    return odd


@pytest.mark.parametrize("make", [uneven, wider])
def test_a_model_that_its_configuration_does_not_describe_is_refused(make):
    with pytest.raises(UnsupportedModelError, match="configuration"):
        random_control(make())


def test_what_the_model_leaves_out_does_no_harm():
    """A pooler, for one, which no attention depends on."""
    made = models.model("bert")
    made.transformer.pooler = None
    assert random_control(made).sites
