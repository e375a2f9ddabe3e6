"""Map the atoms of chemical reactions by one attention head, and rank all heads as aligners.

    python scripts/atom_mapping.py build/models/rxnmapper
    python scripts/atom_mapping.py --list > reactions.txt

The model of RXNMapper (Schwaller et al. 2021, doi 10.1126/sciadv.abe4166) has a head whose
attention says which atom of the reactants an atom of the product comes from.  The first part
computes the confidences that its package publishes from `Reading.weight`.  The second ranks all
heads on reactions whose links are known, because they are put together from pieces.  Both are on
the page docs/atom-mapping.md.  The second command prints these reactions.
"""

import argparse
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

import headlight
from headlight.reading.model import Model

LAYER, HEAD, NEIGHBOURS = 10, 5, 90.0
"""The head that RXNMapper uses, and by what it multiplies the attention between neighbours."""

SHOWN = 13
"""How many of the best heads are printed."""

PUBLISHED = {
    "CC(C)S.CN(C)C=O.Fc1cccnc1F.O=C([O-])[O-].[K+].[K+]>>CC(C)Sc1ncccc1F": 0.9565619900376546,
    "C1COCCO1.CC(C)(C)OC(=O)CONC(=O)NCc1cccc2ccccc12.Cl>>O=C(O)CONC(=O)NCc1cccc2ccccc12":
        0.9704424331552834,
    "C=CCN=C=S.CNCc1ccc(C#N)cc1.NNC(=O)c1cn2c(n1)CCCC2>>"
    "C=CCn1c(-c2cn3c(n2)CCCC3)nnc1N(C)Cc1ccc(C#N)cc1": 0.919023506871605,
    "CCBr.CC[O-]~[Na+].[H-]~[Na+]>>CCOCC": 0.9606074439250337,
    "C(C)O.BrC(C)>>CCOCC": 0.9754605679009868,
    "CCO.BrCFC>>CCOCFC": 0.9730222157275086,
    "COC(=O)CCBr.O=C[O-]->[K+]>>COC(=O)CCOC(=O)C": 0.9322116305783666,
    "[1*]C=C.O>>*CCO": 0.9988284870307568,
}  # fmt: skip
"""Reactions with the confidences that README and tests of rxnmapper 0.4.3 hold."""

RESIDUES = (
    "CC", "CCOC", "c1ccccc1", "Cc1ccc(F)cc1", "C1CCCCC1", "c1ccncc1", "CC(C)C", "c1cccc(OC)c1",
)  # fmt: skip
"""Pieces that a reaction leaves as they are; their first atom is bound to what stands before."""

TEMPLATES = {
    "amide": "[O:1]=[C:2](O){a}.[N:3]{b}.CN(C)C=O>>[O:1]=[C:2]([N:3]{b}){a}",
    "ester": "[O:1]=[C:2](O){a}.[O:3]{b}.Cl>>[O:1]=[C:2]([O:3]{b}){a}",
    "ether": "Br[C:1]{a}.[O:2]{b}.[H-].[Na+]>>[C:1]({a})[O:2]{b}",
    "reductive amination": "[B-]C#N.O=[C:1]{a}.[N:2]{b}>>[C:1]({a})[N:2]{b}",
    "Suzuki": "Br{a}.OB(O){b}.[K+].[K+].O=C([O-])[O-]>>{a}-{b}",
    "deprotection": "CC(C)(C)OC(=O)[N:1]{a}.Cl{b}>>[N:1]{a}",
}
"""Reactions, by hand: ``[C:1]`` is an atom that stays, ``{a}`` and ``{b}`` are residues."""

_RING = re.compile(r"%?\d+")
_ELEMENT = re.compile(r"\[?\d*([A-Z][a-z]?|[a-z]|\*)")
_ATOM = re.compile(r"\[[^\]]+\]|Br|Cl|[BCNOFSPIbcnosp*]")


