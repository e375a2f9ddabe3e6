"""Options that several commands share, and the words that options take."""

from enum import StrEnum
from typing import Annotated

import typer


class Kind(StrEnum):
    """Kinds of attention."""

    ENCODER = "encoder"
    DECODER = "decoder"
    CROSS = "cross"


class Overflow(StrEnum):
    """What becomes of a text that is too long."""

    TRUNCATE = "truncate"
    SPLIT = "split"
    ERROR = "error"


class ValueBias(StrEnum):
    """Whether T of effective attention holds the value bias."""

    INCLUDE = "include"
    EXCLUDE = "exclude"


class SegmentIds(StrEnum):
    """Segment ids of pairs."""

    PAIR = "pair"
    ZEROS = "zeros"


class LoneUnits(StrEnum):
    """What becomes of a paragraph that fills a pair alone."""

    JOIN = "join"
    DISCARD = "discard"


class Measure(StrEnum):
    """Measures that a reading shows."""

    WEIGHT = "weight"
    NORM = "norm"
    EFFECTIVE = "effective"
    ATTRIBUTION = "attribution"


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


ModelName = Annotated[
    str | None,
    typer.Option(
        "--model", "-m", help="Name on the hub, or a folder. Default: the embedded model."
    ),
]
Revision = Annotated[str | None, typer.Option(help="Branch, tag or commit on the hub.")]
Device = Annotated[str, typer.Option(help="cpu, cuda, cuda:1, mps, or auto.")]
Precision = Annotated[str, typer.Option("--dtype", help="float32, bfloat16, float16 or float64.")]
Trust = Annotated[
    bool, typer.Option("--trust-remote-code", help="Run code that comes with the model.")
]
Layers = Annotated[
    str | None, typer.Option(help="Layers to look at, such as 0,3-5 (zero-based). Default: all.")
]
KindOption = Annotated[
    Kind | None, typer.Option(help="Which attention. Default: the first that the model has.")
]
BiasOption = Annotated[
    ValueBias, typer.Option(help="Whether T of effective attention holds the value bias.")
]
Exact = Annotated[
    bool, typer.Option("--exact", help="Compute contributions exactly, and not by random probes.")
]
Probes = Annotated[
    int | None,
    typer.Option(min=1, help="Random probes for an input token, of estimated contributions."),
]
