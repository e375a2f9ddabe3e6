"""Fill the tables of variables in docs/results.md from results of all studies.

    python scripts/results_page.py

A table stands between ``<!-- variables: STUDY -->`` and ``<!-- end -->``.  The results are those
that tests look at: runs on a few examples, with settings that leave none of the variables out.
"""

import re
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

import xarray

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from headlight.catalogue import studies  # noqa: E402
from study_runs import StudyRuns  # noqa: E402 - it is in the folder above

PAGE = ROOT / "docs" / "results.md"
TABLE = re.compile(r"(<!-- variables: ([a-z_]+) -->\n).*?(<!-- end -->)", re.DOTALL)
AFTER = "## A reading"
"""What comes after the sections of studies."""
UNITS = {"1": "", "": " (of vectors)"}
"""Behind a pure number, and behind what is as long as the model's vectors are."""


@dataclass(frozen=True)
class Row:
    """A variable of a result, as the table has it."""

    name: str
    axes: str
    meaning: str
    unit: str

    @property
    def parts(self) -> tuple[str, ...]:
        """Its meaning, cut at commas: first what it is, then what it is of."""
        return tuple(re.split("[,;] ", self.meaning))

    def is_like(self, other: "Row") -> bool:
        """Whether both say the same of different things, as names and meanings tell."""
        names = [row.name.strip("`").split("_") for row in (self, other)]
        related = names[0][0] == names[1][0] or names[0][-1] == names[1][-1]
        same = self.parts[0] == other.parts[0] and self.unit == other.unit
        return related and same and self.meaning != other.meaning


def filled(page: str, results: dict[str, xarray.Dataset]) -> str:
    """The page with the variables of these results by study, and a section for every study."""
    for study in (study for study in studies().values() if study.is_ours):
        if f"<!-- variables: {study.name} -->" not in page:
            title = f"{study.title[:1].upper()}{study.title[1:]}"
            table_of = f"<!-- variables: {study.name} -->\n<!-- end -->"
            said = f"## {title}\n\n{table_of}\n\n"
            page = page.replace(AFTER, said + AFTER)
    return TABLE.sub(lambda match: f"{match[1]}{table(results[match[2]])}{match[3]}", page)


def table(result: xarray.Dataset) -> str:
    """The variables of a result; those that say the same of different things are one line."""
    rows = [
        Row(
            f"`{name}`",
            ", ".join(map(str, variable.dims)) or "–",
            str(variable.attrs["long_name"]).replace("|", "\\|"),
            UNITS.get(unit := str(variable.attrs["units"]), f" ({unit})"),
        )
        for name, variable in result.data_vars.items()
    ]
    return lines(rows)


def lines(rows: Iterable[Row]) -> str:
    """The table of these rows, alike ones in one line."""
    groups: list[list[Row]] = []
    for row in rows:
        for group in groups:
            if all(row.is_like(other) for other in group):
                group.append(row)
                break
        else:
            groups.append([row])
    head = ["| variable | axes | what it is |", "| --- | --- | --- |"]
    return "\n".join([*head, *map(line, groups), ""])


def line(rows: list[Row]) -> str:
    """The line of a variable, or of several that are alike."""
    names = ", ".join(row.name for row in rows)
    axes = "; ".join(dict.fromkeys(row.axes for row in rows))
    meaning = rows[0].meaning
    if len(rows) > 1:
        columns = zip(*(row.parts for row in rows), strict=False)
        shared = sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, columns))
        rests = [", ".join(row.parts[shared:]) for row in rows]
        meaning = ", ".join(rows[0].parts[:shared]) + (": " if all(rests) else "; ")
        meaning += "; ".join(filter(None, rests))
    return f"| {names} | {axes} | {meaning}{rows[0].unit} |"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        results = StudyRuns(Path(place)).results()
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")
