"""Results on disk: an `xarray.Dataset` in one NetCDF file, or as CSV tables.

A result carries two attributes that say how to read it: `format`, the version of the layout, and
`stage`, the name of the study that made it, or `reading` for one text. Behind the end of NetCDF,
where no reader looks, stands a digest of the whole file, so that one flipped bit is noticed.
"""

import json
import platform
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from importlib import metadata
from io import BytesIO
from math import prod
from typing import Literal

import h5netcdf
import h5py
import numpy as np
import pandas
import xarray

from headlight import files
from headlight.errors import ResultError
from headlight.files import Location, location
from headlight.result.estimate import WEIGHTS, slot_coordinates, with_ends
from headlight.version import __version__
from headlight.vocabulary import measure

RESULT = "result.nc"
"""The result in the folder of a run."""
SLOTS = "slots"
"""The group of a file in which is what intervals are made of."""
FORMAT = "2"
"""The version of the layout of results; it changes when an older reader would go wrong."""

_SEAL = re.compile(rb"\nheadlight sha256 ([0-9a-f]{64})\n")
_OBJECTS = ("settings", "versions", "category_names", "query_category_names", "kinds")
"""Attributes that hold an object as JSON."""

LARGEST = 1 << 28
"""Bytes that the numbers of a file may have in memory, however small the file is."""
LARGEST_RATIO = 100
"""Times that they may be larger than a larger file, which other programs compress."""
_NUMBER = 8
"""Bytes of a number in memory, which may be packed in the file."""

_SEAL_SIZE = len(b"\nheadlight sha256 \n") + 64

_CALCULATING = ("headlight", "torch", "transformers")
_MEASURED_WITH = ("torch", "transformers", "numpy", "xarray")

Scale = Literal["share", "correlation", "positive", "signed", "row_share", "row_positive"]
"""Kind of number that an interval is of; ``row_``: of a row, except for measures with a sign."""
LIMITS = {
    "share": (0.0, 1.0),
    "correlation": (-1.0, 1.0),
    "positive": (0.0, np.inf),
    "signed": (-np.inf, np.inf),
}
"""The least and the largest number of each kind, within which intervals stay."""

Description = tuple[str, str] | tuple[str, str, Scale]
"""Long name and unit of a variable, and the scale of one with an interval."""

FORMULA = ("=", "+", "-", "@", "\t", "\n")
"""Beginnings of text in a cell that a spreadsheet takes for a formula, or runs into one."""

# Other separators than the comma are not put into quotes, and then no quotes protect what follows.
_INNER_FORMULA = re.compile(r"[;\t\n][\s\"]*(?=[=+\-@])")

# What h5py, h5netcdf and xarray raise on a file that is damaged or something else.
_INCOMPLETE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
_UNREADABLE = (OSError, ValueError, KeyError, RuntimeError, TypeError, AttributeError, IndexError)


def save(dataset: xarray.Dataset, path: Location | str) -> None:
    """Write a result to one NetCDF file, whole or not at all.

    Args:
        dataset: The result; its attribute `stage` must be set. `format` is added here.
        path: The file to write, usually `*.nc`; its folder must exist.

    Raises:
        ResultError: if the file cannot be written, or something in it has no place in NetCDF.
    """
    if "stage" not in dataset.attrs:
        raise ResultError(f"{path} is not written: the result has no attribute 'stage'; set it.")
    stamped = dataset.assign_attrs(format=FORMAT)
    try:
        # In memory first: the HDF5 library does not stay usable when a disk fills up under it.
        content = _content(stamped)
    except (ValueError, TypeError) as problem:  # a NUL character or a lone surrogate in a text
        raise ResultError(f"{path} is not written: NetCDF cannot hold it ({problem}).") from problem
    files.write(location(path), content + _seal(content))


def load(
    path: Location | str, *, stage: str | None = None, only: Collection[str] | None = None
) -> xarray.Dataset:
    """Read a result that `save` wrote, all of it, into memory.

    Files that another program has written have no digest; they are read as they are.

    Args:
        path: The NetCDF file, or the folder of a run, in which no link is followed.
        stage: What is expected: the name of a study, or `reading`; None for any.
        only: Variables and coordinates to read; None for all.

    Raises:
        ResultError: if there is no such file, it is no result of this format and stage, it is not
            what was written, or its numbers would not fit into memory.
    """
    path = location(path)
    in_folder = path.is_dir()
    path = path / RESULT if in_folder else path
    if not path.exists():
        raise ResultError(f"{path} does not exist; give the path of a result file.")
    content = files.read(path, own=in_folder)
    try:
        _check_seal(content, path)
        with h5py.File(BytesIO(content), "r") as file:
            _check_sizes(file, len(content), path)
        dataset = _dataset(content, only)
    except _UNREADABLE as problem:
        raise ResultError(f"{path} is no readable NetCDF file: {_first_line(problem)}") from problem
    _check_format(dataset.attrs, path)
    _check_objects(dataset.attrs, path)
    own = dataset.attrs.get("stage")
    if stage is not None and own != stage:
        raise ResultError(f"{path} holds a {own}, where a {stage} is needed; give another file.")
    return dataset


