"""Options of the model, which all commands share."""

from typing import Annotated

import typer

RUN = "The run"
MODEL = "The model"

ModelName = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        help="Name on the hub, or a folder. Default: the embedded model.",
        rich_help_panel=MODEL,
    ),
]
TokenizerName = Annotated[
    str | None,
    typer.Option(
        "--tokenizer",
        help="Name on the hub, or a folder. Default: that of the model.",
        rich_help_panel=MODEL,
    ),
]
Revision = Annotated[
    str | None, typer.Option(help="Branch, tag or commit on the hub.", rich_help_panel=MODEL)
]
Device = Annotated[
    str,
    typer.Option(
        help="cpu, cuda, cuda:1, mps, auto, or balanced: layers spread over all GPUs.",
        rich_help_panel=MODEL,
    ),
]
Precision = Annotated[
    str,
    typer.Option("--dtype", help="float32, bfloat16, float16 or float64.", rich_help_panel=MODEL),
]
Trust = Annotated[
    bool,
    typer.Option(
        "--trust-remote-code",
        help="Run code that comes with the model.",
        rich_help_panel=MODEL,
    ),
]
CompareModel = Annotated[
    str | None, typer.Option(help="Another model or checkpoint, which the page compares it with.")
]
CompareRevision = Annotated[
    str | None, typer.Option(help="Revision of that model; of the same model without one.")
]


def other_model(
    model: str | None,
    revision: str | None,
    compare_model: str | None,
    compare_revision: str | None,
) -> tuple[str | None, str | None]:
    """Name and revision of the model that another is compared with."""
    own = revision if compare_model is None else None
    return compare_model or model, compare_revision or own
