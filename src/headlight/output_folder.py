"""A folder that files are written into: a record of them, and nothing else is replaced or removed.

The record is a text file in the folder, with a line for each file.  A name is written there before
the file is, so that no file of ours is without a line, whenever a process is killed; and a file
without one is somebody else's, whatever its name.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from headlight import files
from headlight.errors import HeadlightError, RunError, setting
from headlight.files import Location, is_link, reason

RECORD = ".headlight"
_HEADING = "# Files that Headlight wrote here, and may replace or remove."
_LARGEST = 1 << 24
"""Maximum number of bytes of a record."""


@dataclass(frozen=True)
class OutputFolder:
    """Folder that is written into, by the names of its files, such as ``tables/layer.csv``.

    Attributes:
        place: Folder, which exists.
        error: Class of refusals.
    """

    place: Location
    error: type[HeadlightError] = RunError

    def names(self) -> set[str]:
        """Return the names of the files that the record holds.

        Raises:
            HeadlightError: The record cannot be read, or is none.
        """
        path = self.place / RECORD
        if not path.exists() and not is_link(path):
            return set()
        text = files.read(path, refuse_links=True, most=_LARGEST, error=self.error).decode(
            errors="replace"
        )
        names = {line for line in text.splitlines() if line and not line.startswith("#")}
        if _HEADING not in text or not all(map(_lies_inside, names)):
            raise self.error(f"{path} is no record of written files; move it away.")
        return names

    def claim(self, names: Iterable[str]) -> None:
        """Note files that are about to be written.

        Raises:
            HeadlightError: Somebody else's file has one of the names, a folder above one is a link,
                or the record cannot be written.
        """
        wanted = list(dict.fromkeys(names))
        for folder in {parent for name in wanted for parent in PurePosixPath(name).parents}:
            if is_link(self.place / folder) and str(folder) != ".":
                raise self.error(
                    f"{self.place / folder} is a link, and files would be written elsewhere; "
                    f"remove it, or choose another folder with {setting('out=')}."
                )
        # Looked for before the record is read: another process notes a file and then writes it, and
        # in the opposite order, a file of ours could be there without a line.
        present = [name for name in wanted if self._exists(name)]
        noted = self.names()
        for name in present:
            if name not in noted:
                raise self.error(
                    f"{self.place / name} is in the way: Headlight has no record of writing it; "
                    f"move it away, or choose another folder with {setting('out=')}."
                )
        if unknown := [name for name in wanted if name not in noted]:
            self._append(unknown)

    def write(self, name: str, content: bytes) -> Location:
        """Write a file, whole or not at all, and return its path.

        Raises:
            HeadlightError: See `claim`; or the file cannot be written.
        """
        self.claim([name])
        path = self.place / name
        if not path.parent.exists():
            files.make_folder(path.parent, error=self.error)
        files.write(path, content, error=self.error)
        return path

    def remove(self, keep: Iterable[str] = ()) -> None:
        """Remove the files of the record, but for those to keep, and folders that become empty.

        Nothing is removed through a link.
        """
        for name in sorted(self.names() - {*keep}):
            path, above = self.place / name, PurePosixPath(name).parents
            if any(is_link(self.place / folder) for folder in above if str(folder) != "."):
                continue
            if path.is_dir() and not is_link(path):  # which its study removes
                continue
            path.unlink(missing_ok=True)
            for folder in above:
                if str(folder) != ".":
                    files.remove_empty(self.place / folder)
        self.prune()

    def prune(self) -> None:
        """Strike files from the record that no longer exist: their names are free for others.

        Nobody else may be writing into the folder.
        """
        if not (self.place / RECORD).exists():
            return
        names = sorted(filter(self._exists, self.names()))
        if names:
            lines = "\n".join([_HEADING, *names, ""]).encode()
            files.write(self.place / RECORD, lines, error=self.error)
        else:
            (self.place / RECORD).unlink()

    def _exists(self, name: str) -> bool:
        path = self.place / name
        return is_link(path) or path.exists()

    def _append(self, names: list[str]) -> None:
        path = self.place / RECORD
        start = "" if path.exists() else _HEADING
        # A line break first, since a killed process may have left half of a line.
        lines = "\n".join([start, *names, ""]).encode()
        try:
            if isinstance(path, Path):
                files.append(path, lines)
            else:  # stores have no appending
                before = path.read_bytes() if path.exists() else b""
                path.write_bytes(before + lines)
        except Exception as problem:  # drivers of stores raise errors of their own
            raise self.error(f"{path} cannot be written: {reason(problem)}.") from problem


def _lies_inside(name: str) -> bool:
    path = PurePosixPath(name.replace("\\", "/"))
    return not path.is_absolute() and not {"..", ":"} & {*path.parts, *name[1:2]}
