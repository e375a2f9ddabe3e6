"""The command `heads`."""

from itertools import product
from typing import Annotated

import typer

from headlight.cli.help import examples
from headlight.cli.printing import say, say_json, show

HEADS_EXAMPLES = examples(
    "headlight heads run/ induction",
    ("headlight heads run/ sink --by norm --json", "as JSON, all heads"),
)


def heads(
    result: Annotated[str, typer.Argument(help="Folder of a survey, or its result.nc.")],
    behaviour: Annotated[
        str | None,
        typer.Argument(help="What heads are ranked by, such as induction. Default: list them."),
    ] = None,
    by: Annotated[str | None, typer.Option("--by", help="The measure that ranks them.")] = None,
    without_first: Annotated[
        bool, typer.Option("--without-first", help="Exclude the first token and renormalize.")
    ] = False,
    kind: Annotated[
        str | None, typer.Option("--kind", help="Of attention, where the survey has several.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Rows shown of the table.")] = 10,
    json: Annotated[bool, typer.Option("--json", help="Print all of them as JSON.")] = False,
) -> None:
    """Rank the heads of a survey by what they do, with intervals of 95%."""
    import pandas as pd

    from headlight.api import open as open_result
    from headlight.catalogue import statistic, statistic_table
    from headlight.findings import heads as ranked
    from headlight.findings.estimates import undecided
    from headlight.findings.head_ranking import VALUE
    from headlight.findings.statistics import numbers_of, row_label
    from headlight.result.estimate import Estimate
    from headlight.result.kinds import of_kind
    from headlight.views.parts import Table
    from headlight.views.terminal_tables import terminal
    from headlight.vocabulary import head_name

    found = open_result(result)
    if kind is not None:
        found = of_kind(found, kind)
    if behaviour is None:
        say("Heads can be ranked by:")
        for row in statistic_table():
            accepted = ", ".join((row.name, *row.also))
            say(f"  {accepted}: {row_label(found, row)}")
        return
    table = ranked(found, behaviour, by=by, without_first=without_first)
    if json:
        say_json(table.astype(object).where(table.notna(), None).to_dict("records"))
        return
    names = [name for name in table.columns[2:] if not name.endswith(("_low", "_high"))]
    rows = [
        {"head": head_name(row["layer"], row["head"])}
        | {
            name: format(
                Estimate.with_ends(row[name], row[f"{name}_low"], row[f"{name}_high"]), ".3f"
            )
            for name in names
        }
        for row in table.head(top).to_dict("records")
    ]
    show(terminal(Table("heads", "", pd.DataFrame(rows))))
    first = by or names[0]
    measure = "" if first == VALUE else first
    numbers = numbers_of(found, statistic(behaviour), measure, without_first=without_first)
    every = [
        head_name(*at)
        for at in product(found["layer"].values.tolist(), found["head"].values.tolist())
    ]
    if said := undecided(numbers, every, "which is first"):
        show(said.strip())
