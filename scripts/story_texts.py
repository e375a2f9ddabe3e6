"""Write the texts that the embedded decoder learns from: stories, facts, and questions about them.

    python scripts/story_texts.py --count 20

Every text is put together here from words and sentence patterns, so that what is trained on it may
be passed on, and so that the answer to each question is known.  Texts are drawn by number: the same
number and seed give the same text.

A fact joins two words, such as a thing and a place.  Of these pairs one in `HELD_OUT` is in no text
to train on; texts that are held out ask for such pairs alone, so that a model that answers them has
read the passages and remembers nothing.  One word in six or so is none that the lists have: a name, a
syllable word, or a word of the sample corpus, so that what is learnt is to copy, whatever the word.
"""

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random  # noqa: TID251 - a word at a time, which numpy draws slowly
from zlib import crc32

from story_words import (
    ADJECTIVES,
    ANIMALS,
    BEGINNING,
    BEING,
    BESIDE,
    CAPITALS,
    CITIES,
    COLOURS,
    COMING,
    CONTESTS,
    COUNTED,
    DAYS,
    DOING,
    EVENTS,
    FOODS,
    GOALS,
    HAVING,
    HOURS,
    INSIDE,
    JOBS,
    KEEPING,
    LABELS,
    LANGUAGES,
    LIKING,
    LIVING,
    LOSING,
    LOVING,
    MARKS,
    MATERIALS,
    MEETING,
    MEN,
    MONTHS,
    NUMBERS,
    OPENING,
    OPPOSITES,
    PEOPLE,
    PLACING,
    RELATIVES,
    ROOMS,
    SPEAKING,
    SURFACES,
    THINGS,
    TRANSFER,
    TRUTHS,
    VENUES,
    WINNING,
    WOMEN,
)

from headlight.catalogue.embedded_models import ASSETS

HELD_OUT = 8
"""Of so many pairs of words that a fact may join, one is held out."""
INVENTED = 0.2
"""Share of the words of a fact that are in no list."""

ONSETS = [
    "b",
    "br",
    "c",
    "ch",
    "cl",
    "d",
    "dr",
    "f",
    "fl",
    "g",
    "gr",
    "h",
    "j",
    "k",
    "kr",
    "l",
    "m",
    "n",
    "p",
    "pl",
    "qu",
    "r",
    "s",
    "sh",
    "sk",
    "st",
    "t",
    "tr",
    "v",
    "w",
    "z",
    "th",
]
VOWELS = ["a", "e", "i", "o", "u", "a", "e", "i", "o", "u", "ai", "ea", "ee", "ie", "oo", "ou", "y"]
ENDS = [
    "",
    "",
    "",
    *[
        "b",
        "ck",
        "d",
        "g",
        "k",
        "l",
        "m",
        "n",
        "nd",
        "ng",
        "nt",
        "p",
        "r",
        "rd",
        "rk",
        "rn",
        "s",
        "sk",
        "st",
        "t",
        "x",
    ],
]
ENDINGS = ["", "", "", "a", "o", "er", "en", "is", "us", "ow", "by", "ton", "field", "wick", "holm"]


@dataclass(frozen=True)
class Passages:
    """A question with its passages; the answer stands in one of them.

    Attributes:
        passages: Passages, in the order in which they are read.
        question: The question.
        answer: Its answer, without the blank before it.
        source: Number of the passage with the answer.
    """

    passages: tuple[str, ...]
    question: str
    answer: str
    source: int

    @property
    def prompt(self) -> str:
        """What `headlight.encode.passage_prompts` writes of question and passages."""
        return "\n".join(["Context:", *self.passages, f"\nQuestion: {self.question}\nAnswer:"])


@dataclass(frozen=True)
class Part:
    """Part of a text: what is to be known from what stands before counts more than the rest."""

    text: str
    known: bool = False


Text = Sequence[Part]


# ---------------------------------------------------------------- words of facts


