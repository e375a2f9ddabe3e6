"""What holds on trained weights and natural text, which random ones cannot show.

The models are those of ``make models``; HEADLIGHT_MODELS names their folder.
"""

import re
from base64 import b64decode
from pathlib import Path

import numpy as np
import pytest
import torch

import headlight
from headlight.capture import LayerRecord
from headlight.measures import Scores, effective_causal
from headlight.reading.model import Model
from headlight.reading.reading import Reading
from headlight.views.result_contents import answers
from real.models import MODELS, needs_models

pytestmark = needs_models
TEXT = (
    "The old bridge over the river was closed in the spring, because the flood had damaged two of "
    "its arches. People who worked on the other side of the river had to take the train, and the "
    "train was late nearly every day. When the bridge was opened again in the autumn, the mayor "
    "said that the town had learned how much it needed the old bridge, and everyone who had "
    "taken the train agreed with the mayor."
)
SMOLLM2, MINILM = "smollm2", "minilm"
SAMPLED = {SMOLLM2: (0, 1, 12, 18, 29), MINILM: (0, 2, 5)}
"""Layers that are computed once more, from the definitions."""


@pytest.fixture(scope="module", params=[SMOLLM2, MINILM])
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def model(name: str) -> Model:
    assert MODELS is not None
    return headlight.load(Path(MODELS) / name)


@pytest.fixture(scope="module")
def reading(model: Model) -> Reading:
    return model.read(TEXT)