class Reaction:
    """A reaction as a model has read it.

    Args:
        model: with a piece for each atom.
        smiles: of the reaction.
    """

    def __init__(self, model: Model, smiles: str) -> None:
        self.reading = model.read(smiles)
        spans = model.tokenizer(smiles, return_offsets_mapping=True)["offset_mapping"]
        self.tokens = tokens = [smiles[start:end] for start, end in spans]  # "" where special
        atoms = [place for place, each in enumerate(tokens) if _ATOM.fullmatch(each)]
        arrow = tokens.index(">>")
        self.reactants = [each for each in atoms if each < arrow]
        self.products = [each for each in atoms if each > arrow]
        self.elements = {each: _element(tokens[each]) for each in atoms}
        self.bonds = set(_bonds(tokens))

    @cached_property
    def comparable(self) -> np.ndarray:
        """Which atoms of product and reactants are of one element: ``product reactant``."""
        sides = (
            np.array([self.elements[each] for each in side])
            for side in (self.products, self.reactants)
        )
        products, reactants = sides
        return products[:, None] == reactants

    def between(self, attention: np.ndarray) -> np.ndarray:
        """Return ``… product reactant``, the sum of both directions, of ``… query key``."""
        forward = attention[..., self.products, :][..., self.reactants]
        back = attention[..., self.reactants, :][..., self.products]
        return forward + back.swapaxes(-1, -2)

    def map_atoms(self, attention: np.ndarray) -> tuple[dict[int, int], float]:
        """Return the reactant atom of each product atom, and the confidence of the whole.

        The surest pair is linked first.  Neighbours of its atoms then count `NEIGHBOURS` times as
        much for each other, and neither of its atoms is linked again.

        Args:
            attention: ``query key`` of one head.
        """
        score = self.between(attention.astype(np.float64)) * self.comparable
        near = (self._neighbours(self.products), self._neighbours(self.reactants))
        links, confidence = {}, 1.0
        for _ in self.products:
            total = score.sum(1, keepdims=True)
            share = np.divide(score, total, out=np.zeros_like(score), where=total != 0)
            product, reactant = np.unravel_index(share.argmax(), share.shape)
            if np.isclose(share[product, reactant], 0):
                break
            confidence *= share[product, reactant]
            links[int(product)] = int(reactant)
            score[np.ix_(near[0][product], near[1][reactant])] *= NEIGHBOURS
            score[product] = 0
            score[:, reactant] = 0
        return links, float(confidence)

    def _neighbours(self, atoms: list[int]) -> np.ndarray:
        return np.array([[(one, other) in self.bonds for other in atoms] for one in atoms])

    @cached_property
    def classes(self) -> list[int]:
        """A number for each reactant atom, which those share that nothing tells apart."""
        near = self._neighbours(self.reactants)
        labels = [hash(self.tokens[each]) for each in self.reactants]
        for _ in self.reactants:  # Weisfeiler and Leman: what an atom has around it, ever further
            around = [sorted(np.array(labels)[row].tolist()) for row in near]
            labels = [hash((own, *each)) for own, each in zip(labels, around, strict=True)]
        return labels


def _element(token: str) -> str:
    """Return the element of an atom, aromatic or not: ``N`` of ``[nH]``."""
    return _ELEMENT.findall(token)[0].capitalize()


def _bonds(tokens: list[str]) -> Iterator[tuple[int, int]]:  # noqa: C901 - a case for each sign
    """Yield the places of two atoms that are bound, in both orders."""
    last: int | None = None
    branches: list[int | None] = []
    rings: dict[str, int | None] = {}
    for place, token in enumerate(tokens):
        bound = None
        if token in (".", ">>"):
            last = None
        elif token == "(":
            branches.append(last)
        elif token == ")":
            last = branches.pop()
        elif _RING.fullmatch(token):
            bound = rings.pop(token, None), last
            if bound[0] is None:
                rings[token] = last
        elif _ATOM.fullmatch(token):
            bound, last = (last, place), place
        if bound is not None and None not in bound:
            yield from (bound, bound[::-1])


@dataclass(frozen=True)
class Known:
    """A reaction that was put together.

    Attributes:
        smiles: of it.
        links: the reactant atom of each product atom, numbered along each side.
    """

    smiles: str
    links: tuple[int, ...]


def known_reactions() -> list[Known]:
    """Return reactions whose links are known: every template with every pair of residues."""
    return list(dict.fromkeys(_put_together()))


