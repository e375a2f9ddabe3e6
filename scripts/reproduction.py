"""Reproduce a paper, on the embedded model if on any, and write its main exhibits as docs.

python scripts/reproduction.py clark2019 DATA --out build/clark2019

What is made already in the folder is used again, so an interrupted reproduction goes on.
"""

import argparse
import platform
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pandas
import torch
import transformers

from headlight.views.parts import Comparison, Drawing, Section, Table
from headlight_papers.papers import find_paper
from headlight_papers.papers.exhibit import ExhibitSpec
from headlight_papers.papers.paper_page import reproduce
from headlight_papers.papers.reproduction import reproduction_folder
from headlight_papers.papers.sources import Sources
from headlight_words.sources import EMBEDDED_TRANSLATOR

DOCS = Path(__file__).parents[1] / "docs"
LONGEST = 20
"""Rows of a table that the page has; longer ones are CSV files of the run."""
DRAWN = 2
"""Pictures of an exhibit that the page has."""
FRONT = {
    "clark2019": "figure-2",
    "kobayashi2020": "figure-3",
    "brunner2020": "figure-1-categories",
    "yang2020": "figure-5",
    "jain2019": "figure-3",
    "wiegreffe2019": "figure-5",
    "kobayashi2021": "layers",
    "modarressi2023": "table-1",
}
"""The picture with which the page of a paper begins; else what is lost without tokens."""
SHOWN = {
    "clark2019": "figure-2 figure-3 figure-4 table-1 table-2 table-3 figure-6",
    "kobayashi2020": "table-1 figure-3 table-2 figure-6 figure-7 figure-8 table-3",
    "brunner2020": "section-3 figure-1 figure-2 figure-3 figure-4",
    "yang2020": "table-1 figure-1 table-2 exclusivity",
    "jain2019": "table-1 table-2 figure-3 figure-6 figure-7",
    "wiegreffe2019": "table-2 table-3 table-4",
}
"""Exhibits that the page shows, tables only where there is no picture, and of others numbers alone.

Of a paper that is not here the page has all exhibits, with pictures and tables."""
WITH_TEXT = {"clark2019": ("figure-5",), "brunner2020": ("figure-19",)}
"""Exhibits whose pictures hold sentences of a corpus, which is not ours to hand on."""
NAMED_HEAD = re.compile(r"L\d+H\d+ \(")
SENTENCE = re.compile(r"(?<=\.) (?=[A-Z])")
"""Between two sentences, of which the page has each once."""
LARGEST = 150_000
"""Characters of a picture that is still small."""


def main() -> None:
    arguments = _arguments()
    paper = find_paper(arguments.paper)
    made: list[Section] = []
    missing: list[ExhibitSpec] = []

    def tell(spec: ExhibitSpec, exhibit: Section | None) -> None:
        print(spec.name, "made" if exhibit else "left out", flush=True)
        if exhibit:
            made.append(exhibit)
        else:
            missing.append(spec)

    sources = Sources()
    if arguments.data is not None:
        sources = Sources.found_in(arguments.data, reads=paper.settings.reads)
    if arguments.text is not None:
        sources = replace(sources, text=arguments.text)
    settings = paper.settings()
    with reproduction_folder(arguments.out, resume=True).opened():
        reproduction = paper.open(
            arguments.model,
            sources,
            settings,
            arguments.out,
            compared=arguments.compare,
            translates=any("translator" in spec.needs for spec in paper.exhibits),
        )
        command = f"python scripts/reproduction.py {paper.name} DATA"
        reproduce(paper, reproduction, on_exhibit=tell, command=command)
    write_page(
        paper.name,
        _page(paper.settings.title, paper.name, made, missing, arguments),
    )