class Slots:
    """Draws the words of a fact: each slot gives the fields that sentences name.

    Args:
        rng: What is drawn from.
        invented: Share of words that are in no list; with none, names and towns are listed, too.
    """

    def __init__(self, rng: Random, invented: float = INVENTED) -> None:
        self._rng, self._invented = rng, invented

    def draw(self, slot: str) -> dict[str, str]:
        """Fields of a slot; the first is what tells it from others."""
        return self._draws[re.sub(r"\d", "", slot)](self, slot)

    def one(self, choices: Sequence[str]) -> str:
        return self._rng.choice(choices)

    def chance(self, share: float) -> bool:
        return self._rng.random() < share

    def word(self, choices: Sequence[str]) -> str:
        return self.invented() if self.chance(self._invented) else self.one(choices)

    def invented(self) -> str:
        return self.one(sample_words()) if self.chance(0.4) else self.syllables()

    def syllables(self) -> str:
        count = self._rng.choice((1, 2, 2, 2, 3))
        parts = [self.one(ONSETS) + self.one(VOWELS) + self.one(ENDS) for _ in range(count)]
        return "".join(parts) + self.one(ENDINGS)

    def name(self) -> str:
        draw = self._rng.random()
        if draw < 0.75 or (draw < 0.9 and not self._invented):
            return self.one(PEOPLE)
        if draw < 0.9:
            return (self.syllables() if self.chance(0.7) else self.invented()).capitalize()
        if draw < 0.94:
            title = self.one(("Mr", "Mrs", "Captain", "Aunt", "Uncle", "Doctor"))
            return f"{title} {self.own_name() if self.chance(0.5) else self.one(PEOPLE)}"
        return f"the {self.one(JOBS)}"

    def own_name(self) -> str:
        """A name of syllables, unless all words are those of the lists."""
        return self.syllables().capitalize() if self._invented else self.one(PEOPLE)

    def town(self) -> str:
        invented = self._invented and self.chance(0.5)
        return self.syllables().capitalize() if invented else self.one(CITIES)

    def noun(self, choices: Sequence[str]) -> str:
        word = self.word(choices)
        return f"{self.one(ADJECTIVES)} {word}" if self.chance(0.12) else word

    def thing(self, slot: str) -> dict[str, str]:
        word = self.noun(THINGS)
        if self.chance(0.06):
            word = f"{word} {self.one(('to', 'of', 'from', 'for'))} the {self.word(ROOMS)}"
        owner = self._rng.random()
        if owner < 0.88:
            return {slot: f"the {word}", f"a_{slot}": with_article(word)}
        owned = f"my {word}" if owner < 0.9 else f"{self.one(PEOPLE)}'s {word}"
        return {slot: owned, f"a_{slot}": owned}

    def place(self, slot: str) -> dict[str, str]:
        draw = self._rng.random()
        if draw < 0.06:
            return {slot: f"in {self.town()}"}
        if draw < 0.5:
            before, word = "at" if self.chance(0.08) else "in", self.noun(ROOMS)
        elif draw < 0.65:
            before, word = "in", self.noun(INSIDE)
        elif draw < 0.8:
            before, word = "on", self.noun(SURFACES)
        else:
            before, word = self.one(BESIDE), self.noun((*MARKS, *THINGS))
        behind = f" {self.one(('in', 'of', 'near', 'behind'))} the {self.word(ROOMS)}"
        return {slot: f"{before} the {word}{behind if self.chance(0.06) else ''}"}

    def spot(self, slot: str) -> dict[str, str]:
        word = self.noun((*ROOMS, *MARKS, *SURFACES, *INSIDE))
        return {slot: f"the {word}"}

    def person(self, slot: str) -> dict[str, str]:
        return {slot: self.name()}

    def time(self, slot: str) -> dict[str, str]:
        draw = self._rng.random()
        if draw < 0.55:
            hour = self.one(HOURS)
            half = self.one(("", "", "", "half past ", "quarter past ", "quarter to "))
            clock = self.one(("", "", "", " o'clock")) if hour not in ("noon", "midnight") else ""
            half = "" if hour in ("noon", "midnight") or clock else half
            return {slot: f"at {half}{hour}{clock}"}
        if draw < 0.7:
            minutes = self.one(("00", "15", "30", "45", "10", "20", "05"))
            return {slot: f"at {self._rng.randrange(1, 24)}:{minutes}"}
        if draw < 0.9:
            return {slot: f"on {self.one(DAYS)}"}
        return {slot: f"in {self.one((*MONTHS, 'spring', 'summer', 'autumn', 'winter'))}"}

    def count(self, slot: str) -> dict[str, str]:
        if self.chance(0.3):
            return {slot: str(self._rng.randrange(2, self._rng.choice((10, 100, 1000))))}
        return {slot: self.one(NUMBERS)}

    def plain(self, choices: Sequence[str], slot: str) -> dict[str, str]:
        return {slot: self.word(choices)}

    def with_the(self, choices: Sequence[str], slot: str) -> dict[str, str]:
        return {slot: f"the {self.noun(choices)}"}

    def job(self, slot: str) -> dict[str, str]:
        word = self.word(JOBS)
        return {slot: with_article(word), f"the_{slot}": f"the {word}"}

    def city(self, slot: str) -> dict[str, str]:
        return {slot: self.town()}

    def country(self, slot: str) -> dict[str, str]:
        known = not self._invented or self.chance(0.7)
        return {slot: self.one([*CAPITALS]) if known else self.syllables().capitalize() + "ia"}

    def code(self, slot: str) -> dict[str, str]:
        draw = self._rng.random()
        if draw < 0.4:
            return {slot: " ".join(self.one(NUMBERS[:8]) for _ in range(3))}
        if draw < 0.6:
            return {slot: str(self._rng.randrange(100, 10_000))}
        return {
            slot: " ".join(
                self.word((*THINGS, *COLOURS)) for _ in range(self._rng.choice((1, 1, 2, 3)))
            )
        }

    def verb(self, forms: Sequence[tuple[str, str]], slot: str) -> dict[str, str]:
        first, second = self._rng.choice(forms)
        return {slot: first, f"{slot}_base": second}

    def animal(self, slot: str) -> dict[str, str]:
        word = self.noun(ANIMALS)
        return {slot: f"the {word}", f"a_{slot}": with_article(word)}

    _draws: Mapping[str, Callable[..., dict[str, str]]] = {
        "person": person,
        "thing": thing,
        "place": place,
        "spot": spot,
        "animal": animal,
        "time": time,
        "count": count,
        "job": job,
        "city": city,
        "country": country,
        "code": code,
        "colour": lambda self, slot: self.plain(COLOURS, slot),
        "quality": lambda self, slot: self.plain(ADJECTIVES, slot),
        "material": lambda self, slot: self.plain(MATERIALS, slot),
        "food": lambda self, slot: self.plain(FOODS, slot),
        "counted": lambda self, slot: self.plain(COUNTED, slot),
        "language": lambda self, slot: {slot: self.one(LANGUAGES)},
        "relative": lambda self, slot: {slot: self.one(RELATIVES)},
        "venue": lambda self, slot: self.with_the(VENUES, slot),
        "event": lambda self, slot: self.with_the(EVENTS, slot),
        "contest": lambda self, slot: self.with_the(CONTESTS, slot),
        "goal": lambda self, slot: {slot: f"to the {self.word(GOALS)}"},
        "transfer": lambda self, slot: self.verb(TRANSFER, slot),
        "placing": lambda self, slot: self.verb(PLACING, slot),
        "keeping": lambda self, slot: self.verb(KEEPING, slot),
        "doing": lambda self, slot: self.verb(DOING, slot),
        "having": lambda self, slot: self.verb(HAVING, slot),
        "being": lambda self, slot: self.verb(BEING, slot),
        "living": lambda self, slot: self.verb(LIVING, slot),
        "winning": lambda self, slot: self.verb(WINNING, slot),
        "meeting": lambda self, slot: self.verb(MEETING, slot),
        "loving": lambda self, slot: self.verb(LOVING, slot),
        "losing": lambda self, slot: self.verb(LOSING, slot),
        "liking": lambda self, slot: self.verb(LIKING, slot),
        "speaking": lambda self, slot: self.verb(SPEAKING, slot),
        "label": lambda self, slot: {slot: self.word(LABELS)},
        "opening": lambda self, slot: self.verb(OPENING, slot),
        "beginning": lambda self, slot: self.verb(BEGINNING, slot),
        "coming": lambda self, slot: self.verb(COMING, slot),
    }


