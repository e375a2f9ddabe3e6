"""The public face, as it is written in the documentation."""

import pkgutil
from importlib import import_module

import numpy as np
import pytest
import xarray

import headlight
from headlight.capture.loading import EMBEDDED
from headlight.errors import HeadlightError, ModelError, UsageError
from studies.models import saved, texts

needs_embedded = pytest.mark.skipif(
    not (EMBEDDED / "config.json").exists(), reason="the embedded model is not in this tree"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return saved("bert", tmp_path_factory.mktemp("model"))


def use(model: headlight.Model, folder) -> None:
    """The lines of the documentation."""
    reading = model.read("The cat sat.", "It purred.")
    for array in (reading.weight, reading.norm, reading.merged_norm, reading.effective):
        assert isinstance(array, xarray.DataArray)
        assert np.isfinite(array).all()
    page = reading.save(folder / "x.html")
    assert page.read_text().startswith("<!")
    assert reading.show() is not None


@needs_embedded
def test_the_embedded_model_reads(tmp_path):
    use(headlight.load(), tmp_path)


def test_a_model_from_a_folder_reads(folder, tmp_path):
    model = headlight.load(folder)
    assert isinstance(model, headlight.Model)
    assert model.name == str(folder)
    assert model.revision.startswith("sha256:")
    use(model, tmp_path)


def test_a_survey_of_a_file(folder, tmp_path):
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n\n".join(texts(4)))
    model = headlight.load(folder)
    result = headlight.survey(str(corpus), model=model, progress=False)
    assert isinstance(result, xarray.Dataset)
    assert result.attrs["documents"] == 4
    by_name = headlight.survey(corpus, model=folder, layers=(1,), progress=False)
    np.testing.assert_allclose(by_name["share"], result["share"].sel(layer=[1]), rtol=1e-4)


def test_a_survey_in_a_folder(folder, tmp_path):
    options = {"model": headlight.load(folder), "out": tmp_path / "out", "progress": False}
    corpus = texts(4)
    first = headlight.survey(corpus, **options)
    with pytest.raises(UsageError, match="holds a run already"):
        headlight.survey(corpus, **options)
    again = headlight.survey(corpus, resume=True, **options)
    assert again.identical(first)
    fewer = headlight.survey(corpus, overwrite=True, max_examples=2, **options)
    assert fewer.attrs["documents"] == 2


def test_the_sample_corpus_is_read_as_pairs(folder):
    result = headlight.survey(model=folder, max_examples=3, progress=False)
    assert result.attrs["corpus"] == "the sample corpus"
    assert '"pairs": true' in result.attrs["settings"]


def test_wrong_requests(folder, tmp_path):
    model = headlight.load(folder)
    with pytest.raises(TypeError, match="nonsense"):
        headlight.survey(["the sea"], model=model, nonsense=1)
    for settings in (
        {"overflow": "spill"}, {"layers": ()},
        {"max_examples": 0}, {"batch_tokens": 0}, {"max_length": 0}, {"layers": (5,)},
        {"pairs": True, "segment_ids": "ones"}, {"pairs": True, "lone_units": "keep"},
    ):  # fmt: skip
        with pytest.raises(UsageError):
            headlight.survey(["the sea"], model=model, progress=False, **settings)
    with pytest.raises(ModelError, match="nothing"):
        headlight.load(tmp_path / "nothing")
    with pytest.raises(HeadlightError):
        headlight.survey([], model=model, progress=False)


def test_survey_stays_callable_after_every_submodule_was_imported():
    names = [module.name for module in pkgutil.walk_packages(headlight.__path__, "headlight.")]
    assert "headlight.studies.heads.study" in names
    for name in names:
        if not name.endswith("__main__"):
            import_module(name)
    for name in ("survey", "load"):
        assert callable(getattr(headlight, name))
    assert isinstance(headlight.Model, type)
    assert isinstance(headlight.Reading, type)
