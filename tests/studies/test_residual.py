"""Massive activations of the residual stream, against plain loops over what the model gives out."""

import statistics

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from headlight.findings import highlights
from headlight.reduce.moments import medians
from headlight.result.estimate import estimate_of
from headlight.studies.survey import SurveySettings
from headlight.studies.survey.massive_activations import SAMPLED, _medians, _peaks
from headlight.studies.survey.study import run as survey
from headlight.views.accessor import HeadlightAccessor
from studies.intervals import agrees
from studies.models import documents, subject, texts
from studies.test_numbers import _corpus, examples_of


def states_of(model, example) -> list[np.ndarray]:
    with torch.no_grad():
        ids = torch.tensor([example.ids])
        states = model.transformer(input_ids=ids, output_hidden_states=True).hidden_states
    return [state[0].double().numpy() for state in states]


def of_text(state: np.ndarray) -> dict[str, float]:
    """What is known of one text before one block, in plain loops."""
    sizes = [[abs(entry) for entry in row] for row in state]
    largest, place, dimension = max(
        (entry, -token, -number)
        for token, row in enumerate(sizes)
        for number, entry in enumerate(row)
    )
    tokens = [number * len(sizes) // SAMPLED for number in range(SAMPLED)]
    median = statistics.median_low(entry for token in tokens for entry in sizes[token])
    lengths = [sum(entry**2 for entry in row) ** 0.5 for row in sizes]
    return {
        "max": largest, "ratio": largest / median, "place": -place, "dimension": -dimension,
        "massive": float(largest > 100 and largest / median >= 1000),
        "length": lengths[0] / statistics.median(lengths),
    }  # fmt: skip


@pytest.mark.parametrize("family", ["bert", "llama"])
@pytest.mark.parametrize("block", [None, 5])
def test_a_survey_says_what_enters_blocks(family, block, monkeypatch):
    found, corpus = subject(family), texts(5, longest=14, seed=1)
    settings = SurveySettings(query_block=block) if block else SurveySettings()
    result = survey(corpus, found, settings, progress=False)
    encoded = examples_of(found, corpus)
    for layer in (0, 1):
        seen = [of_text(states_of(found, each)[layer]) for each in encoded]
        here = result.sel(layer=layer)
        for name in ("max", "ratio", "massive", "length"):
            values = [each[name] for each in seen]
            np.testing.assert_allclose(here[f"residual_{name}"], np.mean(values), rtol=1e-4)
            agrees(here, f"residual_{name}", np.array(values), np.ones(len(values)))
        none_of_five = estimate_of(here, "residual_massive")
        assert none_of_five.high == pytest.approx(0.6066, abs=1e-4)  # t² / (5 + t²)
        highest = max(range(len(seen)), key=lambda text: seen[text]["max"])
        best = seen[highest]
        np.testing.assert_allclose(here["residual_highest"], best["max"], rtol=1e-5)
        assert int(here["residual_place"]) == best["place"]
        assert int(here["residual_dimension"]) == best["dimension"]
        token = found.tokenizer.convert_ids_to_tokens(encoded[highest].ids[best["place"]])
        assert here["residual_token"].item() == token


@pytest.mark.slow
def test_a_massive_activation_is_found_and_spoken_of():
    found, corpus = subject("llama"), texts(4, longest=14, seed=1)
    embedding = found.transformer.embed_tokens.weight
    with torch.no_grad():
        embedding.mul_(0.01)
        embedding[found.tokenizer.bos_token_id, 5] = 4000
    result = survey(corpus, found, progress=False)
    assert result["residual_massive"].values.tolist() == [1, 1]
    assert result["residual_dimension"].values.tolist() == [5, 5]
    assert result["residual_token"].values.tolist() == ["<s>", "<s>"]
    (said,) = [each.text for each in highlights(result) if each.kind == "massive activations"]
    assert "up to 4,000 in dimension 5 at the first token of a text" in said
    assert HeadlightAccessor(result).table("residual")["texts with a massive one %"].tolist() == [
        100,
        100,
    ]
    of_nothing = result.assign(residual_highest=result["residual_highest"] * np.nan)
    assert "massive activations" not in [each.kind for each in highlights(of_nothing)]


@pytest.mark.slow
def test_a_model_that_gives_out_no_hidden_states_is_surveyed_without():
    found = subject("bert")
    vars(found)["stream"] = {}
    result = survey(texts(3), found, progress=False)
    assert not [name for name in result if str(name).startswith("residual")]
    assert "residual" not in HeadlightAccessor(result).tables


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_each_kind_has_the_stream_of_its_own_side(kind):
    found = subject("bart")
    settings = SurveySettings(kind=kind, pairs=True, max_length=32)
    result = survey(_corpus(documents(3)), found, settings, progress=False)
    assert np.isfinite(result["residual_max"]).all()


@settings(max_examples=60, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=4),
    size=st.integers(1, 6),
    left=st.booleans(),
    dtype=st.sampled_from([torch.float32, torch.float16, torch.bfloat16]),
    seed=st.integers(0, 1000),
)
def test_peaks_are_those_of_all_sizes(lengths, size, left, dtype, seed):
    """Of entries that are alike the first is the peak; padding may be anything."""
    generator = torch.Generator().manual_seed(seed)
    vectors = torch.randint(-4, 4, (len(lengths), max(lengths), size), generator=generator)
    vectors = vectors.to(dtype)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    mask = mask.flip(1) if left else mask
    vectors[~mask] = torch.nan
    places, sizes = _peaks(vectors, mask)
    for text, (place, row) in enumerate(zip(places.tolist(), sizes.numpy(), strict=True)):
        own = vectors[text].float().abs().masked_fill(~mask[text, :, None], -1)
        wanted, dimension = divmod(int(own.flatten().argmax()), size)
        assert (place, int(row.argmax())) == (wanted, dimension)
        np.testing.assert_array_equal(row, own[wanted].numpy())


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(
        st.lists(st.floats(0, 1e6, width=32) | st.just(np.nan), min_size=5, max_size=5),
        min_size=1,
        max_size=4,
    ),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_medians_are_those_of_torch_to_the_bit(rows, dtype):
    rows = np.array(rows, dtype)
    exact = torch.from_numpy(rows).nanquantile(0.5, dim=1).numpy()
    np.testing.assert_array_equal(medians(rows), exact)


@settings(max_examples=60, deadline=None)
@given(
    shape=st.tuples(st.integers(1, 3), st.integers(1, 5), st.integers(1, 40)),
    sampled=st.integers(1, 6),
    steps=st.sampled_from([1.0, 3.0, 1e8]),
    power=st.integers(-30, 30),
    seed=st.integers(0, 1000),
)
def test_medians_of_sampled_vectors_are_the_lower_ones(shape, sampled, steps, power, seed):
    """Whatever the sizes are, and where many are alike."""
    generator = torch.Generator().manual_seed(seed)
    vectors = (torch.randn(shape, generator=generator) * steps).round() / steps * 10.0**power
    sample = torch.randint(0, shape[1], (shape[0], sampled), generator=generator)
    exact = vectors[torch.arange(shape[0])[:, None], sample].abs().flatten(1).median(1).values
    for one in (vectors, vectors.double()):
        np.testing.assert_array_equal(_medians(one, sample), exact.to(one.dtype))
