"""Write labelled texts of our own: short reviews, positive or negative as a whole.

    python scripts/review_texts.py --out build/reviews

Every text is put together here from words and sentence patterns, so that what is trained on it may
be passed on, and so that its label is known and not judged.  Where single words decide (*plain*),
the label is that of the opinion word.  In all other patterns it takes more than the words: a
negation, a contrast of which one half counts, what somebody else had said, what might have been.
Both labels have the same patterns, and each opinion word stands in texts of both.

Three files come of it: ``train.tsv``; ``new_texts.tsv`` with other texts of the same words; and
``new_words.tsv``, of whose opinion words no text to train on has any.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

LABELS = ("negative", "positive")
TRAINED, NEW_TEXTS, NEW_WORDS = "train.tsv", "new_texts.tsv", "new_words.tsv"


def _words(text: str) -> list[str]:
    return text.split()


# Each place with what may be said of it: it itself first, then its parts.
PLACES = tuple(
    tuple(line.split(", "))
    for line in """\
restaurant, soup, bread, service, menu, wine, dessert, fish, salad, coffee
film, plot, cast, ending, script, music, dialogue, first half, last scene, camera work
hotel, room, bed, view, breakfast, bathroom, garden, staff, lobby, terrace
book, story, style, last chapter, translation, preface, cover, map, introduction, print
concert, band, singer, sound, programme, hall, orchestra, choir, second part, drummer
museum, guide, collection, building, exhibition, shop, tour, café, catalogue, lighting
journey, train, seat, meal, ferry, crew, cabin, connection, coach, driver
course, teacher, textbook, room, first lesson, homework, lecture, examples, pace, discussion
phone, screen, battery, camera, keyboard, sound, design, case, software, signal
play, actor, stage, costume, director, opening, second act, speech, set, chorus
match, team, referee, stadium, goal, defence, crowd, coach, second half, commentary
bicycle, saddle, frame, brake, bell, gear, light, handle, wheel, paint
""".splitlines()
)
GOOD = _words("""
good great excellent wonderful lovely delightful charming brilliant superb splendid fine pleasant
beautiful impressive perfect marvellous outstanding enjoyable memorable elegant clever remarkable
fascinating thoughtful polished graceful satisfying refreshing magnificent stunning admirable
exquisite flawless superior fantastic terrific amazing lively inspired convincing rich attractive
appealing tasteful skilful fresh careful solid exceptional glorious
""")
BAD = _words("""
bad poor terrible awful dreadful horrible dull boring weak disappointing tedious mediocre clumsy
ugly careless lazy unpleasant annoying bland stale confusing shabby cheap flawed forgettable
pathetic miserable ridiculous inferior faulty sloppy hopeless tiresome pointless lifeless inadequate
useless worthless appalling disgusting irritating messy crude tasteless gloomy awkward feeble grim
dismal sad
""")
LIKED = _words("loved enjoyed liked admired praised recommended treasured appreciated")
DISLIKED = _words("hated regretted disliked criticised condemned avoided despised resented")
PLAIN_FORM = dict(
    zip(
        LIKED + DISLIKED,
        _words("""
