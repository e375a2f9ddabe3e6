"""Results on disk: an `xarray.Dataset` in one NetCDF file.

A result carries two attributes that say how to read it: `format`, the version of the layout, and
`stage`, the name of the study that made it, or `reading` for one text. Behind the end of NetCDF,
where no reader looks, stands a digest of the whole file, so that one flipped bit is noticed.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from io import BytesIO
from math import prod

import h5netcdf
import h5py
import xarray

from headlight import files
from headlight.catalogue.writers import RESULT
from headlight.errors import ResultError
from headlight.files import Location, location
from headlight.result.estimate import slot_coordinates
from headlight.result.provenance import FORMAT

SLOTS = "slots"
"""Group of a file that holds the coordinates from which intervals are computed."""

_SEAL = re.compile(rb"\nheadlight sha256 ([0-9a-f]{64})\n")
_OBJECTS = ("settings", "versions", "category_names", "query_category_names", "kinds")
"""Attributes that hold an object as JSON."""

LARGEST = 1 << 28
"""Bytes that the numbers of a file may always take in memory, however small the file is."""
LARGEST_RATIO = 100
"""Largest ratio of these bytes to the size of a larger file; other programs compress files."""
_NUMBER = 8
"""Size in bytes of a number in memory, where it may be larger than in the file."""

_SEAL_SIZE = len(b"\nheadlight sha256 \n") + 64

# Errors of code that does not find a part of a result.
_INCOMPLETE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
# Errors of h5py, h5netcdf and xarray for a file that is damaged or something else.
_UNREADABLE = (OSError, ValueError, KeyError, RuntimeError, TypeError, AttributeError, IndexError)


def save(dataset: xarray.Dataset, path: Location | str) -> None:
    """Write a result to one NetCDF file, whole or not at all.

    Args:
        dataset: Result; its attribute `stage` must be set, `format` is added here.
        path: Path of the file to write, usually `*.nc`; its folder must exist.

    Raises:
        ResultError: The file cannot be written, or NetCDF cannot hold something in it.
    """
    files.write(location(path), netcdf_bytes(dataset, str(path)))


def netcdf_bytes(dataset: xarray.Dataset, name: str = "the result") -> bytes:
    """Return the content of the file of a result.

    Args:
        dataset: Result; its attribute `stage` must be set, `format` is added here.
        name: Name of the file, for error messages.

    Raises:
        ResultError: NetCDF cannot hold something in the result.
    """
    if "stage" not in dataset.attrs:
        raise ResultError(f"{name} is not written: the result has no attribute 'stage'; set it.")
    stamped = dataset.assign_attrs(format=FORMAT)
    try:
        # In memory first: the HDF5 library does not stay usable once it has met a full disk.
        content = _content(stamped)
    except (ValueError, TypeError) as problem:  # a NUL character or a lone surrogate in a text
        raise ResultError(f"{name} is not written: NetCDF cannot hold it ({problem}).") from problem
    return content + _seal(content)


def load(
    path: Location | str, *, stage: str | None = None, only: Collection[str] | None = None
) -> xarray.Dataset:
    """Read a result of `save` into memory as a whole.

    Files that another program has written have no digest; they are read as they are.

    Args:
        path: Path of the NetCDF file, or of the folder of a run, in which no link is followed.
        stage: Expected stage: the name of a study, or `reading`; None for any.
        only: Variables and coordinates to read; None for all.

    Raises:
        ResultError: There is no such file, it is no result of this format and stage, its content
            has changed since it was written, or its numbers would not fit into memory.
    """
    path = location(path)
    in_folder = path.is_dir()
    path = path / RESULT if in_folder else path
    if not path.exists():
        raise ResultError(f"{path} does not exist; give the path of a result file.")
    content = files.read(path, refuse_links=in_folder)
    try:
        _check_seal(content, path)
        with h5py.File(BytesIO(content), "r") as file:
            _check_sizes(file, len(content), path)
        dataset = _dataset(content, only)
    except _UNREADABLE as problem:
        raise ResultError(f"{path} is no readable NetCDF file: {_first_line(problem)}") from problem
    _check_format(dataset.attrs, path)
    _check_objects(dataset.attrs, path)
    written = dataset.attrs.get("stage")
    if stage is not None and written != stage:
        raise ResultError(
            f"{path} holds a {written}, where a {stage} is needed; give another file."
        )
    return dataset


def _content(dataset: xarray.Dataset) -> bytes:
    """Return the bytes of a file: numbers in the root, coordinates of intervals in `SLOTS`."""
    names = slot_coordinates(dataset)
    memory = BytesIO(bytes(dataset.drop_vars(names).to_netcdf(engine="h5netcdf")))
    if names:
        with h5netcdf.File(memory, "r+") as file:
            group = file.create_group(SLOTS)
            for name in names:
                variable = dataset.variables[name]
                sizes = group.dimensions
                sizes.update({dim: n for dim, n in variable.sizes.items() if dim not in sizes})
                stored = group.create_variable(name, variable.dims, data=variable.values)
                stored.attrs["axes"] = ",".join(map(str, variable.dims))
    return memory.getvalue()


def _dataset(content: bytes, only: Collection[str] | None) -> xarray.Dataset:
    """Return the result of these bytes; a file of another program has no group of slots."""
    if only is None:
        dataset = xarray.load_dataset(BytesIO(content), engine="h5netcdf")
    else:
        # Without xarray, which reads the metadata of every variable, also of those that it drops.
        with h5netcdf.File(BytesIO(content), "r") as file:
            variables = {name: file[name] for name in only if name in file.variables}
            read = {
                name: (variable.dimensions, variable[...]) for name, variable in variables.items()
            }
            dataset = xarray.Dataset(coords=read, attrs=dict(file.attrs))
    with h5py.File(BytesIO(content), "r") as file:
        slots = {
            name: (tuple(str(stored.attrs["axes"]).split(",")), stored[()])
            for name, stored in file.get(SLOTS, {}).items()
            if "axes" in stored.attrs and (only is None or name in only)
        }
    return dataset.assign_coords(slots)


@contextmanager
def refusing_incomplete(what: str = "the result") -> Iterator[None]:
    """Refuse a result that lacks a part which the block, or function, needs, such as a coordinate.

    Readers find out what is missing, since the results of other packages have other parts.

    Args:
        what: Noun for the result, for the refusal.

    Raises:
        ResultError: The result lacks such a part.
    """
    try:
        yield
    except _INCOMPLETE as problem:
        raise ResultError(
            f"{what} lacks something that belongs to it, or holds something else "
            f"({type(problem).__name__}: {_first_line(problem)}); restore a copy, or make it again."
        ) from problem


def _seal(content: bytes) -> bytes:
    return b"\nheadlight sha256 %s\n" % sha256(content).hexdigest().encode()


def _check_seal(content: bytes, path: Location) -> None:
    seal = content[-_SEAL_SIZE:]
    if _SEAL.fullmatch(seal) and seal != _seal(content[:-_SEAL_SIZE]):
        raise ResultError(
            f"{path} is damaged: its content is no longer what was written; restore a copy, or "
            "make it again."
        )


def _check_sizes(file: h5py.File, size: int, path: Location) -> None:
    """Refuse a file that declares more content than it can hold, before reading any of it."""
    total = _size_of(file, path)
    if total > max(LARGEST, LARGEST_RATIO * size):
        raise ResultError(
            f"{path} has {size:,} bytes and says that it holds {total:,}, which would fill the "
            "memory; restore a copy, or make it again."
        )


def _size_of(group: h5py.Group, path: Location) -> int:
    """Return the number of bytes in memory that a group declares for its numbers."""
    total = 0
    for name in group:
        # The link and not its target: to look at that opens whichever file it names.
        link = group.get(name, getlink=True)
        if not isinstance(link, h5py.HardLink):
            raise ResultError(f"{path} leads to another file by {name!r}; give one that is whole.")
        item = group[name]
        if isinstance(item, h5py.Group) and group.name == "/" and name == SLOTS:
            total += _size_of(item, path)
        elif isinstance(item, h5py.Dataset):
            if item.external or item.is_virtual:
                raise ResultError(
                    f"{path} leads to another file by {name!r}; give one that is whole."
                )
            # HDF5 unpacks a whole chunk, which may be declared larger than the numbers in it.
            chunk = prod(item.chunks or ())
            total += max(prod(item.shape or ()), chunk) * max(item.dtype.itemsize, _NUMBER)
    return total


def _check_format(attributes: Mapping[str, object], path: Location) -> None:
    if "format" not in attributes or "stage" not in attributes:
        raise ResultError(f"{path} is a NetCDF file, but no result of Headlight; give another one.")
    written = attributes["format"]
    if written != FORMAT:
        raise ResultError(
            f"{path} is a result in format {written}, and this version of Headlight reads format "
            f"{FORMAT}; read it with the version that wrote it{_writer(attributes)}."
        )


def _check_objects(attributes: Mapping[str, object], path: Location) -> None:
    """Refuse attributes of JSON that hold no object, which a page could not read."""
    for name in _OBJECTS:
        try:
            if isinstance(files.parse_json(str(attributes.get(name, "{}"))), dict):
                continue
        except ValueError:
            pass
        raise ResultError(
            f"the attribute {name!r} of {path} is no object of JSON; restore a copy, or make it "
            "again."
        )


def _writer(attributes: Mapping[str, object]) -> str:
    try:
        return f" ({json.loads(str(attributes['versions']))['headlight']})"
    except (KeyError, ValueError, TypeError):
        return ""


def _first_line(problem: BaseException) -> str:
    return (str(problem).splitlines() or [type(problem).__name__])[0]
