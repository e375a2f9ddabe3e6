"""The studies as users meet them: functions of one shape, and every result opened."""

import inspect
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import xarray

import headlight.accessor  # noqa: F401 - results can make their tables, pictures and pages
from headlight.analysis.folder import JOIN, RESULT, RunFolder
from headlight.capture import CapturedModel, load_model
from headlight.capture.loading import EMBEDDED_MODELS, EMBEDDED_NAME
from headlight.capture.tensor_parallel import processes_of
from headlight.errors import UnknownNameError, UsageError
from headlight.files import Location, location
from headlight.passage_pages import check_can_be_read_again, write_pages
from headlight.reports import write_configuration, write_report
from headlight.result import load as load_result
from headlight.settings import Settings
from headlight.studies.catalogue import Study, find_study
from headlight.studies.heads.settings import SurveySettings
from headlight.vocabulary import GRADIENT
from headlight.word_alignment.settings import INPUT_MEASURES
from headlight.workers import (
    at_home,
    check_workers,
    local_workers,
    of_process,
    on_cluster,
    ray_workers,
)


def run_study(
    study: Study,
    source: Any,
    settings: Settings,
    model: CapturedModel,
    folder: RunFolder,
    **options: Any,
) -> xarray.Dataset:
    """Run a study, and write its report, tables and configuration beside its result.

    Args:
        study: which.
        source: what it reads.
        settings: of its own class.
        model: the model.
        folder: where everything is kept, if anywhere.
        options: ``command``, ``progress`` and others that its function ``run`` takes.

    Raises:
        HeadlightError: see the study.
    """
    objects = [name for name in options if name not in ("command", "progress")]
    check_workers(study, source, folder, objects)
    repeats = configuration(study, source, settings, model)
    processes = processes_of(model.transformer)
    if processes is not None and processes.rank():
        options["progress"] = False
    with of_process(study, folder, processes) as own, on_cluster(own), own.opened() as mine:
        surveys = settings if isinstance(settings, SurveySettings) else None
        if surveys is not None and surveys.pages:
            check_can_be_read_again(source)
        if mine.shared and mine.place is not None:  # for those who join or ask how far it is
            write_configuration(repeats, mine.place)
        if mine.on_ray:
            take = partial(
                take_part,
                repeats,
                str(mine.place),
                str(Path.cwd()),
                trust_remote_code=model.trust_remote_code,
            )
            ray_workers(take, mine, show=options.get("progress", True))
        with local_workers(study, repeats, mine, model):
            result = study.run(source, model, settings, folder=mine, **options)
        if mine.place is not None:
            pages = write_pages(result, source, surveys, model, mine.place) if surveys else {}
            write_report(result, mine.place, repeats, pages)
    return result


def take_part(
    configuration: Mapping[str, Any], folder: str, home: str, *, trust_remote_code: bool = False
) -> None:
    """Be one of the workers of a run, in a process that knows nothing else of it.

    Args:
        configuration: what repeats the run, see `configuration`.
        folder: of the run.
        home: the working directory of the first process, from which paths are meant.
        trust_remote_code: whether the user lets code run that comes with the model; no config file
            says so.

    Raises:
        HeadlightError: see `run_study`.
    """
    given = dict(configuration)
    study, source = find_study(given.pop("study")), given.pop("source", None)
    model, tokenizer = given.pop("model", study.default_model), given.pop("tokenizer", None)
    loading = {name: given.pop(name) for name in ("revision", "dtype") if name in given}
    settings = study.settings.from_mapping(given)
    with at_home(home):
        loaded = load_model(
            model,
            tokenizer,
            **loading,
            trust_remote_code=trust_remote_code,
            head=required_head(study, settings),
            layers=getattr(settings, "layers", None),
        )
        mine = RunFolder(path=folder, workers=JOIN)
        run_study(study, source, settings, loaded, mine, progress=False)


def configuration(
    study: Study, source: Any, settings: Settings, model: CapturedModel
) -> dict[str, Any]:
    """Everything that repeats a run, as a config file of the command holds it."""
    found: dict[str, Any] = {"study": study.name}
    if isinstance(source, str | Path):
        found["source"] = str(source)
    if model.name != EMBEDDED_NAME:
        found["model"] = model.name
    if (tokenizer := _name_of_another(model)) is not None:
        found["tokenizer"] = tokenizer
    if not model.revision.startswith("sha256:"):  # which is of the weights in a folder
        found["revision"] = model.revision
    found["dtype"] = str(model.transformer.dtype).removeprefix("torch.")
    return found | settings.signature()


