"""A model of four bits, from its GGUF file and as the folder that was made of it."""

from pathlib import Path

import numpy as np

import headlight
from real.models import MODELS, needs_models

pytestmark = needs_models
TEXT = "The old bridge over the river was closed in the spring."


def test_a_gguf_file_reads_as_the_folder_made_of_it() -> None:
    folder = Path(str(MODELS)) / "smollm2"
    (path,) = folder.glob("*.gguf")
    packed, plain = headlight.load(path), headlight.load(folder)
    assert (packed.quantisation, plain.quantisation) == ("Q4_1", "")
    layers = (0, 18, 29)
    found, expected = (each.read(TEXT, layers=layers).dataset for each in (packed, plain))
    assert list(found.key_token.values) == list(expected.key_token.values)
    for name in ("weight", "norm"):
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-5, atol=1e-6)
