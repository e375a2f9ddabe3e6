"""The public face, as it is written in the documentation."""

import pkgutil
import subprocess
import sys
from importlib import import_module

import numpy as np
import pytest
import xarray
import yaml

import headlight
from headlight.catalogue import studies
from headlight.catalogue.embedded_models import EMBEDDED
from headlight.errors import HeadlightError, MissingHeadError, ModelError, UsageError
from studies.models import saved, texts

pytestmark = pytest.mark.usefixtures("undrawn")

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


@pytest.mark.slow
@needs_embedded
def test_the_embedded_model_reads(tmp_path):
    use(headlight.load(), tmp_path)


@pytest.mark.slow
def test_a_model_from_a_folder_reads(folder, tmp_path):
    model = headlight.load(folder)
    assert isinstance(model, headlight.Model)
    assert model.name == str(folder)
    assert model.revision.startswith("sha256:")
    use(model, tmp_path)


@pytest.mark.slow
def test_a_survey_of_a_file(folder, tmp_path):
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n\n".join(texts(4)))
    model = headlight.load(folder)
    result = headlight.survey(str(corpus), model=model, progress=False)
    assert isinstance(result, xarray.Dataset)
    assert result.attrs["examples"] == 4
    by_name = headlight.survey(corpus, model=folder, layers=range(1, 2), progress=False)
    np.testing.assert_allclose(by_name["share"], result["share"].sel(layer=[1]), rtol=1e-4)


@pytest.mark.slow
def test_a_survey_in_a_folder(folder, tmp_path):
    options = {"model": headlight.load(folder), "out": tmp_path / "out", "progress": False}
    corpus = texts(4)
    first = headlight.survey(corpus, **options)
    with pytest.raises(UsageError, match="holds a run already"):
        headlight.survey(corpus, **options)
    again = headlight.survey(corpus, resume=True, **options)
    assert again.identical(first)
    fewer = headlight.survey(corpus, overwrite=True, max_examples=2, **options)
    assert fewer.attrs["examples"] == 2


@pytest.mark.slow
def test_a_folder_holds_what_the_command_line_writes(folder, tmp_path):
    result = headlight.distances(texts(4), model=folder, out=tmp_path / "out", progress=False)
    found = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"result.nc", "report.html", "config.yaml", "tables"} <= found
    opened = headlight.open(tmp_path / "out")
    assert opened.identical(result)
    assert headlight.open(tmp_path / "out" / "result.nc").identical(result)


@pytest.mark.slow
def test_a_reading_is_opened(folder, tmp_path):
    reading = headlight.load(folder).read("the sea")
    opened = headlight.open(reading.save(tmp_path / "sea.nc"))
    assert opened.attrs["stage"] == "reading"
    page = opened.headlight.report(tmp_path / "sea.html")
    assert page.read_text().startswith("<!")


def test_the_sample_corpus_is_read_as_pairs(folder):
    result = headlight.survey(model=folder, max_examples=3, progress=False)
    assert result.attrs["corpus"] == "the sample corpus"
    assert '"pairs": true' in result.attrs["settings"]


@pytest.mark.slow
def test_a_model_in_memory(folder):
    kept = headlight.load(folder)
    for model in (kept.transformer, headlight.load(kept.transformer, kept.tokenizer)):
        more = {} if isinstance(model, headlight.Model) else {"tokenizer": kept.tokenizer}
        result = headlight.survey(texts(3), model=model, progress=False, **more)
        expected = headlight.survey(texts(3), model=kept, progress=False)
        xarray.testing.assert_equal(result, expected)


@pytest.mark.slow
@needs_embedded
def test_gradients_are_reached_by_name_and_by_a_model_with_its_head(folder):
    settings = {"measures": ("weight", "gradient"), "max_examples": 2, "progress": False}
    corpus = ["the river falls near a bridge of stone in the old town ."] * 2
    by_name = headlight.survey(corpus, **settings)
    model = headlight.load(head="language_model")
    for loaded in (model, headlight.load()):
        xarray.testing.assert_equal(headlight.survey(corpus, model=loaded, **settings), by_name)
    chosen = {"measures": ("weight",), "numbers": ("importance",)}
    assert headlight.survey(corpus, model=model, progress=False, **chosen)["loss"] > 0
    with pytest.raises(MissingHeadError, match="load a language model"):
        headlight.survey(corpus, model=headlight.load(head="none"), **settings)


