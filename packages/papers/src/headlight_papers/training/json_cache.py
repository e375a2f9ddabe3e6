"""Cache of results in JSON files, by the inputs that they depend on."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from headlight import files
from headlight.errors import ResultError, RunError
from headlight.files import Location


@dataclass(frozen=True)
class JsonCache:
    """Folder of results, by the inputs that they depend on; without a folder nothing is cached.

    Attributes:
        folder: Folder of the files.
        about: Inputs that all results depend on, as JSON.
    """

    folder: Location | None = None
    about: Mapping[str, Any] | None = None

    def get_or_compute(self, key: Mapping[str, Any], compute: Callable[[], Any]) -> Any:
        """Return the cached result for this key, or else a new one, which is then cached.

        Args:
            key: Inputs that the result depends on besides `about`, as JSON.
            compute: Function that returns the result, which JSON can hold; NaN is allowed.

        Raises:
            RunError: The folder cannot be written.
        """
        if self.folder is None:
            return compute()
        if (entry := self._entry(key)) is not None:
            return entry["result"]
        result = compute()
        # The digest is that of what a later call will read, in which tuples are lists.
        plain = json.loads(json.dumps(result))
        text = self._text(key)
        content = json.dumps({"of": json.loads(text), "result": plain, "digest": _digest(plain)})
        files.make_folder(self.folder, error=RunError)
        files.write(_path(self.folder, text), content.encode(), error=RunError)
        return result

    def has(self, key: Mapping[str, Any]) -> bool:
        """Whether the result for this key is cached."""
        return self._entry(key) is not None

    def _text(self, key: Mapping[str, Any]) -> str:
        return json.dumps({"about": self.about, "key": key}, sort_keys=True)

    def _entry(self, key: Mapping[str, Any]) -> dict[str, Any] | None:
        if self.folder is None:
            return None
        text = self._text(key)
        entry = _read(_path(self.folder, text))
        # The name is a shortened digest; the whole key in the file excludes a collision.
        same = entry is not None and json.dumps(entry.get("of"), sort_keys=True) == text
        return entry if same else None


def _path(folder: Location, text: str) -> Location:
    return folder / f"{sha256(text.encode()).hexdigest()[:24]}.json"


def _read(path: Location) -> dict[str, Any] | None:
    """Read the content of a file; None if there is none, or it is damaged."""
    try:
        content = files.read_json(path)
    except (ResultError, ValueError):
        return None
    if not isinstance(content, dict) or "result" not in content:
        return None
    digest = _digest(content["result"])
    return content if content.get("digest", digest) == digest else None  # older files have none


def _digest(result: Any) -> str:
    return sha256(json.dumps(result, sort_keys=True).encode()).hexdigest()
