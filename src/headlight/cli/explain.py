"""The command `explain`."""

from typing import Annotated

import typer

from headlight.cli.arguments import command_line, demand_place, text_argument
from headlight.cli.help import examples
from headlight.cli.options import (
    LOAD,
    LoadOptions,
    NextSegment,
    NumbersJson,
    NumbersNetcdf,
    OneKind,
    Read,
)
from headlight.cli.printing import say, show
from headlight.cli.setting_options import takes_settings

EXPLAIN_EXAMPLES = examples(
    'headlight explain "Mary met John, and later Mary met" --model gpt2 --layer 5 --head 1',
    ('headlight explain "The cat sat." --layer 3 --head 2 --query 3 --key 1', "one cell"),
)


@takes_settings()
def explain(
    text: Read,
    pair: NextSegment = None,
    layer: Annotated[int, typer.Option(min=0, help="Which layer, from 0.")] = 0,
    head: Annotated[int, typer.Option(min=0, help="Which head, from 0.")] = 0,
    query: Annotated[
        int, typer.Option(help="The token that attends, from 0, or from -1 backwards.")
    ] = -1,
    key: Annotated[
        int | None,
        typer.Option(
            help="The token that is attended to. Default: that with the largest weight, but for "
            "the first token and the query."
        ),
    ] = None,
    kind: OneKind = None,
    top: Annotated[int, typer.Option(min=1, help="Parts shown of each side.")] = 10,
    json: NumbersJson = None,
    netcdf: NumbersNetcdf = None,
    load: LoadOptions = LOAD,
) -> None:
    """Say why a head attends from one token to another: what was written there before."""
    for path, suffix in ((json, ".json"), (netcdf, ".nc")):
        demand_place(path, suffix)
    text = text_argument(text, "explain")
    pair = None if pair is None else text_argument(pair, "explain", "second text")
    load.check(layers=(layer,))
    from headlight.reading.explanation import explain as find
    from headlight.views.reading.explanation import explanation_terminal

    found = find(
        load.load(layers=(layer,)),
        text,
        pair,
        layer=layer,
        head=head,
        query=query,
        key=key,
        kind=kind,
        command=command_line(),
    )
    written = [found.save(path) for path in (json, netcdf) if path is not None]
    show(explanation_terminal(found.dataset, top))
    for path in written:
        say(f"written: {path}")
