"""A paper that can be reproduced: its settings, its exhibits, and how it is opened."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headlight.errors import UnknownNameError, UsageError, setting
from headlight_papers.papers.exhibit import ExhibitSpec
from headlight_papers.papers.reproduction import Reproduction, open_reproduction
from headlight_papers.papers.settings import PaperSettings
from headlight_papers.papers.sources import Sources


@dataclass(frozen=True)
class Paper:
    """Paper that can be reproduced.

    Attributes:
        name: Name such as ``clark2019``.
        settings: Class of its settings, which determines the data that it reads and its models.
        introduction: Summary of the paper, and conventions of names and numbers.
        exhibits: Exhibits in the order of the page.
    """

    name: str
    settings: type[PaperSettings]
    introduction: str
    exhibits: tuple[ExhibitSpec, ...]

    @property
    def loads_model(self) -> bool:
        """Whether its exhibits are about a model that is loaded; else it trains its own."""
        return bool(self.settings.models)

    def open(
        self,
        model: str | Path | None,
        sources: Sources,
        settings: PaperSettings,
        folder: Path,
        **options: Any,
    ) -> Reproduction:
        """Open a reproduction with the models that it needs; for arguments see `open_reproduction`.

        Raises:
            ModelError: There is no such model.
            UsageError: The model does not fit, or one is named and the paper trains its own.
        """
        if self.loads_model:
            return open_reproduction(model, sources, settings, folder, **options)
        if model or options.get("compared") or options.get("translator"):
            raise UsageError(f"{self.name} trains models of its own; leave out those of others.")
        return Reproduction(None, None, sources, settings, folder)

    def select(self, names: Sequence[str] | None) -> list[ExhibitSpec]:
        """Return the exhibits of these names, in the paper's order; by default all.

        Raises:
            UsageError: No name is given, or one is unknown.
        """
        if names is None:
            return list(self.exhibits)
        exhibit_names = [exhibit.name for exhibit in self.exhibits]
        for name in names:
            if name not in exhibit_names:
                raise UnknownNameError(f"exhibit of {self.name}", name, exhibit_names)
        if not names:
            raise UsageError(f"no exhibit is selected; name at least one with {setting('only=')}.")
        return [exhibit for exhibit in self.exhibits if exhibit.name in names]
