"""What numbers are made of, kept in the folder of a run: they can be computed anew from it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.spatial.distance import jensenshannon

import headlight
from headlight.capture import CapturedModel, attention_replaced
from headlight.engine.random_numbers import random_source
from headlight.errors import UsageError
from headlight.measures import total_variation
from headlight.tensor_files import load_tensors
from headlight_papers.classifiers.attention_changes import permuted
from headlight_papers.studies.guided.models import token_classifier
from studies.classifiers import classifier, labelled, tagged
from studies.test_instance_adversary import calm

pytestmark = pytest.mark.usefixtures("undrawn")

QUICK: dict[str, Any] = {"progress": False, "keep": True}


def kept_texts(run: Path) -> list[Any]:
    return [headlight.open(path) for path in sorted((run / "kept").glob("*.nc"))]


def predictions(made: CapturedModel, text: Any, other: dict[Any, torch.Tensor]) -> np.ndarray:
    """Of the model with other attention; of a tagger where its words begin."""
    ids = torch.tensor(text.input_ids.values)[None]
    with attention_replaced(made, other), torch.no_grad():
        logits = made.transformer(input_ids=ids).logits.double()
    rows = logits if logits.ndim == 2 else logits[0, 1:-1]
    found: np.ndarray = rows.softmax(-1).numpy()
    return found


@pytest.mark.slow
@pytest.mark.parametrize("tokens", [False, True])
def test_distances_of_other_attention_can_be_computed_anew(tokens: bool, tmp_path: Path) -> None:
    """JSD from the weights that are kept, TVD by running the model with them."""
    made, data = calm(classifier(tokens)), (tagged if tokens else labelled)(4)
    options = {**QUICK, "steps": 3, "exact": "none", "by": ["all", "layer", "head"]}
    result = headlight.instance_adversary(data, model=made, out=tmp_path, **options)
    texts = kept_texts(tmp_path)
    assert len(texts) == 4
    for scope in ("", "layer_", "head_"):
        jsd, moved = [], []
        for text in texts:
            weight, other = text.weight.values, text[f"{scope}other"].values
            free = jensenshannon(weight, other, axis=-1) ** 2
            where = {"": (0, 1, 2), "layer_": (1, 2), "head_": (2,)}[scope]
            jsd.append(free.mean(where))
            np.testing.assert_allclose(text[f"{scope}jsd"], jsd[-1], atol=2e-6)
            before = predictions(made, text, {})
            np.testing.assert_allclose(text.probability, before, atol=1e-6)
            places: dict[Any, dict[Any, Any]] = {
                "": {(): {layer: other[layer] for layer in (0, 1)}},
                "layer_": {layer: {layer: other[layer]} for layer in (0, 1)},
                "head_": {
                    (layer, head): {(layer, head): other[layer, head]}
                    for layer in (0, 1)
                    for head in range(4)
                },
            }[scope]
            found = np.empty(text[f"{scope}moved"].shape)
            for place, each in places.items():
                given = {at: torch.from_numpy(values)[None] for at, values in each.items()}
                after = predictions(made, text, given)
                found[place] = (np.abs(after - before).sum(-1) / 2).mean()
            np.testing.assert_allclose(text[f"{scope}moved"], found, atol=1e-6)
            moved.append(found)
        np.testing.assert_allclose(result[f"{scope}jsd"], np.mean(jsd, 0), atol=2e-6)
        np.testing.assert_allclose(result[f"{scope}moved"], np.mean(moved, 0), atol=1e-6)
        assert (result[f"{scope}jsd"] > 0).all()


@pytest.mark.slow
def test_a_draw_can_be_made_again(tmp_path: Path) -> None:
    """From seed and number of the text, layer and number of the draw alone."""
    made = classifier()
    options = {**QUICK, "shuffles": 3, "by": ["all", "layer"], "changes": ["permuted", "uniform"]}
    result = headlight.permutation(labelled(5), model=made, out=tmp_path, **options)
    texts = kept_texts(tmp_path)
    assert len(texts) == 5
    for text in texts:
        size = len(text.input_ids)

        def other(own: Any, site: Any, text: Any = text, size: int = size) -> Any:
            seed, stream = int(text.attrs["seed"]), int(text.attrs["text_id"])
            random = random_source(seed, stream, layer=site.layer, draw=2)
            noise = random.random((own.shape[1], size, size), dtype=np.float32)
            return permuted(own, torch.ones(1, 1, size, size).bool(), torch.from_numpy(noise)[None])

        draws = text.after.isel(draw=text.change.values == "permuted")
        for place, layers in {"all": (0, 1), "L0": (0,), "L1": (1,)}.items():
            found = predictions(made, text, dict.fromkeys(layers, other))
            np.testing.assert_allclose(draws.sel(place=place, draw=2), found, atol=1e-6)
    for change in ("permuted", "uniform"):
        distances = [
            np.median(
                total_variation(
                    torch.from_numpy(text.after.isel(draw=text.change.values == change).values),
                    torch.from_numpy(text.probability.values),
                ),
                axis=1,
            ).mean(-1)
            for text in texts
        ]
        whole, *layers = np.mean(distances, 0)
        assert float(result.tvd.sel(change=change)) == pytest.approx(whole)
        np.testing.assert_allclose(result.layer_tvd.sel(change=change), layers)


@pytest.mark.slow
def test_models_that_were_guided_predict_the_same_with_what_texts_were_given(
    tmp_path: Path,
) -> None:
    """What they were given is what they were trained with, and it did not change."""
    options = {
        **QUICK, "repeats": 2, "epochs": 2, "width": 8, "processes": 1,
        "measures": ["weight"],
    }  # fmt: skip
    result = headlight.guided(labelled(15), model=classifier(), out=tmp_path, **options)
    (kept,) = kept_texts(tmp_path)
    tokens = classifier().transformer.get_input_embeddings().weight.shape[0]
    held_out = kept.isel(text=kept.held_out.values)
    assert held_out.sizes["text"] == 3
    for at, guide in enumerate(kept.guide.values):
        for seed in (0, 1):
            arrays, about = load_tensors(tmp_path / "kept" / f"guide-{at}-{seed}.safetensors")
            assert about == {"guide": guide, "seed": seed}
            network = token_classifier(tokens, 8, 2)
            network.load_state_dict({name: torch.from_numpy(each) for name, each in arrays.items()})
            right = []
            for text in range(3):
                one = held_out.isel(text=text)
                real = one.input_ids.values >= 0
                words = torch.from_numpy(one.input_ids.values[real])[None]
                given = None
                if guide != "own":
                    weights = one.given.sel(guide=guide).values[real]
                    assert weights.sum() == pytest.approx(1)
                    given = torch.from_numpy(weights)[None]
                with torch.no_grad():
                    logits, _ = network(words, torch.ones_like(words).bool(), given)
                probability = logits[0].double().softmax(-1).numpy()
                expected = one.probability.sel(guide=guide).isel(seed=seed)
                np.testing.assert_allclose(probability, expected, atol=1e-6)
                right.append(probability.argmax() == int(one.label))
            assert float(result.seed_accuracy.sel(guide=guide, seed=seed)) == np.mean(right)
    np.testing.assert_array_equal(kept.probability.isel(text=~kept.held_out.values), np.nan)


@pytest.mark.parametrize("study", ["instance_adversary", "permutation", "guided"])
def test_a_folder_is_needed(study: str) -> None:
    with pytest.raises(UsageError, match="is kept in a folder of this machine; name one"):
        getattr(headlight, study)(labelled(8), model=classifier(), keep=True, progress=False)


@pytest.mark.slow
def test_starting_over_removes_what_was_kept(tmp_path: Path) -> None:
    options = {"model": classifier(), "out": tmp_path, "shuffles": 1, **QUICK}
    headlight.permutation(labelled(4), **options)
    assert len(kept_texts(tmp_path)) == 4
    headlight.permutation(labelled(2), overwrite=True, **options)
    assert len(kept_texts(tmp_path)) == 2