love enjoy like admire praise recommend treasure appreciate hate regret dislike criticise
condemn avoid despise resent
"""),
        strict=True,
    )
)
PLEASED = _words("pleased delighted impressed charmed thrilled inspired")
DISPLEASED = _words("annoyed bored disappointed irritated offended depressed")
HELD_OUT = 4
"""Of every so many opinion words one is in `NEW_WORDS` alone."""

PEOPLE = """my brother, my sister, our neighbour, the critic, a friend, my uncle, the newspaper, my
colleague, the brochure, everybody else, the old man beside us, my aunt""".replace("\n", " ")
US = (
    "I", "we", "my wife", "my friends",
    "the children", "the whole family", "most of us", "our group",
)  # fmt: skip
NEUTRAL = """\
We went there on a Tuesday.
It rained all day.
My cousin had told us about it.
We were four people.
It took about two hours.
There were many visitors from abroad.
It was our second time.
We paid in advance.
The weather was cold for May.
It lies near the old station.
I had read about it in the paper.
We stayed until ten o'clock.
It was the week before Easter.
My parents came along.
We had driven from the coast.
They opened in 1998.
Somebody had left an umbrella there.
We took the bus home.
It was late in the evening.
A second one will follow next year.
""".splitlines()


@dataclass(frozen=True)
class Words:
    """Opinion words, those of each label in a row: negative first, as in `LABELS`."""

    adjectives: tuple[Sequence[str], Sequence[str]]
    attitudes: tuple[Sequence[str], Sequence[str]]
    effects: tuple[Sequence[str], Sequence[str]]

    @classmethod
    def parted(cls) -> "tuple[Words, Words]":
        """Those of texts to train on, and those held out."""
        kinds = ((BAD, GOOD), (DISLIKED, LIKED), (DISPLEASED, PLEASED))

        def part(words: Sequence[str], held_out: bool) -> Sequence[str]:
            return [
                word
                for place, word in enumerate(words)
                if (place % HELD_OUT == HELD_OUT - 1) is held_out
            ]

        trained, kept = (
            cls(*((part(bad, held_out), part(good, held_out)) for bad, good in kinds))
            for held_out in (False, True)
        )
        return trained, kept


class Writer:
    """Draws words and puts sentences together; each method of a pattern gives one of a label."""

    def __init__(self, words: Words, rng: np.random.Generator) -> None:
        self._words, self._rng = words, rng

    def text(self) -> tuple[str, str, str]:
        """A text, its label, and the name of its pattern."""
        label = int(self._rng.integers(2))
        pattern = self._one(PATTERNS)
        self._place = self._one(PLACES)
        sentence = pattern(self, label)
        before = [self._one(NEUTRAL)] if self._chance(0.35) else []
        after = [self._one(NEUTRAL)] if self._chance(0.25) and not before else []
        text = " ".join([*before, f"{sentence[:1].upper()}{sentence[1:]}", *after])
        return text, LABELS[label], pattern.__name__

    def plain(self, label: int) -> str:
        return self._one([
            f"the {self._part()} was {self._degree()}{self._adjective(label)}.",
            f"{self._us()} {self._attitude(label)} the {self._part()}.",
            f"the {self._part()} {self._effect(label)} {self._one(['us', 'me', 'everyone'])}.",
            f"what {self._a(self._adjective(label))} {self._place[0]}!",
            f"{self._us()} found the {self._part()} {self._adjective(label)} and "
            f"{self._adjective(label)}.",
            f"we remember {self._a(self._adjective(label))} {self._part()}.",
        ])  # fmt: skip

    def negated(self, label: int) -> str:
        other = 1 - label
        return self._one([
            f"the {self._part()} was {self._one(['not', 'never', 'hardly', 'by no means'])} "
            f"{self._adjective(other)}.",
            f"the {self._part()} was {self._one(['far from', 'anything but'])} "
            f"{self._adjective(other)}.",
            f"there was nothing {self._adjective(other)} about the {self._part()}.",
            f"nobody could call the {self._part()} {self._adjective(other)}.",
            f"{self._one(['i', 'we'])} {self._one(['did not', 'never', 'could not'])} "
            f"{self._plain_form(other)} the {self._part()}.",
            f"the {self._part()} {self._one(['never', 'hardly', 'in no way'])} "
            f"{self._effect(other)} us.",
            f"neither the {self._part()} nor the {self._part()} was {self._adjective(other)}.",
        ])  # fmt: skip

    def contrasted(self, label: int) -> str:
        other = 1 - label
        minor = f"the {self._part()} was {self._adjective(other)}"
        all_of_it = self._one(
            [f"the {self._place[0]} as a whole", "all in all it", "in the end it"]
        )
        major = f"{all_of_it} was {self._adjective(label)}"
        felt = f"{self._one(['we', 'i'])} {self._attitude(label)} the {self._place[0]}"
        verdict = self._one([major, felt])
        return self._one([
            f"{minor}, but {verdict}.",
            f"although {minor}, {verdict}.",
            f"{verdict}, although {minor}.",
            f"{verdict}, even if {minor}.",
            f"{minor}; still, {verdict}.",
            f"despite {self._a(self._adjective(other))} {self._part()}, {verdict}.",
        ])  # fmt: skip

    def reported(self, label: int) -> str:
        other = 1 - label
        who, part = self._one(PEOPLE.split(", ")), self._part()
        found = self._one([
            f"we found it {self._adjective(label)}",
            f"it was {self._adjective(label)}",
            f"to us it seemed {self._adjective(label)}",
        ])  # fmt: skip
        return self._one([
            f"{who} had called the {part} {self._adjective(other)}; {found}.",
            f"{who} had promised {self._a(self._adjective(other))} {part}, and {found}.",
            f"we had expected {self._a(self._adjective(other))} {part}, and {found}.",
            f"the {part} was {self._adjective(label)}, whatever {who} says about "
            f"{self._a(self._adjective(other))} one.",
            f"{who} {self._attitude(other)} the {part}; {found}.",
            f"i cannot agree with {who} that the {part} was {self._adjective(other)}.",
        ])  # fmt: skip

    def imagined(self, label: int) -> str:
        other, part = 1 - label, self._part()
        return self._one([
            f"the {part} could have been {self._adjective(other)}.",
            f"with a different {self._part()} the {part} would have been {self._adjective(other)}.",
            f"if only the {part} had been {self._adjective(other)}."
            if label == 0
            else f"luckily the {part} is no longer {self._adjective(other)}.",
            f"the {part} used to be {self._adjective(other)}; that is over.",
            f"we had hoped for {self._a(self._adjective(other))} {part} in vain."
            if label == 0
            else f"we had feared {self._a(self._adjective(other))} {part} for no reason.",
            f"last year the {part} was {self._adjective(other)}, and now it is "
            f"{self._adjective(label)}.",
        ])  # fmt: skip

    def _part(self) -> str:
        return self._one(self._place[1:])

    def _adjective(self, label: int) -> str:
        return self._one(self._words.adjectives[label])

    def _attitude(self, label: int) -> str:
        return self._one(self._words.attitudes[label])

    def _effect(self, label: int) -> str:
        return self._one(self._words.effects[label])

    def _plain_form(self, label: int) -> str:
        return PLAIN_FORM[self._attitude(label)]

    def _us(self) -> str:
        return self._one(US)

    def _degree(self) -> str:
        return self._one(["", "", "", "very ", "really ", "rather ", "quite ", "simply "])

    def _chance(self, share: float) -> bool:
        return bool(self._rng.random() < share)

    def _one(self, choices: Sequence[Any]) -> Any:
        return choices[int(self._rng.integers(len(choices)))]

    @staticmethod
    def _a(word: str) -> str:
        return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


PATTERNS: tuple[Callable[[Writer, int], str], ...] = (
    *(Writer.plain, Writer.plain, Writer.negated, Writer.negated),
    *(Writer.contrasted, Writer.contrasted, Writer.reported, Writer.imagined),
)
"""What is drawn from; a pattern that stands twice is drawn twice as often."""


@dataclass(frozen=True)
class Texts:
    """Texts with labels, none of them twice."""

    trained: Sequence[tuple[str, str, str]]
    new_texts: Sequence[tuple[str, str, str]]
    new_words: Sequence[tuple[str, str, str]]


def write_texts(trained: int, held_out: int, seed: int = 0) -> Texts:
    """So many texts to train on, and twice so many that are held out."""
    words, others = Words.parted()
    seen: set[str] = set()

    def drawn(number: int, writer: Writer) -> list[tuple[str, str, str]]:
        found: list[tuple[str, str, str]] = []
        while len(found) < number:
            text = writer.text()
            if text[0] not in seen:
                seen.add(text[0])
                found.append(text)
        return found

    first, second = (Writer(each, np.random.default_rng(seed)) for each in (words, others))
    return Texts(drawn(trained, first), drawn(held_out, first), drawn(held_out, second))


def save(texts: Sequence[tuple[str, str, str]], path: Path) -> None:
    """As a table of texts and labels, which `headlight.corpora.open_sentence_pairs` reads."""
    rows = (f"{text}\t{label}\n" for text, label, _ in texts)
    path.write_text("text\tlabel\n" + "".join(rows), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--texts", type=int, default=12_000, help="to train on")
    parser.add_argument("--held-out", type=int, default=1_000, help="of each of both kinds")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    texts = write_texts(asked.texts, asked.held_out, asked.seed)
    for name, each in zip(
        (TRAINED, NEW_TEXTS, NEW_WORDS),
        (texts.trained, texts.new_texts, texts.new_words),
        strict=True,
    ):
        save(each, asked.out / name)


if __name__ == "__main__":
    main()
