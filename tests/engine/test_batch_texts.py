"""What is drawn for a text, and how often it is in a resample, depends on its number alone."""

import gzip
from pathlib import Path
from typing import Any

import pytest
import xarray

import example_data
import headlight
from headlight.capture import load_model
from headlight.catalogue import studies
from headlight.corpora import open_corpus
from headlight.encode import adjacent_segments, texts
from headlight.observations.text_ids import text_id
from long_cases import mostly_long

OTHER_FORMS = {
    "text": ("gz", "list"),
    "text_or_labelled": ("gz", "list"),
    "haystack": ("gz", "list"),
    "treebank": ("gz",),
    "labelled": ("gz",),
}
"""Of what studies read, what the same may be read from besides a file."""
CHEAP = {"text": {"max_examples": 12}, "treebank": {"max_examples": 12}}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Corpora and models."""
    folder = tmp_path_factory.mktemp("data")
    example_data.write(folder)
    (folder / "model").mkdir()
    example_data.tiny_model(folder / "model")
    example_data.tiny_classifier(folder / "classifier")
    example_data.tiny_decoder(folder / "decoder")
    return folder


def other_form(path: Path, form: str, folder: Path) -> Any:
    """The same as in the file, from elsewhere."""
    if form == "list":
        return path.read_text(encoding="utf-8").split("\n\n")
    other = folder / "deeper" / f"b{path.suffix}.gz"
    other.parent.mkdir()
    other.write_bytes(gzip.compress(path.read_bytes()))
    return other


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    mostly_long(
        (name for name, study in studies().items() if study.reads in OTHER_FORMS),
        "distances",
        "ranks",
        "faithfulness",
    ),
)
def test_the_same_texts_give_the_same_numbers_from_any_source(
    name: str, data: Path, tmp_path: Path
) -> None:
    study = studies()[name]
    settings: dict[str, Any] = {**study.smallest, **CHEAP.get(study.reads, {})}
    head = study.settings.from_mapping(study.smallest).required_head
    kind = "decoder" if study.reads == "haystack" else "model"
    model = headlight.load(
        data / ("classifier" if head == "classification" else kind),
        head={"none": None, "any": "language_model"}.get(head, head),
    )
    path = data / example_data.SOURCES[study.reads]

    def found(source: Any) -> xarray.Dataset:
        run = getattr(headlight, name)
        return run(source, model=model, progress=False, **settings).drop_attrs()

    from_file = found(path)
    for form in OTHER_FORMS[study.reads]:
        xarray.testing.assert_identical(found(other_form(path, form, tmp_path)), from_file)


def test_texts_are_numbered_by_the_corpus_however_they_are_cut_and_read(data: Path) -> None:
    model = load_model(str(data / "model"))
    documents = list(open_corpus(str(data / "corpus.txt")))
    cut = texts(documents, model.tokenizer, max_length=8, overflow="split")
    pairs = adjacent_segments(documents, model.tokenizer, length=12)
    for examples in (cut, pairs):
        whole = [example.origin for example in examples]
        assert len(set(whole)) == len(whole) > len(documents)
        assert whole == sorted(whole)
        assert {document for document, _ in whole} == set(range(len(documents)))
        assert len({text_id(example) for example in examples}) == len(whole)
        for size in (1, 3, 512):
            shards, read = examples.shards(size), []
            while not shards.at_end:
                read += [example.origin for example in shards.take()[0]]
            assert read == whole
        late = examples.shards(3)
        late.skip()
        assert [each.origin for each in late.take()[0]] == [o for o in whole if 3 <= o[0] < 6]
