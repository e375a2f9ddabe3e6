"""The embedded classifier: the embedded model, and what training changed of it."""

import pytest
import torch
from safetensors.torch import load_file

from headlight.capture import load_model
from headlight.capture.changed_weights import CHANGED, DOWN, UP, weights_of, with_changes
from headlight.capture.loading import load_start
from headlight.catalogue import EMBEDDED_CLASSIFIER
from headlight.catalogue.embedded_models import EMBEDDED, EMBEDDED_MODELS
from headlight.corpora import SAMPLE_REVIEWS, open_sentence_pairs

FOLDER = EMBEDDED_MODELS[EMBEDDED_CLASSIFIER]

pytestmark = pytest.mark.skipif(
    not (FOLDER / "config.json").exists(), reason="the embedded classifier is not in this tree"
)


def test_a_narrow_change_is_added_and_another_takes_the_place() -> None:
    base = {"w": torch.tensor([[1.0, 2.0], [3.0, 4.0]]), "b": torch.zeros(2), "c": torch.ones(1)}
    up, down = torch.tensor([[1.0], [2.0]]), torch.tensor([[10.0, 20.0]])
    found = with_changes(base, {f"w{UP}": up, f"w{DOWN}": down, "b": torch.ones(2)})
    assert found["w"].tolist() == [[11.0, 22.0], [23.0, 44.0]]
    assert (found["b"].tolist(), found["c"].tolist()) == ([1.0, 1.0], [1.0])
    assert set(found) == {"w", "b", "c"}
    assert base["w"].tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_what_is_not_changed_is_that_of_the_embedded_model() -> None:
    place, given = weights_of(str(FOLDER))
    base, kept = load_file(EMBEDDED / "model.safetensors"), load_file(FOLDER / CHANGED)
    changed = {name.removesuffix(UP).removesuffix(DOWN) for name in kept}
    assert place is None
    for name, each in given["state_dict"].items():
        assert (name in changed) != (name in base and torch.equal(each, base[name])), name
    assert weights_of(str(EMBEDDED)) == (str(EMBEDDED), {})


@pytest.mark.slow
def test_the_classifier_is_right_where_single_words_are_not() -> None:
    # Its card says 98% of 1,000 texts, and 65% by a bag of words; the first 100 are enough here.
    model = load_model(EMBEDDED_CLASSIFIER, head="classification", device="cpu")
    texts = list(open_sentence_pairs(SAMPLE_REVIEWS))[:100]
    inputs = model.tokenizer([each.first for each in texts], padding=True, return_tensors="pt")
    with torch.inference_mode():
        found = model.transformer(**inputs).logits.argmax(-1)
    names = model.transformer.config.id2label
    right = sum(names[int(one)] == each.label for one, each in zip(found, texts, strict=True))
    assert right >= 90


@pytest.mark.slow
def test_its_revision_is_of_both_files_and_it_is_a_start() -> None:
    model = load_model(EMBEDDED_CLASSIFIER, head="classification", device="cpu")
    other = load_model(device="cpu")
    assert model.revision.startswith("sha256:")
    assert model.revision != other.revision
    assert load_model(EMBEDDED_CLASSIFIER, device="cpu").transformer.config.num_labels == 2
    start = load_start(EMBEDDED_CLASSIFIER, model)
    for name, each in start.state_dict().items():
        assert torch.equal(each, model.transformer.state_dict()[name])
