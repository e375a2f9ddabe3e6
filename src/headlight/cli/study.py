"""The commands that run studies, one for each row of the catalogue."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headlight.characters import storable
from headlight.cli.arguments import command_line
from headlight.cli.config_file import ConfigFile
from headlight.cli.notes import notes
from headlight.cli.options import RUN, Device, ModelName, Precision, Revision, TokenizerName, Trust
from headlight.cli.printing import complain, say, say_json, show
from headlight.cli.setting_options import takes_settings
from headlight.errors import UsageError
from headlight.files import standard_input
from headlight.settings import Settings
from headlight.studies.catalogue import Study
from headlight.vocabulary import ATTRIBUTION

if TYPE_CHECKING:
    import xarray

STANDARD_INPUT = "-"

READS: Mapping[str, str] = {
    "text": "File, folder, glob, hf:NAME\\[:CONFIG]\\[:SPLIT]\\[:COLUMN], or - for standard input. "
    "Default: the sample corpus, as pairs.",
    "treebank": "Treebank: file, folder or glob (CoNLL-U, CoNLL-X, columns).",
    "parallel": "Sentence pairs: file, folder, glob, hf:NAME or - (source ||| target, TSV, CSV, "
    "JSON lines, TMX), or the source sentences, with --target.",
    "labelled": "Labelled texts: file, folder, glob or hf:NAME (TSV, CSV, JSON lines, SST, AG "
    "News, IMDB, newsgroups, MRPC, CoLA, MNLI); for a tagger words and tags in columns.",
    "text_or_labelled": "Text, as other studies read it (default: the sample corpus, as pairs); "
    "for a classifier labelled texts, as permutation reads them.",
    "coreference": "Coreference: file, folder or glob (CoNLL-2012, LitBank, CorefUD).",
}


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a command is asked for, besides settings."""

    source: str | None
    out: str
    resume: bool
    overwrite: bool
    workers: str | None
    model: str | None
    revision: str | None
    device: str
    dtype: str
    trust_remote_code: bool
    tokenizer: str | None
    json: bool


def study_command(study: Study) -> Callable[..., None]:
    """The command of a study; its options are the settings of the study."""
    name = study.name.replace("_", "-")
    folder = f"headlight-{name}"
    nothing: Any = None if study.reads in ("text", "text_or_labelled") else ...

    @takes_settings(settings=study.settings)
    def command(
        source: Annotated[str | None, typer.Argument(help=READS[study.reads])] = nothing,
        config: ConfigFile = None,
        model: ModelName = None,
        out: Annotated[
            str,
            typer.Option(
                help="Folder of the run, or its address in a store (s3://bucket/folder).",
                metavar="PATH",
                rich_help_panel=RUN,
            ),
        ] = folder,
        resume: Annotated[
            bool,
            typer.Option("--resume", help="Go on with the run in --out.", rich_help_panel=RUN),
        ] = False,
        overwrite: Annotated[
            bool,
            typer.Option("--overwrite", help="Remove the run in --out first.", rich_help_panel=RUN),
        ] = False,
        workers: Annotated[
            str | None,
            typer.Option(
                help="Processes that share the run: a number, auto, ray or ray://HOST:PORT for "
                "those of a cluster, or join for one of any number that were started elsewhere.",
                metavar="N|auto|ray|join",
                rich_help_panel=RUN,
            ),
        ] = None,
        json: Annotated[
            bool,
            typer.Option(
                "--json", help="Print what was found in short, as JSON.", rich_help_panel=RUN
            ),
        ] = False,
        revision: Revision = None,
        device: Device = "auto",
        dtype: Precision = "float32",
        trust_remote_code: Trust = False,
        tokenizer: TokenizerName = None,
        *,
        settings: Settings,
    ) -> None:
        asked = Request(
            source=source,
            out=out,
            resume=resume,
            overwrite=overwrite,
            workers=workers,
            model=model,
            revision=revision,
            device=device,
            dtype=dtype,
            trust_remote_code=trust_remote_code,
            tokenizer=tokenizer,
            json=json,
        )
        _run(study, asked, settings)

    command.__doc__ = (
        f"{study.title[:1].upper()}{study.title[1:]}.\n\n"
        f"{study.source}. Writes report.html, result.nc, CSV tables and config.yaml into --out, "
        "and prints a short table."
    )
    command.__name__ = study.name
    return command


