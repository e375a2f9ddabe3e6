"""The pictures of the tour are what its lines draw today."""

import re
import runpy
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from headlight.catalogue.embedded_models import EMBEDDED
from headlight.views.pictures import svg_text
from long_cases import mostly_long

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs" / "images"
TOUR = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")
DRAWN = ("first_look", "prediction", "tour_faithfulness", "tour_survey")
"""By their functions in scripts/guide_pictures.py."""
SHOWN = ("reading",)
"""By their names in scripts/page_pictures.py."""

pytestmark = pytest.mark.skipif(
    not (EMBEDDED / "config.json").exists(), reason="no embedded model here"
)


def file_of(name: str) -> Path:
    return IMAGES / "guides" / f"{name.replace('_', '-')}.svg"


def test_all_pictures_of_the_tour_are_compared() -> None:
    named = set(re.findall(r"\]\(images/([^)]+)\)", TOUR))
    assert named == {
        *(file_of(name).relative_to(IMAGES).as_posix() for name in DRAWN),
        *(f"{name}.png" for name in SHOWN),
    }


def words_and_places(svg: str) -> tuple[list[str], np.ndarray]:
    """What a drawing says, and the numbers of its shapes in their order."""
    elements = list(ElementTree.fromstring(svg).iter())
    words = ["".join(each.itertext()).strip() for each in elements if each.tag.endswith("}text")]
    shapes = [
        each.get(name, "")
        for each in elements
        if not each.tag.endswith("}text")
        for name in ("d", "x", "y", "points", "transform", "width", "height")
    ]
    numbers = re.findall(r"-?\d+(?:\.\d+)?", " ".join(shapes))
    return words, np.array(numbers, dtype=float)


def check_alike(made: str, kept: str) -> None:
    """Both say the same, and no place is more than two points elsewhere."""
    (words, places), (kept_words, kept_places) = map(words_and_places, (made, kept))
    assert words == kept_words
    assert places.shape == kept_places.shape
    assert np.abs(places - kept_places).max() < 2


@pytest.mark.slow
@pytest.mark.parametrize("name", mostly_long(DRAWN, "first_look", "prediction"))
def test_a_drawing_is_the_one_that_is_kept(name: str) -> None:
    made = svg_text(runpy.run_path(str(ROOT / "scripts" / "guide_pictures.py"))[name]())
    check_alike(made, file_of(name).read_text(encoding="utf-8"))


def test_another_drawing_is_told_apart() -> None:
    kept = file_of("first_look").read_text(encoding="utf-8")
    check_alike(kept, kept)
    for change in (
        kept.replace("54%", "53%", 1),
        re.sub(r'(<rect|<path d="M) (\d+)', lambda m: f"{m[1]} {int(m[2]) + 5}", kept),
        file_of("prediction").read_text(encoding="utf-8"),
    ):
        assert change != kept
        with pytest.raises(AssertionError):
            check_alike(change, kept)
