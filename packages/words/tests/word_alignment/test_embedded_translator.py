"""The embedded translator: a newcomer's first links, and what Kobayashi et al. found."""

from pathlib import Path

import pytest

import headlight as root
from headlight.catalogue.embedded_models import embedded_models
from headlight_words.corpora import SAMPLE_TRANSLATIONS as SAMPLE
from headlight_words.links import open_links, score_links
from headlight_words.sources import EMBEDDED_TRANSLATOR
from studies.command import Command

FOLDER = embedded_models()[EMBEDDED_TRANSLATOR]
GOLD = SAMPLE.with_suffix(".talp")


def test_it_is_small_enough_to_ship() -> None:
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 14e6


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["norm", "difference"])
def test_the_sample_is_aligned_without_arguments(
    headlight: Command, tmp_path: Path, measure: str
) -> None:
    code, said, _ = headlight("align", "--measure", measure)
    assert code == 0
    (tmp_path / "links").write_text(said)
    found = [links.sure for links in open_links(tmp_path / "links")]
    gold = list(open_links(GOLD))
    assert score_links(gold, found).error_rate < 0.25


@pytest.mark.slow
def test_norms_align_better_than_weights_where_the_word_is_read() -> None:
    result = root.alignment(SAMPLE, gold=str(GOLD), progress=False)
    best = result["error_rate"].sel(step="input").min("layer")
    assert float(best.sel(measure="norm")) <= float(best.sel(measure="weight"))
    assert result.attrs["model"] == EMBEDDED_TRANSLATOR


@pytest.mark.slow
def test_cross_attention_of_it_can_be_read() -> None:
    reading = root.load(EMBEDDED_TRANSLATOR).read("das alte haus", "the old house", kind="cross")
    assert reading.norm.sizes == {"layer": 4, "head": 4, "query": 4, "key": 4}
