"""Exhibits, the tables and figures of a paper, and the decorator that makes them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import ModuleType

from headlight.views.parts import Section
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.exhibit_needs import NEEDS
from headlight_papers.papers.reproduction import Reproduction

Make = Callable[[Reproduction, ExhibitWriter], Section]


@dataclass(frozen=True)
class ExhibitSpec:
    """Exhibit: a table or figure of the paper.

    Attributes:
        name: Name such as ``table-1``.
        title: Title of its section.
        source: Citation of its place in the paper.
        make: Function that makes its section, except name, title and source, and writes its files.
        needs: Keys of `NEEDS` without which it cannot be made.
    """

    name: str
    title: str
    source: str
    make: Make
    needs: tuple[str, ...] = ()

    def missing(self, reproduction: Reproduction) -> str | None:
        """Return why the exhibit cannot be made; None where it can."""
        lacking = (NEEDS[need] for need in self.needs if not NEEDS[need].is_met(reproduction))
        return next((need.missing for need in lacking), None)

    def create(self, reproduction: Reproduction) -> Section:
        """Return the exhibit, with its files in the folder of the reproduction."""
        writer = ExhibitWriter(reproduction.folder, self.name)
        section = self.make(reproduction, writer)
        return replace(
            section, name=self.name, title=self.title, source=self.source, files=writer.written
        )


def exhibits_of(source: str, *always: str) -> Callable[..., Callable[[Make], ExhibitSpec]]:
    """Return the decorator that makes functions exhibits of a paper.

    Their docstrings are the titles, but where ``title`` is another. Its arguments are the name of
    the exhibit, where the paper has it (with ``{}`` in the place of the paper, if that is not
    first), and what it needs; see `ExhibitSpec`.

    Args:
        source: Citation of the paper.
        always: Needs of all of its exhibits.
    """

    def exhibit(
        name: str, where: str, *needs: str, title: str = ""
    ) -> Callable[[Make], ExhibitSpec]:
        place = where.format(source) if "{}" in where else f"{source}, {where}"
        return lambda make: ExhibitSpec(
            name,
            title or (make.__doc__ or "").strip().removesuffix("."),
            place,
            make,
            (*always, *needs),
        )

    return exhibit


def arrange(order: str, *made: ModuleType | ExhibitSpec) -> tuple[ExhibitSpec, ...]:
    """Return exhibits, those of modules among them, in the order of these names."""
    groups = (
        vars(source).values() if isinstance(source, ModuleType) else [source] for source in made
    )
    named = {spec.name: spec for some in groups for spec in some if isinstance(spec, ExhibitSpec)}
    return tuple(named[name] for name in order.split())