def definitions(model: Model, text: str, layer: int, alpha: np.ndarray) -> tuple[np.ndarray, ...]:
    """Norms and effective attention of all heads of a layer, from the papers' definitions.

    The values are what the model's own projection puts out; all else is loops in float64.
    """
    site = next(each for each in model.sites if each.layer == layer)
    module = model.transformer.get_submodule(site.name)
    project = next(getattr(module, each) for each in ("v_proj", "value") if hasattr(module, each))
    seen: list[torch.Tensor] = []
    hook = project.register_forward_hook(lambda *call: seen.append(call[-1]))
    with torch.no_grad():
        model.transformer(**model.tokenizer(text, return_tensors="pt"))
    hook.remove()
    values = seen[0][0].double().numpy().reshape(-1, site.kv_heads, site.head_dim)
    projection = model.transformer.get_submodule(site.projection.name)
    output = projection.weight.detach().double().numpy()
    effective_causal = not np.triu(alpha[0], 1).any()
    norm, effective = np.zeros_like(alpha), np.zeros_like(alpha)
    for head in range(site.heads):
        columns = slice(head * site.head_dim, (head + 1) * site.head_dim)
        value = values[:, head * site.kv_heads // site.heads]
        transformed = value @ output[:, columns].T
        norm[head] = alpha[head] * np.linalg.norm(transformed, axis=1)
        for query, row in enumerate(alpha[head]):
            keys = slice(0, query + 1 if effective_causal else None)
            left, singular, _ = np.linalg.svd(transformed[keys], full_matrices=False)
            kept = left[:, singular > 1e-5 * singular[0]]
            effective[head, query, keys] = kept @ (kept.T @ row[keys])
    return norm, effective


def test_the_capture_is_exact(model: Model) -> None:
    assert max(site.error for site in model.sites) < 1e-4


def test_norms_and_effective_attention_are_those_of_the_definitions(
    name: str, model: Model, reading: Reading
) -> None:
    for layer in SAMPLED[name]:
        alpha = reading.weight.sel(layer=layer).values.astype(np.float64)
        norm, effective = definitions(model, TEXT, layer, alpha)
        np.testing.assert_allclose(reading.norm.sel(layer=layer), norm, rtol=2e-3, atol=1e-4)
        np.testing.assert_allclose(reading.effective.sel(layer=layer), effective, atol=2e-3)


def test_effective_attention_is_that_of_singular_values_of_the_captured_vectors(
    name: str, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No head of natural text needs a decomposition, though tokens repeat, and beginnings just
    longer than the heads are wide are far from orthogonal."""
    monkeypatch.setattr(effective_causal, "row_space", None)
    ids = model.tokenizer(TEXT, return_tensors="pt").input_ids
    assert len(ids[0].unique()) < 0.8 * ids.shape[1]

    def compare(record: LayerRecord) -> None:
        if record.site.layer not in SAMPLED[name]:
            return
        scores = Scores(record)
        for head, rows in enumerate(scores.rows[0].numpy()):
            for query in range(0, ids.shape[1], 3):
                keys = slice(0, query + 1 if name == SMOLLM2 else None)
                left, values, _ = np.linalg.svd(rows[keys], full_matrices=False)
                width = scores.record.site.projection.weight.shape[2]
                tolerance = max(len(left), width) * np.finfo(np.float64).eps
                kept = left[:, values > tolerance * values[0]]
                alpha = record.weight[0, head, query, keys].double().numpy()
                found = scores.effective[0, head, query, keys]
                np.testing.assert_allclose(found, kept @ (kept.T @ alpha), atol=1e-9)
                of_query = scores.rank[0, head].expand(ids.shape[1])
                assert int(of_query[query]) == kept.shape[1]

    with model.capture() as recorder, torch.no_grad():
        recorder.visit = compare
        model.transformer(input_ids=ids)


def test_the_converted_decoder_still_knows_what_it_learned() -> None:
    assert MODELS is not None
    model = headlight.load(Path(MODELS) / SMOLLM2, head="language_model")
    ids = model.tokenizer("The capital of France is", return_tensors="pt")
    with torch.no_grad():
        best = model.transformer(**ids).logits[0, -1].argmax()
    assert model.tokenizer.decode(best) == " Paris"


def test_a_decoder_looks_at_its_first_token_and_takes_little_from_it() -> None:
    assert MODELS is not None
    found = headlight.load(Path(MODELS) / SMOLLM2).read(TEXT)
    later = found.weight[:, :, 1:]
    norm = found.norm[:, :, 1:]
    weight_share = float(later[..., 0].mean())
    norm_share = float((norm[..., 0] / norm.sum(norm.dims[-1])).mean())
    assert weight_share > 0.35
    assert norm_share < 0.8 * weight_share


def test_its_previous_token_head_is_found() -> None:
    assert MODELS is not None
    weight = headlight.load(Path(MODELS) / SMOLLM2).read(TEXT).weight.values
    previous = np.diagonal(weight, -1, -2, -1).mean(-1)
    assert np.unravel_index(previous.argmax(), previous.shape) == (16, 0)


def test_a_survey_reads_natural_text_to_a_report(model: Model, tmp_path: Path) -> None:
    sentences = [each.strip() + "." for each in TEXT.split(".") if each.strip()] * 8
    headlight.survey(sentences, model=model, out=tmp_path / "run", progress=False)
    page = (tmp_path / "run" / "report.html").read_text()
    drawn = re.findall(r"data:image/svg\+xml;base64,([^\"]+)", page)
    page = re.sub(r' title="[^"]*"', "", page)  # where the vocabulary's own writing is told
    words = page + "".join(b64decode(each).decode() for each in drawn)
    assert "What was found" in words
    assert "Ġ" not in words


def test_its_induction_heads_are_named() -> None:
    assert MODELS is not None
    result = headlight.circuits(
        model=Path(MODELS) / SMOLLM2,
        parts=["copying", "repeated"],
        sequences=12,
        tokens=50,
        progress=False,
    )
    scores = result.repeated.sel(behaviour="prefix_matching")
    for layer, head, weight in ((18, 6, 0.91), (17, 3, 0.78), (18, 7, 0.59)):
        found = scores.sel(measure="weight", layer=layer, head=head)
        assert float(found) == pytest.approx(weight, abs=0.06)
        for sentence in answers(result)[:2]:
            assert "induction head" in sentence
            assert f"L{layer}H{head}" in sentence
    assert float(scores.sel(measure="norm", layer=18, head=7)) == pytest.approx(0.87, abs=0.06)
    assert float(result.copying.sel(layer=18, head=6)) == pytest.approx(0.74, abs=0.01)
    assert float(result.copying.median()) == pytest.approx(0.49, abs=0.01)