def write_page(name: str, lines: Iterable[str]) -> None:
    """Put a page into the documentation, whole."""
    path = DOCS / f"{name}.md"
    fresh = path.with_suffix(".new")
    fresh.write_text("\n".join(lines), encoding="utf-8")
    fresh.replace(path)
    print(f"written: {path}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paper")
    parser.add_argument("data", type=Path, nargs="?", help="folder of data; else the samples")
    parser.add_argument("--model", help="another model than the embedded one")
    parser.add_argument("--text", help="another text than that of the data, or the samples")
    parser.add_argument("--note", help="a sentence for the head of the page: what the model is")
    parser.add_argument("--compare", help="the embedded model after fine-tuning, see fine_tune.py")
    parser.add_argument("--out", type=Path, required=True, help="folder of the reproduction")
    return parser.parse_args()


def _page(
    title: str,
    name: str,
    made: list[Section],
    missing: list[ExhibitSpec],
    arguments: argparse.Namespace,
) -> Iterator[str]:
    make, option = "", ""
    for given, what in (
        ("data", "folder"),
        ("compare", "fine-tuned"),
        ("model", "MODEL"),
        ("text", "TEXT"),
    ):
        if getattr(arguments, given) is not None:
            make += f" {given.upper()}={what}"
            option += f" --{given} {what}"
    written = f"make reproduction PAPER={name}{make}"
    paper = find_paper(name)
    translates = any("translator" in spec.needs for spec in paper.exhibits)
    translator = f" and the embedded translator, `{EMBEDDED_TRANSLATOR}`" if translates else ""
    on, by = (
        (
            ", on the embedded model",
            f" with the embedded model, `{paper.settings.embedded}`{translator}",
        )
        if paper.loads_model
        else ("", "")
    )
    if arguments.model is not None:
        on, by = f", on {Path(arguments.model).name}", ""
    heads = (
        " Heads have the paper's name in brackets; it counts from 1, and so do layers."
        if NAMED_HEAD.search(repr(made))
        else ""
    )
    yield f"# {title}{on}\n"
    yield (
        f"Exhibits of the paper{by}, with the published numbers beside ours, all measured in one "
        f"run; `{written}` writes this page. {_verdicts(made)}{heads}\n"
    )
    yield f"```\nheadlight reproduce {name}{option}\n```\n"
    yield from _exhibits(name, made, arguments.note)
    for spec in missing:
        yield f"**{spec.title}** was left out.\n"
    yield (
        f"{datetime.now(UTC).date().isoformat()}, torch {torch.__version__}, transformers "
        f"{transformers.__version__}, Python {platform.python_version()}.\n"
    )


def _is_findings(exhibit: Section) -> bool:
    """Whether it is the table of what the paper concludes."""
    return exhibit.name.startswith("findings")


def _verdicts(made: list[Section]) -> str:
    """How many of the paper's findings hold here, as its table of findings says."""
    tables = [table.frame for exhibit in made if _is_findings(exhibit) for table in exhibit.tables]
    counts = Counter(verdict for frame in tables if "here" in frame for verdict in frame["here"])
    each = ", ".join(f"*{verdict}* {number}" for verdict, number in counts.most_common())
    return f"Verdicts on {counts.total()} findings: {each}."


def _exhibits(name: str, made: list[Section], note: str | None) -> Iterator[str]:
    """The picture in front, the exhibits that are shown, numbers of others, and shared notes."""
    front = FRONT.get(name, "removal")
    drawings = [drawing for exhibit in made for drawing in exhibit.drawings]
    yield from (_drawn(drawing, name) for drawing in drawings if drawing.name == front)
    if note is not None:
        yield f"{note}\n"
    shared = _shared_notes(made)
    shown = SHOWN.get(name, " ".join(exhibit.name for exhibit in made)).split()
    others, said = [], set[str]()
    for exhibit in made:
        if exhibit.name in shown or _is_findings(exhibit):
            sentences = SENTENCE.split(exhibit.explanation)
            new = " ".join(sentence for sentence in sentences if sentence not in said)
            said.update(sentences)
            yield from _section(replace(exhibit, explanation=new), name, shared, front)
        else:
            others.append(exhibit)
    yield from _numbers(others)
    if shared:
        yield "## What holds of all of these\n"
        yield from (f"- {escaped(note)}" for note in shared)
        yield ""


