"""Small results of long work, each in a file of its own, so that interrupted work goes on."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from headlight import files
from headlight.errors import RunError
from headlight.files import Location


@dataclass(frozen=True)
class JsonCache:
    """A folder of results by what they depend on; without a folder nothing is remembered.

    Attributes:
        folder: where the files go.
        about: what all of them depend on, as JSON.
    """

    folder: Location | None = None
    about: Mapping[str, Any] | None = None

    def remember(
        self, key: Mapping[str, Any], make: Callable[[], Any], *, anew: bool = False
    ) -> Any:
        """What `make` gave for this key before, or gives now.

        Args:
            key: what the result depends on besides `about`, as JSON.
            make: gives a result that JSON can hold; NaN is one.
            anew: make it now, whatever it was before.

        Raises:
            RunError: the folder cannot be written.
        """
        if self.folder is None:
            return make()
        asked = json.dumps({"about": self.about, "key": key}, sort_keys=True)
        path = self.folder / f"{sha256(asked.encode()).hexdigest()[:24]}.json"
        found = None if anew else _read(path)
        if found is not None and json.dumps(found.get("of"), sort_keys=True) == asked:
            return found["result"]
        result = make()
        content = json.dumps({"of": json.loads(asked), "result": result})
        files.make_folder(self.folder, error=RunError)
        files.write(path, content.encode(), error=RunError)
        return result


def _read(path: Location) -> dict[str, Any] | None:
    """The content of a file; None if there is none, or it is damaged."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and "result" in found else None
