"""Fill the tables of variables in docs/results.md from results of all studies.

    python scripts/results_page.py

A table stands between ``<!-- variables: STUDY -->`` and ``<!-- end -->``.  The results are those
that tests look at: runs on a few examples, with settings that leave none of the variables out.
"""

import re
import sys
import tempfile
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
UNITS = {"1": "–", "": "of vectors"}
"""Of a pure number, and of what is as long as the model's vectors are."""


def filled(page: str, results: dict[str, xarray.Dataset]) -> str:
    """The page with the variables of these results by study, and a section for every study."""
    for study in (each for each in studies().values() if each.is_ours):
        if f"<!-- variables: {study.name} -->" not in page:
            title = f"{study.title[:1].upper()}{study.title[1:]}"
            table_of = f"<!-- variables: {study.name} -->\n<!-- end -->"
            said = f"## {title}\n\n`stage` is `{study.name}`.\n\n{table_of}\n\n"
            page = page.replace(AFTER, said + AFTER)
    return TABLE.sub(lambda match: f"{match[1]}{table(results[match[2]])}{match[3]}", page)


def table(result: xarray.Dataset) -> str:
    """The variables of a result, one a line."""
    rows = [
        f"| `{name}` | {', '.join(map(str, variable.dims)) or '–'} "
        f"| {str(variable.attrs['long_name']).replace('|', chr(92) + '|')} "
        f"| {UNITS.get(unit := str(variable.attrs['units']), unit)} |"
        for name, variable in result.data_vars.items()
    ]
    return "\n".join(
        ["| variable | axes | what it is | unit |", "| --- | --- | --- | --- |", *rows, ""]
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        found = StudyRuns(Path(place)).results()
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")