def _content(dataset: xarray.Dataset) -> bytes:
    """Return the bytes of a file: numbers in the root, what intervals are made of in `SLOTS`."""
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
    else:  # xarray reads what it knows of every variable, also of those that it drops
        with h5netcdf.File(BytesIO(content), "r") as file:
            variables = {name: file[name] for name in only if name in file.variables}
            read = {name: (each.dimensions, each[...]) for name, each in variables.items()}
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
    """Refuse a result that lacks what the block, or function, needs of it, such as a coordinate.

    Only its reader knows what a result must have: studies of other packages have others.

    Raises:
        ResultError: it is so.
    """
    try:
        yield
    except _INCOMPLETE as problem:
        raise ResultError(
            f"{what} lacks something that belongs to it, or holds something else "
            f"({type(problem).__name__}: {_first_line(problem)}); restore a copy, or make it again."
        ) from problem


def describe(dataset: xarray.Dataset, variables: Mapping[str, Description]) -> xarray.Dataset:
    """Describe the variables of a result, and clip its intervals to their bounds.

    Args:
        dataset: The result.
        variables: Long name and unit of each variable that it may have; ``1`` is a pure number, and
            an empty unit is that of the model's hidden states. A number with an interval and the
            ends of that have a third part, their scale.
    """
    for name, variable in dataset.data_vars.items():
        long_name, unit, *scale = variables[str(name)]
        variable.attrs.update(long_name=long_name, units=unit)
        if scale:
            variable.attrs["scale"] = scale[0]
            if str(name).endswith(("low", "high")):
                variable.values = variable.clip(*bounds(variable)).values
    return dataset


def bounds(variable: xarray.DataArray) -> tuple[xarray.DataArray, xarray.DataArray]:
    """Return the least and the largest number that a variable with a scale can be.

    They have no axis but ``measure``, of the shares and means of rows, which are without bounds for
    measures with a sign.
    """
    of_row, _, scale = str(variable.attrs["scale"]).rpartition("_")
    low, high = map(xarray.DataArray, LIMITS[scale])
    if of_row:
        signed = [measure(str(name)).signed for name in variable["measure"].values]
        free = xarray.DataArray(signed, dims="measure")
        low, high = low.where(~free, -np.inf), high.where(~free, np.inf)
    return low, high


def save_csv(dataset: xarray.Dataset, folder: Location | str) -> list[Location]:
    """Write one CSV table per group of variables that share their dimensions.

    A table has one row per cell: first the coordinates, under the names of the dimensions, then the
    variables. It is named after its dimensions (`layer-head.csv`); variables without any share
    `scalars.csv`. Numbers are written with all their digits, missing ones as empty fields.

    Returns:
        The files written, in alphabetical order. Each is written whole or not at all.

    Raises:
        ResultError: if the folder or a file cannot be written.
    """
    folder = files.make_folder(location(folder))
    tables = csv_tables(dataset)
    for name, content in tables.items():
        files.write(folder / name, content, error=ResultError)
    return sorted(folder / name for name in tables)


def csv_tables(dataset: xarray.Dataset) -> dict[str, bytes]:
    """Return the tables that `save_csv` writes, by the names of their files."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for each in list(map(str, dataset.data_vars)):
        dataset = with_ends(dataset, each)
    for name, variable in dataset.data_vars.items():
        groups.setdefault(tuple(map(str, variable.dims)), []).append(str(name))
    return {
        f"{'-'.join(dims) or 'scalars'}.csv": _table(dataset[names], dims).encode(errors="replace")
        for dims, names in groups.items()
    }


def csv_text(frame: pandas.DataFrame, *, index: bool = False) -> str:
    r"""A table as CSV, in which no text is a formula to a spreadsheet.

    Text that begins like one gets an apostrophe before it, as OWASP advises, and so does what would
    begin a cell where semicolons or tabs are taken to separate; numbers, also those that are
    written as text, stay as they are.  A carriage return is written out as ``\r``.

    Args:
        frame: The table.
        index: Whether its index is written, too, as the first columns.
    """
    table = (frame.reset_index() if index else frame).rename(columns=_no_formula)
    for at, kind in enumerate(table.dtypes):
        if not pandas.api.types.is_numeric_dtype(kind):
            table.isetitem(at, table.iloc[:, at].map(_no_formula).array)
    return str(table.to_csv(index=False))


def _no_formula(value: object) -> object:
    if not isinstance(value, str):
        return value
    value = value.replace("\r", r"\r")  # which ends a row for some, and is not put into quotes
    value = _INNER_FORMULA.sub(r"\g<0>'", value)
    if not value.startswith(FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def joined(parts: Sequence[xarray.Dataset]) -> xarray.Dataset:
    """Results of several passes over the same data as one.

    Parts by measure are joined along it; what only some know is missing in the others.  What
    does not depend on the measure, and the attributes, are those of the first part that has them.
    """
    if len(parts) == 1:
        return parts[0]
    attributes = {name: each for part in parts[::-1] for name, each in part.attrs.items()}
    slots = {name: None for part in parts for name in slot_coordinates(part)}
    parts = [part.reset_coords(slot_coordinates(part)) for part in parts]
    parts = [_with_measures(part, parts) for part in parts]
    by_measure = [part for part in parts if "measure" in part.dims]
    merged = xarray.merge(
        [part.drop_dims("measure", errors="ignore") for part in parts],
        compat="override",
        combine_attrs="override",
    )
    if not by_measure:
        return merged.assign_attrs(attributes).set_coords(slots)
    along = [
        part[[n for n, variable in part.data_vars.items() if "measure" in variable.dims]]
        for part in by_measure
    ]
    together = xarray.concat(along, dim="measure", join="exact")
    return merged.merge(together).assign_attrs(attributes).set_coords(slots)


def _with_measures(part: xarray.Dataset, parts: Sequence[xarray.Dataset]) -> xarray.Dataset:
    """Return a part whose weights of blocks have an axis of measures where others' differ."""
    for name in [each for each in map(str, part.data_vars) if each.endswith(WEIGHTS)]:
        of_parts = [each[name].reset_coords(drop=True) for each in parts if name in each]
        of_measures = "measure" in part[name.removesuffix(WEIGHTS)].dims
        if (
            of_measures
            and "measure" not in part[name].dims
            and not all(each.identical(of_parts[0]) for each in of_parts)
        ):
            part = part.assign({name: part[name].expand_dims(measure=part["measure"])})
    return part


