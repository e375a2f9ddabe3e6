"""The page of a pretrained decoder: what is asked of its first token."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import xarray

SCRIPTS = Path(__file__).resolve().parents[1] / "scripts"
pytestmark = pytest.mark.papers


@pytest.fixture(scope="module")
def pages() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(SCRIPTS))
        spec = importlib.util.spec_from_file_location("p", SCRIPTS / "pretrained_pages.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        patch.setitem(sys.modules, "p", module)
        spec.loader.exec_module(module)
        return module


def survey(weight: float, norm: float, effective: float, error: float) -> xarray.Dataset:
    """Of four layers with two heads: the first token gets so much, in the lower half nothing."""
    share = np.zeros((3, 1, 4, 2))
    share[:, 0, 2:] = np.array([weight, norm, effective])[:, None, None]
    dims = ("measure", "behaviour", "layer", "head")
    return xarray.Dataset(
        {
            "behaviour_share": (dims, share),
            "behaviour_share_low": (dims, share - 1.96 * error),
            "behaviour_share_high": (dims, share + 1.96 * error),
            "token_share": ("key_category", [0.0]),
        },
        {
            "measure": ["weight", "norm", "effective"],
            "behaviour": ["first"],
            "key_category": ["sep"],
            "layer": range(4),
            "head": range(2),
        },
        {"examples": 100},
    )


@pytest.mark.parametrize(
    ("numbers", "answers"),
    [
        ((0.8, 0.2, 0.1, 0.01), [True, True, True]),
        ((0.4, 0.3, 0.3, 0.01), [False, False, False]),
        ((0.51, 0.25, 0.25, 0.05), [None, None, None]),
    ],
)
def test_a_decoder_is_asked_of_its_first_token(
    pages: ModuleType, numbers: tuple[float, ...], answers: list[bool | None]
) -> None:
    claims = pages._to_what_says_little(survey(*numbers))
    assert [claim.answer for claim in claims] == answers
    assert "First token" in claims[1].claim