@cache
def sample_words() -> tuple[str, ...]:
    """Words of the sample corpus, which was written for this project as well."""
    text = (ASSETS / "sample.txt").read_text("utf-8")
    return tuple(sorted({word.lower() for word in re.findall(r"\b[A-Za-z]{4,10}\b", text)}))


def with_article(word: str) -> str:
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


def begins_with(said: str, answer: str) -> bool:
    return said.lower().startswith(answer.lower())


def sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


# ---------------------------------------------------------------- facts


@dataclass(frozen=True)
class Kind:
    """Kind of a fact: the words that it joins, how it is said, and what is asked about it.

    A question is asked of a statement that names all that the question and its answer name.
    """

    slots: tuple[str, ...]
    statements: tuple[str, ...]
    questions: tuple[tuple[str, str], ...]


def _kinds(text: str) -> tuple[Kind, ...]:
    kinds = []
    for block in text.strip().split("\n\n"):
        slots, *lines = block.splitlines()
        asked = [line[2:].split(" > ") for line in lines if line.startswith("? ")]
        said = tuple(line for line in lines if not line.startswith("? "))
        kinds.append(Kind(tuple(slots.split()), said, tuple((q, a) for q, a in asked)))
    return tuple(kinds)


_FIELDS = re.compile(r"{(\w+)}")


@cache
def fields_of(text: str) -> frozenset[str]:
    return frozenset(_FIELDS.findall(text))


def check(kind: Kind) -> None:
    """Hold a kind to its slots: every field is of one of them, every statement asked about."""
    for pattern in (*kind.statements, *(part for asked in kind.questions for part in asked)):
        unknown = _slots(fields_of(pattern)) - {*kind.slots}
        if unknown:
            raise ValueError(f"{pattern!r} names {unknown}, which {kind.slots} have not")


