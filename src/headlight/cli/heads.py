"""The command `heads`."""

from itertools import product
from typing import TYPE_CHECKING, Annotated

import typer

from headlight.catalogue.writers import RESULT
from headlight.cli.help import examples
from headlight.cli.printing import say, say_json, show

if TYPE_CHECKING:
    import xarray


HEADS_EXAMPLES = examples(
    "headlight heads run/ induction",
    ("headlight heads run/ sink --measure norm --json", "as JSON, all heads"),
)


def heads(
    result: Annotated[str, typer.Argument(help=f"Folder of a survey, or its {RESULT}.")],
    behaviour: Annotated[
        str | None,
        typer.Argument(
            help="Behaviour that ranks heads, such as induction. Default: list what the run has."
        ),
    ] = None,
    measure: Annotated[str | None, typer.Option(help="Measure that ranks heads.")] = None,
    without_first: Annotated[
        bool, typer.Option("--without-first", help="Exclude the first token and renormalize.")
    ] = False,
    kind: Annotated[
        str | None, typer.Option("--kind", help="Kind of attention, where the survey has several.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Rows shown of the table.")] = 10,
    json: Annotated[bool, typer.Option("--json", help="Print all heads as JSON.")] = False,
) -> None:
    """Rank the heads of a survey by what they do, with intervals of 95%."""
    import pandas as pd

    from headlight.catalogue import statistic
    from headlight.findings import heads as ranked
    from headlight.findings.head_ranking import VALUE
    from headlight.findings.interval_phrases import undecided
    from headlight.findings.statistics import numbers_of
    from headlight.views.number_formats import percent_text, plus_minus
    from headlight.views.parts import Table
    from headlight.views.terminal import terminal
    from headlight.vocabulary import head_name

    survey = _survey(result, kind)
    table = ranked(survey, behaviour, by=measure, without_first=without_first)
    if json:
        # NaN is no JSON, and a column of floats cannot hold None.
        say_json(table.astype(object).where(table.notna(), None).to_dict("records"))
        return
    if behaviour is None:
        say(f"The heads of {result} can be ranked by:")
        for row in table.to_dict("records"):
            also = f", {row['also']}" if row["also"] else ""
            say(f"  {row['behaviour']}{also}: {row['meaning']}")
        return
    names = [name for name in table.columns[2:] if not name.endswith(("_low", "_high"))]
    is_share = statistic(behaviour).unit == "share"
    written = percent_text if is_share else "{:.3f}".format
    rows = [
        {"head": head_name(row["layer"], row["head"])}
        | {
            name: written(row[name])
            + plus_minus((row[f"{name}_high"] - row[f"{name}_low"]) / 2, share=is_share)
            for name in names
        }
        for row in table.head(top).to_dict("records")
    ]
    show(terminal(Table("heads", "", pd.DataFrame(rows))))
    first = measure or names[0]
    shown = "" if first == VALUE else first
    numbers = numbers_of(survey, statistic(behaviour), shown, without_first=without_first)
    layers, head_numbers = survey["layer"].values.tolist(), survey["head"].values.tolist()
    head_names = [head_name(layer, head) for layer, head in product(layers, head_numbers)]
    if sentence := undecided(numbers, head_names, "which is first"):
        show(sentence.strip())


def _survey(result: str, kind: str | None) -> "xarray.Dataset":
    """Read a survey, and select a kind of attention if one is named."""
    from headlight.api import open as open_result
    from headlight.engine.progress import announced
    from headlight.result.kinds import of_kind

    with announced("reading the survey of heads"):
        survey = open_result(result)
        return survey if kind is None else of_kind(survey, kind)
