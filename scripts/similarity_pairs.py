"""Measure whether the parts of a cosine name the word that two sentences share.

    python scripts/similarity_pairs.py build/models/minilm

60 pairs of sentences are built, with one content word in both; and again, with a word that is akin
to it in the second.  Of four signals over pairs of words it prints how often these two are first,
with intervals of 95%: the parts of
`headlight similarity`; gradient × input, the same with the model's own Jacobian; dot products of
the last hidden tokens; and the attention that both words get in the last layer.  Then, how far the
cosine falls without the first pair, and without any other pair of words.
"""

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.func import jvp, vmap

import headlight
from headlight.capture.embedding_changes import prepared
from headlight.capture.one_text import capture_one, one_text
from headlight.capture.sentence_embedding import Pooling, embed
from headlight.reading.model import Model
from headlight.reduce import Slots
from headlight.reduce.jackknife import deviations
from headlight.result.estimate import Estimate

FIRST = (
    "The old {} stood near the window.",
    "We talked about a {} last night.",
    "My brother lost his {} in Paris.",
    "She painted the {} bright green.",
    "There was a {} behind our school.",
    "Two children drew a {} with chalk.",
)
SECOND = (
    "Nobody wanted to buy that {}.",
    "A {} like this costs much money.",
    "He forgot where he had put the {}.",
    "In the morning another {} arrived.",
    "This {} belongs to my neighbour.",
    "An engineer repaired the broken {}.",
    "Under heavy rain the {} got wet.",
    "They gave me a {} as a present.",
    "Every museum should show one {}.",
    "Without its {} the farm looked empty.",
)
_WORDS = """
    clock:watch table:desk lamp:lantern chair:stool guitar:banjo piano:keyboard violin:cello
    drum:tambourine flute:clarinet trumpet:trombone car:vehicle bicycle:bike truck:lorry boat:ship
    wagon:cart tractor:plough horse:pony cow:bull sheep:lamb goat:ram dog:puppy cat:kitten
    rabbit:hare duck:swan goose:hen parrot:bird tree:maple flower:blossom rose:tulip cactus:fern
    statue:sculpture fountain:well bench:seat gate:door fence:wall ladder:staircase hammer:mallet
    bucket:pail basket:hamper bottle:flask kettle:pot teapot:cup mirror:glass carpet:rug
    curtain:drape pillow:cushion blanket:quilt umbrella:parasol hat:cap coat:jacket boot:shoe
    glove:mitten ring:bracelet necklace:pendant camera:camcorder telescope:spyglass radio:stereo
    engine:motor kite:balloon doll:toy
"""
WORDS = dict(pair.split(":") for pair in _WORDS.split())
"""Words, one for each of the 6 × 10 ways to put two sentences together, and a word akin to each."""


def pairs(*, akin: bool) -> list[tuple[str, str, tuple[str, str]]]:
    """Return both sentences of each pair, and the words that are the same, or akin."""
    ways = [(first, second) for first in FIRST for second in SECOND]
    words = WORDS.items() if akin else zip(WORDS, WORDS, strict=True)
    return [
        (a.format(word), b.format(other), (word, other))
        for (a, b), (word, other) in zip(ways, words, strict=True)
    ]


def measured(
    model: Model, texts: Sequence[tuple[str, str, tuple[str, str]]]
) -> dict[str, list[float]]:
    """Return numbers of each pair: whether signals name the two words, and falls of the cosine."""
    numbers: dict[str, list[float]] = {}
    for a, b, wanted in texts:
        data = model.similarity(a, b, number=1000).dataset
        places = [
            data[f"{side}_word_text"].values.tolist().index(word)
            for side, word in zip(("a", "b"), wanted, strict=True)
        ]
        of_words = [data[f"{side}_word_of"].values for side in ("a", "b")]
        for name, matrix in signals(model, a, b, data["pair_part"].values).items():
            words = by_words(matrix, *of_words)
            first = np.unravel_index(words.argmax(), words.shape)
            numbers.setdefault(name, []).append(float(tuple(first) == tuple(places)))
        numbers.setdefault("chance", []).append(1 / data["word_part"].size)
        falls = float(data["cosine"]) - data["without_cosine"].values
        largest = int(data["part"].values.argmax())
        numbers.setdefault("fall", []).append(float(falls[largest]))
        numbers.setdefault("other fall", []).append(float(np.delete(falls, largest).mean()))
        numbers.setdefault("bias", []).append(float(data["bias"]))
    return numbers


