"""Runs of studies on behalf of a user, and the pages of passages.

Pages of the texts on which heads do what a survey says of them, beside its report.
A survey keeps of each such text only some tokens, and a number by which it is found again.  For the
few that are asked for, the corpus is gone through once more without the model, until they are
found; these are read, and each becomes a small page of its own.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import xarray

from headlight.analysis.folder import JOIN, PAGES, RunFolder
from headlight.analysis.plan import StudyPlan
from headlight.analysis.text_study import TextSource, is_read_once, plan_text_study
from headlight.analysis.variables import rank_of
from headlight.capture import CapturedModel, load_model
from headlight.capture.record import processes_of
from headlight.catalogue import Study, find_study
from headlight.catalogue.model_folders import EMBEDDED_NAME, embedded_models
from headlight.encode import Encoded
from headlight.errors import RunError, UsageError, setting
from headlight.files import Location
from headlight.findings import highlights, passage_of
from headlight.output_folder import OutputFolder
from headlight.reading import read_example
from headlight.result import refusing_incomplete
from headlight.result.kinds import split_kinds
from headlight.run import announced
from headlight.run.blocks import refuse_link
from headlight.sessions import write_configuration, write_report
from headlight.sessions.workers import (
    check_workers,
    local_workers,
    on_cluster,
    rank_folder,
    ray_workers,
    working_directory,
)
from headlight.settings import StudySettings
from headlight.views import reading_page
from headlight.views.reading.lazy import InCorpus
from headlight.views.run_comparison import PassagePages, Shown

REPORT = "../report.html"


def check_pages(source: TextSource, folder: Location | None) -> None:
    """Refuse, before a survey is run, what no pages of passages can be made from, or written to.

    Raises:
        UsageError: the corpus can be read only once.
        RunError: the folder of pages is a link to somewhere else.
    """
    if folder is not None:
        refuse_link(folder / PAGES, "writes its pages")
    if is_read_once(source):
        raise UsageError(
            "pages of passages need a corpus that can be read again; save it to a file, or leave "
            "out pages."
        )


def write_pages(
    result: xarray.Dataset,
    source: TextSource,
    settings: Any,
    model: CapturedModel,
    output: OutputFolder,
) -> PassagePages:
    """Write a page for each of the first passages that the report shows.

    Pages of before, from a run that was resumed, are kept.

    Args:
        result: of the survey.
        source: what it read.
        settings: its settings; `pages` says how many.
        model: the model.
        output: the folder of the run.

    Returns:
        The address of each page that the run has written, as seen from the folder.

    Raises:
        HeadlightError: the folder cannot be written, or somebody else's file is in the way.
    """
    texts = _shown(result)
    pages: dict[Shown, str] = {
        each: f"{PAGES}/{number}.html" for number, each in enumerate(texts, 1)
    }
    wanted = list(texts)[: settings.pages]
    if wanted:
        output.claim(pages[each] for each in wanted)
        plan = plan_text_study("survey", "Survey of attention", source, model, settings)
        for each, example in _found(plan, wanted):
            page = _page(plan, example, each[0], texts[each], result)
            output.write(pages[each], page.encode())
    written = output.names()
    return {
        each: address
        for each, address in pages.items()
        if address in written and (output.place / address).exists()
    }


def _shown(result: xarray.Dataset) -> dict[Shown, list[tuple[int, int]]]:
    """The texts that the report shows, each with the heads that it is shown for."""
    texts: dict[Shown, list[tuple[int, int]]] = {}
    for kind, part in split_kinds(result).items():
        for each in highlights(part):
            if each.layer is None or each.head is None:
                continue
            passage = passage_of(part, each.kind, each.layer, each.head)
            if passage is not None:
                texts.setdefault((kind, passage.rank), []).append((each.layer, each.head))
    return texts


def _found(plan: StudyPlan[Encoded], wanted: Sequence[Shown]) -> Iterator[tuple[Shown, Encoded]]:
    """The examples that are wanted, in the order of the corpus; none is made after the last.

    Raises:
        RunError: some are not in it any more.
    """
    missing = set(wanted)
    kinds: list[Any] = sorted({kind for kind, _ in wanted})
    for example in islice(plan.examples, plan.max_examples):
        for text in missing & {(kind, rank_of(example, kind)) for kind in kinds}:
            missing.discard(text)
            yield text, example
        if not missing:
            return
    raise RunError(
        f"the corpus has changed since it was surveyed: {len(missing)} of {len(wanted)} texts that "
        f"get a page are not in it any more. The result is kept; restore the corpus and go on with "
        f"{setting('resume=True')}."
    )


def _page(
    plan: StudyPlan[Encoded],
    example: Encoded,
    kind: Any,
    heads: Sequence[tuple[int, int]],
    result: xarray.Dataset,
) -> str:
    """The page of one text, which leads back to the report."""
    ids = example.ids if kind == "encoder" or not example.target else example.target
    tokenizer: Any = plan.model.tokenizer
    reading = read_example(
        plan.model,
        example,
        attributes=_origin(tokenizer.decode(ids, skip_special_tokens=True)),
        kind=kind,
        layers=plan.settings.layers,
    )
    corpus = InCorpus(survey=result, report=REPORT)
    return reading_page(reading.dataset, whole_heads=heads, corpus=corpus)


def _origin(text: str) -> Mapping[str, str]:
    return {"text": text, "pair": "", "command": ""}


def run_study(
    study: Study,
    source: Any,
    settings: StudySettings,
    model: CapturedModel,
    folder: RunFolder,
    *,
    command: str | None = None,
    progress: bool = True,
    **objects: Any,
) -> xarray.Dataset:
    """Run a study, and write its report, tables and configuration beside its result.

    Args:
        study: which.
        source: what it reads.
        settings: of its own class.
        model: the model.
        folder: where everything is kept, if anywhere.
        command: how it was asked for, for the record.
        progress: show a bar on standard error.
        objects: what its function ``run`` takes besides settings.

    Raises:
        HeadlightError: see the study.
    """
    check_workers(study, source, folder, list(objects))
    repeats = configuration(study, source, settings, model, folder.corpus_name)
    source = study.source.or_sample(source)
    if settings.pages:
        check_pages(source, folder.place if folder else None)
    processes = processes_of(model.transformer)
    progress = progress and not (processes is not None and processes.rank())
    with rank_folder(study, folder, processes) as own, on_cluster(own), own.opened() as mine:
        with _workers(study, repeats, mine, model, progress=progress):
            result = study.run(
                source, model, settings, folder=mine, command=command, progress=progress, **objects
            )
        # What was finished before, or by another process, may have other names.
        result = result.assign_attrs({**model.origin, **mine.labels})
        if mine.output is not None:
            saying = announced("writing the report") if progress else nullcontext()
            # What an earlier process finished may have been changed since.
            with saying, refusing_incomplete() if folder.resume else nullcontext():
                wanted = settings.pages is not None
                pages = write_pages(result, source, settings, model, mine.output) if wanted else {}
                write_report(result, mine.output, repeats, pages)
    return result


def join_run(
    configuration: Mapping[str, Any], folder: str, home: str, *, trust_remote_code: bool = False
) -> None:
    """Work on a run as one of its workers, in a process that knows nothing else of it.

    Args:
        configuration: what repeats the run, see `configuration`.
        folder: of the run.
        home: the working directory of the first process, from which paths are meant.
        trust_remote_code: whether the user lets code run that comes with the model; no config file
            says so.

    Raises:
        HeadlightError: see `run_study`.
    """
    config = dict(configuration)
    study, source = find_study(config.pop("study")), config.pop("source", None)
    model, tokenizer = (
        config.pop("model", study.source.default_model),
        config.pop("tokenizer", None),
    )
    name, corpus_name = config.pop("name", None), config.pop("corpus_name", None)
    loading = {
        name: config.pop(name)
        for name in ("revision", "dtype", "split_special_tokens")
        if name in config
    }
    settings = study.settings.from_mapping(config)
    with working_directory(home):
        loaded = load_model(
            model,
            tokenizer,
            **loading,
            trust_remote_code=trust_remote_code,
            head=settings.required_head,
            layers=settings.layers,
        )
        mine = RunFolder(path=folder, workers=JOIN, corpus_name=corpus_name)
        run_study(study, source, settings, loaded.called(name), mine, progress=False)


@contextmanager
def _workers(
    study: Study,
    repeats: Mapping[str, Any],
    folder: RunFolder,
    model: CapturedModel,
    *,
    progress: bool,
) -> Iterator[None]:
    """Other processes at the run: those of a cluster until all is done, ours as the block lasts."""
    if folder.shared and folder.output is not None:  # for those who join or ask how far it is
        write_configuration(repeats, folder.output)
    if folder.on_ray:
        trust = model.trust_remote_code
        home, place = str(Path.cwd()), str(folder.place)
        join = partial(join_run, repeats, place, home, trust_remote_code=trust)
        ray_workers(join, folder, show=progress)
    with local_workers(study, repeats, folder, model):
        yield


def configuration(
    study: Study,
    source: Any,
    settings: StudySettings,
    model: CapturedModel,
    corpus_name: str | None = None,
) -> dict[str, Any]:
    """Everything that repeats a run, as a config file of the command holds it."""
    options: dict[str, Any] = {"study": study.name}
    if isinstance(source, str | Path):
        options["source"] = str(source)
    if model.name != EMBEDDED_NAME:
        options["model"] = model.name
    if (tokenizer := _name_of_another(model)) is not None:
        options["tokenizer"] = tokenizer
    if not model.revision.startswith("sha256:"):  # which is of the weights in a folder
        options["revision"] = model.revision
    options |= {"name": model.label} if model.label else {}
    options |= {"corpus_name": corpus_name} if corpus_name else {}
    if getattr(model.tokenizer, "split_special_tokens", False):
        options["split_special_tokens"] = True
    options["dtype"] = str(model.transformer.dtype).removeprefix("torch.")
    return options | settings.signature()


def _name_of_another(model: CapturedModel) -> str | None:
    """Return the source of the tokenizer, if it did not come with the model."""
    named = str(getattr(model.tokenizer, "name_or_path", ""))
    own = {"", model.name, str(embedded_models().get(model.name, ""))}
    return None if named in own else named
