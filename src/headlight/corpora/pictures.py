"""Pictures: files that are decoded here, and folders of them as a corpus."""

import warnings
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any

from headlight.corpora.corpus import Corpus, CorpusCounts, corpus_in_memory
from headlight.corpora.files import files
from headlight.errors import CorpusError
from headlight.files import Location, location, open_file, storable, why_unread

if TYPE_CHECKING:
    from collections.abc import Iterable

    from PIL.Image import Image

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff")
_FORMATS = ("PNG", "JPEG", "WEBP", "BMP", "GIF", "TIFF")
"""Others are never handed to a decoder, whatever a file says that it is."""
_MODES = ("1", "L", "LA", "P", "PA", "RGB", "RGBA", "CMYK", "YCbCr")
"""Modes of 8 bits a channel, of which RGB is made without a choice of brightness."""
MOST_PIXELS = 50_000_000
"""Pixels that are decoded: 150 MB as RGB."""
LONGEST = 50
"""Largest ratio of the sides of a picture: processors enlarge its shorter side."""
LARGEST, MOST_BYTES = 768, 150_000
"""Pixels of a side in a page, and bytes from which on its picture is a JPEG, and no PNG."""


@dataclass(frozen=True, slots=True)
class Picture:
    """Picture in a file.

    Attributes:
        name: Place that it is from, for messages.
        image: File of the picture, which is decoded when a model sees it.
    """

    name: str
    image: Location


def open_pictures(source: "str | Location | Iterable[Picture]") -> Corpus[Picture]:
    """Return the pictures of a folder, a pattern or a file, in the order of their names.

    Nothing is decoded yet.

    Args:
        source: Path, pattern, folder, or pictures; an open corpus of them stays as it is.

    Raises:
        CorpusError: There is no such file, or none of them is a picture.
    """
    if not isinstance(source, str | Location):
        return corpus_in_memory(source, "pictures", "pictures", element=Picture)
    all_files = files(source)
    paths = [file for file in all_files if is_picture(file)]
    if not paths:
        raise CorpusError(
            f"{storable(source)} holds no pictures; give a folder of files such as "
            f"{', '.join(SUFFIXES[:3])}."
        )

    def read(counts: CorpusCounts) -> Iterator[Picture]:
        counts.other_files = len(all_files) - len(paths)
        for path in paths:
            yield Picture(storable(path), path)

    return Corpus(storable(source), read, "pictures", share_of=lambda n: min(n / len(paths), 1.0))


def is_picture(file: Location) -> bool:
    """Return whether a file has the suffix of a picture that is decoded here."""
    return file.suffix.lower() in SUFFIXES


def decode_picture(image: "Location | str | bytes | Image") -> "Image":
    """Return a picture as RGB, turned as its camera was held, transparent parts on white.

    Args:
        image: File of PNG, JPEG, WebP, BMP, GIF or TIFF, its content, or a picture of Pillow,
            which is read as the file that it could be saved to.

    Raises:
        CorpusError: There is no such file, it is no picture, damaged, of several pictures, of
            more than 8 bits a channel, or too large.
    """
    from PIL import Image, UnidentifiedImageError

    if not isinstance(image, str | Location | bytes | Image.Image):
        raise CorpusError(
            f"a picture is a file, or an image of Pillow, and no {type(image).__name__}; make one "
            "of an array with PIL.Image.fromarray."
        )
    name = storable(image) if isinstance(image, str | Location) else "the picture"
    cure = f"give a {', '.join(_FORMATS[:-1])} or {_FORMATS[-1]} file"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what is refused below, or is metadata
            if isinstance(image, Image.Image):
                return _convert_to_rgb(image, name)
            with _content_of(image) as raw:
                return _convert_to_rgb(Image.open(raw, formats=_FORMATS), name)
    except CorpusError:
        raise
    except Image.DecompressionBombError as problem:
        raise _too_large(name, "has too many pixels") from problem
    except UnidentifiedImageError as problem:
        raise CorpusError(f"{name} is no picture that is read here; {cure}.") from problem
    except Exception as problem:  # each decoder fails in its own way on damaged files
        raise CorpusError(
            f"{name} cannot be read as a picture ({why_unread(problem)}); {cure}."
        ) from problem


def _content_of(image: Location | str | bytes) -> Any:
    """Return the bytes of a picture, to be read.

    Raises:
        CorpusError: There is no such file.
    """
    if isinstance(image, bytes):
        return BytesIO(image)
    place = location(image, error=CorpusError)
    if not place.exists():
        raise CorpusError(f"there is no picture {storable(image)!r}; correct its path.")
    return open_file(place, error=CorpusError)


def _check_form(opened: "Image", name: str) -> None:
    """Refuse a picture by what its header says, before it is decoded.

    Raises:
        CorpusError: It is too large or long, one of several, or of more than 8 bits a channel.
    """
    width, height = opened.size
    if width * height > MOST_PIXELS:
        raise _too_large(name, f"has {width} × {height} pixels")
    if max(width, height) > LONGEST * min(width, height):
        raise CorpusError(
            f"{name} has {width} × {height} pixels, and one side may be {LONGEST} times the other; "
            "cut it."
        )
    if getattr(opened, "n_frames", 1) > 1:  # formats of one picture do not have it
        raise CorpusError(f"{name} holds several pictures; save the one that is meant.")
    if opened.mode not in _MODES:
        raise CorpusError(
            f"{name} has pixels of the mode {opened.mode}; save it with 8 bits a channel."
        )


def _convert_to_rgb(opened: "Image", name: str) -> "Image":
    """Return the pixels of a picture whose form is checked first.

    Raises:
        CorpusError: See `_check_form`.
    """
    from PIL import Image, ImageOps

    # Opening a file reads its header alone; pixels are decoded only after this check.
    _check_form(opened, name)
    upright = ImageOps.exif_transpose(opened)
    if upright.has_transparency_data:
        upright = upright.convert("RGBA")
        upright = Image.alpha_composite(Image.new("RGBA", upright.size, "white"), upright)
    return upright.convert("RGB")


def picture_address(picture: "Image") -> str:
    """Return a picture as an address that a page can hold, of at most `LARGEST` pixels a side.

    It is encoded again, so that nothing else that was in its file is carried along.
    """
    small = picture.convert("RGB")
    small.thumbnail((LARGEST, LARGEST))
    for suffix, options in (("png", {"optimize": True}), ("jpeg", {"quality": 85})):
        written = BytesIO()
        small.save(written, suffix, **options)
        if written.tell() <= MOST_BYTES:
            break
    return f"data:image/{suffix};base64,{b64encode(written.getvalue()).decode()}"


def _too_large(name: str, size: str) -> CorpusError:
    return CorpusError(f"{name} {size}, and {MOST_PIXELS:,} at most are read; make it smaller.")