def calculated_with() -> dict[str, str]:
    """The versions of the packages that make numbers; halves of one run must have the same."""
    return {name: version for name, version in versions().items() if name in _CALCULATING}


def stamp() -> dict[str, str]:
    """Attributes of what is made now: when, by which versions, and the layout."""
    created = datetime.now(UTC).isoformat(timespec="seconds")
    return {"created": created, "versions": json.dumps(versions()), "format": FORMAT}


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that a result depends on; imports none of them."""
    packages = {"python": platform.python_version(), "headlight": __version__}
    for package in _MEASURED_WITH:
        try:
            packages[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            packages[package] = "unknown"  # built from a source tree, and not installed
    return packages


def _table(group: xarray.Dataset, dims: tuple[str, ...]) -> str:
    if not dims:
        row = {str(name): variable.item() for name, variable in group.data_vars.items()}
        return csv_text(pandas.DataFrame([row]))
    frame = group.reset_coords(_beside(group, dims), drop=True).to_dataframe(list(dims))
    variables = [str(name) for name in group.data_vars]
    along = [name for name in frame.columns if name not in variables]
    return csv_text(frame[along + variables], index=True)


def _beside(group: xarray.Dataset, dims: tuple[str, ...]) -> list[str]:
    """Coordinates that no variable of the group runs along; they would repeat in every row."""
    return [
        str(name) for name, coordinate in group.coords.items() if not set(coordinate.dims) & {*dims}
    ]


def _seal(content: bytes) -> bytes:
    """Return the seal behind the content, which is its digest."""
    return b"\nheadlight sha256 %s\n" % sha256(content).hexdigest().encode()


def _check_seal(content: bytes, path: Location) -> None:
    seal = content[-_SEAL_SIZE:]
    if _SEAL.fullmatch(seal) and seal != _seal(content[:-_SEAL_SIZE]):
        raise ResultError(
            f"{path} is damaged: its content is no longer what was written; restore a copy, or "
            "make it again."
        )


def _check_sizes(file: h5py.File, size: int, path: Location) -> None:
    """Refuse what a file says that it holds and does not, before anything of it is read."""
    total = _size_of(file, path)
    if total > max(LARGEST, LARGEST_RATIO * size):
        raise ResultError(
            f"{path} has {size:,} bytes and says that it holds {total:,}, which would fill the "
            "memory; restore a copy, or make it again."
        )


def _size_of(group: h5py.Group, path: Location) -> int:
    """Return how many bytes a group says that its numbers have in memory."""
    total = 0
    for name in group:  # where this fails, h5netcdf complains on standard error as well
        link = group.get(name, getlink=True)
        if not isinstance(link, h5py.HardLink):
            raise ResultError(f"{path} leads to another file by {name!r}; give one that is whole.")
        each = group[name]
        if isinstance(each, h5py.Group) and group.name == "/" and name == SLOTS:
            total += _size_of(each, path)
        elif isinstance(each, h5py.Dataset):
            if each.external or each.is_virtual:
                raise ResultError(
                    f"{path} leads to another file by {name!r}; give one that is whole."
                )
            chunk = prod(each.chunks or ())  # may be larger than all that is in it
            total += max(prod(each.shape or ()), chunk) * max(each.dtype.itemsize, _NUMBER)
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
    """Refuse what a page could not read: attributes that hold JSON, of another shape."""
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