def _put_together() -> Iterator[Known]:
    for template, (first, second) in itertools.product(
        TEMPLATES.values(), itertools.permutations(RESIDUES, 2)
    ):
        residues = {"{a}": first, "{b}": "" if template.endswith("[N:1]{a}") else second}
        sides = [_filled(side, residues) for side in template.split(">>")]
        (reactants, names), (products, wanted) = sides
        yield Known(f"{reactants}>>{products}", tuple(names.index(each) for each in wanted))


def _filled(side: str, residues: dict[str, str]) -> tuple[str, list[object]]:
    """Return the SMILES of one side of a template, and a name of each of its atoms."""
    smiles, names = "", []
    for part in re.split(r"(\{[ab]\}|\[\w:\d\])", side):
        atom = re.fullmatch(r"\[(\w):(\d)\]", part)
        text = atom[1] if atom else residues.get(part, part)
        count = len(_ATOM.findall(text))
        stays = atom is not None or part in residues
        names += [(part[-2:] if atom else part, each) if stays else None for each in range(count)]
        smiles += text
    return smiles, names


def share_linked(reaction: Reaction, links: tuple[int, ...], attention: np.ndarray) -> np.ndarray:
    """Return the share of product atoms for which a head has its largest value at the right atom.

    Atoms that nothing tells apart count as one.

    Args:
        reaction: as it was read.
        links: the reactant atom of each product atom.
        attention: ``layer head query key``.

    Returns:
        ``layer head``
    """
    largest = reaction.between(attention).argmax(-1)
    classes = np.array(reaction.classes)
    return (classes[largest] == classes[list(links)]).mean(-1)


def ranked(model: Model, count: int) -> dict[str, np.ndarray]:
    """Return the share of atoms that each head links rightly, by measure: ``reaction layer head``.

    Args:
        model: that reads reactions.
        count: how many reactions are read, evenly spread over the templates.
    """
    every = known_reactions()
    shares: dict[str, list[np.ndarray]] = {"weight": [], "norm": []}
    for known in every[:: max(1, len(every) // count)]:
        reaction = Reaction(model, known.smiles)
        for measure, kept in shares.items():
            kept.append(share_linked(reaction, known.links, reaction.reading[measure].values))
    return {measure: np.stack(kept) for measure, kept in shares.items()}


def main(folder: str, count: int) -> None:
    """Print both parts."""
    model = headlight.load(folder)
    print("published    computed     difference  reaction")
    for smiles, published in PUBLISHED.items():
        reaction = Reaction(model, smiles)
        weight = reaction.reading.weight.sel(layer=LAYER, head=HEAD).values
        _, confidence = reaction.map_atoms(weight)
        print(f"{published:.8f}   {confidence:.8f}   {confidence - published:+.0e}    {smiles}")
    shares = ranked(model, count)
    number, heads = shares["weight"].shape[0], shares["weight"].shape[2]
    print(f"\natoms linked rightly, of {number} reactions whose links are known")
    for measure, each in shares.items():
        means = each.mean(0)
        best = np.argsort(-means, axis=None)[:SHOWN]
        print(f"{measure}: the median of all heads is {np.median(means):.3f}")
        for at in best:
            low, high = _interval(each.reshape(number, -1)[:, at])
            print(f"  L{at // heads}H{at % heads}  {means.flat[at]:.3f} ({low:.3f} to {high:.3f})")
    difference = (shares["norm"] - shares["weight"])[:, LAYER, HEAD]
    low, high = _interval(difference)
    interval = f"{difference.mean():+.3f} ({low:+.3f} to {high:+.3f})"
    print(f"L{LAYER}H{HEAD}, norm less weight: {interval}")


def _interval(values: np.ndarray) -> tuple[float, float]:
    """Return the interval of 95% of a mean, over reactions drawn again with replacement."""
    drawn = np.random.default_rng(0).choice(values, (10_000, len(values))).mean(1)
    low, high = np.quantile(drawn, (0.025, 0.975))
    return float(low), float(high)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Map atoms of reactions by attention heads.")
    parser.add_argument("model", nargs="?", default="build/models/rxnmapper", help="its folder")
    parser.add_argument("--reactions", type=int, default=96, help="how many are ranked by")
    parser.add_argument("--list", action="store_true", help="print all that are put together")
    options = parser.parse_args()
    if options.list:
        print(*(known.smiles for known in known_reactions()), sep="\n")
    else:
        main(options.model, options.reactions)