# Each block begins with the slots, of which the first two make the pair that may be held out.
KINDS = _kinds("""
thing place person placing
{thing} is {place}.
{thing} is {place}.
{thing} lies {place}.
{thing} is kept {place}.
{thing} is hidden {place}.
{thing} was found {place}.
You will find {thing} {place}.
You can find {thing} {place}.
{person} {placing} {thing} {place}.
{person} {placing} {thing} {place}.
Yesterday {person} {placing} {thing} {place}.
{place} is {thing}.
Somebody has left {thing} {place}.
? Where is {thing}? > {place}
? Where is {thing}? > {place}
? Where is {thing} now? > {place}
? Where can I find {thing}? > {place}
? In which place is {thing}? > {place}
? Where did {person} {placing_base} {thing}? > {place}
? Where did {person} {placing_base} {thing}? > {place}
? Who {placing} {thing}? > {person}
? Who {placing} {thing} {place}? > {person}
? What is {place}? > {thing}
? What did {person} {placing_base} {place}? > {thing}

thing place person keeping
{person} {keeping} {thing} {place}.
{person} always {keeping} {thing} {place}.
Every evening {person} {keeping} {thing} {place}.
? Where does {person} {keeping_base} {thing}? > {place}
? Where is {thing}? > {place}
? Who {keeping} {thing}? > {person}
? Who {keeping} {thing} {place}? > {person}
? What does {person} {keeping_base} {place}? > {thing}

thing place being
{thing} {being} {place}.
{place} {being} {thing}.
? Where does {thing} {being_base}? > {place}
? Where is {thing}? > {place}
? What {being} {place}? > {thing}

animal place being
{animal} is {place}.
{animal} {being} {place}.
There is {a_animal} {place}.
{a_animal} {being} {place}.
? Where is {animal}? > {place}
? Where does {animal} {being_base}? > {place}
? Which animal is {place}? > {animal}
? What {being} {place}? > {animal}

person place being
{person} is {place}.
{person} is {place} today.
{person} {being} {place}.
{person} is waiting {place}.
{person} can be found {place}.
? Where is {person}? > {place}
? Where is {person}? > {place}
? Where does {person} {being_base}? > {place}
? Who is {place}? > {person}
? Who {being} {place}? > {person}

person city living
{person} {living} in {city}.
{person} {living} in {city} now.
? Where does {person} {living_base}? > in {city}
? Where does {person} {living_base}? > in {city}
? In which city does {person} {living_base}? > in {city}
? Who {living} in {city}? > {person}

person city
{person} was born in {city}.
{person}, who was born in {city}, is back.
? Where was {person} born? > in {city}
? Who was born in {city}? > {person}

person city
{person} comes from {city}.
{person} is from {city}.
? Where does {person} come from? > from {city}
? Where is {person} from? > from {city}
? Who comes from {city}? > {person}
? Who is from {city}? > {person}

person goal
{person} went {goal}.
{person} walked {goal}.
{person} is going {goal}.
Yesterday {person} went {goal}.
{person} drove {goal}.
{person} took the bus {goal}.
? Where did {person} go? > {goal}
? Where is {person} going? > {goal}
? Who went {goal}? > {person}
? Who walked {goal}? > {person}

thing colour
{thing} is {colour}.
{thing} is {colour}.
{thing} is painted {colour}.
The colour of {thing} is {colour}.
{thing} has a {colour} colour.
Everybody knows that {thing} is {colour}.
? What colour is {thing}? > {colour}
? What colour is {thing}? > {colour}
? Which colour is {thing}? > {colour}
? What is the colour of {thing}? > {colour}
? What is {colour}? > {thing}

spot colour
{spot} is {colour}.
{spot} is painted {colour}.
The colour of {spot} is {colour}.
? What colour is {spot}? > {colour}
? What colour is {spot}? > {colour}
? Which colour is {spot}? > {colour}
? What is the colour of {spot}? > {colour}
? What is {colour}? > {spot}

spot quality
{spot} is {quality}.
{spot} is very {quality}.
? What is {spot} like? > {quality}
? How is {spot}? > {quality}
? What is {quality}? > {spot}

thing quality
{thing} is {quality}.
{thing} is very {quality}.
{thing} looks {quality}.
? What is {thing} like? > {quality}
? What is {quality}? > {thing}

animal colour
{animal} is {colour}.
{animal} has {colour} fur.
? What colour is {animal}? > {colour}
? Which animal is {colour}? > {animal}

thing material
{thing} is made of {material}.
{thing} is of {material}.
Somebody made {thing} out of {material}.
? What is {thing} made of? > {material}
? What is made of {material}? > {thing}
? Of what is {thing} made? > {material}

thing count
{thing} costs {count} euros.
{thing} costs {count} coins.
The price of {thing} is {count} euros.
? How much does {thing} cost? > {count}
? How much is {thing}? > {count}
? What does {thing} cost? > {count}
? What is the price of {thing}? > {count}
? What costs {count} euros? > {thing}

person thing having
{person} has {thing}.
{person} has {a_thing}.
{person} has got {thing}.
{person} {having} {thing}.
{person} {having} {a_thing}.
{thing} belongs to {person}.
? Who has {thing}? > {person}
? Who has {thing}? > {person}
? Who {having} {thing}? > {person}
? Who {having} {a_thing}? > {person}
? What does {person} have? > {thing}
? What does {person} have? > {a_thing}
? What does {person} {having_base}? > {thing}
? What does {person} {having_base}? > {a_thing}
? To whom does {thing} belong? > {person}
? Who owns {thing}? > {person}

person thing doing time
{person} {doing} {thing}.
{person} {doing} {a_thing}.
{person} {doing} {thing} {time}.
{thing} is what {person} {doing}.
It was {person} who {doing} {thing}.
? Who {doing} {thing}? > {person}
? Who {doing} {a_thing}? > {person}
? What did {person} {doing_base}? > {thing}
? What did {person} {doing_base}? > {a_thing}
? When did {person} {doing_base} {thing}? > {time}

person person2 thing transfer
{person} {transfer} {thing} to {person2}.
{person} {transfer} {person2} {thing}.
{person} {transfer} {person2} {a_thing}.
? Who {transfer} {thing} to {person2}? > {person}
? To whom did {person} {transfer_base} {thing}? > to {person2}
? What did {person} {transfer_base} to {person2}? > {thing}
? What did {person} {transfer_base} {person2}? > {a_thing}
? Who got {thing}? > {person2}
? Who {transfer} {thing}? > {person}

person person2 relative
{person} is {person2}'s {relative}.
{person} is the {relative} of {person2}.
{person2}'s {relative} is {person}.
{person2}'s {relative} is called {person}.
The {relative} of {person2} is {person}.
? Who is {person2}'s {relative}? > {person}
? Who is the {relative} of {person2}? > {person}
? What is the name of {person2}'s {relative}? > {person}
? Whose {relative} is {person}? > {person2}'s

person person2 meeting
{person} {meeting} {person2}.
Yesterday {person} {meeting} {person2}.
{person} {meeting} {person2} in the street.
? Who {meeting} {person2}? > {person}
? Whom did {person} {meeting_base}? > {person2}
? Who did {person} {meeting_base}? > {person2}

person person2 loving
{person} {loving} {person2}.
? Who {loving} {person2}? > {person}
? Whom does {person} {loving_base}? > {person2}
? Who does {person} {loving_base}? > {person2}

person contest
{person} won {contest}.
{person} won {contest}.
{contest} was won by {person}.
The winner of {contest} is {person}.
The winner of {contest} was {person}.
In the end {person} won {contest}.
{person} has won {contest}.
? Who won {contest}? > {person}
? Who won {contest}? > {person}
? Who won? > {person}
? Who is the winner of {contest}? > {person}
? Who was the winner? > {person}
? What did {person} win? > {contest}

person contest losing
{person} {losing} {contest}.
{person} {losing} {contest} this year.
? Who {losing} {contest}? > {person}
? What did {person} {losing_base}? > {contest}

person winning
{person} {winning}.
In the end {person} {winning}.
? Who {winning}? > {person}
? Who {winning}? > {person}

person contest
{person} came second in {contest}.
? Who came second in {contest}? > {person}
? Who came second? > {person}

person job
{person} is {job}.
{person} works as {job}.
{person} has been {job} for years.
{person} became {job}.
{the_job} is called {person}.
{the_job} is {person}.
? What is {person}'s job? > {job}
? What does {person} do? > {job}
? Who is {job}? > {person}
? Who is {the_job}? > {person}
? What is the name of {the_job}? > {person}
? Who works as {job}? > {person}

person count
{person} is {count} years old.
{person} turned {count} last week.
The age of {person} is {count}.
? How old is {person}? > {count}
? What is the age of {person}? > {count}
? Who is {count} years old? > {person}

person counted count
{person} has {count} {counted}.
? How many {counted} does {person} have? > {count}
? How many {counted} does {person} have? > {count}
? Who has {count} {counted}? > {person}

person counted count doing
{person} {doing} {count} {counted}.
? How many {counted} did {person} {doing_base}? > {count}
? How many {counted} did {person} {doing_base}? > {count}
? Who {doing} {count} {counted}? > {person}

counted place count person
There are {count} {counted} {place}.
{count} {counted} are {place}.
{person} saw {count} {counted} {place}.
? How many {counted} are {place}? > {count}
? How many {counted} are there? > {count}
? Where are the {counted}? > {place}

person food liking
{person} {liking} {food}.
{person} {liking} {food} very much.
? What does {person} {liking_base}? > {food}
? What does {person} {liking_base}? > {food}
? Who {liking} {food}? > {person}

person food doing
{person} {doing} {food}.
{person} {doing} some {food}.
? What did {person} {doing_base}? > {food}
? Who {doing} {food}? > {person}

person food
{person}'s favourite food is {food}.
The favourite food of {person} is {food}.
{person} likes {food} best.
? What is {person}'s favourite food? > {food}
? What is the favourite food of {person}? > {food}
? What food does {person} like best? > {food}

animal food liking
{animal} {liking} {food}.
? What does {animal} {liking_base}? > {food}
? Which animal {liking} {food}? > {animal}

animal person
{animal} is called {person}.
The name of {animal} is {person}.
{animal}'s name is {person}.
? What is {animal} called? > {person}
? What is the name of {animal}? > {person}
? What is {animal}'s name? > {person}
? Who is {person}? > {animal}

person animal
{person} has {a_animal}.
{person} has a pet, {a_animal}.
{animal} belongs to {person}.
{person} feeds {animal}.
? Which animal does {person} have? > {a_animal}
? Which pet does {person} have? > {a_animal}
? Who has {a_animal}? > {person}
? Who feeds {animal}? > {person}
? To whom does {animal} belong? > {person}
? Whose is {animal}? > {person}'s

venue time opening
{venue} {opening} {time}.
{venue} {opening} {time}.
In winter {venue} {opening} {time}.
Every day {venue} {opening} {time}.
? When does {venue} {opening_base}? > {time}
? When does {venue} {opening_base}? > {time}
? At what time does {venue} {opening_base}? > {time}
? What {opening} {time}? > {venue}

event time beginning
{event} {beginning} {time}.
{event} {beginning} {time}.
{time} {event} {beginning}.
? When does {event} {beginning_base}? > {time}
? When does {event} {beginning_base}? > {time}
? At what time does {event} {beginning_base}? > {time}
? What {beginning} {time}? > {event}

event time
{event} is {time}.
{event} was {time}.
{event} takes place {time}.
{event} will be {time}.
? When is {event}? > {time}
? When was {event}? > {time}
? What is {time}? > {event}
? When does {event} take place? > {time}

person time coming
{person} {coming} {time}.
{time} {person} {coming}.
? When did {person} {coming_base}? > {time}
? When did {person} {coming_base}? > {time}
? Who {coming} {time}? > {person}

event place
{event} is {place}.
{event} takes place {place}.
? Where is {event}? > {place}
? Where does {event} take place? > {place}

city country
The capital of {country} is {city}.
{city} is the capital of {country}.
? What is the capital of {country}? > {city}
? Which city is the capital of {country}? > {city}
? What is {city}? > the capital of {country}

person language speaking
{person} {speaking} {language}.
? Which language does {person} {speaking_base}? > {language}
? What does {person} {speaking_base}? > {language}
? Who {speaking} {language}? > {person}

thing code label
The {label} of {thing} is {code}.
? What is the {label} of {thing}? > {code}
? Which {label} does {thing} have? > {code}

person code label
The {label} of {person} is {code}.
{person}'s {label} is {code}.
? What is the {label} of {person}? > {code}
? What is {person}'s {label}? > {code}
? Whose {label} is {code}? > {person}'s

person code
{person} said: {code}.
? What did {person} say? > {code}
? Who said {code}? > {person}

person code
The secret ingredient of {person}'s soup is {code}.
? What is the secret ingredient of {person}'s soup? > {code}
""")


