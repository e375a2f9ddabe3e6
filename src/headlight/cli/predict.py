"""The command `predict`."""

from pathlib import Path
from typing import Annotated

import typer

from headlight.cli.arguments import command_line, demand_place, text_argument
from headlight.cli.help import examples
from headlight.cli.options import LOAD, LoadOptions, NumbersJson, NumbersNetcdf, Read, SecondText
from headlight.cli.printing import say, show
from headlight.cli.setting_options import takes_settings
from headlight.settings.slopes import Slope

PREDICT_EXAMPLES = examples(
    'headlight predict "The cat sat on the [MASK]." --target floor',
    'headlight predict "The cat sat on the [MASK]." --target floor --against chair',
    ('headlight predict "The doctor said that" --model gpt2 --target " he"', "what comes next"),
    ('headlight predict "A fine film." --model NAME --target POSITIVE', "a class"),
)


@takes_settings()
def predict(
    text: Read,
    pair: SecondText = None,
    target: Annotated[
        str | None,
        typer.Option(
            help='A word as it goes on, such as " he", or fills the mask; or a class. Default: '
            "what the model predicts."
        ),
    ] = None,
    against: Annotated[
        str | None, typer.Option(help="Another one, whose logit is subtracted.")
    ] = None,
    position: Annotated[
        int | None,
        typer.Option(help="The token that predicts, from 0. Default: the last, or the mask."),
    ] = None,
    slope: Annotated[Slope, typer.Option(help="How activations are made linear.")] = "zero_origin",
    top: Annotated[int, typer.Option(min=1, help="Rows shown of each table.")] = 8,
    html: Annotated[Path | None, typer.Option(help="Write a page.")] = None,
    json: NumbersJson = None,
    netcdf: NumbersNetcdf = None,
    load: LoadOptions = LOAD,
) -> None:
    """Say what each token, head, layer and bias adds to what a model predicts."""
    for path, suffix in ((html, ".html"), (json, ".json"), (netcdf, ".nc")):
        demand_place(path, suffix)
    text = text_argument(text, "predict")
    pair = None if pair is None else text_argument(pair, "predict", "second text")
    load.check()
    from headlight.reading.prediction import predict as explain
    from headlight.views.reading.prediction import prediction_terminal

    found = explain(
        load.load(head="any"),
        text,
        pair,
        target=target,
        against=against,
        position=position,
        slope=slope,
        command=command_line(),
    )
    written = [found.save(path) for path in (html, json, netcdf) if path is not None]
    show(prediction_terminal(found.dataset, top))
    for path in written:
        say(f"written: {path}")