def _name_of_another(model: CapturedModel) -> str | None:
    """Where the tokenizer is from, if it did not come with the model."""
    named = str(getattr(model.tokenizer, "name_or_path", ""))
    own = {"", model.name, str(EMBEDDED_MODELS.get(model.name, ""))}
    return None if named in own else named


def required_head(study: Study, settings: Settings) -> str:
    """The head that a model needs for a study: of a classifier, or to compute a loss."""
    if study.reads == "text_or_labelled":
        return "any"
    if study.reads == "labelled":
        return "classification"
    measures = getattr(settings, "measures", ()) or ()
    wanted = study.name == "importance" or {GRADIENT, *INPUT_MEASURES} & {*measures}
    return "language_model" if wanted else "none"


def open(path: str | Location) -> xarray.Dataset:
    """Open the result of any study, or a reading.

    Args:
        path: a file, ``result.nc``, or the folder of a run; also in a store.

    Returns:
        the result, with ``.headlight.table()``, ``.headlight.plot()`` and ``.headlight.report()``.

    Raises:
        ResultError: there is none, or it cannot be read.
    """
    place = location(path)
    return load_result(place / RESULT if place.is_dir() else place)


def survey(
    source: Any = None,
    *,
    model: Any = None,
    out: str | Location | None = None,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | str | None = None,
    progress: bool = True,
    **settings: Any,
) -> xarray.Dataset:
    """What weights, norms and effective attention say about every head.

    Args:
        source: a path, a glob, ``hf:NAME``, ``-``, texts, an open corpus, or examples that are made
            already; by default the sample corpus.
        model: its name or folder, a loaded `Model`, or a model of transformers in memory (then
            with ``tokenizer=``); by default the embedded one.
        out: a folder, which makes the run resumable and keeps result, report and tables.
        resume: go on with the run in `out`.
        overwrite: remove the run in `out` first.
        workers: processes that share the run: a number, ``"auto"``, ``"ray"`` or
            ``"ray://HOST:PORT"`` for those of a cluster, or ``"join"`` for one of any number that
            were started elsewhere.
        progress: show a bar on standard error.
        settings: see `headlight.studies.heads.settings.SurveySettings`.

    Raises:
        HeadlightError: something is wrong with the request, the model, or what is read.
    """
    folder = RunFolder(path=out, resume=resume, overwrite=overwrite, workers=workers)
    return _study("survey", source, model, folder, progress, settings)


def norms(
    source: Any = None,
    *,
    model: Any = None,
    out: str | Location | None = None,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | str | None = None,
    progress: bool = True,
    **settings: Any,
) -> xarray.Dataset:
    """How long transformed vectors are, and how that goes with weights and frequency.

    Args:
        source: a path, a glob, ``hf:NAME``, ``-``, texts, an open corpus, or examples that are made
            already; by default the sample corpus.
        model: its name or folder, a loaded `Model`, or a model of transformers in memory (then
            with ``tokenizer=``); by default the embedded one.
        out: a folder, which makes the run resumable and keeps result, report and tables.
        resume: go on with the run in `out`.
        overwrite: remove the run in `out` first.
        workers: processes that share the run: a number, ``"auto"``, ``"ray"`` or
            ``"ray://HOST:PORT"`` for those of a cluster, or ``"join"`` for one of any number that
            were started elsewhere.
        progress: show a bar on standard error.
        settings: see `headlight.studies.norms.settings.NormSettings`.

    Raises:
        HeadlightError: something is wrong with the request, the model, or what is read.
    """
    folder = RunFolder(path=out, resume=resume, overwrite=overwrite, workers=workers)
    return _study("norms", source, model, folder, progress, settings)