def _shared_notes(made: list[Section]) -> list[str]:
    """Notes that stand under more than one exhibit, which the page says once."""
    counts = Counter(note for exhibit in made for note in exhibit.notes)
    return [note for note, number in counts.items() if number > 1]


def _section(exhibit: Section, paper: str, shared: list[str], front: str) -> Iterator[str]:
    yield f"## {exhibit.title}\n"
    yield f"*{exhibit.source}.* {exhibit.explanation}\n"
    if exhibit.comparisons:
        yield "| | published | ours | |\n|---|---:|---:|---|"
        yield from map(_comparison, exhibit.comparisons)
        yield ""
    if exhibit.name not in WITH_TEXT.get(paper, ()) and not _is_findings(exhibit):
        small = [drawing for drawing in exhibit.drawings if len(drawing.svg) <= LARGEST]
        below = [drawing for drawing in small if drawing.name != front]
        yield from (_drawn(drawing, paper) for drawing in below[:DRAWN])
    shows_tables = paper not in SHOWN or not exhibit.drawings or _is_findings(exhibit)
    for table in exhibit.tables:
        if shows_tables and len(table.frame) <= LONGEST:
            yield from _table(table)
    yield from (f"- {escaped(note)}" for note in exhibit.notes if note not in shared)
    yield ""


def _numbers(others: list[Section]) -> Iterator[str]:
    """Published numbers of the exhibits that the page does not show, and ours, in one table."""
    rows = [
        (f"`{exhibit.name}`", *map(escaped, (comparison.quantity, published, ours)))
        for exhibit in others
        for comparison in exhibit.comparisons
        for published, ours, _ in [comparison.texts]
        if comparison.published is not None
    ]
    if rows:
        yield "## Numbers of other exhibits\n"
        yield "| exhibit | | published | ours |\n|---|---|---:|---:|"
        yield from (f"| {' | '.join(row)} |" for row in rows)
        yield ""


def _drawn(picture: Drawing, paper: str) -> str:
    """The picture beside the page, and the line that shows it."""
    path = DOCS / "images" / paper / f"{picture.name}.svg"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(picture.svg, encoding="utf-8")
    title = escaped(picture.caption)
    return f"![{escaped(picture.alternative)}](images/{paper}/{path.name})\n\n*{title}*\n"


def _comparison(comparison: Comparison) -> str:
    published, ours, _ = comparison.texts
    cells = (comparison.quantity, published, ours, comparison.note)
    return f"| {' | '.join(map(escaped, cells))} |"


def _table(table: Table) -> Iterator[str]:
    frame = table.frame
    yield f"{escaped(table.caption)}:\n"
    yield f"| {' | '.join(escaped(str(column)) for column in frame.columns)} |"
    numeric = [pandas.api.types.is_numeric_dtype(column) for column in frame.dtypes]
    yield "|" + "|".join("---:" if is_number else "---" for is_number in numeric) + "|"
    for row in frame.itertuples(index=False):
        cells = (
            _shown(value, table.formats.get(str(column), ""))
            for column, value in zip(frame.columns, row, strict=True)
        )
        yield f"| {' | '.join(map(escaped, cells))} |"
    yield f"\n{escaped(table.note)}\n" if table.note else ""


def _shown(value: object, format: str) -> str:
    if value is None or (isinstance(value, float) and pandas.isna(value)):
        return "–"
    if isinstance(value, float):
        return f"{value:{format or '.3g'}}"
    return str(value)


def escaped(text: str) -> str:
    for mark in "\\|<>*_[]`":
        text = text.replace(
            mark, f"\\{mark}" if mark not in "<>" else {"<": "&lt;", ">": "&gt;"}[mark]
        )
    return text


if __name__ == "__main__":
    main()
