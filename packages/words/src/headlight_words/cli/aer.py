"""The command `aer`."""

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headlight.cli.help import examples
from headlight.cli.printing import say, say_json, show
from headlight.errors import CorpusError, UsageError
from headlight.files import storable
from headlight_words.corpora import open_parallel
from headlight_words.links import (
    RATES,
    FormatWarning,
    Gold,
    LinkFormat,
    Links,
    LinkScore,
    Symmetrization,
    check_format,
    demand_words,
    links_signature,
    open_links,
    score_links,
    symmetrized,
)
from headlight_words.links.link_lines import STANDARD_INPUT

if TYPE_CHECKING:
    from headlight.views.parts import Table


AER_EXAMPLES = examples(
    "headlight aer gold.talp fast_align.links giza.links",
    ("headlight aer gold.naacl theirs.txt --one-based --swap", "4-3: target first, from 1"),
    "headlight aer gold.talp forward.links --symmetrize grow-diag-final-and "
    "--reverse reverse.links",
    "headlight aer gold.talp mine.links --text test.de test.en --json",
)


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Settings by which files of links are read, and the gold that they are checked against."""

    gold: list[Gold]
    format: LinkFormat | None
    one_based: bool
    swap: bool
    lengths: list[tuple[int, int]] | None
    unchecked: bool


def aer(
    gold: Annotated[str, typer.Argument(help="Gold links: talp, naacl, or another format.")],
    links: Annotated[
        list[str], typer.Argument(help="Links of aligners, a file each; - for standard input.")
    ],
    one_based: Annotated[
        bool, typer.Option("--one-based", help="LINKS count words from 1, whatever their format.")
    ] = False,
    swap: Annotated[
        bool, typer.Option("--swap", help="LINKS have the word of the target first.")
    ] = False,
    ignore_possible: Annotated[
        bool,
        typer.Option("--ignore-possible", help="Leave out possible links of the gold."),
    ] = False,
    symmetrize: Annotated[
        Symmetrization | None,
        typer.Option(help="Symmetrization of each of LINKS with --reverse, before scoring."),
    ] = None,
    reverse: Annotated[
        str | None,
        typer.Option(help="Links of the reverse direction, also source first.", metavar="FILE"),
    ] = None,
    text: Annotated[
        tuple[str, str] | None,
        typer.Option(
            help="Sentences and their translations, to check that links refer to existing words.",
            metavar="SOURCE TARGET",
        ),
    ] = None,
    format: Annotated[
        LinkFormat | None,
        typer.Option(help="Format of LINKS. Default: inferred from suffix or first line."),
    ] = None,
    gold_format: Annotated[
        LinkFormat | None,
        typer.Option(help="Format of GOLD. Default: inferred from suffix or first line."),
    ] = None,
    gold_base: Annotated[
        int | None,
        typer.Option(
            min=0, max=1, help="Number of the first word in GOLD. Default: that of its format."
        ),
    ] = None,
    unchecked: Annotated[
        bool,
        typer.Option(
            "--unchecked", help="Score links even if their format or direction looks wrong."
        ),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the numbers as JSON.")] = False,
) -> None:
    """Score word alignments: precision, recall and AER, with intervals.

    Links have a line for each sentence of the gold, such as 0-0 1-2 2-1. AER is 0 at best.
    """
    if (symmetrize is None) != (reverse is None):
        raise UsageError("--symmetrize and --reverse need each other; give both, or neither.")
    if gold == STANDARD_INPUT:
        raise UsageError("only LINKS are read from standard input; name the file of the gold.")

    from headlight.engine.progress import announced

    lengths = None if text is None else _lengths(*text)
    sentences = None if lengths is None else len(lengths)
    golds = list(open_links(gold, format=gold_format, base=gold_base, sentences=sentences))
    if lengths is not None:
        demand_words(golds, lengths)
    reading = Reading(
        gold=[gold_links.without_possible() for gold_links in golds] if ignore_possible else golds,
        format=format,
        one_based=one_based,
        swap=swap,
        lengths=lengths,
        unchecked=unchecked,
    )
    with announced("reading links"):
        files = [(file, _read(file, reading)) for file in links]
    if symmetrize is not None and reverse is not None:
        other = _read(reverse, reading)
        files = [
            (file, [symmetrized(symmetrize, *both) for both in zip(file_links, other, strict=True)])
            for file, file_links in files
        ]
    with announced("scoring links"):
        scores = [(file, score_links(reading.gold, file_links)) for file, file_links in files]
    signature = scores[0][1].signature(
        links_signature(gold, gold_format, gold_base), symmetrize or "none"
    )
    if json:
        say_json(
            {
                "signature": signature,
                "files": [_numbers(*file_and_score) for file_and_score in scores],
            }
        )
        return
    from headlight.views.terminal import terminal

    show(terminal(_table(scores), len(scores)))
    say(signature)


def _lengths(source: str, target: str) -> list[tuple[int, int]]:
    pairs = open_parallel(source, target)
    return [(len(pair.source.split()), len(pair.target.split())) for pair in pairs]


def _read(file: str, reading: Reading) -> list[Links]:
    """Return the links of a file, checked for a wrong direction or index base."""
    opened = open_links(
        file,
        format=reading.format,
        base=1 if reading.one_based else None,
        swap=reading.swap,
        sentences=len(reading.gold),
    )
    read = list(opened)
    if reading.lengths is not None:
        demand_words(read, reading.lengths)
    links = [gold_links.possible for gold_links in read]
    warning = None if reading.unchecked else check_format(reading.gold, links)
    if warning is not None:
        raise CorpusError(
            f"{read[warning.sentence].name or file}: {_cure(warning, file, reading)}: AER is then "
            f"{warning.other:.1%}, and {warning.error_rate:.1%} as it is (--unchecked gives that)."
        )
    return links


def _cure(warning: FormatWarning, file: str, reading: Reading) -> str:
    """Return the probable mistake, and the options that correct it."""
    wrong = []
    if warning.swapped:
        first = "source" if reading.swap else "target"
        option = "leave out --swap" if reading.swap else "add --swap"
        wrong.append(f"the word of the {first} seems to come first in the links ({option})")
    if warning.step == 1 and _base(file, reading) == 0:
        wrong.append("the links seem to count words from 1 (add --one-based)")
    elif warning.step == 1:
        wrong.append("the gold seems to count words from 0 (say --gold-base 0)")
    elif warning.step == -1 and reading.one_based:
        wrong.append("the links seem to count words from 0 (leave out --one-based)")
    elif warning.step == -1:
        wrong.append("the gold seems to count words from 1 (say --gold-base 1)")
    return " and ".join(wrong)


def _base(file: str, reading: Reading) -> int:
    if reading.one_based:
        return 1
    return 0 if file == STANDARD_INPUT else int(links_signature(file, reading.format, None)[-1])


def _numbers(file: str, score: LinkScore) -> dict[str, Any]:
    """Return rates, intervals and counts as JSON; null in the place of NaN."""
    return {
        "links": storable(file),
        **{name: _number(getattr(score, name)) for name in RATES},
        "intervals": {name: list(map(_number, score.intervals[name])) for name in RATES},
        "counts": asdict(score.counts),
    }


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _table(scores: list[tuple[str, LinkScore]]) -> "Table":
    import pandas as pd

    from headlight.views.parts import Table

    rows = []
    for file, score in scores:
        low, high = score.intervals["error_rate"]
        numbers = (score.precision, score.recall, score.error_rate)
        percent = (f"{100 * number:.2f}" for number in numbers)
        rows.append(
            {"file": storable(file)}
            | dict(zip(("precision", "recall", "AER"), percent, strict=True))
            | {
                "95% interval": "" if math.isnan(low) else f"{100 * low:.1f} to {100 * high:.1f}",
                "links": score.counts.links,
            }
        )
    return Table("rates", "", pd.DataFrame(rows))