def contributions(
    source: Any = None,
    *,
    model: Any = None,
    out: str | Location | None = None,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | str | None = None,
    progress: bool = True,
    **settings: Any,
) -> xarray.Dataset:
    """How much of a hidden token is its own input token, and how much comes from others.

    Args:
        source: a path, a glob, ``hf:NAME``, ``-``, texts, an open corpus, or examples that are made
            already; by default the sample corpus.
        model: its name or folder, a loaded `Model`, or a model of transformers in memory (then
            with ``tokenizer=``); by default the embedded one.
        out: a folder, which makes the run resumable and keeps result, report and tables.
        resume: go on with the run in `out`.
        overwrite: remove the run in `out` first.
        workers: processes that share the run: a number, ``"auto"``, ``"ray"`` or
            ``"ray://HOST:PORT"`` for those of a cluster, or ``"join"`` for one of any number that
            were started elsewhere.
        progress: show a bar on standard error.
        settings: see `headlight.studies.contributions.settings.ContributionSettings`.

    Raises:
        HeadlightError: something is wrong with the request, the model, or what is read.
    """
    folder = RunFolder(path=out, resume=resume, overwrite=overwrite, workers=workers)
    return _study("contributions", source, model, folder, progress, settings)


def distances(
    source: Any = None,
    *,
    model: Any = None,
    out: str | Location | None = None,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | str | None = None,
    progress: bool = True,
    **settings: Any,
) -> xarray.Dataset:
    """How differently heads attend.

    Args:
        source: a path, a glob, ``hf:NAME``, ``-``, texts, an open corpus, or examples that are made
            already; by default the sample corpus.
        model: its name or folder, a loaded `Model`, or a model of transformers in memory (then
            with ``tokenizer=``); by default the embedded one.
        out: a folder, which makes the run resumable and keeps result, report and tables.
        resume: go on with the run in `out`.
        overwrite: remove the run in `out` first.
        workers: processes that share the run: a number, ``"auto"``, ``"ray"`` or
            ``"ray://HOST:PORT"`` for those of a cluster, or ``"join"`` for one of any number that
            were started elsewhere.
        progress: show a bar on standard error.
        settings: see `headlight.studies.distances.settings.DistanceSettings`.

    Raises:
        HeadlightError: something is wrong with the request, the model, or what is read.
    """
    folder = RunFolder(path=out, resume=resume, overwrite=overwrite, workers=workers)
    return _study("distances", source, model, folder, progress, settings)


def importance(
    source: Any = None,
    *,
    model: Any = None,
    out: str | Location | None = None,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | str | None = None,
    progress: bool = True,
    **settings: Any,
) -> xarray.Dataset:
    """How much the loss of a language model depends on attention, by category of the token.

    Args:
        source: a path, a glob, ``hf:NAME``, ``-``, texts, an open corpus, or examples that are made
            already; by default the sample corpus.
        model: its name or folder, a loaded `Model`, or a model of transformers in memory (then
            with ``tokenizer=``); by default the embedded one.
        out: a folder, which makes the run resumable and keeps result, report and tables.
        resume: go on with the run in `out`.
        overwrite: remove the run in `out` first.
        workers: processes that share the run: a number, ``"auto"``, ``"ray"`` or
            ``"ray://HOST:PORT"`` for those of a cluster, or ``"join"`` for one of any number that
            were started elsewhere.
        progress: show a bar on standard error.
        settings: see `headlight.studies.importance.settings.ImportanceSettings`.

    Raises:
        HeadlightError: something is wrong with the request, the model, or what is read.
    """
    folder = RunFolder(path=out, resume=resume, overwrite=overwrite, workers=workers)
    return _study("importance", source, model, folder, progress, settings)


def ablation(
    source: Any = None,
    *,
    model: Any = None,
    out: str | Location | None = None,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | str | None = None,
    progress: bool = True,
    **settings: Any,
) -> xarray.Dataset:
    """What a model says without a head, or without all heads of a layer.

    Args:
        source: as of `survey`, for a language model; by default the sample corpus.  For a
            classifier labelled texts, or sentences with tagged words, as of `permutation`.
        model: its name or folder, a `Model` that was loaded with its head (``head="any"``), or a
            model of transformers in memory (then with ``tokenizer=``); by default the embedded one.
        out: a folder, which makes the run resumable and keeps result, report and tables.
        resume: go on with the run in `out`.
        overwrite: remove the run in `out` first.
        workers: processes that share the run: a number, ``"auto"``, ``"ray"`` or
            ``"ray://HOST:PORT"`` for those of a cluster, or ``"join"`` for one of any number that
            were started elsewhere.
        progress: show a bar on standard error.
        settings: see `headlight.studies.ablation.settings.AblationSettings`.

    Raises:
        HeadlightError: something is wrong with the request, the model, or what is read.
    """
    folder = RunFolder(path=out, resume=resume, overwrite=overwrite, workers=workers)
    return _study("ablation", source, model, folder, progress, settings)


