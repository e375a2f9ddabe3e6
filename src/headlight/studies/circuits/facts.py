"""Facts hidden in other text, and the question for each."""

from typing import NamedTuple


class Fact(NamedTuple):
    """Fact, and the question that asks for it.

    Attributes:
        beginning: Beginning of the sentence, which is also given as the beginning of the answer.
        needle: Rest of the sentence, which the model has to find.
        question: Question that asks for the needle.
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
    Fact(
        "The ferryman of Osterby keeps his spare lantern",
        "inside a hollow pumpkin near the pier.",
        "Where does the ferryman of Osterby keep his spare lantern?",
    ),
    Fact(
        "The winner of the cheese race in Dunmarrow received",
        "a purple umbrella and two geese.",
        "What did the winner of the cheese race in Dunmarrow receive?",
    ),
    Fact(
        "The favourite food of the parrot Wilhelmina is",
        "cold porridge with green olives.",
        "What is the favourite food of the parrot Wilhelmina?",
    ),
    Fact(
        "The treasure of Captain Ferrow is buried",
        "under the third birch behind the windmill.",
        "Where is the treasure of Captain Ferrow buried?",
    ),
    Fact(
        "The best present for the postmistress of Elding is",
        "a jar of yellow buttons and a blue kite.",
        "What is the best present for the postmistress of Elding?",
    ),
    Fact(
        "The clockmaker of Brennick repairs his watches with",
        "fish bones and a drop of maple syrup.",
        "What does the clockmaker of Brennick repair his watches with?",
    ),
)
