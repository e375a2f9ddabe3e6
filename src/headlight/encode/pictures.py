"""Pictures as examples: patches attend to one another."""

import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headlight.corpora.pictures import Picture, decode_picture
from headlight.encode.examples import Counts, Encoded, Examples, Recipe, annotate
from headlight.encode.pieces import SPECIAL_WORD
from headlight.encode.token_categories import CLS, OTHER, SEP
from headlight.files import Location, storable
from headlight.vocabulary import BORDER, PATCH, REGISTER

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
        rows: Number of patches from top to bottom.
        columns: Number of patches from left to right.
        places: Patch or name at each position.
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
            mark: Mark of the picture.
            image: Number of the picture beside a prompt, from 1; 0 for a picture that is read
                alone.
        """
        base = -1 - _MARKED - mark * _PLACES - 2 * image * _SIDE**2
        return tuple(base - _number(place) for place in self.places)


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedPicture(Encoded):
    """Picture as an encoder sees it.

    Its `ids` hold the names of its positions, see `place_name`; they are below 0, as no id of a
    vocabulary is, and no model is given them.

    Attributes:
        index: Number of the picture in the corpus, from 0.
        image: File of the picture, or the picture itself.
        layout: Layout of its positions.
    """

    index: int
    image: "Location | Image"
    layout: Layout

    def beginning(self, tokens: int) -> "EncodedPicture":
        """Return the whole picture, which no model sees in part."""
        return self


def pictures(
    corpus: Iterable[Picture], layout_of: "Callable[[Image], Layout]"
) -> Examples[EncodedPicture]:
    """Return every picture as one example.

    Args:
        corpus: Pictures, usually of `headlight.corpora.open_pictures`.
        layout_of: Function from a picture to the layout that the model makes of it.

    Raises:
        CorpusError: While iterating: a file is no picture that is read here.
    """

    def encode(group: list[Picture], counts: Counts) -> Iterator[EncodedPicture]:
        for picture in group:
            counts.documents += 1
            yield encode_picture(picture.image, layout_of, counts.documents - 1)

    return Examples(Recipe(corpus, _state_of, encode))


def encode_picture(
    image: "str | Location | Image", layout_of: "Callable[[Image], Layout]", index: int = 0
) -> EncodedPicture:
    """Return a picture as an example.

    Args:
        image: File, or picture of Pillow.
        layout_of: Function from a picture to the layout that the model makes of it.
        index: Number of the picture in a corpus.

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


def picture_name(image: "str | Location | Image") -> str:
    """Return the name of a picture: its file, if it has one."""
    return storable(image) if isinstance(image, str | Location) else "a picture"


def place_name(number: int) -> str | None:
    """Return the name of a position by its id; None for another id.

    A patch is called ``row×column``; beside a prompt it is ``image 1 row×column``.
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
