"""Every study runs by its command alone, on a model and a sample that come with the package."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headlight
from headlight.catalogue import Study, studies
from headlight.catalogue.embedded_models import EMBEDDED, EMBEDDED_NAME
from headlight.corpora import open_sentence_pairs
from headlight.corpora.samples import SAMPLE_REVIEWS
from headlight.errors import HeadlightWarning
from long_cases import mostly_long
from studies.command import Command, as_options

pytestmark = pytest.mark.skipif(
    not (EMBEDDED / "config.json").exists(), reason="the embedded model is not in this tree"
)
OURS = [study for study in studies().values() if study.is_ours]
FEW: dict[str, dict[str, Any]] = {
    "text": {"max_examples": 3, "max_length": 16},
    "text_or_labelled": {"max_examples": 3, "max_length": 16},
    "haystack": {},
    "treebank": {"max_examples": 20},
    "coreference": {"max_examples": 2},
    "parallel": {"max_examples": 4},
    "labelled": {"max_examples": 8},
}
"""Of each sample only the beginning, so that this takes a moment."""
UNSEEN = (HeadlightWarning, DeprecationWarning, PendingDeprecationWarning, ResourceWarning)
"""Warnings that are a sentence to the user, or that Python keeps to itself."""
NARROW: dict[str, dict[str, Any]] = {
    "permutation": {"by": ["all"]},
    "instance_adversary": {"by": ["all"]},
    # What is compared exactly costs the square of its tokens.
    "attribution": {"exact": 1, "max_length": 8},
}


KEPT = ("survey", "distances", "faithfulness", "alignment")


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    "study",
    mostly_long(OURS, *(study for study in OURS if study.name in KEPT)),
    ids=lambda study: study.name,
)
def test_a_study_needs_neither_source_nor_model(
    study: Study,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    recwarn: pytest.WarningsRecorder,
) -> None:
    settings = {**study.smallest, **FEW[study.reads], **NARROW.get(study.name, {})}
    settings.pop("start", None)  # which only the embedded classifier can do without
    out = tmp_path / "run"
    code, _, complained = Command(monkeypatch, capsys)(
        study.command, *as_options(settings), "--out", out
    )
    assert code == 0, complained
    assert [each for each in recwarn if not issubclass(each.category, UNSEEN)] == []
    assert "Warning" not in complained
    result = headlight.open(out)
    assert result.attrs["model"] == (study.source.default_model or EMBEDDED_NAME)
    if study.reads != "haystack":  # an encoder is asked about random tokens
        assert result.attrs["corpus"].startswith("the sample ")
    assert (out / "report.html").is_file()
    # The samples may lie elsewhere tomorrow: no run says where they were.
    assert "source" not in (out / "config.yaml").read_text(encoding="utf-8").split()


def sample_sentences() -> Any:
    from headlight_words.corpora import open_treebank
    from headlight_words.corpora.samples import SAMPLE_TREEBANK

    return open_treebank(SAMPLE_TREEBANK)


def sample_documents() -> Any:
    from headlight_words.corpora import open_coreference
    from headlight_words.corpora.samples import SAMPLE_TREEBANK

    return open_coreference(SAMPLE_TREEBANK)


@pytest.mark.parametrize(
    ("opened", "counted"),
    [
        pytest.param(sample_sentences, 71, marks=pytest.mark.words),
        pytest.param(sample_documents, 10, marks=pytest.mark.words),
        (lambda: open_sentence_pairs(SAMPLE_REVIEWS), 400),
    ],
)
def test_what_is_said_of_the_samples(opened: Callable[[], Any], counted: int) -> None:
    assert len(list(opened())) == counted
