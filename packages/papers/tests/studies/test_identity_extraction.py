"""Input and hidden tokens of real models, and the whole study from texts to files."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from headlight.capture import CapturedModel
from headlight.encode import Encoded, Examples
from headlight.encode.examples import Recipe
from headlight.engine.folder import RunFolder
from headlight.errors import ResultError, RunError, UsageError
from headlight.result import RESULT
from headlight_papers.studies.token_identity import (
    MapTrainingSettings,
    TokenIdentitySettings,
    outcomes,
)
from headlight_papers.studies.token_identity.extraction import extract_vectors
from headlight_papers.studies.token_identity.study import run as run_study
from headlight_papers.studies.token_identity.training import fit
from open_folders import opening
from studies import models
from studies.models import texts

run = opening(run_study)

LENGTHS = (7, 1, 12, 4, 9, 9, 3, 5)
QUICK = TokenIdentitySettings(
    folds=2, training=MapTrainingSettings(epochs=2, hidden=8, rates=(1e-2, 1e-3))
)


def examples(lengths=LENGTHS, seed: int = 0) -> list[Encoded]:
    generator = np.random.default_rng(seed)
    made = []
    for number, length in enumerate(lengths):
        ids = tuple(generator.integers(4, 30, length).tolist())
        made.append(Encoded(f"{number}", ids, (0,) * length, (3,) * length, (0,) * length))
    return made


def listed(known: list[Encoded]) -> Examples:
    """Examples as a study reads them."""
    return Examples(Recipe(known, lambda _: (), lambda group, _: group))


def alone(model, example) -> list[torch.Tensor]:
    """Hidden states of one text by itself, without padding."""
    with torch.inference_mode():
        output = model(torch.tensor([example.ids]), output_hidden_states=True)
    return [state[0] for state in output.hidden_states]


@pytest.mark.parametrize("family", ["bert", "roberta", "llama"])
@pytest.mark.parametrize("batch_tokens", [1, 40])
def test_every_token_has_the_vectors_that_it_has_alone(family, batch_tokens, tmp_path):
    model, texts = models.model(family), examples()
    for folder in (None, tmp_path / "tokens"):
        found = extract_vectors(
            texts, model, folder=folder, batch_tokens=batch_tokens, progress=False
        )
        states = [alone(model.transformer, text) for text in texts]
        for layer, rows in enumerate((found.inputs, *found.hidden)):
            expected = torch.cat([each[layer] for each in states])
            np.testing.assert_allclose(rows, expected, atol=1e-5)
        assert found.lengths.tolist() == list(LENGTHS)


def test_finished_vectors_are_used_again_and_others_refused(tmp_path, monkeypatch):
    model, texts = models.model("bert"), examples()
    first = extract_vectors(texts, model, folder=tmp_path, progress=False)
    monkeypatch.setattr(CapturedModel, "run", lambda *_: pytest.fail("the model runs again"))
    again = extract_vectors(texts, model, folder=tmp_path, progress=False)
    np.testing.assert_array_equal(first.hidden[1], again.hidden[1])
    assert isinstance(again.hidden[0], np.memmap)
    with pytest.raises(RunError, match="another model or of other examples"):
        extract_vectors(examples(seed=1), model, folder=tmp_path, progress=False)
    (tmp_path / "hidden-01.npy").write_bytes(b"nothing")
    with pytest.raises(ResultError, match="remove the folder"):
        extract_vectors(texts, model, folder=tmp_path, progress=False)


def test_a_decoder_of_an_encoder_decoder_is_refused():
    with pytest.raises(UsageError, match="give the encoder of the model alone"):
        extract_vectors(examples(), models.model("bart"), progress=False)
    found = extract_vectors(examples(), models.model("bart").encoder(), progress=False)
    assert len(found.inputs) == sum(LENGTHS)


@pytest.mark.slow
def test_from_texts_to_a_result_and_files(tmp_path):
    found = run(
        listed(examples()),
        models.model("bert"),
        QUICK,
        folder=RunFolder(path=tmp_path),
        progress=False,
    )
    assert found["rate"].dims == ("map", "loss", "offset", "fraction", "layer", "fold")
    assert found["rate"].shape == (3, 2, 1, 1, 2, 2)
    assert found.attrs["stage"] == "token_identity"
    assert found.attrs["tokens"] == sum(LENGTHS)
    assert found.attrs["chance"] == pytest.approx(len(LENGTHS) / sum(LENGTHS))
    assert json.loads(found.attrs["settings"])["folds"] == 2
    values = found["rate"].sel(map="linear", loss="l2", layer=1).values.ravel()
    one = found.sel(map="linear", loss="l2", layer=1).squeeze(drop=True)
    assert float(one["rate_mean"]) == pytest.approx(values.mean())
    assert float(one["rate_standard_error"]) == pytest.approx(values.std(ddof=1) / np.sqrt(2))


@pytest.mark.slow
def test_interrupted_training_goes_on(tmp_path, monkeypatch):
    whole = run(listed(examples()), models.model("bert"), QUICK, progress=False)
    fitted = []

    def fit_some(tokens, case, *others):
        if len(fitted) == 5:
            raise KeyboardInterrupt
        fitted.append(case)
        return fit(tokens, case, *others)

    monkeypatch.setattr(outcomes, "fit", fit_some)
    given = {"folder": RunFolder(path=tmp_path, resume=True), "progress": False}
    with pytest.raises(KeyboardInterrupt):
        run(listed(examples()), models.model("bert"), QUICK, **given)
    before, fitted = list(fitted), []
    monkeypatch.setattr(outcomes, "fit", lambda *given: fitted.append(given[1]) or fit(*given))
    resumed = run(listed(examples()), models.model("bert"), QUICK, **given)
    assert before
    assert not set(before) & set(fitted)
    assert resumed.drop_attrs().identical(whole.drop_attrs())

    other = replace(QUICK, seed=1)
    with pytest.raises(RunError, match="other settings \\(seed\\)"):
        run(listed(examples()), models.model("bert"), other, **given)
    (tmp_path / RESULT).unlink()
    run(listed(examples()), models.model("bert"), other, **given)  # in the place of the same files
    (tmp_path / RESULT).unlink()
    fitted.clear()
    run(listed(examples()), models.model("bert"), QUICK, **given)
    assert not fitted  # what is known of each map is kept by what it depends on


@pytest.mark.slow
def test_a_run_that_is_overwritten_may_be_of_other_tokens(tmp_path):
    naive = TokenIdentitySettings(maps=("naive",), folds=1)
    given = {"model": models.model("bert"), "settings": naive, "progress": False}
    run(listed(examples()), folder=RunFolder(path=tmp_path), **given)
    others = listed(examples(seed=1))
    with pytest.raises(UsageError, match="holds a run already"):
        run(others, folder=RunFolder(path=tmp_path), **given)
    with pytest.raises(RunError, match="corpus has changed"):
        run(others, folder=RunFolder(path=tmp_path, resume=True), **given)
    found = run(others, folder=RunFolder(path=tmp_path, overwrite=True), **given)
    assert found.equals(run(others, **given))


def test_studies_of_the_same_tokens_share_what_is_kept(tmp_path, monkeypatch):
    naive = TokenIdentitySettings(maps=("naive",), folds=1)
    run(listed(examples()), models.model("bert"), naive, cache=tmp_path, progress=False)
    model = models.model("bert")
    assert model.kinds == ("encoder",)  # known from a run of its own
    monkeypatch.setattr(CapturedModel, "run", lambda *_: pytest.fail("the model runs again"))
    linear = naive.replace(maps=("linear",), solver="ridge")
    found = run(listed(examples()), model, linear, cache=tmp_path, progress=False)
    assert found["rate"].notnull().all()


def test_texts_are_read_as_in_every_study(tmp_path):
    settings = TokenIdentitySettings(maps=("naive",), folds=1, max_length=16, max_examples=5)
    found = run(
        [texts(1, seed=number)[0] for number in range(8)],
        models.model("bert"),
        settings,
        progress=False,
    )
    assert found.attrs["examples"] == 5
    assert all(each.attrs["long_name"] for each in found.data_vars.values())


def test_a_large_study_is_kept_in_files_and_is_the_same(tmp_path):
    small = TokenIdentitySettings(maps=("naive",), folds=2, memory=10)
    spilled = run(listed(examples()), models.model("bert"), small, progress=False)
    kept = run(
        listed(examples()),
        models.model("bert"),
        TokenIdentitySettings(maps=("naive",), folds=2),
        progress=False,
    )
    assert spilled["rate"].equals(kept["rate"])


def test_words_that_occur_twice_are_counted_where_positions_are_not_added():
    lengths = (6, 6, 6, 6)
    same = [Encoded("a", (5, 6, 5, 7, 5, 8), (0,) * 6, (3,) * 6, (0,) * 6) for _ in lengths]
    naive = TokenIdentitySettings(maps=("naive",), folds=1)
    added = run(listed(same), models.model("bert"), naive, progress=False)
    rotary = run(listed(same), models.model("llama"), naive, progress=False)
    assert added.attrs["repeated_inputs"] == 0
    assert rotary.attrs["repeated_inputs"] == 3 * len(lengths)


def test_a_search_on_one_map_gives_all_the_same_learning_rate():
    one = TokenIdentitySettings(
        maps=("linear",),
        folds=2,
        rate_search="shared",
        training=MapTrainingSettings(epochs=2, rates=(1e-2, 1e-4)),
    )
    found = run(listed(examples()), models.model("bert"), one, progress=False)
    for loss in ("cosine", "l2"):
        rates = set(found["parameter"].sel(loss=loss).values.ravel())
        assert len(rates) == 1
        assert rates < {1e-2, 1e-4}
