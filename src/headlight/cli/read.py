"""The command `read`: what it takes beside texts and settings; the rest follows from its row.

It is written by hand since it alone reads recordings and pictures, compares two readings, shows
every head in place of tables, and writes pages of other questions beside its own.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headlight.catalogue.question_settings import WHOLE_VIEW, ReadingSettings
from headlight.catalogue.questions import QUESTIONS
from headlight.catalogue.writers import writers
from headlight.cli.chat_options import (
    NO_CHAT,
    ChatOptions,
    NumbersJson,
    NumbersOut,
    Read,
    SecondText,
)
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
from headlight.cli.setting_options import Options, takes_settings
from headlight.cli.text_arguments import text_argument
from headlight.errors import CorpusError, UsageError
from headlight.settings import require_choice
from headlight.vocabulary import ATTRIBUTION, measures_that_need, reading_measures

if TYPE_CHECKING:
    from headlight.capture import CapturedModel
    from headlight.corpora import Chat
    from headlight.reading import Reading
    from headlight.reading.flow import Flow

RATE = 16_000
"""Samples in a second at which a recording is tried; models say theirs when they are loaded."""


@dataclass(frozen=True, kw_only=True)
class MediaOptions(Options):
    """Options of a recording or a picture; each field is an option."""

    audio: Annotated[
        Path | None,
        typer.Option(help="WAV file; the text is its transcript, by default the model's own."),
    ] = None
    image: Annotated[
        Path | None,
        typer.Option(help="Picture to read, alone or beside a text as its prompt."),
    ] = None

    def check(self) -> None:
        """Refuse a recording or a picture that cannot be read, whatever the model."""
        try:
            if self.audio is not None:
                from headlight.encode.wav_files import read_sound

                read_sound(self.audio, RATE)
            if self.image is not None:
                from headlight.corpora.pictures import decode_picture

                decode_picture(self.image)
        except CorpusError as problem:
            raise UsageError(problem.marked()) from problem


@dataclass(frozen=True, kw_only=True)
class PageOptions(Options):
    """Options of the page of a reading; each field is an option."""

    html: Annotated[
        Path | None, typer.Option(help="Write a page that shows every head of the text.")
    ] = None
    page_size: Annotated[
        float,
        typer.Option(
            min=1,
            help="Maximal size of the page in megabytes; rows of long texts keep their strongest "
            "cells.",
        ),
    ] = 5.0
    survey: Annotated[
        Path | None,
        typer.Option(help="Folder of a survey, whose numbers and findings the page shows as well."),
    ] = None
    dependency: Annotated[
        Path | None,
        typer.Option(
            help="Folder of a dependency run, by which the page finds heads of a relation."
        ),
    ] = None

    def check_runs(self) -> None:
        """Refuse runs that no page shows, or that are not there."""
        from headlight.files import location
        from headlight.result import RESULT

        for run in (self.survey, self.dependency):
            if run is None:
                continue
            if self.html is None:
                raise UsageError("runs are shown on the page alone; say where it goes with --html.")
            if not (location(run, error=UsageError) / RESULT).exists():
                raise UsageError(
                    f"{run} holds no {RESULT}; give the folder of a run that has ended."
                )

    def write(
        self, reading: "Reading", second: "Reading | None", routes: Path | None
    ) -> list[Path]:
        """Write the page, if it is asked for, with a second reading and a link to the routes."""
        if self.html is None:
            return []
        page = reading.save(
            self.html,
            megabytes=self.page_size,
            survey=self.survey,
            dependency=self.dependency,
            compare=second,
            routes=routes,
        )
        return [page]


@dataclass(frozen=True, kw_only=True)
class CompareOptions(Options):
    """Options of a second reading, which the page compares with the first."""

    compare_text: Annotated[
        str | None,
        typer.Option(help="Second text: the page shows both, and how each head differs."),
    ] = None
    compare_model: CompareModel = None
    compare_revision: CompareRevision = None
    compare_name: CompareName = None

    @property
    def compares(self) -> bool:
        """Whether there is a second reading."""
        seconds = (self.compare_text, self.compare_model, self.compare_revision)
        return any(second is not None for second in seconds)

    def text_or(self, first: "str | Chat | None") -> "str | Chat | None":
        """Return the text of the second reading: the first where another model reads it."""
        if self.compare_text is None:
            return first
        return text_argument(self.compare_text, "read", "text to compare with")


@dataclass(frozen=True, kw_only=True)
class BesideOptions(Options):
    """Options of pages of other questions to the same text."""

    routes: Annotated[
        Path | None,
        typer.Option(help="Write a page of the routes of the text, which the page links to."),
    ] = None
    flow: Annotated[
        Path | None,
        typer.Option(
            help="Write the attribution of tokens to input tokens by rollout, GlobEnc and ALTI: as "
            ".html, .json or .nc."
        ),
    ] = None

    def check(self, media: MediaOptions, text: "str | None") -> None:
        """Refuse places that are none, and pages about what they cannot be about."""
        demand_place(self.routes, ".html")
        demand_place(self.flow, *writers("flow"))
        for option, path in (("routes", self.routes), ("flow", self.flow)):
            for medium, file in (("audio", media.audio), ("image", media.image)):
                # The flow of a picture is that of its encoder, which reads it alone.
                beside = option == "routes" or medium == "audio" or text is not None
                if path is not None and file is not None and beside:
                    raise UsageError(f"--{option} is about a text; leave it or --{medium} out.")

    def write(
        self,
        model: "CapturedModel",
        text: "str | Chat | None",
        pair: str | None,
        image: Path | None,
        settings: ReadingSettings,
    ) -> tuple[list[Path], "Flow | None"]:
        """Write the pages that are asked for, of the first kind where a reading has all.

        Returns:
            The files, and the flow of tokens, which the terminal shows.
        """
        kind = None if settings.kind == "all" else settings.kind
        layers = layers_of(model, settings.layers, kind)
        command = command_line()
        written, flow = [], None
        if self.routes is not None:
            routes = QUESTIONS["routes"].answer(model, text, pair, kind=kind, command=command)
            written.append(routes.save(self.routes))
        if self.flow is not None:
            flow = QUESTIONS["flow"].answer(
                model, text, pair, image=image, kind=kind, layers=layers, command=command
            )
            written.append(flow.save(self.flow))
        return written, flow


NO_MEDIA, NO_PAGE, ALONE, NOTHING_BESIDE = (
    MediaOptions(),
    PageOptions(),
    CompareOptions(),
    BesideOptions(),
)
"""Options that are not given."""


@takes_settings(settings=ReadingSettings, without=("residual",))
def read(
    text: Read = None,
    pair: SecondText = None,
    chat: ChatOptions = NO_CHAT,
    load: NamedLoadOptions = NAMED,
    media: MediaOptions = NO_MEDIA,
    measure: Annotated[
        str, typer.Option(help=f"Measure in the terminal: {', '.join(reading_measures())}.")
    ] = "norm",
    top: Annotated[int, typer.Option(min=1, help="Links shown per head.")] = 3,
    all_heads: Annotated[
        bool,
        typer.Option("--all-heads", help="Show all heads, not the 8 that stand out."),
    ] = False,
    page: PageOptions = NO_PAGE,
    compare: CompareOptions = ALONE,
    beside: BesideOptions = NOTHING_BESIDE,
    json: NumbersJson = None,
    out: NumbersOut = None,
    *,
    settings: ReadingSettings,
) -> None:
    """Read a text, a recording or a picture, or two texts to be compared."""
    demand_places(html=page.html, json=json)
    demand_place(out, *writers("read"))
    page.check_runs()
    beside.check(media, text)
    _require_page(page, compare, settings)
    settings = _with_measure(measure, settings)
    subject = chat.subject(text, "read")
    settings.require_subject(
        subject, pair, audio=media.audio, image=media.image, compares=compare.compares
    )
    media.check()
    pair = None if pair is None else text_argument(pair, "read", "second text")
    second_subject = compare.text_or(subject)
    second_load = load.compared_as(
        compare.compare_model, compare.compare_revision, compare.compare_name
    )
    second_load.check(layers=settings.layers)
    transcribes = subject is None and media.image is None
    model = load.load(
        layers=settings.layers,
        heads=settings.heads,
        head="language_model" if transcribes else QUESTIONS["read"].head,
    )
    from headlight.engine.progress import announced
    from headlight.findings.what_was_read import notes_of_reading
    from headlight.views import reading_terminal

    with announced(f"reading with {model}"):
        reading = _read(model, subject, pair, media, settings)
        pages_beside, flow = beside.write(model, subject, pair, media.image, settings)
    second = None
    if compare.compares:
        second_model = second_load.load(layers=settings.layers)
        with announced(f"reading with {second_model}"):
            second = _read(second_model, second_subject, pair, media, settings)
    # Files before the terminal, which may be a pipe that closes early.
    with announced("writing what was read"):
        written = [
            *page.write(reading, second, beside.routes),
            *(reading.save(path) for path in (json, out) if path is not None),
        ]
    show(reading_terminal(reading.dataset, measure, top, all_heads=all_heads))
    _show_flow(flow)
    tell_written(*written, *pages_beside)
    for note in notes_of_reading(reading.dataset):
        complain(f"note: {note}")


def _read(
    model: "CapturedModel",
    text: "str | Chat | None",
    pair: str | None,
    media: MediaOptions,
    settings: ReadingSettings,
) -> "Reading":
    layers = layers_of(model, settings.layers, settings.kind)
    reading: Reading = QUESTIONS["read"].answer(
        model,
        text,
        pair,
        audio=media.audio,
        image=media.image,
        settings=settings.replace(layers=layers),
        command=command_line(),
    )
    return reading


def _show_flow(flow: "Flow | None") -> None:
    from headlight.views.result_terminal import answer_terminal

    if flow is not None:
        typer.echo()
        show(answer_terminal(QUESTIONS["flow"].view, flow.dataset, None))


def _require_page(page: PageOptions, compare: CompareOptions, settings: ReadingSettings) -> None:
    """Refuse what the page would have to show and is not written, or cannot show."""
    if compare.compare_name is not None and not compare.compares:
        raise UsageError("nothing is compared; leave out --compare-name.")
    if compare.compares and page.html is None:
        raise UsageError("two readings are compared on the page; say where it goes with --html.")
    if page.html is not None and (settings.heads or (compare.compares and settings.queries)):
        raise UsageError(WHOLE_VIEW)


def _with_measure(measure: str, settings: ReadingSettings) -> ReadingSettings:
    """Return the settings of a reading that has the measure shown in the terminal."""
    require_choice("measure", measure, reading_measures())
    if settings.attribution and measure != ATTRIBUTION:
        raise UsageError(
            "settings of contributions have no effect unless they are shown; choose --measure "
            "attribution."
        )
    return settings.replace(
        attribution=settings.attribution or measure == ATTRIBUTION,
        residual=bool(measures_that_need("residual", [measure])),
    )
