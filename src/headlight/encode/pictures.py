"""Pictures as examples: patches attend to one another, and the tokens of a prompt to patches."""

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from headlight.corpora.pictures import Picture, decode_picture
from headlight.encode.examples import CLS, OTHER, SEP, Counts, Encoded, Examples, Recipe, annotate
from headlight.encode.pieces import SPECIAL_WORD
from headlight.encode.texts import encode_one
from headlight.errors import UsageError
from headlight.files import Location, storable
from headlight.vocabulary import BORDER, IMAGE, PATCH, PROMPT, REGISTER, TEMPLATE

if TYPE_CHECKING:
    from PIL.Image import Image

PATCH_NAMES = {"all": "all positions", "cls": "cls", "sep": "registers", "other": "patches"}
"""Names of the positions of each category."""

_PLACES, _MARKED = 1 << 24, 1 << 60
"""More than a picture has positions; ids of frames of sound are above the second, negated."""
_SIDE = 1 << 11

Place = tuple[int, int] | str
"""Row and column of a patch, or the name of a position that is none, such as ``reg1``."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Positions of an encoder for pictures of one size.

    Attributes:
        rows: Patches from top to bottom.
        columns: Patches from left to right.
        places: What stands at each position.
    """

    rows: int
    columns: int
    places: tuple[Place, ...]

    @property
    def categories(self) -> tuple[int, ...]:
        """Return the category of each position: ``sep`` stands for registers and their like."""
        return tuple(
            OTHER if isinstance(place, tuple) else CLS if place == "cls" else SEP
            for place in self.places
        )

    @property
    def segments(self) -> tuple[str, ...]:
        """Return the named segment of each position; ``cls`` is one by itself."""
        return tuple(map(self._segment, self.places))

    def _segment(self, place: Place) -> str:
        if isinstance(place, str):
            return place if place == "cls" else REGISTER
        row, column = place
        inside = 0 < row < self.rows - 1 and 0 < column < self.columns - 1
        return PATCH if inside else BORDER

    def ids(self, mark: int, image: int = 0) -> tuple[int, ...]:
        """Return an id for each position, below those of frames, that holds its name and a mark.

        Args:
            mark: Of the picture.
            image: Number of the picture beside a prompt, from 1; 0 of one that is read alone.
        """
        own = -1 - _MARKED - mark * _PLACES - 2 * image * _SIDE**2
        return tuple(own - _number(place) for place in self.places)


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedPicture(Encoded):
    """A picture as an encoder sees it.

    Its `ids` hold the names of its positions, see `place_name`; they are below 0, as no id of a
    vocabulary is, and no model is given them.

    Attributes:
        index: Which picture of the corpus it is, from 0.
        image: Its file, or the picture itself.
        layout: What stands at each position.
    """

    index: int
    image: "Location | Image"
    layout: Layout

    def beginning(self, tokens: int) -> "EncodedPicture":
        """Return the whole picture, which no model sees in part."""
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedPrompt(Encoded):
    """A prompt beside a picture, as the language model behind an encoder of pictures reads it.

    Its `ids` are those of the prompt, and for patches those of a `Layout`.

    Attributes:
        arguments: Arguments of the language model, from the embeddings on.
        image: The picture as it is shown.
    """

    arguments: Mapping[str, Any]
    image: "Image"

    def beginning(self, tokens: int) -> "EncodedPrompt":
        """Return the whole prompt, whose embeddings belong together."""
        return self


def pictures(
    corpus: Iterable[Picture], layout_of: "Callable[[Image], Layout]"
) -> Examples[EncodedPicture]:
    """Return every picture as one example.

    Args:
        corpus: Usually of `headlight.corpora.open_pictures`.
        layout_of: What the model makes of a picture.

    Raises:
        CorpusError: While iterating: a file is no picture that is read here.
    """

    def encode(group: list[Picture], counts: Counts) -> Iterator[EncodedPicture]:
        for each in group:
            counts.documents += 1
            yield encode_picture(each.image, layout_of, counts.documents - 1)

    return Examples(Recipe(corpus, _state_of, encode))