@dataclass(frozen=True)
class Fact:
    """A fact as it is said, with the questions that it answers."""

    kind: Kind
    fields: Mapping[str, str]
    said: str
    questions: tuple[tuple[str, str], ...]

    @property
    def verbs(self) -> list[str]:
        """What happens, which tells facts of one kind about one word apart."""
        return [value for name, value in self.fields.items() if name.endswith("_base")]


def is_held_out(fields: Mapping[str, str], kind: Kind) -> bool:
    """Whether the pair of words that the fact joins is in no text to train on."""
    pair = " + ".join(fields[slot] for slot in kind.slots[:2])
    return crc32(pair.encode()) % HELD_OUT == 0


# ---------------------------------------------------------------- questions with passages

FILLERS = tuple(
    line.strip()
    for line in """
It was a fine day.
It rained all day.
The sun is shining.
Nobody knows why.
It is getting late.
Everybody was happy.
That was long ago.
Nothing else happened.
The streets were empty.
It has been so for years.
The weather is cold.
Dinner is ready.
All of them are tired.
Tomorrow is another day.
""".strip().splitlines()
)


class Asker:
    """Draws passages and questions about them.

    Args:
        rng: What is drawn from.
        held_out: Whether facts are of the pairs that no text to train on has.
        invented: Share of the words of a fact that are in no list.
    """

    def __init__(self, rng: Random, *, held_out: bool = False, invented: float = INVENTED) -> None:
        self._rng, self._slots, self._held_out = rng, Slots(rng, invented), held_out

    def passages(
        self, count: int, *, begins: bool | None = None, alike: bool | None = None
    ) -> Passages:
        """A question with so many passages.

        Args:
            count: Number of passages.
            begins: Whether the fact begins with the answer, or does not; None for either.
            alike: See `facts`.
        """
        while True:
            facts = self.facts(count, alike=alike)
            at = self._rng.randrange(count)
            asked = self._question(facts, at)
            if asked and begins in (None, begins_with(facts[at].said, asked[1])):
                said = self._with_fillers([fact.said for fact in facts])
                return Passages(tuple(said), *asked)

    def text(self) -> Text:
        """Passages with several questions, one after the other; sometimes answered in full."""
        count = self._rng.choice((1, 2, 2, 3, 3, 3, 4, 4, 5))
        facts = self.facts(count, alike=self._slots.chance(0.4) or None)
        said = [fact.said for fact in facts]
        if self._slots.chance(0.04):  # the answer is the sentence, which has been begun
            at = self._rng.randrange(count)
            asked = self._question(facts, at)
            words = said[at].split(" ")
            begun = self._rng.randrange(1, max(2, len(words) - 1))
            beginning, rest = " ".join(words[:begun]), " ".join(words[begun:])
            question = asked[0] if asked else f"What is said of {words[-1].strip('.')}?"
            return [
                Part("\n".join(["Context:", *self._with_fillers(said)])),
                Part(f"\n\nQuestion: {question}\nAnswer: {beginning}"),
                Part(f" {rest}", known=True),
            ]
        if self._slots.chance(0.12):
            said = self._joined(said)
        parts = [Part("\n".join(["Context:", *self._with_fillers(said)]))]
        order = [*range(count), *range(count)]
        self._rng.shuffle(order)
        for at in order[:5]:
            asked = self._question(facts, at)
            # What a fact begins with is harder to find, and is asked for more often.
            if asked and (begins_with(facts[at].said, asked[1]) or self._slots.chance(0.65)):
                question, answer, _ = asked
                parts += [
                    Part(f"\n\nQuestion: {question}\nAnswer:"),
                    Part(f" {answer}", known=True),
                ]
        return parts

    def facts(self, count: int, *, alike: bool | None = None) -> list[Fact]:
        """Facts that have kinds or words in common, so that only both tell which one is asked.

        Args:
            count: Number of facts.
            alike: Whether all are of one kind, so that their words alone tell them apart, or each is
                of another; None for some of both.
        """
        shared: dict[str, list[dict[str, str]]] = {}
        facts: list[Fact] = []
        kinds = self._rng.sample(KINDS, 2)
        while len(facts) < count:
            kind = kinds[0] if alike else self._kind(facts, kinds)
            if alike is False and any(kind is fact.kind for fact in facts):
                continue
            fact = self._fact(kind, shared)
            if fact and not any(self._contradicts(fact, other) for other in facts):
                facts.append(fact)
                for slot in SHARED & {*kind.slots}:
                    names = (slot, f"a_{slot}")
                    words = {name: fact.fields[name] for name in names if name in fact.fields}
                    shared.setdefault(slot, []).append(words)
        self._rng.shuffle(facts)
        return facts

    def _kind(self, facts: Sequence[Fact], kinds: Sequence[Kind]) -> Kind:
        """One of two kinds, or one that has a slot in common with a fact, or any."""
        draw = self._rng.random()
        if draw < 0.45:
            return self._rng.choice(kinds)
        if draw < 0.75 and facts:
            used = {slot for fact in facts for slot in fact.kind.slots}
            return self._rng.choice([kind for kind in KINDS if used & {*kind.slots}])
        return self._rng.choice(KINDS)

    def _fact(self, kind: Kind, shared: Mapping[str, Sequence[dict[str, str]]]) -> Fact | None:
        fields: dict[str, str] = {}
        for slot in kind.slots:
            known = shared.get(slot)
            if known and self._slots.chance(0.3):
                fields |= self._rng.choice(known)
            else:
                fields |= self._slots.draw(slot)
        if kind.slots[0] == "spot" and "place" in shared and self._slots.chance(0.5):
            # The shed in which the key is may be green.
            place = self._rng.choice(shared["place"])["place"]
            fields["spot"] = place[place.index("the ") :] if " the " in place else fields["spot"]
        if len({fields[slot] for slot in kind.slots}) < len(kind.slots):
            return None
        if is_held_out(fields, kind) is not self._held_out:
            return None
        pattern = self._rng.choice(kind.statements)
        named = fields_of(pattern)
        questions = tuple(
            (question, answer)
            for question, answer in kind.questions
            if fields_of(answer) <= named and _slots(fields_of(question)) <= _slots(named)
        )
        if not questions:
            return None
        said = sentence(pattern.format(**fields))
        return Fact(kind, fields, said, questions)

    @staticmethod
    def _contradicts(fact: Fact, other: Fact) -> bool:
        """Whether two facts could answer one question, or say different things of one thing."""
        first = {fact.fields[slot] for slot in fact.kind.slots[:2]}
        second = {other.fields[slot] for slot in other.kind.slots[:2]}
        one_kind = fact.kind is other.kind and fact.verbs == other.verbs
        alike = one_kind or fact.kind.slots[:2] == other.kind.slots[:2] == PLACED
        return first == second or (alike and bool(first & second))

    def _question(self, facts: Sequence[Fact], at: int) -> tuple[str, str, int] | None:
        """A question that one fact alone answers, its answer, and the number of the fact."""
        fact = facts[at]
        others = {
            question.format(**other.fields)
            for other in facts
            if other is not fact
            for question, _ in other.questions
        }
        question, answer = self._rng.choice(fact.questions)
        shown = question.format(**fact.fields)
        if shown in others:
            return None
        return sentence(shown), answer.format(**fact.fields), at

    def _with_fillers(self, said: Sequence[str]) -> list[str]:
        passages = []
        for text in said:
            draw = self._rng.random()
            if draw < 0.05:
                text = f"{text} {self._rng.choice(FILLERS)}"
            elif draw < 0.1:
                text = f"{self._rng.choice(FILLERS)} {text}"
            elif draw < 0.13:
                text = text.rstrip(".")
            passages.append(text)
        return passages

    def _joined(self, said: list[str]) -> list[str]:
        """Passages of two sentences each, or one of all."""
        size = self._rng.choice((2, 2, 5))
        return [" ".join(said[at : at + size]) for at in range(0, len(said), size)]


