"""A cache of small results, each in a file of its own, so that interrupted work can be resumed."""

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
    """A folder of results, by what they depend on; without a folder nothing is cached.

    Attributes:
        folder: where the files go.
        about: what all of them depend on, as JSON.
    """

    folder: Location | None = None
    about: Mapping[str, Any] | None = None

    def get_or_compute(
        self, key: Mapping[str, Any], compute: Callable[[], Any], *, recompute: bool = False
    ) -> Any:
        """The cached result for this key, or else a new one, which is then cached.

        Args:
            key: what the result depends on besides `about`, as JSON.
            compute: returns the result, which JSON can hold; NaN is allowed.
            recompute: replace what is cached.

        Raises:
            RunError: the folder cannot be written.
        """
        if self.folder is None:
            return compute()
        asked = json.dumps({"about": self.about, "key": key}, sort_keys=True)
        path = self.folder / f"{sha256(asked.encode()).hexdigest()[:24]}.json"
        found = None if recompute else _read(path)
        if found is not None and json.dumps(found.get("of"), sort_keys=True) == asked:
            return found["result"]
        result = compute()
        plain = json.loads(json.dumps(result))
        content = json.dumps({"of": json.loads(asked), "result": plain, "digest": _digest(plain)})
        files.make_folder(self.folder, error=RunError)
        files.write(path, content.encode(), error=RunError)
        return result


def _read(path: Location) -> dict[str, Any] | None:
    """The content of a file; None if there is none, or it is damaged."""
    try:
        found = files.read_json(path)
    except (ResultError, ValueError):
        return None
    if not isinstance(found, dict) or "result" not in found:
        return None
    digest = _digest(found["result"])
    return found if found.get("digest", digest) == digest else None  # older files have none


def _digest(result: Any) -> str:
    return sha256(json.dumps(result, sort_keys=True).encode()).hexdigest()
