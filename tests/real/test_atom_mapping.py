"""A head in production: RXNMapper maps the atoms of reactions by one head of an ALBERT."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import headlight
from headlight.reading.model import Model
from real.models import MODELS, needs_models

pytestmark = needs_models
ROOT = Path(__file__).resolve().parent.parent.parent
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "atom_mapping.py"))
Reaction, LAYER, HEAD = SCRIPT["Reaction"], SCRIPT["LAYER"], SCRIPT["HEAD"]

CONFIDENCES = {
    "CC(C)S.CN(C)C=O.Fc1cccnc1F.O=C([O-])[O-].[K+].[K+]>>CC(C)Sc1ncccc1F": 0.9565619900376546,
    "C1COCCO1.CC(C)(C)OC(=O)CONC(=O)NCc1cccc2ccccc12.Cl>>O=C(O)CONC(=O)NCc1cccc2ccccc12":
        0.9704424331552834,
    "CCBr.CC[O-]~[Na+].[H-]~[Na+]>>CCOCC": 0.9606074439250337,
    "C(C)O.BrC(C)>>CCOCC": 0.9754605679009868,
    "CCO.BrCFC>>CCOCFC": 0.9730222157275086,
    "COC(=O)CCBr.O=C[O-]->[K+]>>COC(=O)CCOC(=O)C": 0.9322116305783666,
    "[1*]C=C.O>>*CCO": 0.9988284870307568,
}  # fmt: skip
"""Published with rxnmapper 0.4.3."""


@pytest.fixture(scope="module")
def model() -> Model:
    assert MODELS is not None
    folder = Path(MODELS) / "rxnmapper"
    if not folder.is_dir():
        pytest.skip("no rxnmapper there: make models fetches it")
    return headlight.load(folder)


def test_the_weights_are_read_exactly(model: Model) -> None:
    assert max(site.error for site in model.sites) < 1e-6


@pytest.mark.parametrize("smiles", CONFIDENCES)
def test_published_confidences_are_those_of_the_weights(model: Model, smiles: str) -> None:
    reaction = Reaction(model, smiles)
    weight = reaction.reading.weight.sel(layer=LAYER, head=HEAD).values
    links, confidence = reaction.map_atoms(weight)
    assert confidence == pytest.approx(CONFIDENCES[smiles], abs=1e-6)
    assert all(reaction.comparable[pair] for pair in links.items())
    assert len(set(links.values())) == len(links)


def test_the_page_holds_the_confidences() -> None:
    page = (ROOT / "docs" / "atom-mapping.md").read_text(encoding="utf-8")
    for smiles, confidence in SCRIPT["PUBLISHED"].items():
        assert f"{confidence:.7f}" in page, smiles


def test_the_head_is_found_unasked_by_weight_and_by_norm(model: Model) -> None:
    """ALBERT has the weights of its first layer in all: the same head is best in each."""
    shares = SCRIPT["ranked"](model, 24)
    for each in shares.values():
        means = each.mean(0)
        best = np.argsort(-means, axis=None)[:11]
        assert {int(at) % means.shape[1] for at in best} == {HEAD}
        assert LAYER in {int(at) // means.shape[1] for at in best}
        others = np.delete(means, HEAD, axis=1)
        assert means[LAYER, HEAD] > others.max() + 0.2
    difference = float((shares["norm"] - shares["weight"])[:, LAYER, HEAD].mean())
    assert abs(difference) < 0.03  # norms align no better


def test_reactions_that_are_put_together_have_their_links() -> None:
    reactions = SCRIPT["known_reactions"]()
    ether = next(each for each in reactions if each.smiles == "BrCCC.OCCOC.[H-].[Na+]>>C(CC)OCCOC")
    # C of the template, its residue CC, then O and its residue COC after the first C.
    assert ether.links == (1, 2, 3, 4, 5, 6, 7, 8)