def _run(study: Study, asked: Request, settings: Settings) -> None:
    check_attribution(settings)
    _check_source(study, asked.source, settings)  # before anything slow is imported
    _check_other_sources(settings)

    from headlight.analysis.folder import REPORT, RunFolder
    from headlight.files import location

    folder = RunFolder(
        path=asked.out, resume=asked.resume, overwrite=asked.overwrite, workers=asked.workers
    )
    folder.check_free()

    from headlight.api import required_head, run_study
    from headlight.capture import load_model

    model = load_model(
        asked.model or study.default_model,
        asked.tokenizer,
        revision=asked.revision,
        device=asked.device,
        dtype=asked.dtype,
        trust_remote_code=asked.trust_remote_code,
        head=required_head(study, settings),
        layers=getattr(settings, "layers", None),
    )
    result = run_study(study, asked.source, settings, model, folder, command=command_line())
    if asked.json:
        say_json(_for_machines(result, asked.out))
        return

    from headlight.views.studies.terminal import study_terminal

    show(study_terminal(result))
    for note in notes(result.attrs):
        complain(note)
    say(f"report: {location(asked.out) / REPORT}")


def check_attribution(settings: Settings) -> None:
    """Refuse to be told how to compute contributions that nobody asks for."""
    measures = getattr(settings, "measures", (ATTRIBUTION,))
    if getattr(settings, "attribution", None) is not None and ATTRIBUTION not in measures:
        raise UsageError(
            "it is said how contributions are computed, and they are not asked for; add "
            "attribution to --measures."
        )


def _check_source(study: Study, source: str | None, settings: Settings) -> None:
    """Complain about a corpus of which not even the beginning can be read."""
    from headlight.corpora import open_coreference, open_parallel, open_treebank

    if source == STANDARD_INPUT:
        standard_input()  # of which nothing is read yet: it can be read only once
    elif study.reads == "parallel":
        wanted = {name: getattr(settings, name, None) for name in ("target", "format", "columns")}
        next(iter(open_parallel(str(source), **wanted)))
    elif study.reads == "labelled" or (study.reads == "text_or_labelled" and source):
        _check_labelled(str(source))
    elif study.reads not in ("text", "text_or_labelled"):
        opened: Any = {"treebank": open_treebank, "coreference": open_coreference}[study.reads]
        next(iter(opened(source)))
    else:
        _check_texts(source, settings)


def _check_labelled(source: str) -> None:
    """What is to be found in the files depends on the model; they must be there."""
    from headlight.corpora.files import files
    from headlight.corpora.hub import PREFIX

    if not source.startswith(PREFIX):
        files(source)


def _check_texts(source: str | None, settings: Settings) -> None:
    from headlight.corpora import OF_TWO_TEXTS, open_corpus

    if getattr(settings, "tags", None) is not None:
        raise UsageError(
            "parts of speech are known of treebank sentences, and a command reads text; leave out "
            "--tags, or give the sentences to headlight.contributions."
        )
    format, column = (getattr(settings, name, None) for name in ("format", "column"))
    if source is None:
        if format is not None or column is not None:
            raise UsageError("the sample corpus has a format of its own; name a corpus.")
    elif format is not None and format in OF_TWO_TEXTS:
        next(iter(OF_TWO_TEXTS[format](source)))
    else:
        next(iter(open_corpus(source, format=format, column=column)))


def _check_other_sources(settings: Settings) -> None:
    """Complain about a treebank to learn from, word vectors or ranks that cannot be read."""
    from headlight.corpora import open_treebank
    from headlight.corpora.state import source_state
    from headlight.links import open_links
    from headlight.studies.norms.settings import RANKS_WITHOUT_FILE

    named = {name: getattr(settings, name, None) for name in ("train", "word_vectors")}
    ranks = getattr(settings, "frequency_ranks", None)
    if gold := getattr(settings, "gold", None):
        next(iter(open_links(gold, format=getattr(settings, "gold_format", None))))
    if named["train"]:
        next(iter(open_treebank(named["train"])))
    for source in (named["word_vectors"], None if ranks in RANKS_WITHOUT_FILE else ranks):
        if source:
            source_state(source)


def _for_machines(result: "xarray.Dataset", out: str) -> dict[str, Any]:
    """What a program wants to know of a result."""
    from headlight.views.studies import summary

    said = ("stage", "model", "revision", "kind", "corpus", "examples", "tokens")
    attributes = {name: result.attrs[name] for name in said if name in result.attrs}
    numbers = {
        name: value if isinstance(value, str | int | float) else value.item()
        for name, value in attributes.items()
    }
    return {**numbers, "folder": storable(out), "summary": summary(result)}