def encode_picture(
    image: "str | Location | Image", layout_of: "Callable[[Image], Layout]", index: int = 0
) -> EncodedPicture:
    """Return a picture as an example.

    Args:
        image: A file, or a picture of Pillow.
        layout_of: What the model makes of it.
        index: Which picture of a corpus it is.

    Raises:
        CorpusError: The file is no picture that is read here, or it is neither.
    """
    decoded = decode_picture(image)
    layout = layout_of(decoded)
    number = len(layout.places)
    example = Encoded(
        picture_name(image),
        layout.ids(zlib.crc32(decoded.tobytes())),
        (0,) * number,
        layout.categories,
        tuple(
            at if isinstance(place, tuple) else SPECIAL_WORD
            for at, place in enumerate(layout.places)
        ),
        segment_names=layout.segments,
    )
    return annotate(example, EncodedPicture, index=index, image=image, layout=layout)


def encode_prompt(
    tokenizer: Any,
    prompt: str,
    ids: Sequence[int],
    image_id: int,
    layout: Layout,
    mark: int,
    *,
    max_length: int | None = None,
) -> Encoded:
    """Return a prompt in which the patches of a picture stand in place of its image tokens.

    Args:
        tokenizer: A fast Hugging Face tokenizer.
        prompt: The text, with the image token once.
        ids: What the processor of the model has made of the prompt.
        image_id: Id of the image token.
        layout: Patches, as many as `ids` holds image tokens.
        mark: Of the picture.
        max_length: Tokens at most.

    Raises:
        UsageError: The tokenizer makes other tokens of the prompt, or it is too long.
    """
    token = str(tokenizer.convert_ids_to_tokens(image_id))
    expanded = prompt.replace(token, token * len(layout.places))
    example = encode_one(tokenizer, expanded, max_length=max_length)
    if list(example.ids) != list(ids):
        raise UsageError(
            "the processor of the model writes more around a picture than its image tokens, so the "
            "words of the prompt are not known; choose a model such as LLaVA or Qwen2-VL."
        )
    patches = iter(layout.ids(mark, image=1))
    named = tuple(next(patches) if each == image_id else each for each in ids)
    numbers: dict[tuple[int, int], int] = {}
    words = tuple(
        numbers.setdefault((word, min(each, 0)), len(numbers))
        if word != SPECIAL_WORD or each < 0
        else SPECIAL_WORD
        for word, each in zip(example.words, named, strict=True)
    )
    segments = tuple(
        IMAGE if each < 0 else TEMPLATE if word == SPECIAL_WORD else PROMPT
        for word, each in zip(words, named, strict=True)
    )
    return replace(example, ids=named, words=words, segment_names=segments)


def picture_name(image: "str | Location | Image") -> str:
    """Return what a picture is called: its file, if it has one."""
    return storable(image) if isinstance(image, str | Location) else "a picture"


def place_name(number: int) -> str | None:
    """Return the name of a position by its id; None of another id.

    Of a patch it is ``row×column``; of one beside a prompt ``image 1 row×column``.
    """
    if number >= -_MARKED:
        return None
    place = (-1 - _MARKED - number) % _PLACES
    kind, place = divmod(place, _SIDE**2)
    if kind % 2 == 0:
        image = f"image {kind // 2} " if kind else ""
        return image + "×".join(map(str, divmod(place, _SIDE)))
    return "cls" if place == 0 else "dist" if place == 1 else f"reg{place - 1}"


def _number(place: Place) -> int:
    """Return the number of a place, which `place_name` reads."""
    if isinstance(place, tuple):
        return place[0] * _SIDE + place[1]
    special = {"cls": 0, "dist": 1}
    return _SIDE**2 + special.get(place, 0) + (int(place[3:]) + 1 if place.startswith("reg") else 0)


def _state_of(picture: Picture) -> tuple[str]:
    """Return the file and its size, which is known without decoding it."""
    try:
        size = picture.image.stat().st_size
    except OSError:  # which is refused where it is decoded
        size = 0
    return (f"{storable(picture.image)} {size}",)