PLACED = ("thing", "place")
SHARED = {"thing", "place", "person", "animal", "city", "spot", "venue", "event", "contest"}


def _slots(names: frozenset[str]) -> frozenset[str]:
    """Slots that the names of fields belong to."""
    return frozenset(re.sub(r"^(a|the)_|_base$", "", name) for name in names)


# ---------------------------------------------------------------- stories


class Teller:
    """Draws stories, facts about the world, and texts that say something again."""

    def __init__(self, rng: Random) -> None:
        self._rng, self._slots = rng, Slots(rng, 0.05)

    def story(self) -> Text:
        """A short story; sometimes with a question about its hero."""
        one, slots = self._rng.choice, self._slots
        woman = slots.chance(0.5)
        hero, friend = self._rng.sample(WOMEN if woman else MEN, 1)[0], slots.one(PEOPLE)
        while friend == hero:
            friend = slots.one(PEOPLE)
        place = slots.place("p")["p"]
        other = slots.place("p")["p"]
        goal = slots.one(GOALS)
        colour = slots.one(COLOURS)
        fields = {
            "a": hero,
            "b": friend,
            "she": "she" if woman else "he",
            "her": "her" if woman else "his",
            "him": "her" if woman else "him",
            "thing": slots.word(THINGS),
            "colour": colour,
            "a_colour": with_article(colour),
            "food": slots.one(FOODS),
            "animal": slots.one(ANIMALS),
            "goal": goal,
            "spot": place,
            "spot2": other,
            "count": slots.one(NUMBERS[:12]),
            "hour": slots.one(HOURS[:11]),
            "day": slots.one(DAYS),
            "relative": slots.one(RELATIVES[:14]),
            "job": slots.one(JOBS),
            "city": slots.one(CITIES),
        }
        lines = [one(line.split(" / ")) for line in one(PLOTS)]
        told = [line for line in lines if line != "-"]
        text = " ".join(sentence(line.format(**fields)) for line in told)
        text = text.replace(" a apple", " an apple")
        return [Part(text)]

    def world(self) -> Text:
        """Some facts about the world, or a question about one."""
        said: list[Part] = []
        for _ in range(self._rng.choice((1, 2, 3, 4))):
            said += self._truth(bool(said))
        return said

    def _truth(self, goes_on: bool) -> Text:
        country, capital = self._rng.choice([*CAPITALS.items()])
        first, second = self._rng.choice([*OPPOSITES.items()])
        truth = self._rng.choice(TRUTHS)
        begin, _, end = truth.rpartition(" ")
        blank = " " if goes_on else ""
        line = "\n\n" if goes_on else ""
        forms: Sequence[Sequence[str]] = (
            (f"{blank}The capital of {country} is", f" {capital}", "."),
            (f"{blank}The capital of {country} is", f" {capital}", "."),
            (f"{blank}The capital of {country} is called", f" {capital}", "."),
            (f"{blank}{capital} is the capital of", f" {country}", "."),
            (f"{blank}{capital} is a city in", f" {country}", "."),
            (f"{line}Question: What is the capital of {country}?\nAnswer:", f" {capital}", "."),
            (f"{line}Question: In which country is {capital}?\nAnswer:", f" in {country}", ""),
            (f"{blank}The opposite of {first} is", f" {second}", "."),
            (f"{blank}The opposite of {second} is", f" {first}", "."),
            (f"{blank}{begin}", f" {end}", "."),
            (f"{blank}{begin}", f" {end}", "."),
        )
        before, known, after = self._rng.choice(forms)
        after = "" if before.lstrip().startswith("Question") else after
        return [Part(before), Part(known, known=True), *([Part(after)] if after else [])]

    def again(self) -> Text:
        """Words, names or sentences that come twice, or two people of whom one is named again."""
        slots, draw = self._slots, self._rng.random()
        if draw < 0.4:
            return self._giving()
        count = self._rng.randrange(3, 25)
        mixed = Slots(self._rng, 0.5)
        pools = (THINGS, PEOPLE, COLOURS, FOODS, NUMBERS, ANIMALS, ROOMS)
        pool = self._rng.choice(pools) if slots.chance(0.3) else sum(pools, ())
        words = [mixed.word(pool) for _ in range(count)]
        if draw < 0.6:
            words = [mixed.invented() for _ in range(count)]
        between = self._rng.choice((" ", " ", ", ", "\n"))
        once = between.join(words)
        return [Part(once), *[Part(f"{between}{once}", known=True)] * self._rng.choice((1, 1, 2))]

    def _giving(self) -> Text:
        first, second = (self._slots.name() for _ in range(2))
        while second == first:
            second = self._slots.name()
        giver, getter = (first, second) if self._slots.chance(0.5) else (second, first)
        thing = with_article(self._slots.word(THINGS))
        place, verb = self._slots.one(GOALS), self._slots.one([past for past, _ in TRANSFER])
        gift = f"{giver} {verb} {thing} to"
        before, known, after = self._rng.choice(
            (
                (f"When {first} and {second} went to the {place}, {gift}", f" {getter}", "."),
                (f"{first} and {second} were in the {place}. {gift}", f" {getter}", "."),
                (f"{first} met {second}. {gift}", f" {getter}", "."),
                (f"{first} met {second}; {gift}", f" {getter}", "."),
                (f"{first} met {second}, and later {first} met", f" {second}", " again."),
                (f"{first} met {second} in the {place}, and later {first} met", f" {second}", "."),
                (f"{first} and {second} are friends. {first} likes", f" {second}", "."),
            )
        )
        return [Part(sentence(before)), Part(known, known=True), Part(after)]

    def hidden(self) -> Text:
        """A fact in a long text of many words, and its sentence as the answer to a question."""
        asker = Asker(self._rng, invented=0.35)
        (fact,) = asker.facts(1)
        count, mixed = self._rng.randrange(1, 9), Slots(self._rng, 0.5)
        hay = [self._noise(mixed) for _ in range(count)]
        hay.insert(self._rng.randrange(count + 1), fact.said)
        question, _ = self._rng.choice(fact.questions)
        words = fact.said.split(" ")
        begun = self._rng.randrange(1, max(2, len(words) - 1))
        beginning, rest = " ".join(words[:begun]), " ".join(words[begun:])
        asked = sentence(question.format(**fact.fields))
        return [
            Part(" ".join(hay)),
            Part(f"\n\nQuestion: {asked}\nAnswer: {beginning}"),
            Part(f" {rest}", known=True),
        ]

    def _noise(self, slots: Slots) -> str:
        if slots.chance(0.3):
            return slots.one(FILLERS)
        words = [slots.one(sample_words()) for _ in range(self._rng.randrange(5, 16))]
        return sentence(" ".join(words)) + "."


