"""Options of the model: which, its device and precision, and one to compare with."""

from collections.abc import Collection
from dataclasses import dataclass, make_dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from headlight.catalogue.embedded_models import EMBEDDED_NAME
from headlight.catalogue.questions import Question
from headlight.cli.setting_options import Options
from headlight.errors import UsageError
from headlight.processes import lasting_imports
from headlight.settings import OwnLayers

if TYPE_CHECKING:
    from headlight.capture import CapturedModel

Loading = TypeVar("Loading", bound="LoadOptions")

MODEL = "The model"


def _model_option(default: str) -> Any:
    help = f"Name on the hub, folder or GGUF file. Default: {default}."
    return typer.Option("--model", "-m", help=help, rich_help_panel=MODEL)


ModelName = Annotated[str | None, _model_option("the embedded model")]
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

SplitSpecialTokens = Annotated[
    bool,
    typer.Option(
        "--split-special-tokens",
        help="Read special tokens written in a text, such as [SEP], as characters.",
        rich_help_panel=MODEL,
    ),
]


@dataclass(frozen=True, kw_only=True)
class LoadOptions(Options):
    """Options of which model a command loads, and how; each field is an option."""

    model: ModelName = None
    revision: Revision = None
    device: Device = "auto"
    dtype: Precision = "float32"
    trust_remote_code: Trust = False
    tokenizer: TokenizerName = None
    split_special_tokens: SplitSpecialTokens = False

    def load(
        self,
        *,
        default: str | None = None,
        layers: Collection[int] | None = None,
        heads: Collection[int] | None = None,
        head: str | None = "none",
    ) -> "CapturedModel":
        """Return the model, ready to be captured; layers that it cannot have are refused before.

        Args:
            default: Model where none is named; None for the embedded one.
            layers: Layers that are looked at; None for all.
            heads: Heads of a layer that are looked at; None for all.
            head: Head of the model; see `headlight.capture.load_model`.
        """
        from headlight.engine.progress import announced

        self.check(default=default, layers=layers, heads=heads)
        name = default if self.model is None else self.model
        with announced(f"loading {name or EMBEDDED_NAME}"):
            with lasting_imports():
                from headlight.capture import load_model

            return load_model(
                name,
                self.tokenizer,
                revision=self.revision,
                device=self.device,
                dtype=self.dtype,
                trust_remote_code=self.trust_remote_code,
                layers=layers,
                head=head,
                split_special_tokens=self.split_special_tokens,
            )

    def check(
        self,
        *,
        default: str | None = None,
        layers: Collection[int] | None = None,
        heads: Collection[int] | None = None,
    ) -> None:
        """Refuse, before anything slow is imported, what no model can be loaded by.

        Args:
            default: Model where none is named; None for the embedded one.
            layers: Layers that are looked at; None for all.
            heads: Heads of a layer that are looked at; None for all.
        """
        from headlight.catalogue.model_checks import check_model

        check_model(
            default if self.model is None else self.model,
            tokenizer=self.tokenizer,
            device=self.device,
            dtype=self.dtype,
            layers=layers,
            heads=heads,
        )

    def compared(self: Loading, model: str | None, revision: str | None) -> Loading:
        """Return the options of a model to compare with: another, or another revision."""
        if model is not None:
            return replace(self, model=model, revision=revision)
        return replace(self, revision=self.revision if revision is None else revision)


def layers_of(
    model: "CapturedModel", layers: tuple[int, ...] | None, kind: str | None
) -> tuple[int, ...] | None:
    """Return layers as they are counted here, where the numbers are the model's own.

    Args:
        model: Model of the layers.
        layers: Numbers of layers, of either count; None for all.
        kind: Kind of attention; if the model does not have it, the first that it has.

    Raises:
        UsageError: a layer of the model does not attend.
    """
    if not isinstance(layers, OwnLayers):
        return layers
    chosen = next((known for known in model.kinds if known == kind), model.kinds[0])
    numbers = model.own_numbers(chosen)
    if not numbers:  # it counts as we do
        numbers = {site.layer: site.layer for site in model.sites_of(chosen)}
    here = {number: layer for layer, number in numbers.items()}
    for number in layers:
        if number not in here:
            raise UsageError(
                f"layer {number} of {model} has no {chosen} attention that is read; those "
                f"that have are {', '.join(map(str, here))} of the model."
            )
    return tuple(here[number] for number in layers)


@dataclass(frozen=True, kw_only=True)
class NamedLoadOptions(LoadOptions):
    """Options of a model that has a display name in titles."""

    name: Annotated[
        str | None,
        typer.Option(
            help="Display name of the model. Default: the end of its path.",
            rich_help_panel=MODEL,
        ),
    ] = None

    def load(
        self,
        *,
        default: str | None = None,
        layers: Collection[int] | None = None,
        heads: Collection[int] | None = None,
        head: str | None = "none",
    ) -> "CapturedModel":
        """See `LoadOptions.load`; the model has the name."""
        model = super().load(default=default, layers=layers, heads=heads, head=head)
        return model.called(self.name)

    def compared_as(
        self, model: str | None, revision: str | None, name: str | None
    ) -> "NamedLoadOptions":
        """See `LoadOptions.compared`; another model has another name."""
        if name is None and model is None and revision is None:
            name = self.name
        return replace(self.compared(model, revision), name=name)


NAMED = NamedLoadOptions()
LOAD = LoadOptions()
"""The embedded model, or what the command loads where none is named."""


def load_options(default: str) -> LoadOptions:
    """Return the options of a model, whose help names the one that is taken by default."""
    hint = Annotated[str | None, _model_option(default)]
    options: LoadOptions = make_dataclass(
        LoadOptions.__name__,
        [("model", hint, None)],
        bases=(LoadOptions,),
        frozen=True,
        kw_only=True,
    )()
    return options


def default_of(question: Question) -> str:
    """Return the model that the command of a question takes, as the help says it."""
    if question.default_model == EMBEDDED_NAME:
        return "the embedded model"
    masked = f", or {EMBEDDED_NAME} for a text with a mask" if question.fills_masks else ""
    return f"the embedded {question.default_model}{masked}"


CompareModel = Annotated[
    str | None, typer.Option(help="Second model or checkpoint, for comparison.")
]
CompareName = Annotated[
    str | None, typer.Option(help="Display name of the second model. Default: the end of its path.")
]
CompareRevision = Annotated[
    str | None, typer.Option(help="Revision of the second model, or of the same model without one.")
]
