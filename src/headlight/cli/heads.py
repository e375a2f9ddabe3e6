"""The command `heads`."""

from typing import Annotated

import typer

from headlight.cli.help import examples
from headlight.cli.printing import say_json, show
from headlight.errors import UsageError

HEADS_EXAMPLES = examples(
    "headlight heads run/ induction",
    ("headlight heads run/ sink --by norm --json", "as JSON, all heads"),
)


def heads(
    result: Annotated[str, typer.Argument(help="Folder of a survey, or its result.nc.")],
    behaviour: Annotated[
        str | None, typer.Argument(help="sink, duplicate, induction, subword, copy, previous, ...")
    ] = None,
    by: Annotated[str | None, typer.Option("--by", help="The measure that ranks them.")] = None,
    without_first: Annotated[
        bool, typer.Option("--without-first", help="Of what does not go to the first token.")
    ] = False,
    kind: Annotated[
        str | None, typer.Option("--kind", help="Of attention, where the survey has several.")
    ] = None,
    most: Annotated[int, typer.Option("--most", min=1, help="Heads that are shown.")] = 10,
    json: Annotated[bool, typer.Option("--json", help="Print all of them as JSON.")] = False,
) -> None:
    """Rank the heads of a survey by what they do, with intervals of 95%."""
    from rich.table import Table

    from headlight.api import open as open_result
    from headlight.findings import heads as ranked
    from headlight.findings.estimates import between
    from headlight.findings.head_ranking import head_scores
    from headlight.findings.rules import rivals
    from headlight.result.kinds import of_kind
    from headlight.vocabulary import head_name

    if behaviour is None:
        raise UsageError(f"name what heads are ranked by: {', '.join(head_scores())}.")
    found = open_result(result)
    if kind is not None:
        found = of_kind(found, kind)
    table = ranked(found, behaviour, by=by, without_first=without_first)
    if json:
        say_json(table.astype(object).where(table.notna(), None).to_dict("records"))
        return
    names = [name for name in table.columns[2:] if not name.endswith(("_low", "_high"))]
    drawn = Table("head", *names)
    for row in table.head(most).to_dict("records"):
        cells = [
            f"{row[name]:.3f} ({row[f'{name}_low']:.3f} to {row[f'{name}_high']:.3f})"
            for name in names
        ]
        drawn.add_row(head_name(row["layer"], row["head"]), *cells)
    show(drawn)
    ends = (
        table[f"{names[0] if by is None else by}{end}"].to_numpy() for end in ("", "_low", "_high")
    )
    if others := rivals(*ends, first=0):
        places = table.iloc[[0, *others]][["layer", "head"]].itertuples(index=False)
        rival_heads = between([head_name(*at) for at in places])
        show(f"Which is first is inconclusive between {rival_heads}.")
