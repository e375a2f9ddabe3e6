"""Facts that are hidden in other text, and asked for; no model has read them."""

from typing import NamedTuple


class Fact(NamedTuple):
    """A fact, and how it is asked for.

    Attributes:
        beginning: of its sentence, with which the answer begins, too.
        needle: the rest, which the model has to find.
        question: that asks for it.
    """

    beginning: str
    needle: str
    question: str


FACTS = (
    Fact(
        "The key to the boathouse hangs",
        "behind the red clock in the kitchen.",
        "Where does the key to the boathouse hang?",
    ),
    Fact(
        "The secret ingredient of Aunt Odile's soup is",
        "a spoonful of smoked honey.",
        "What is the secret ingredient of Aunt Odile's soup?",
    ),
    Fact(
        "Every Thursday the baker of Hollin gives away",
        "forty sesame rolls at noon.",
        "What does the baker of Hollin give away every Thursday?",
    ),
    Fact(
        "The best way to calm the donkey Bertrand is",
        "to hum a slow waltz and offer him three pears.",
        "What is the best way to calm the donkey Bertrand?",
    ),
    Fact(
        "The password of the lighthouse keeper is",
        "seven silver herrings under a wooden moon.",
        "What is the password of the lighthouse keeper?",
    ),
    Fact(
        "On rainy evenings the orchestra of Varnholm rehearses",
        "in the empty swimming pool below the town hall.",
        "Where does the orchestra of Varnholm rehearse on rainy evenings?",
    ),
)
