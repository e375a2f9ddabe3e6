"""Tally: all accumulators of a corpus, by name, in one file."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from headlight.errors import HeadlightError, ResultError
from headlight.files import Location
from headlight.reduce.accumulator import Accumulator, Array
from headlight.reduce.grouped import PLAIN, Grouped
from headlight.reduce.keyed_sums import KeyedSums
from headlight.reduce.moments import Ratio
from headlight.reduce.rank_correlation import RankCorrelation
from headlight.reduce.sample import Sample
from headlight.reduce.second_moment import SecondMoment
from headlight.reduce.slots import Slots
from headlight.reduce.strongest import Strongest
from headlight.tensor_files import load_tensors, save_tensors

ACCUMULATORS: Mapping[str, type[Accumulator]] = {
    **PLAIN,
    Grouped.kind: Grouped,
    KeyedSums.kind: KeyedSums,
    RankCorrelation.kind: RankCorrelation,
    Ratio.kind: Ratio,
    Sample.kind: Sample,
    SecondMoment.kind: SecondMoment,
    Slots.kind: Slots,
    Strongest.kind: Strongest,
}
"""Every accumulator, by its name in files."""

_FORMAT = "1"


class Tally(Mapping[str, Accumulator]):
    """Accumulators by name, merged name by name; a monoid like its members.

    Args:
        accumulators: Members by name; the mapping is copied, the members are not.
    """

    def __init__(self, accumulators: Mapping[str, Accumulator] = MappingProxyType({})) -> None:
        self._members = dict(accumulators)

    def __getitem__(self, name: str, /) -> Accumulator:
        return self._members[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def empty(self) -> "Tally":
        """Return an empty tally with the same names and settings."""
        return Tally({name: member.empty() for name, member in self.items()})

    def merge(self, other: "Tally", /) -> "Tally":
        """Return a new tally with the observations of both; neither operand changes.

        A member whose name only one of them has is copied.

        Raises:
            ValueError: A name stands for accumulators with different settings.
        """
        merged = {name: member if name in other else member.copy() for name, member in self.items()}
        for name, member in other.items():  # to merge is to copy
            merged[name] = merged[name].merge(member) if name in merged else member.copy()
        return Tally(merged)

    def take(self, other: "Tally", /) -> None:
        """Add the observations of `other` in place: `merge` without a copy of the members.

        Raises:
            ValueError: A name stands for accumulators with different settings.
        """
        for name, member in other.items():
            if name in self:
                self[name].take(member)
            else:
                self._members[name] = member.copy()

    def compute(self) -> dict[str, dict[str, Array]]:
        """Return the statistics of every member, by name."""
        return {name: member.compute() for name, member in self.items()}

    def save(
        self,
        path: Location,
        notes: Mapping[str, Any] = MappingProxyType({}),
        *,
        error: type[HeadlightError] = ResultError,
    ) -> None:
        """Write everything to one safetensors file, whole or not at all, without losing a bit.

        The tensors are named `member/field`; the header holds kinds, settings and notes as JSON.

        Args:
            path: Path of the file; its folder must exist.
            notes: Additional content of the file, as JSON.
            error: Class of the error to raise.

        Raises:
            HeadlightError: The file cannot be written; its class is `error`.
        """
        members = {
            name: {"kind": member.kind, "settings": member.settings()}
            for name, member in sorted(self.items())
        }
        header = {"format": _FORMAT, "members": members, "notes": dict(notes)}
        tensors = {
            f"{name}/{field}": array
            for name, member in sorted(self.items())
            for field, array in member.arrays().items()
        }
        save_tensors(path, tensors, header, error=error)

    @staticmethod
    def load(path: Location) -> "tuple[Tally, dict[str, Any]]":
        """Read a file of `save`: the tally and the notes.

        Raises:
            ResultError: The file is missing, damaged, something else, or of another format.
        """
        tensors, header = load_tensors(path)
        try:
            _check_format(header, path)
            return _restore(header["members"], tensors), header["notes"]
        except _DAMAGED as problem:
            raise ResultError(f"{path} is not a file that Headlight wrote; remove it.") from problem


_DAMAGED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Errors that accumulators raise for an invalid state."""


def _check_format(header: Mapping[str, Any], path: Location) -> None:
    if header["format"] != _FORMAT:
        raise ResultError(
            f"{path} is in format {header['format']}, and this version of Headlight reads format "
            f"{_FORMAT}; go on with the version that wrote it."
        )


def _restore(members: Mapping[str, Any], tensors: Mapping[str, Array]) -> Tally:
    states: dict[str, dict[str, Array]] = {name: {} for name in members}
    for key, tensor in tensors.items():
        name, _, field = key.rpartition("/")  # names of members may have slashes, fields have none
        states[name][field] = tensor
    return Tally(
        {
            name: ACCUMULATORS[member["kind"]].from_arrays(member["settings"], states[name])
            for name, member in members.items()
        }
    )
