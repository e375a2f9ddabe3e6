"""Options of the model, which all commands share."""

from enum import StrEnum
from typing import Annotated

import typer


class Kind(StrEnum):
    """Kinds of attention."""

    ENCODER = "encoder"
    DECODER = "decoder"
    CROSS = "cross"


class SegmentIds(StrEnum):
    """Segment ids of pairs."""

    PAIR = "pair"
    ZEROS = "zeros"


class PaperName(StrEnum):
    """Papers that can be reproduced."""

    CLARK_2019 = "clark2019"
    KOBAYASHI_2020 = "kobayashi2020"
    BRUNNER_2020 = "brunner2020"


class Solver(StrEnum):
    """How linear maps are found."""

    ADAM = "adam"
    RIDGE = "ridge"


class Broken(StrEnum):
    """What becomes of annotations that contradict themselves."""

    REFUSE = "refuse"
    SKIP = "skip"


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
Revision = Annotated[
    str | None, typer.Option(help="Branch, tag or commit on the hub.", rich_help_panel=MODEL)
]
Device = Annotated[
    str, typer.Option(help="cpu, cuda, cuda:1, mps, or auto.", rich_help_panel=MODEL)
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
