"""Result on a terminal."""

from dataclasses import replace
from types import ModuleType

import pandas as pd
import xarray as xr
from rich.console import Group, RenderableType
from rich.text import Text

from headlight.files import printable
from headlight.findings import equal_to_weight
from headlight.findings.what_was_read import what_was_read
from headlight.result.kinds import split_for_display
from headlight.views.headline import headline_terminal
from headlight.views.parts import Table
from headlight.views.result_contents import findings, headline, summary, tables
from headlight.views.sentences import INTERVAL, sentences_of, title_of
from headlight.views.survey_terminal import terminal_table
from headlight.views.terminal import TOP, bullet, terminal
from headlight.views.titles import Subject
from headlight.vocabulary import NUMBERING


def study_terminal(result: xr.Dataset) -> RenderableType:
    """Return the result of any study in short.

    Raises:
        UnknownNameError: It is the result of no study.
    """
    parts, is_survey = split_for_display(result), result.attrs.get("stage") == "survey"
    # Sections make the pictures of a page, of which a terminal shows none.
    read, sentences = what_was_read(result), [] if is_survey else findings(result)
    # The survey's own table says its findings.
    answer = headline(result, [], said=None if is_survey else sentences)
    if answer and sentences:
        first = sentences[0]
        if title_of(first) == INTERVAL.sub("", answer.title):
            answer = replace(answer, title=first)  # the same, with its intervals
    lines: list[RenderableType] = [headline_terminal(answer)] if answer else []
    said = answer.sentences if answer else []
    rest = [sentence for sentence in sentences_of(read.sentence) if sentence not in " ".join(said)]
    if rest and (is_survey or not answer):
        lines.append(Text(printable(" ".join(rest)), style="dim" if answer else ""))
    lines += [Text(printable(caution), style="bold yellow") for caution in read.cautions]
    lines += [bullet(finding) for finding in sentences if finding not in said]
    for part in parts:
        lines += [Text(), terminal_table(part, said) if is_survey else _short(part)]
    # Where nothing stands above the first part, no blank line does either.
    begins_blank = isinstance(lines[0], Text) and not lines[0].plain
    return Group(*(lines[1:] if begins_blank else lines))


def _short(result: xr.Dataset) -> RenderableType:
    """Return the main table of one kind of attention, and its summary if there are no sentences."""
    parts: list[RenderableType] = [Text(printable(str(Subject.from_result(result))), style="bold")]
    main = next((table for table in tables(result).values() if len(table.frame)), None)
    if main is not None:
        parts.append(terminal(main, whole="in the files"))
        if equal := equal_to_weight(result):
            parts.append(Text(f"Effective attention is {equal}.", style="dim"))
        if "head" in main.frame:
            parts.append(Text(NUMBERING, style="dim"))
    if not findings(result):
        frame = pd.DataFrame(summary(result).items(), columns=["", "value"])
        frame[""] = frame[""].str.replace("_", " ")
        parts += [Text(), terminal(Table("summary", "", frame))]
    return Group(*parts)


def answer_terminal(view: ModuleType, answer: xr.Dataset, top: int | None) -> RenderableType:
    """Return the answer to a question of one text: its headline, or sentences and main tables.

    Args:
        view: Module that shows the answer.
        answer: Dataset of the answer.
        top: Maximum number of rows of each table; by default ten, and no tables below a headline.
    """
    if hasattr(view, "headline"):
        lines: list[RenderableType] = [headline_terminal(view.headline(answer))]
        if top is None:
            return Group(*lines)
    else:
        lines = [Text(printable(text)) for text in view.findings(answer)]
    main = [section.tables[0] for section in view.sections(answer) if section.tables]
    for table in main:
        lines += [Text(), terminal(table, top or TOP)]
    if main:
        lines.append(Text(NUMBERING, style="dim"))
    return Group(*lines)