def identifiability(
    source: Any = None,
    *,
    model: Any = None,
    out: str | Location | None = None,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | str | None = None,
    progress: bool = True,
    **settings: Any,
) -> xarray.Dataset:
    """How much of attention can be told from the output, and how the rest looks.

    Args:
        source: a path, a glob, ``hf:NAME``, ``-``, texts, an open corpus, or examples that are made
            already; by default the sample corpus.
        model: its name or folder, a loaded `Model`, or a model of transformers in memory (then
            with ``tokenizer=``); by default the embedded one.
        out: a folder, which makes the run resumable and keeps result, report and tables.
        resume: go on with the run in `out`.
        overwrite: remove the run in `out` first.
        workers: processes that share the run: a number, ``"auto"``, ``"ray"`` or
            ``"ray://HOST:PORT"`` for those of a cluster, or ``"join"`` for one of any number that
            were started elsewhere.
        progress: show a bar on standard error.
        settings: see `headlight.studies.identifiability.settings.IdentifiabilitySettings`.

    Raises:
        HeadlightError: something is wrong with the request, the model, or what is read.
    """
    folder = RunFolder(path=out, resume=resume, overwrite=overwrite, workers=workers)
    return _study("identifiability", source, model, folder, progress, settings)


def token_identity(
    source: Any = None,
    *,
    model: Any = None,
    out: str | Location | None = None,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | str | None = None,
    progress: bool = True,
    **settings: Any,
) -> xarray.Dataset:
    """Whether the input token can still be told from a hidden token.

    Args:
        source: a path, a glob, ``hf:NAME``, ``-``, texts, an open corpus, or examples that are made
            already; by default the sample corpus.
        model: its name or folder, a loaded `Model`, or a model of transformers in memory (then
            with ``tokenizer=``); by default the embedded one.
        out: a folder, which makes the run resumable and keeps result, report and tables.
        resume: go on with the run in `out`.
        overwrite: remove the run in `out` first.
        workers: processes that share the run: a number, ``"auto"``, ``"ray"`` or
            ``"ray://HOST:PORT"`` for those of a cluster, or ``"join"`` for one of any number that
            were started elsewhere.
        progress: show a bar on standard error.
        settings: see `headlight.studies.token_identity.settings.TokenIdentitySettings`.

    Raises:
        HeadlightError: something is wrong with the request, the model, or what is read.
    """
    folder = RunFolder(path=out, resume=resume, overwrite=overwrite, workers=workers)
    return _study("token_identity", source, model, folder, progress, settings)


def dependency(
    source: Any,
    *,
    model: Any = None,
    out: str | Location | None = None,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | str | None = None,
    progress: bool = True,
    **settings: Any,
) -> xarray.Dataset:
    """How well heads find the syntactic head of a word.

    Args:
        source: a treebank (a path, a glob, an open treebank).
        model: its name or folder, a loaded `Model`, or a model of transformers in memory (then
            with ``tokenizer=``); by default the embedded one.
        out: a folder, which makes the run resumable and keeps result, report and tables.
        resume: go on with the run in `out`.
        overwrite: remove the run in `out` first.
        workers: processes that share the run: a number, ``"auto"``, ``"ray"`` or
            ``"ray://HOST:PORT"`` for those of a cluster, or ``"join"`` for one of any number that
            were started elsewhere.
        progress: show a bar on standard error.
        settings: see `headlight.studies.dependency.settings.DependencySettings`.

    Raises:
        HeadlightError: something is wrong with the request, the model, or what is read.
    """
    folder = RunFolder(path=out, resume=resume, overwrite=overwrite, workers=workers)
    return _study("dependency", source, model, folder, progress, settings)


