"""The documentation describes what this package reads and puts together."""

import re
from pathlib import Path
from typing import get_args

import pytest

from headlight_words.corpora import PARALLEL_FORMATS
from headlight_words.links import LINK_FORMATS, Symmetrization

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize("format", PARALLEL_FORMATS)
def test_every_format_of_translations_is_described(format: str) -> None:
    page = (DOCS / "corpora.md").read_text(encoding="utf-8")
    section = page.partition("### Translations")[2].partition("### ")[0]
    assert re.search(rf"^\|.*`{format}`.*\|", section, re.MULTILINE)


@pytest.mark.parametrize("format", LINK_FORMATS)
def test_every_format_of_word_links_is_described(format: str) -> None:
    page = (DOCS / "alignment.md").read_text(encoding="utf-8")
    assert re.search(rf"^\| `{format}` \|", page, re.MULTILINE)


@pytest.mark.parametrize("method", get_args(Symmetrization))
def test_every_way_to_put_two_directions_together_is_described(method: str) -> None:
    page = (DOCS / "alignment.md").read_text(encoding="utf-8")
    assert re.search(rf"^\|.*`{method}`.*\|", page, re.MULTILINE)
