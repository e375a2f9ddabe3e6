"""What heads do by their sinks against loops, and heads that were built to be of each kind."""

from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

from headlight.capture import CapturedModel
from headlight.corpora import Document
from headlight.encode import texts as encode_texts
from headlight.encode.batch import collate
from headlight.errors import UsageError
from headlight.findings.heads_with_sinks import sink_kinds
from headlight.findings.survey import survey as sentences_of
from headlight.studies.survey import SurveySettings, sinks
from studies.chosen_numbers import settings_for, survey_with
from studies.models import VOCABULARY, WORDS, model, texts, tokenizer, uneven
from studies.naive import MAPS
from studies.test_importance import OBJECTIVES, with_head

PREFIX = {"bert": "bert.", "llama": "model."}
KIND = {"bert": "encoder", "llama": "decoder"}


def naive_losses(
    network: PreTrainedModel, family: str, prepared: Any, inputs: Any
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """Loss of one text; losses without the sink, shares of the sink, and outputs of each head."""
    names = [PREFIX[family] + name for name in MAPS[family, KIND[family]]]
    modules = dict(network.named_modules())
    seen: dict[str, torch.Tensor] = {}

    def keep(name: str) -> Any:
        return lambda _, given, output: seen.update({name: output, f"into {name}": given[0]})

    hooks = [
        modules[name.format(layer)].register_forward_hook(keep(name.format(layer)))
        for name in names
        for layer in range(2)
    ]
    output = network(**inputs, output_attentions=True)
    for hook in hooks:
        hook.remove()
    loss = float(torch.nn.functional.cross_entropy(output.logits[0], prepared.labels[0]))
    heads = output.attentions[0].shape[1]
    without, shares, outputs = np.zeros((2, heads)), np.zeros((2, heads)), []
    for layer, head in np.ndindex(2, heads):
        value_name, output_name = (name.format(layer) for name in names)
        weight = output.attentions[layer][0, head, :, 0]
        context, size = seen[f"into {output_name}"], seen[f"into {output_name}"].shape[-1] // heads
        groups = seen[value_name].shape[-1] // size
        value = seen[value_name][0, 0].view(groups, size)[head * groups // heads]
        changed, part = context.clone(), slice(head * size, (head + 1) * size)
        for query in range(len(weight)):
            changed[0, query, part] -= weight[query] * value
        projection = modules[output_name]
        hook = projection.register_forward_pre_hook(lambda _, given, new=changed: (new,))
        after = network(**inputs).logits[0]
        hook.remove()
        without[layer, head] = torch.nn.functional.cross_entropy(after, prepared.labels[0])
        shares[layer, head] = weight.mean()
        outputs.append((context[0, :, part] @ projection.weight[:, part].T).numpy())
    return loss, without, shares, np.array(outputs)


@pytest.mark.parametrize("bound", [0.0, 0.2])
@pytest.mark.parametrize("family", ["bert", "llama"])
def test_the_numbers_are_those_of_one_text_and_one_head_at_a_time(family, bound, monkeypatch):
    monkeypatch.setattr(sinks, "SINK", bound)
    monkeypatch.setattr(sinks, "TEXTS", 5)
    found, objective = with_head(family), OBJECTIVES[family]
    settings = settings_for("sinks", batch_tokens=50)
    result = survey_with("sinks", texts(7, longest=14), found, settings, objective=objective)

    network = with_head(family).transformer.double()
    network.set_attn_implementation("eager")
    read = [Document(f"text {n}", (text,)) for n, text in enumerate(texts(7, longest=14))]
    examples = encode_texts(read, found.tokenizer, max_length=64)
    changes, tried, outputs = np.zeros((2, 4)), np.zeros((2, 4)), []
    with torch.inference_mode():
        for at, example in enumerate(examples):
            prepared = objective.prepare(collate([example], 0))
            inputs = found.inputs(prepared)
            loss, without, shares, written = naive_losses(network, family, prepared, inputs)
            if at < 5 and int(prepared.predicted) > 0:
                changes += np.where(shares > bound, without - loss, 0)
                tried += shares > bound
            if family == "bert":  # ranks are of the text as it is, without masks
                written = naive_losses(
                    network, family, prepared, found.inputs(collate([example], 0))
                )[3]
            outputs.append(written)
    np.testing.assert_array_equal(result["sink_loss_texts"], tried)
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(result["sink_loss"], changes / tried, atol=2e-6)
    for place, vectors in enumerate(np.concatenate(outputs, 1)):
        eigenvalues = np.linalg.eigvalsh(vectors.T @ vectors)
        rank = eigenvalues.sum() ** 2 / (eigenvalues**2).sum()
        np.testing.assert_allclose(result["output_rank"].values[divmod(place, 4)], rank, rtol=1e-4)


THE = VOCABULARY.index("the")


def built() -> CapturedModel:
    """A decoder of one layer, all of whose texts begin with ``<s>``, which alone has a large x_0.

    Heads 0 and 1 look at it and at little else.  Head 0 takes zeros from it, and head 1 a long
    vector, the same in all texts, which is all that says *the* to the output.  Heads 2 and 3 look
    everywhere alike.
    """
    config = AutoConfig.for_model(
        "llama", pad_token_id=0, vocab_size=len(VOCABULARY), hidden_size=32, intermediate_size=8,
        num_hidden_layers=1, num_attention_heads=4, attention_bias=True, tie_word_embeddings=False,
    )  # fmt: skip
    network = AutoModelForCausalLM.from_config(config).eval()
    layer, generator = network.model.layers[0], torch.Generator().manual_seed(3)
    attention = layer.self_attn
    with torch.no_grad():
        for parameter in (*attention.parameters(), *layer.mlp.parameters()):
            parameter.zero_()
        words = network.model.embed_tokens.weight
        words.copy_(torch.randn(words.shape, generator=generator))
        words[:, :2] = 0
        words[1, 0] = 10
        words[1, 2:] = 0.1  # which head 0 does not see
        for head in (0, 1):
            # Rotary embeddings hardly turn the last pair of dimensions of a head.
            attention.q_proj.bias[8 * head + 3] = 1
            attention.k_proj.weight[8 * head + 3, 0] = 3
        attention.v_proj.weight.copy_(0.1 * torch.randn((32, 32), generator=generator))
        attention.v_proj.weight[:, :2] = 0
        attention.v_proj.weight[:8, 2:] -= attention.v_proj.weight[:8, 2:].mean(1, keepdim=True)
        attention.v_proj.weight[8, 0] = 10
        attention.o_proj.weight.copy_(0.1 * torch.randn((32, 32), generator=generator))
        attention.o_proj.weight[:, 8] = 0
        attention.o_proj.weight[1, 8] = 1
        attention.o_proj.weight[1, [*range(8), *range(9, 32)]] = 0
        network.lm_head.weight.zero_()
        network.lm_head.weight[THE, 1] = 1
    return CapturedModel(network, tokenizer("llama"), "built", "1")


def mostly_the(number: int = 20) -> list[str]:
    generator = np.random.default_rng(1)
    chances = np.where(np.array(WORDS) == "the", len(WORDS), 1)
    return [
        " ".join(generator.choice(WORDS, size=30, p=chances / chances.sum())) for _ in range(number)
    ]


@pytest.fixture(scope="module")
def of_built():
    return survey_with("sinks", mostly_the(), built())


def test_heads_that_were_built_to_be_of_a_kind_are_of_it(of_built):
    kinds = sink_kinds(of_built)
    assert kinds[["layer", "head", "sink_kind"]].values.tolist() == [
        [0, 0, "no-op"],
        [0, 1, "broadcast"],
    ]
    assert kinds["weight_share"].min() > 0.8
    np.testing.assert_allclose(kinds["norm_share"], [0, 1], atol=0.05)
    np.testing.assert_allclose(kinds["length_ratio"][0], 0, atol=1e-6)
    np.testing.assert_allclose(kinds["loss_change"][0], 0, atol=1e-6)
    assert kinds["loss_change"][1] > 0.1
    assert kinds["output_rank"][1] < 1.05 < kinds["output_rank"][0]


def test_without_a_loss_no_head_is_known_to_broadcast(of_built):
    found = built()
    without = CapturedModel(found.transformer.model, found.tokenizer, "built", "1")
    result = survey_with("sinks", mostly_the(), without)
    assert "sink_loss" not in result
    np.testing.assert_allclose(result["output_rank"], of_built["output_rank"])
    assert sink_kinds(result)["sink_kind"].tolist() == ["no-op", "inconclusive"]
    said = sentences_of(result)[-1]
    assert said == (
        "Of 4 heads, 2 have a sink at the first token: 1 no-op, 0 broadcast and 1 inconclusive; "
        "this model has no loss, without which no head is known to broadcast."
    )


def test_without_an_interval_nothing_is_known(of_built):
    bare = of_built.drop_vars([name for name in of_built.variables if "slot" in str(name)])
    assert len(sink_kinds(of_built)) == 2
    assert sink_kinds(bare).empty


def test_kinds_of_attention_are_judged_one_by_one(of_built):
    with pytest.raises(UsageError, match="several kinds"):
        sink_kinds(of_built.expand_dims(kind=["decoder"]))


def test_layers_of_fewer_and_wider_heads_have_numbers_of_their_own():
    result = survey_with("sinks", texts(6), uneven())
    assert result["output_rank"].notnull().values.tolist() == [
        [True] * 4,
        [True, True, False, False],
    ]


@pytest.mark.parametrize("size", [8, 300])
def test_ranks_do_not_depend_on_batches(size):
    whole, parts = (
        survey_with("sinks", texts(9), model("llama"), settings_for("sinks", batch_tokens=tokens))
        for tokens in (4096, size)
    )
    np.testing.assert_allclose(parts["output_rank"], whole["output_rank"], rtol=1e-5)


def test_sinks_need_norms():
    with pytest.raises(UsageError, match="norm"):
        SurveySettings(numbers=("sinks",), measures=("weight",))