def coreference(
    source: Any,
    *,
    model: Any = None,
    out: str | Location | None = None,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | str | None = None,
    progress: bool = True,
    **settings: Any,
) -> xarray.Dataset:
    """How well heads find the antecedent of a mention.

    Args:
        source: a corpus with coreference (a path, a glob, an open corpus).
        model: its name or folder, a loaded `Model`, or a model of transformers in memory (then
            with ``tokenizer=``); by default the embedded one.
        out: a folder, which makes the run resumable and keeps result, report and tables.
        resume: go on with the run in `out`.
        overwrite: remove the run in `out` first.
        workers: processes that share the run: a number, ``"auto"``, ``"ray"`` or
            ``"ray://HOST:PORT"`` for those of a cluster, or ``"join"`` for one of any number that
            were started elsewhere.
        progress: show a bar on standard error.
        settings: see `headlight.studies.coreference.settings.CoreferenceSettings`.

    Raises:
        HeadlightError: something is wrong with the request, the model, or what is read.
    """
    folder = RunFolder(path=out, resume=resume, overwrite=overwrite, workers=workers)
    return _study("coreference", source, model, folder, progress, settings)


def parser_probes(
    source: Any,
    *,
    model: Any = None,
    out: str | Location | None = None,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | str | None = None,
    progress: bool = True,
    **settings: Any,
) -> xarray.Dataset:
    """How much of a parse the attention of all heads together knows.

    Args:
        source: a treebank (a path, a glob, an open treebank).
        model: its name or folder, a loaded `Model`, or a model of transformers in memory (then
            with ``tokenizer=``); by default the embedded one.
        out: a folder, which makes the run resumable and keeps result, report and tables.
        resume: go on with the run in `out`.
        overwrite: remove the run in `out` first.
        workers: processes that share the run: a number, ``"auto"``, ``"ray"`` or
            ``"ray://HOST:PORT"`` for those of a cluster, or ``"join"`` for one of any number that
            were started elsewhere.
        progress: show a bar on standard error.
        settings: see `headlight.studies.parser_probes.settings.ParserProbeSettings`.

    Raises:
        HeadlightError: something is wrong with the request, the model, or what is read.
    """
    folder = RunFolder(path=out, resume=resume, overwrite=overwrite, workers=workers)
    return _study("parser_probes", source, model, folder, progress, settings)


def alignment(
    source: Any,
    *,
    model: Any = None,
    out: str | Location | None = None,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | str | None = None,
    progress: bool = True,
    **settings: Any,
) -> xarray.Dataset:
    """How well cross-attention, gradients and predictions link the words of translations.

    Args:
        source: sentence pairs (a path, a glob, ``hf:NAME``, an open corpus, tuples of two texts);
            the links to compare with are the setting ``gold``.
        model: its name or folder, a loaded `Model` (for gradients and differences with its
            language-model head), or a model of transformers in memory (then with ``tokenizer=``);
            by default the embedded translator, from German to English.
        out: a folder, which makes the run resumable and keeps result, report and tables.
        resume: go on with the run in `out`.
        overwrite: remove the run in `out` first.
        workers: processes that share the run: a number, ``"auto"``, ``"ray"`` or
            ``"ray://HOST:PORT"`` for those of a cluster, or ``"join"`` for one of any number that
            were started elsewhere.
        progress: show a bar on standard error.
        settings: see `headlight.studies.alignment.settings.AlignmentSettings`.

    Raises:
        HeadlightError: something is wrong with the request, the model, or what is read.
    """
    folder = RunFolder(path=out, resume=resume, overwrite=overwrite, workers=workers)
    return _study("alignment", source, model, folder, progress, settings)


def permutation(
    source: Any,
    *,
    model: Any = None,
    out: str | Location | None = None,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | str | None = None,
    progress: bool = True,
    **settings: Any,
) -> xarray.Dataset:
    """What a classifier's answers lose when its attention is permuted, uniform, or on one token.

    Args:
        source: labelled texts, or for a tagger sentences with tags (a path, a glob, ``hf:NAME``, an
            open corpus, tuples of a text and its label, or of words and tags).
        model: a classifier of texts or of tokens: its name or folder, a `Model` that was loaded
            with ``head="classification"``, or a model of transformers in memory (then with
            ``tokenizer=``).  The embedded model is none.
        out: a folder, which makes the run resumable and keeps result, report and tables.
        resume: go on with the run in `out`.
        overwrite: remove the run in `out` first.
        workers: processes that share the run: a number, ``"auto"``, ``"ray"`` or
            ``"ray://HOST:PORT"`` for those of a cluster, or ``"join"`` for one of any number that
            were started elsewhere.
        progress: show a bar on standard error.
        settings: see `headlight.studies.permutation.settings.PermutationSettings`.

    Raises:
        HeadlightError: something is wrong with the request, the model, or what is read.
    """
    folder = RunFolder(path=out, resume=resume, overwrite=overwrite, workers=workers)
    return _study("permutation", source, model, folder, progress, settings)