def _plots(text: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(block.splitlines()) for block in text.strip().split("\n\n"))


# Of each line one of its parts is told; of "-" nothing.
PLOTS = _plots("""
{a} went to the {goal}. / {a} walked to the {goal}. / On {day} {a} went to the {goal}. / One day {a} went to the {goal}. / {a} was on the way to the {goal}.
{she} wanted to buy {food}. / {she} needed {food}. / {she} was looking for a {thing}. / It was a fine day. / -
{she} bought {count} {food} and {a_colour} {thing}. / {she} found {a_colour} {thing}. / There {she} saw {a_colour} {thing}. / {she} bought {a_colour} {thing}.
The {thing} was not cheap. / {she} liked the {thing} very much. / The {thing} cost {count} euros. / -
Then {she} met {b}. / At the {goal} {she} met {b}. / On the way home {she} met {b}. / {b} was there, too.
{a} showed {b} the {thing}. / {a} gave the {thing} to {b}. / {b} asked for the {thing}. / {b} liked the {thing}.
{b} was very happy. / {b} thanked {a}. / "What a fine {thing}!" said {b}. / -
In the evening {she} went home. / Then they went home together. / At {hour} {a} was home again. / They talked for a long time.

{a} went to the market. / {a} went to the shop. / In the morning {a} went to the market.
{she} bought {food}. / {she} bought some {food}. / {she} wanted to buy {food}. / There {she} bought {food} and a {thing}.
The {job} gave {him} {count} {food}. / {she} paid {count} euros. / It was very cheap. / There were many people. / -
Then {she} went home and made a soup. / Then {she} went to {her} {relative}. / Then {she} went home. / On the way home it began to rain.
{her} {relative} was happy. / {her} {relative} was waiting. / {she} was tired but happy. / They ate the {food} together. / -

{a} could not find the {thing}. / {a} had lost the {thing}. / "Where is my {thing}?" asked {a}. / One morning the {thing} was gone.
{she} looked {spot}, but it was not there. / {she} looked for it everywhere. / It was not {spot}.
Then {she} asked {b}. / Then {she} asked {her} {relative}. / {b} wanted to help {him}.
"Look {spot2}," said {b}. / "I saw it {spot2}," said {b}. / {b} had seen it {spot2}.
{a} went there and found the {thing}. / There was the {thing}! / And there it was. / The {thing} was {spot2}.
{she} was very happy. / "Thank you," said {a}. / {a} put the {thing} in {her} bag. / -

{a} had {a_colour} {animal}. / {a} has {a_colour} {animal}. / Once there was {a_colour} {animal}. It belonged to {a}.
The {animal} was called {b}. / Its name was {b}. / -
The {animal} liked {food}. / Every day the {animal} ate {food}. / The {animal} lived {spot}.
One day the {animal} ran away. / On {day} the {animal} was gone. / One night the {animal} did not come home.
{a} looked for it {spot}. / {a} asked everybody. / {a} was sad. / {a} went out and called.
At last {she} found it {spot2}. / It was {spot2}. / A {job} had found it {spot2}. / {her} {relative} found it {spot2}.
{a} gave it {count} {food}. / From then on it stayed at home. / {a} was happy again. / The {animal} was tired and hungry.

{a} is a {job}. / {a} was a {job} in {city}. / In {city} there lived a {job}. {her} name was {a}.
{she} works {spot}. / Every day {she} went to the {goal}. / {she} got up at {hour} every morning. / {she} had {count} children.
{her} {relative} is called {b}. / {her} {relative} was called {b}. / {she} had a friend, {b}. / -
On {day} {she} had no work. / One day a letter came. / One day {she} lost {her} {thing}. / Last week {she} bought {a_colour} {thing}.
"Let us go to the {goal}," said {b}. / {b} came at {hour}. / {b} had an idea. / Then {b} came to visit.
They went to the {goal} together. / They took the bus to the {goal}. / They stayed at home and drank tea. / They sat {spot} and talked.
It was a fine day. / They came back at {hour}. / Both were happy. / Then it began to rain.

It was {her} birthday, and {a} was happy. / It was the birthday of {a}. / On {day} {a} had a party.
{b} came at {hour}. / {count} friends came. / {her} {relative} made a cake. / {b} was the first to come.
{b} gave {him} {a_colour} {thing}. / {her} {relative} gave {him} {a_colour} {thing}. / There was {a_colour} box on the table. In it was a {thing}.
They ate {food}. / They played a game. {b} won. / They sang and danced. / There were {food} and cake for all.
"Thank you for the {thing}," said {a}. / {a} put the {thing} {spot}. / {a} still has the {thing}. / It was the best day of the year.

It rained all day. / It was raining. / It was cold. / The sun was shining. / It was {day}.
{a} stayed at home. / {a} and {b} stayed at home. / {a} sat {spot} and read a book. / {a} was bored.
{she} painted a picture of {a_colour} {animal}. / {she} wrote a letter to {b}. / {she} looked out of the window. / {she} made {food} for {b}.
At {hour} the sun came out. / Then the phone rang. / Then somebody knocked at the door. / Then the rain stopped.
It was {b}. / {b} was at the door. / {b} called: "Come out!" / "Come to the {goal}," said {b}.
They went to the {goal}. / They ran to the {goal}. / They played until {hour}. / They went for a walk.

{a} wanted to go to {city}. / {a} took the train to {city}. / On {day} {a} went to {city}.
The train left at {hour}. / The bus left at {hour}. / It took {count} hours. / The ticket cost {count} euros.
In {city} {she} met {b}. / {b} was waiting at the station. / {her} {relative} lives in {city}. / {she} stayed in a small hotel.
They went to the museum. / They saw the castle. / They ate {food}. / They walked through the old town.
{a} bought {a_colour} {thing} for {her} {relative}. / {a} lost {her} {thing}. / {a} took many pictures. / {a} wrote a letter home.
After {count} days {she} went home. / At {hour} {she} took the train back. / {she} wants to come back next year.

There was a race. / On {day} there was a race. / Everybody came to see the race. / {a} and {b} ran a race.
{a} was very fast. / {a} was the first at the {goal}. / {b} was faster than {a}. / {b} fell. / {a} was tired.
In the end {a} won. / In the end {b} won. / {a} won, and {b} came second. / {b} won the race, and {a} was second.
The winner got {a_colour} {thing}. / The prize was {a_colour} {thing}. / The prize was {count} euros. / Everybody was happy.
They went home at {hour}. / Then they ate {food}. / "Next year I will win," said {b}. / -
""")


# ---------------------------------------------------------------- texts by number


def text(number: int, seed: int = 0) -> Text:
    """A text to train on."""
    rng = Random(f"{seed} {number}")
    draw, teller = rng.random(), Teller(rng)
    if draw < 0.7:
        return Asker(rng, invented=rng.choice((0.0, 0.1, 0.4))).text()
    if draw < 0.8:
        return teller.story()
    if draw < 0.84:
        return teller.world()
    return teller.again() if draw < 0.89 else teller.hidden()


def held_out(
    number: int,
    *,
    passages: int = 3,
    invented: float = 0.0,
    begins: bool | None = None,
    alike: bool | None = None,
    seed: int = 0,
) -> Passages:
    """A question about pairs of words that no text to train on joins; see `Asker.passages`."""
    rng = Random(f"held out {seed} {number}")
    return Asker(rng, held_out=True, invented=invented).passages(
        passages, begins=begins, alike=alike
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--out", type=Path, help="a file; else they are printed")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    texts = ["".join(part.text for part in text(n, asked.seed)) for n in range(asked.count)]
    whole = "\n\n\n".join(texts) + "\n"
    if asked.out:
        asked.out.write_text(whole, encoding="utf-8")
    else:
        print(whole)


if __name__ == "__main__":
    main()