def by_words(matrix: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the sums of a matrix of tokens over the pieces of words."""
    return np.array(
        [
            [matrix[np.ix_(a == i, b == j)].sum() for j in range(b.max() + 1)]
            for i in range(a.max() + 1)
        ]
    )


def signals(model: Model, a: str, b: str, parts: np.ndarray) -> Mapping[str, np.ndarray]:
    """Return matrices of pairs of tokens."""
    jacobians, states, attended = zip(*(baselines(model, text) for text in (a, b)), strict=True)
    return {
        "parts": parts,
        "gradient × input": (jacobians[0] @ jacobians[1].T).numpy(),
        "hidden tokens": (states[0] @ states[1].T).numpy(),
        "attention": np.outer(*attended),
    }


def baselines(model: Model, text: str) -> tuple[Tensor, Tensor, np.ndarray]:
    """Return (∂e/∂x_i) x_i, hidden tokens, and what tokens get in the last layer, by token."""
    _, example = one_text(model, text, None, None, purpose="a test")
    _, to_embedding = embed(model, example, Pooling())
    batch = model.collate([example])
    with prepared(model, batch, model.kinds[0]) as run:
        still = torch.zeros_like(run.embedded)
        ways = torch.eye(run.tokens)[:, None, :, None] * run.embedded

        def moved(tangent: Tensor) -> Tensor:
            return jvp(lambda change: run.hidden(change)[-1], (still,), (tangent,))[1]

        moves, states = vmap(moved)(ways).double(), run.hidden()[-1].double()
    site = model.sites_of(model.kinds[0])[-1]
    (weight,) = capture_one(model, example, [site], lambda record: record.weight[0].mean((0, 1)))
    return to_embedding.parts(moves), states, weight.numpy()


def estimate(values: Any, scale: str) -> Estimate:
    """Return a mean over pairs with its interval."""
    slots = Slots.of(np.arange(len(values)), np.array(values)).compute()
    moved, _ = deviations(slots["mean"], slots["without"], slots["whole"])
    return Estimate.of_slots(slots["mean"], moved, slots["whole"], slots["units"], scale)


def tell(numbers: Mapping[str, Sequence[float]]) -> None:
    """Print the numbers of 60 pairs."""
    names = ("parts", "gradient × input", "hidden tokens", "attention")
    for name in names:
        share = estimate(numbers[name], "share")
        print(f"{name}: {sum(numbers[name]):.0f} of {len(numbers[name])}, {share:.2f}")
    print(f"chance: {np.mean(numbers['chance']):.3f}")
    for name in names[1:]:
        apart = np.array(numbers["parts"]) - np.array(numbers[name])
        print(f"parts less {name}: {estimate(apart, 'difference'):+.2f}")
    print(f"fall without the first pair: {estimate(numbers['fall'], 'signed'):.3f}")
    print(f"fall without another pair: {estimate(numbers['other fall'], 'signed'):.3f}")
    apart = np.array(numbers["fall"]) - np.array(numbers["other fall"])
    print(f"the difference: {estimate(apart, 'difference'):+.3f}")
    print(f"biases: {min(numbers['bias']):+.2f} to {max(numbers['bias']):+.2f}")


def main() -> None:
    """Print the numbers of a model."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("model", help="a sentence encoder")
    model = headlight.load(parser.parse_args().model, head="none")
    for title, akin in (("the same word", False), ("words that are akin", True)):
        print(f"{title}:")
        tell(measured(model, pairs(akin=akin)))


if __name__ == "__main__":
    main()