def faithfulness(
    source: Any,
    *,
    model: Any = None,
    out: str | Location | None = None,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | str | None = None,
    progress: bool = True,
    **settings: Any,
) -> xarray.Dataset:
    """What a classifier's answers lose with the words that each measure calls important.

    Args:
        source: labelled texts (a path, a glob, ``hf:NAME``, an open corpus, tuples of a text and
            its label).
        model: a classifier of texts: its name or folder, a `Model` that was loaded with
            ``head="classification"``, or a model of transformers in memory (then with
            ``tokenizer=``).  The embedded model is none.
        out: a folder, which makes the run resumable and keeps result, report and tables.
        resume: go on with the run in `out`.
        overwrite: remove the run in `out` first.
        workers: processes that share the run: a number, ``"auto"``, ``"ray"`` or
            ``"ray://HOST:PORT"`` for those of a cluster, or ``"join"`` for one of any number that
            were started elsewhere.
        progress: show a bar on standard error.
        settings: see `headlight.studies.faithfulness.settings.FaithfulnessSettings`.

    Raises:
        HeadlightError: something is wrong with the request, the model, or what is read.
    """
    folder = RunFolder(path=out, resume=resume, overwrite=overwrite, workers=workers)
    return _study("faithfulness", source, model, folder, progress, settings)


def agreement(
    source: Any,
    *,
    model: Any = None,
    out: str | Location | None = None,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | str | None = None,
    progress: bool = True,
    **settings: Any,
) -> xarray.Dataset:
    """How far measures put the words of a text in the same order.

    Args:
        source: labelled texts (a path, a glob, ``hf:NAME``, an open corpus, tuples of a text and
            its label).
        model: a classifier of texts: its name or folder, a `Model` that was loaded with
            ``head="classification"``, or a model of transformers in memory (then with
            ``tokenizer=``).  The embedded model is none.
        out: a folder, which makes the run resumable and keeps result, report and tables.
        resume: go on with the run in `out`.
        overwrite: remove the run in `out` first.
        workers: processes that share the run: a number, ``"auto"``, ``"ray"`` or
            ``"ray://HOST:PORT"`` for those of a cluster, or ``"join"`` for one of any number that
            were started elsewhere.
        progress: show a bar on standard error.
        settings: see `headlight.studies.agreement.settings.AgreementSettings`.

    Raises:
        HeadlightError: something is wrong with the request, the model, or what is read.
    """
    folder = RunFolder(path=out, resume=resume, overwrite=overwrite, workers=workers)
    return _study("agreement", source, model, folder, progress, settings)


def adversary(
    source: Any,
    *,
    model: Any = None,
    out: str | Location | None = None,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | str | None = None,
    progress: bool = True,
    **settings: Any,
) -> xarray.Dataset:
    """Train models that answer as a classifier does, and attend otherwise.

    Args:
        source: labelled texts, or for a tagger sentences with tags (a path, a glob, ``hf:NAME``, an
            open corpus, tuples of a text and its label, or of words and tags).
        model: a classifier of texts or of tokens: its name or folder, a `Model` that was loaded
            with ``head="classification"``, or a model of transformers in memory (then with
            ``tokenizer=``).  The embedded model is none.
        out: a folder, which makes the run resumable and keeps result, report and tables.
        resume: go on with the run in `out`.
        overwrite: remove the run in `out` first.
        workers: processes that share the run: a number, ``"auto"``, ``"ray"`` or
            ``"ray://HOST:PORT"`` for those of a cluster, or ``"join"`` for one of any number that
            were started elsewhere.
        progress: show a bar on standard error.
        settings: see `headlight.studies.adversary.settings.AdversarySettings`; ``start`` is needed.

    Raises:
        HeadlightError: something is wrong with the request, the model, or what is read.
    """
    folder = RunFolder(path=out, resume=resume, overwrite=overwrite, workers=workers)
    return _study("adversary", source, model, folder, progress, settings)