@pytest.mark.slow
@needs_embedded
def test_a_head_that_nothing_asks_changes_no_number():
    whole, bare = headlight.load(), headlight.load(head="none")
    assert whole.head
    assert not bare.head
    assert whole.headless().identity() == bare.identity()
    first, second = (
        headlight.survey(["the river is old ."] * 2, model=model, progress=False)
        for model in (whole, bare)
    )
    xarray.testing.assert_equal(first, second)
    read = [model.read("the river is old .").dataset for model in (whole, bare)]
    xarray.testing.assert_equal(*read)


@pytest.mark.slow
def test_what_a_result_can_do(folder, tmp_path):
    result = headlight.survey(texts(4), model=folder, progress=False)
    layers, heads = (result.headlight.table(name) for name in (None, "heads"))
    assert list(layers["layer"]) == [0, 1]
    share = result["share"].sel(measure="norm", query_category="all", key_category="sep")
    np.testing.assert_allclose(layers["norm </s> %"], 100 * share.mean("head"))
    np.testing.assert_allclose(heads["norm </s> %"], 100 * share.values.ravel())
    assert {name: result.headlight.plot(name) for name in result.headlight.plots}
    with pytest.raises(UsageError, match=r"no table is called 'haeds'\. Did you mean 'heads'"):
        result.headlight.table("haeds")
    with pytest.raises(UsageError, match="must end in"):
        result.headlight.report(tmp_path / "report.pdf")
    with pytest.raises(UsageError, match="no study is called"):
        xarray.Dataset().headlight.table()


def test_wrong_requests(folder, tmp_path, unchecked):
    model = headlight.load(folder)
    with pytest.raises(UsageError, match=r"'max_lenght'\. Did you mean 'max_length'"):
        headlight.survey(["the sea"], model=model, max_lenght=1)
    with pytest.raises(UsageError, match="has a tokenizer already"):
        headlight.survey(["the sea"], model=model, tokenizer=model.tokenizer)
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
    assert "headlight.studies.survey.study" in names
    for name in names:
        if not name.endswith("__main__"):
            import_module(name)
    for name in (*studies(), "load", "open"):
        assert callable(getattr(headlight, name))
    assert isinstance(headlight.Model, type)
    assert isinstance(headlight.Reading, type)


def test_a_misspelled_argument_is_known_again():
    with pytest.raises(UsageError, match=r"called 'modle'\. Did you mean 'model'\?"):
        headlight.survey(["the sea"], modle=None)
    with pytest.raises(UsageError, match="Did you mean 'max_length'"):
        headlight.survey(["the sea"], max_lenght=8)


@pytest.mark.slow
def test_packages_are_there_without_being_imported():
    """In an interpreter of its own: here everything is imported already."""
    script = "import headlight; print(headlight.corpora.open_corpus, headlight.capture.load_model)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert not done.returncode, done.stderr
    for name in ("nonsense", "_private"):
        with pytest.raises(AttributeError, match=f"no attribute '{name}'"):
            getattr(headlight, name)


@pytest.mark.slow
def test_a_tokenizer_beside_a_model_without_one(tmp_path):
    """Named in the configuration as well, so that a run can be repeated from it."""
    whole, bare = saved("bert", tmp_path / "whole"), saved("bert", tmp_path / "bare")
    for path in bare.glob("tokenizer*"):
        path.unlink()
    result = headlight.survey(
        ["the sea"], model=bare, tokenizer=whole, out=tmp_path / "out", progress=False
    )
    assert result.attrs["examples"] == 1
    written = yaml.safe_load((tmp_path / "out" / "config.yaml").read_text())
    assert (written["model"], written["tokenizer"]) == (str(bare), str(whole))
