"""The command `read`."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headlight.catalogue.writers import writers
from headlight.cli.chat_options import (
    NO_CHAT,
    ChatOptions,
    NumbersJson,
    NumbersOut,
    Read,
    SecondText,
)
from headlight.cli.help import examples
from headlight.cli.model_options import (
    NAMED,
    CompareModel,
    CompareName,
    CompareRevision,
    NamedLoadOptions,
    layers_of,
)
from headlight.cli.output_files import demand_place, demand_places, tell_written
from headlight.cli.printing import command_line, complain, show
from headlight.cli.setting_options import takes_settings
from headlight.cli.text_arguments import text_argument
from headlight.errors import CorpusError, UsageError
from headlight.settings import AtLeast0, Common, Heads, Layers, Settings, require_choice
from headlight.settings.attribution import AttributionSettings
from headlight.vocabulary import ATTRIBUTION, Kinds, ValueBias, measures_that_need, reading_measures

RATE = 16_000
"""Samples in a second at which a recording is tried; models say theirs when they are loaded."""

_CHOSEN = ("kind", "layers", "heads", "queries", "value_bias")

READ_EXAMPLES = examples(
    'headlight read "The cat sat on the mat."',
    'headlight read "The cat sat." "It purred." --measure norm --html cat.html',
    'headlight read "The cat sat." --model gpt2 --json cat.json',
    ('headlight read "Das Haus." "The house." --model NAME --kind all', "a translator"),
    ('headlight read "The cat sat." --measure attribution', "what input tokens contribute"),
    'headlight read "The cat sat." --html cat.html --routes cat-routes.html',
    ('headlight read "The cat sat." --flow cat-flow.html', "what tokens come from"),
    'headlight read "The cat sat." --compare-text "The dog sat." --html both.html',
    ("headlight read --audio speech.wav --model openai/whisper-tiny.en", "words × frames"),
    'echo "The cat sat." | headlight read -',
    ("headlight read --image a.png --model google/vit-base-patch16-224", "patches × patches"),
    ('headlight read "What is this?" --image a.png --model llava-hf/llava-1.5-7b-hf', "both"),
    ("headlight read --chat chat.json --model HuggingFaceTB/SmolLM2-135M-Instruct", "messages"),
)

if TYPE_CHECKING:
    from headlight.capture import CapturedModel
    from headlight.corpora import Chat
    from headlight.reading import Reading


@dataclass(frozen=True, kw_only=True)
class ReadingSettings(Settings):
    """Settings of how a text is read.

    Attributes:
        kind: kind of attention; by default the first that the model has; ``all`` shows all kinds.
        layers: layers to show, from 0, such as 0,3-5, or by the model's own numbers, such as
            model:3,7; by default all.
        heads: heads of each layer to keep, from 0, such as 0,3-5; by default all.
        queries: positions of attending tokens to keep, from 0, such as 100-120; by default all.
        value_bias: value bias in T of effective attention.
        attribution: computation of contributions, if they are shown.
    """

    kind: Common[Kinds | None] = None
    layers: Common[Layers | None] = None
    heads: Common[Heads | None] = None
    queries: tuple[AtLeast0, ...] | None = None
    value_bias: ValueBias = "include"
    attribution: AttributionSettings | None = None


@takes_settings(settings=ReadingSettings)
def read(
    text: Read = None,
    pair: SecondText = None,
    chat: ChatOptions = NO_CHAT,
    load: NamedLoadOptions = NAMED,
    audio: Annotated[
        Path | None,
        typer.Option(help="WAV file; the text is its transcript, by default the model's own."),
    ] = None,
    image: Annotated[
        Path | None,
        typer.Option(help="Picture to read, alone or beside a text as its prompt."),
    ] = None,
    measure: Annotated[
        str, typer.Option(help=f"Measure in the terminal: {', '.join(reading_measures())}.")
    ] = "norm",
    top: Annotated[int, typer.Option(min=1, help="Links shown per head.")] = 3,
    all_heads: Annotated[
        bool,
        typer.Option("--all-heads", help="Show all heads, not the 20 that stand out."),
    ] = False,
    html: Annotated[
        Path | None, typer.Option(help="Write a page that shows every head of the text.")
    ] = None,
    page_size: Annotated[
        float,
        typer.Option(
            min=1,
            help="Maximal size of the page in megabytes; rows of long texts keep their strongest "
            "cells.",
        ),
    ] = 5.0,
    survey: Annotated[
        Path | None,
        typer.Option(help="Folder of a survey, whose numbers and findings the page shows as well."),
    ] = None,
    dependency: Annotated[
        Path | None,
        typer.Option(
            help="Folder of a dependency run, by which the page finds heads of a relation."
        ),
    ] = None,
    compare_text: Annotated[
        str | None,
        typer.Option(help="Second text: the page shows both, and how each head differs."),
    ] = None,
    compare_model: CompareModel = None,
    compare_revision: CompareRevision = None,
    routes: Annotated[
        Path | None,
        typer.Option(help="Write a page of the routes of the text, which the page links to."),
    ] = None,
    flow: Annotated[
        Path | None,
        typer.Option(
            help="Write the attribution of tokens to input tokens by rollout, GlobEnc and ALTI: as "
            ".html, .json or .nc."
        ),
    ] = None,
    compare_name: CompareName = None,
    json: NumbersJson = None,
    out: NumbersOut = None,
    *,
    settings: ReadingSettings,
) -> None:
    """Read one text, or two, and show the strongest links of its heads."""
    demand_places(html=html, json=json)
    demand_place(out, *writers("read"))
    _demand_runs(html, survey, dependency)
    _demand_beside(routes, flow, audio, image)
    compares = any(each is not None for each in (compare_text, compare_model, compare_revision))
    _demand_page(compares, html, settings, compare_name)
    attribution = _attribution(measure, settings)
    residual = bool(measures_that_need("residual", [measure]))
    of_texts = compares or attribution or residual or pair or chat.chat
    subject = chat.subject(text, "read")
    _demand_words(subject, audio, image, others=bool(of_texts and not (image and residual)))
    pair = None if pair is None else text_argument(pair, "read", "second text")
    if compare_text is not None:
        compare_text = text_argument(compare_text, "read", "text to compare with")
    compared = load.compared_as(compare_model, compare_revision, compare_name)
    compared.check(layers=settings.layers)
    transcribes = subject is None and image is None
    model = load.load(
        layers=settings.layers,
        heads=settings.heads,
        head="language_model" if transcribes else "none",
    )
    read_by = partial(
        _read,
        pair=pair,
        settings=settings,
        transcript=text,
        audio=audio,
        image=image,
        attribution=attribution,
        residual=residual,
    )
    from headlight.engine.progress import announced

    with announced(f"reading with {model}"):
        reading, other = read_by(model, subject), None
        beside = _written_beside(model, subject, pair, settings, routes=routes, flow=flow)
    if compares:
        second = compared.load(layers=settings.layers)
        with announced(f"reading with {second}"):
            other = read_by(second, subject if compare_text is None else compare_text)
    from headlight.findings.what_was_read import notes_of_reading
    from headlight.views import reading_terminal

    # Files before the terminal, which may be a pipe that closes early.
    page = {"megabytes": page_size, "survey": survey, "dependency": dependency}
    written = _saved(reading, html, (json, out), **page, compare=other, routes=routes)
    show(reading_terminal(reading.dataset, measure, top, all_heads=all_heads))
    tell_written(*written, *beside)
    for note in notes_of_reading(reading.dataset):
        complain(f"note: {note}")


def _read(
    model: "CapturedModel",
    subject: "str | Chat | None",
    *,
    pair: str | None,
    settings: ReadingSettings,
    transcript: str | None,
    audio: Path | None,
    **options: Any,
) -> "Reading":
    """Return what a model reads: a text, with a picture or alone, or speech."""
    from headlight.reading import read as read_text
    from headlight.reading.speech import read_speech

    chosen: dict[str, Any] = {
        **{name: getattr(settings, name) for name in _CHOSEN},
        "layers": layers_of(model, settings.layers, settings.kind),
        "command": command_line(),
    }
    if audio is not None:
        return read_speech(model, str(audio), transcript, **chosen)
    return read_text(model, subject, pair, **chosen, **options)


def _saved(
    reading: "Reading", html: Path | None, others: tuple[Path | None, ...], **of_page: Any
) -> list[Path]:
    """Write a reading as a page, and as other files."""
    from headlight.engine.progress import announced

    with announced("writing what was read"):
        pages = [] if html is None else [reading.save(html, **of_page)]
        return pages + [reading.save(path) for path in others if path is not None]


def _demand_page(
    compares: bool, html: Path | None, settings: ReadingSettings, compare_name: str | None
) -> None:
    """Refuse what the page would have to show and is not written, or cannot show."""
    if compare_name is not None and not compares:
        raise UsageError("nothing is compared; leave out --compare-name.")
    if compares and html is None:
        raise UsageError("two readings are compared on the page; say where it goes with --html.")
    if html is not None and (settings.heads or (compares and settings.queries)):
        raise UsageError(
            "--html shows all heads of a text, and of two readings all queries; leave --heads and "
            "--queries out, or write what is kept with --json or --out."
        )


def _demand_beside(
    routes: Path | None, flow: Path | None, audio: Path | None, image: Path | None
) -> None:
    """Refuse places that are none, and routes of speech or pictures, or what these come from."""
    demand_place(routes, ".html")
    demand_place(flow, *writers("flow"))
    for option, path in (("routes", routes), ("flow", flow)):
        for beside, file in (("audio", audio), ("image", image)):
            if path is not None and file is not None:
                raise UsageError(f"--{option} is about a text; leave it or --{beside} out.")


def _written_beside(
    model: "CapturedModel",
    text: "str | Chat | None",
    pair: str | None,
    settings: ReadingSettings,
    *,
    routes: Path | None,
    flow: Path | None,
) -> list[Path]:
    """Write the routes of a text, and what its tokens come from, as far as they are asked for."""
    kind = None if settings.kind == "all" else settings.kind
    if text is None:
        return []
    if flow is not None:
        from headlight.reading.flow import flow as maps_of

        maps_of(model, text, pair, kind=kind, layers=layers_of(model, settings.layers, kind)).save(
            flow
        )
    if routes is not None:
        from headlight.reading.routes import routes as follow

        follow(model, text, pair, kind=kind, command=command_line()).save(routes)
    return [path for path in (routes, flow) if path is not None]


def _demand_words(
    text: "str | Chat | None", audio: Path | None, image: Path | None, *, others: bool
) -> None:
    """Refuse a command that says nothing to read, or of others what is read of texts alone.

    So are recordings and pictures that cannot be read.
    """
    if text is None and audio is None and image is None:
        raise UsageError("there is nothing to read; give a text, --chat, --audio, or --image.")
    if image is not None and (others or audio is not None):
        raise UsageError(
            "a picture is read alone or beside one text, without sound, chats, contributions and "
            "comparisons; leave the others out."
        )
    if audio is not None and others:
        raise UsageError(
            "speech is read with one transcript, without contributions, residual, comparisons and "
            "chats; leave the others out."
        )
    _demand_files(audio, image)


def _demand_files(audio: Path | None, image: Path | None) -> None:
    """Refuse a recording or a picture that cannot be read, whatever the model."""
    try:
        if audio is not None:
            from headlight.encode.wav_files import read_sound

            read_sound(audio, RATE)
        if image is not None:
            from headlight.corpora.pictures import decode_picture

            decode_picture(image)
    except CorpusError as problem:
        raise UsageError(problem.marked()) from problem


def _demand_runs(html: Path | None, *runs: Path | None) -> None:
    """Refuse runs that no page shows, or that are not there."""
    from headlight.files import location
    from headlight.result import RESULT

    for run in (each for each in runs if each is not None):
        if html is None:
            raise UsageError("runs are shown on the page alone; say where it goes with --html.")
        if not (location(run, error=UsageError) / RESULT).exists():
            raise UsageError(f"{run} holds no result.nc; give the folder of a run that has ended.")


def _attribution(measure: str, settings: ReadingSettings) -> AttributionSettings | bool:
    """Return the settings of contributions; False if they are not shown."""
    require_choice("measure", measure, reading_measures())
    if measure == ATTRIBUTION:
        return settings.attribution or True
    if settings.attribution is not None:
        raise UsageError(
            "settings of contributions have no effect unless they are shown; choose --measure "
            "attribution."
        )
    return False