def instance_adversary(
    source: Any,
    *,
    model: Any = None,
    out: str | Location | None = None,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | str | None = None,
    progress: bool = True,
    **settings: Any,
) -> xarray.Dataset:
    """How different attention can be, text by text, while an answer stays nearly what it is.

    Args:
        source: labelled texts, or sentences with tagged words (a path, a glob, ``hf:NAME``, an open
            corpus, tuples of a text and its label or of words and tags).
        model: a classifier: its name or folder, a `Model` that was loaded with
            ``head="classification"``, or a model of transformers in memory (then with
            ``tokenizer=``).  The embedded model is none.
        out: a folder, which makes the run resumable and keeps result, report and tables.
        resume: go on with the run in `out`.
        overwrite: remove the run in `out` first.
        workers: processes that share the run: a number, ``"auto"``, ``"ray"`` or
            ``"ray://HOST:PORT"`` for those of a cluster, or ``"join"`` for one of any number that
            were started elsewhere.
        progress: show a bar on standard error.
        settings: see
            `headlight.studies.instance_adversary.settings.InstanceAdversarySettings`.

    Raises:
        HeadlightError: something is wrong with the request, the model, or what is read.
    """
    folder = RunFolder(path=out, resume=resume, overwrite=overwrite, workers=workers)
    return _study("instance_adversary", source, model, folder, progress, settings)


def guided(
    source: Any,
    *,
    model: Any = None,
    out: str | Location | None = None,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | str | None = None,
    progress: bool = True,
    **settings: Any,
) -> xarray.Dataset:
    """Give the attention of a classifier to models that look at every token alone.

    Args:
        source: labelled texts (a path, a glob, ``hf:NAME``, an open corpus, tuples of a text and
            its label).
        model: a classifier of texts: its name or folder, a `Model` that was loaded
            with ``head="classification"``, or a model of transformers in memory (then with
            ``tokenizer=``).  The embedded model is none.
        out: a folder, which makes the run resumable and keeps result, report and tables.
        resume: go on with the run in `out`.
        overwrite: remove the run in `out` first.
        workers: processes that share the run: a number, ``"auto"``, ``"ray"`` or
            ``"ray://HOST:PORT"`` for those of a cluster, or ``"join"`` for one of any number that
            were started elsewhere.
        progress: show a bar on standard error.
        settings: see `headlight.studies.guided.settings.GuidedSettings`.

    Raises:
        HeadlightError: something is wrong with the request, the model, or what is read.
    """
    folder = RunFolder(path=out, resume=resume, overwrite=overwrite, workers=workers)
    return _study("guided", source, model, folder, progress, settings)


_GIVEN_TO_ALL = ("model", "tokenizer", "out", "resume", "overwrite", "workers", "progress")


def _study(
    name: str,
    source: Any,
    model: Any,
    folder: RunFolder,
    progress: bool,
    given: dict[str, Any],
) -> xarray.Dataset:
    """What the functions of all studies do."""
    study = find_study(name)
    tokenizer = given.pop("tokenizer", None)
    objects = _objects(study, given)
    settings = study.settings.from_mapping({key: _plain(value) for key, value in given.items()})
    folder.check_free()
    if not isinstance(model, CapturedModel):
        model = load_model(
            study.default_model if model is None else model,
            tokenizer,
            head=required_head(study, settings),
            layers=getattr(settings, "layers", None),
        )
    elif tokenizer is not None:
        raise UsageError("the model has a tokenizer already; leave out tokenizer.")
    return run_study(study, source, settings, model, folder, progress=progress, **objects)


def _objects(study: Study, given: dict[str, Any]) -> dict[str, Any]:
    """Take out what is no setting but an object of Python, such as an objective.

    Raises:
        UnknownNameError: the study knows neither a setting nor an object of some name.
    """
    known = inspect.signature(study.run).parameters.values()
    taken = {each.name for each in known if each.kind is inspect.Parameter.KEYWORD_ONLY}
    taken -= {"folder", "command", "progress"}
    settings = study.settings.hints()
    for name in given:
        if name not in settings and name not in taken:
            known_names = {*settings, *taken, *_GIVEN_TO_ALL}
            raise UnknownNameError(f"setting of {study.name}", name, known_names)
    objects = {
        name
        for name in given
        if name in taken and (name not in settings or not isinstance(given[name], str | Path))
    }
    return {name: given.pop(name) for name in objects}


def _plain(value: Any) -> Any:
    """A value as a config file would hold it: lists for ranges and arrays, text for paths."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Iterable) and not isinstance(value, str | Mapping):
        return list(value)
    return value
