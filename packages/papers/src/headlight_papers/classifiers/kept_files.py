"""Files of each text that a run keeps beside its result."""

from dataclasses import dataclass
from pathlib import Path

import xarray

from headlight.capture import CapturedModel
from headlight.encode import Encoded
from headlight.engine.folder import KEPT, OpenFolder
from headlight.engine.work_folders import claim_work_folder
from headlight.errors import UsageError, setting
from headlight.result import save
from headlight_papers.classifiers.settings import KeepSettings


@dataclass(eq=False, repr=False)
class KeptFiles:
    """The folder ``kept`` of a run: NetCDF files, which `headlight.open` reads.

    The file of a text depends on model, settings and text alone: processes write the same.
    """

    run: Path
    study: str
    model: CapturedModel

    @property
    def folder(self) -> Path:
        """Make the folder and return it; refuse a link, or one with files that no run made."""
        return claim_work_folder(self.run / KEPT)

    def save(self, name: str, dataset: xarray.Dataset) -> None:
        """Write a file.

        Raises:
            ResultError: The file cannot be written.
        """
        about = {"stage": f"{self.study}-kept", "model": self.model.name}
        revision = {"revision": self.model.revision} if self.model.revision else {}
        save(dataset.assign_attrs(about | revision), self.folder / f"{name}.nc")

    def save_text(self, example: Encoded, text_id: int, seed: int, dataset: xarray.Dataset) -> None:
        """Write the file of a text; its tokens and the number of its random draws are added."""
        about = {"name": example.name, "text_id": str(text_id), "seed": seed}
        ids = dataset.assign(input_ids=("token", list(example.ids)))
        self.save(f"{text_id:016x}", ids.assign_attrs(about))


def kept_files(
    settings: KeepSettings, folder: OpenFolder, study: str, model: CapturedModel
) -> KeptFiles | None:
    """Return the files of a run's per-text values; None if they are not requested.

    Raises:
        UsageError: The run has no folder on this machine.
    """
    if not settings.keep:
        return None
    place = folder.place
    if not isinstance(place, Path):
        raise UsageError(
            "what numbers are made of is kept in a folder of this machine; name one with "
            f"{setting('out=')}."
        )
    return KeptFiles(place, study, model)
