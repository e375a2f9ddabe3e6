"""What heads do by their sinks against loops, and heads that were built to be of each kind."""

from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForMaskedLM, PreTrainedModel

from headlight.capture import CapturedModel, CausalLanguageModel, MaskedLanguageModel, Objective
from headlight.corpora import Document
from headlight.encode import texts as encode_texts
from headlight.encode.batch import collate
from headlight.errors import UsageError
from headlight.findings.sink_kinds import sink_kinds
from headlight.findings.survey import survey as sentences_of
from headlight.studies.survey import SurveySettings, sinks
from studies.chosen_numbers import settings_for, survey_with
from studies.models import SETTINGS, VOCABULARY, WORDS, model, texts, tokenizer, uneven
from studies.naive import MAPS
from tiny_models import randomise

PREFIX = {"bert": "bert.", "llama": "model."}
OBJECTIVES: dict[str, Objective] = {
    "bert": MaskedLanguageModel(
        mask_id=3, vocabulary=len(VOCABULARY), special_ids=frozenset(range(4)), rate=0.3
    ),
    "llama": CausalLanguageModel(),
}
KIND = {"bert": "encoder", "llama": "decoder"}


def with_head(family: str) -> CapturedModel:
    config = AutoConfig.for_model(family, pad_token_id=0, **SETTINGS[family])
    classes = {"bert": AutoModelForMaskedLM, "llama": AutoModelForCausalLM}
    made = classes[family].from_config(config)
    randomise(made, torch.Generator().manual_seed(5))
    return CapturedModel(made.eval(), tokenizer(family), family, "1")


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
                written = naive_losses(network, family, prepared, found.inputs(collate([example], 0)))[3]
            outputs.append(written)
    np.testing.assert_array_equal(result["sink_loss_texts"], tried)
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(result["sink_loss"], changes / tried, atol=2e-6)
    for place, vectors in enumerate(np.concatenate(outputs, 1)):
        eigenvalues = np.linalg.eigvalsh(vectors.T @ vectors)
        rank = eigenvalues.sum() ** 2 / (eigenvalues**2).sum()
        np.testing.assert_allclose(result["output_rank"].values[divmod(place, 4)], rank, rtol=1e-4)
