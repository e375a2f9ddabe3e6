"""Reproduction of a paper: model, data, and results that its exhibits share, each made once."""

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic

import xarray
from typing_extensions import TypeVar

from headlight import Model, load as load_model
from headlight.catalogue import find_study
from headlight.corpora import source_state
from headlight.engine.folder import RunFolder
from headlight.engine.work_folders import claim_work_folder, prepare_work_folders
from headlight.errors import MissingHeadError, ResultError, UsageError, setting
from headlight.files import read, write
from headlight.result import calculated_with, load, save
from headlight.vocabulary import GRADIENT, Kind
from headlight_papers.papers.settings import PAGE, RESULTS, RUNS, PaperSettings, TextPaperSettings
from headlight_papers.papers.sources import Sources
from headlight_words.sources import EMBEDDED_TRANSLATOR

SIGNATURE = "signature.json"

S = TypeVar("S", bound=PaperSettings, default=Any, covariant=True)
"""The settings of the paper; any where it does not matter which paper it is."""


@dataclass(eq=False)
class Reproduction(Generic[S]):
    """A model at work on the data of a paper; every result is made once and kept.

    Attributes:
        loaded: the model without a head; None for a paper that trains models of its own.
        language_model: the same weights with their language-model head; None if it has none.
        sources: what is read.
        settings: of the paper.
        folder: where results are kept; an interrupted reproduction goes on from them.  Its lock is
            the caller's, see `headlight_papers.papers.settings`.
        progress: show bars on standard error.
        compared: a second model with the same vocabulary, such as the first one after fine-tuning.
        translator: an encoder-decoder model with its language-model head, of which word alignments
            are taken.
    """

    loaded: Model | None
    language_model: Model | None
    sources: Sources
    settings: S
    folder: Path
    progress: bool = True
    compared: Model | None = None
    translator: Model | None = None
    _results: dict[str, xarray.Dataset] = field(default_factory=dict, repr=False)

    @property
    def model(self) -> Model:
        """The model that was loaded."""
        assert self.loaded is not None  # noqa: S101 - a paper that loads none does not ask
        return self.loaded

    @property
    def kind(self) -> Kind:
        """The attention that is looked at."""
        chosen: Kind | None = getattr(self.settings, "kind", None)
        return chosen or self.model.kinds[0]

    @property
    def max_length(self) -> int:
        """Tokens in an example at most."""
        settings, longest = self.settings, self.model.longest
        assert isinstance(settings, TextPaperSettings)  # noqa: S101 - or there are no examples
        return min(settings.max_length, longest or settings.max_length)

    @property
    def tokenizer(self) -> Any:
        """The model's."""
        return self.model.tokenizer

    @property
    def measures(self) -> tuple[str, ...]:
        """Return the measures that the paper compares, if it compares several."""
        measures: tuple[str, ...] = getattr(self.settings, "measures", ())
        return measures

    @property
    def forward_measures(self) -> tuple[str, ...]:
        """The measures that one forward pass gives."""
        return tuple(name for name in self.measures if name != GRADIENT)

    @property
    def wants_gradient(self) -> bool:
        """Whether the gradient is asked for, and there is a loss to take it of."""
        return GRADIENT in self.measures and self.language_model is not None

    @property
    def masks(self) -> float:
        """The share of tokens that are masked, if the model has a mask token."""
        has_mask = getattr(self.tokenizer, "mask_token_id", None) is not None
        share: float = getattr(self.settings, "masks", 0.0)
        return share if has_mask else 0.0

    @property
    def results(self) -> Mapping[str, xarray.Dataset]:
        """Return the results made so far, or found in the folder."""
        return self._results

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Within the block nobody changes the weights of a model, which are then read only once."""
        with ExitStack() as stack:
            for model in (self.loaded, self.language_model, self.compared, self.translator):
                if model is not None:
                    stack.enter_context(model.unchanged())
            yield

    def run(
        self,
        study: str,
        source: Any,
        *,
        reads: Iterable[Any] = (),
        name: str = "",
        model: Model | None = None,
        objects: Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> xarray.Dataset:
        """The result of a study, as its function of the root gives it, kept in ``results``.

        It is kept by its own settings, its model and the state of what it reads.

        Args:
            study: its name in `headlight.catalogue`.
            source: what it is run on.
            reads: names of files whose state it depends on, by default the source; and whatever
                else it depends on, as JSON.
            name: of the file in ``results``; by default that of the study.
            model: by default that without a head.
            objects: what it takes besides settings, such as an objective.
            settings: of the study, as its function takes them.
        """
        row, model = find_study(study), model or self.model
        chosen = row.settings.from_mapping(settings)

        def make(folder: Path) -> xarray.Dataset:
            more = objects or {}
            with RunFolder(path=folder, resume=True).opened() as opened:
                return row.run(source, model, chosen, folder=opened, progress=self.progress, **more)

        key = {"settings": chosen.signature(), "reads": states_of(reads or [source])}
        return self.keep(name or study, study, make, model=model, **key)

    def keep(
        self,
        name: str,
        stage: str,
        make: Callable[[Path], xarray.Dataset],
        *,
        model: Model | None = None,
        **key: Any,
    ) -> xarray.Dataset:
        """A result: known already, from the folder, or made now and kept there.

        Args:
            name: of the file in ``results``.
            stage: of the result.
            make: makes it; is given a folder of its own in which it may keep what is half done.
                It finds there what it left behind, unless that was with another key.
            model: of whose attention it is; by default that without a head.
            key: everything else that it depends on, as JSON: the signature of the settings of the
                study that makes it, and the state of what it reads.

        Raises:
            ResultError: the folder cannot be written.
        """
        if name not in self._results:
            signature = signature_of(model or self.loaded, key)
            path = self.folder / RESULTS / f"{name}.nc"
            result = _load_kept(path, stage, signature)
            if result is None:
                prepare_work_folders(self.folder, (RESULTS, RUNS))
                run = begun_folder(self.folder / RUNS / name, signature)
                result = make(run).assign_attrs(signature=signature, stage=stage)
                save(result, path)
                shutil.rmtree(run, ignore_errors=True)
            self._results[name] = result
        return self._results[name]


def states_of(reads: Iterable[Any]) -> list[Any]:
    """The states of files that are named, and everything else but None as it is."""
    return [source_state(one) if isinstance(one, str) else one for one in reads if one is not None]


def signature_of(model: Model | None, key: dict[str, Any]) -> str:
    """Return the dependencies of a result as a text; a paper that trains has no model."""
    return json.dumps({**(model.identity() if model else {}), **key}, sort_keys=True)


def begun_folder(run: Path, signature: str) -> Path:
    """The folder of what is half done, empty if that was begun with other settings or libraries."""
    # Half a result by one version and half by another would be neither.
    libraries = json.dumps(calculated_with())
    path, content = run / SIGNATURE, f"{signature}\n{libraries}".encode()
    if not (path.exists() and read(path, own=True) == content):
        shutil.rmtree(run, ignore_errors=True)
        write(claim_work_folder(run) / SIGNATURE, content)
    return run


def _load_kept(path: Path, stage: str, signature: str) -> xarray.Dataset | None:
    """The result in the file, if it is of the same settings."""
    if not path.exists():
        return None
    try:
        result = load(path, stage=stage)
    except ResultError:  # damaged, or of another version: made again
        return None
    return result if result.attrs.get("signature") == signature else None


def open_reproduction(
    model: str | Path | None,
    sources: Sources,
    settings: PaperSettings,
    folder: Path,
    *,
    compared: str | Path | None = None,
    translator: str | Path | None = None,
    translates: bool = False,
    **loading: Any,
) -> Reproduction:
    """Load the model, with its language-model head if it has one and the gradient is asked for.

    Args:
        model: name or folder; None for the embedded model.
        sources: what is read.
        settings: of the paper.
        folder: where results are kept.
        compared: name or folder of a second model, such as the first one after fine-tuning.
        translator: name or folder of a translation model; by default the model itself if it is one,
            else the embedded translator.
        translates: whether a translation model is needed.
        loading: see `headlight.load`.

    Raises:
        ModelError: there is no such model.
        UsageError: it has no tokenizer, the second model has another vocabulary, or the translator
            does not translate.
    """
    model = settings.embedded if model is None else model
    language_model = None
    if GRADIENT in getattr(settings, "measures", ()):
        try:
            language_model = load_model(model, head="language_model", **loading)
        except MissingHeadError:
            language_model = None
    if language_model is not None:
        captured = language_model.base()
    else:
        captured = load_model(model, head=settings.head, **loading)
    captured.require_tokenizer("a paper's data is text")
    translating = None
    if translates:
        translating = _load_translator(translator, model, language_model or captured, loading)
    if captured.has_decoder_inputs and getattr(settings, "kind", None) in (None, "encoder"):
        captured, language_model = captured.encoder(), None
    twin = None if compared is None else _load_compared(compared, captured, loading)
    return Reproduction(
        captured, language_model, sources, settings, folder, compared=twin, translator=translating
    )


def _load_compared(model: str | Path, first: Model, loading: dict[str, Any]) -> Model:
    """The second model, which must read the same tokens as the first."""
    twin = load_model(model, **{**loading, "revision": None})
    if twin.has_decoder_inputs:
        twin = twin.encoder()
    own: Any = first.tokenizer
    if twin.tokenizer is None or twin.tokenizer.get_vocab() != own.get_vocab():
        raise UsageError(
            f"{twin.name} has another vocabulary than {first.name}, so that their tokens cannot be "
            f"compared; name a model that was made from it with {setting('compare=')}."
        )
    return twin


def _load_translator(
    name: str | Path | None, model: str | Path | None, first: Model, loading: dict[str, Any]
) -> Model:
    """The model of that name; else the first one if it translates and predicts, else our own."""
    if name is None and first.has_decoder_inputs:
        if first.transformer.get_output_embeddings() is not None:
            return first
        with suppress(MissingHeadError):
            return load_model(model, head="language_model", **loading)
    own = {**loading, "revision": None, "tokenizer": None}
    translator = load_model(name or EMBEDDED_TRANSLATOR, head="language_model", **own)
    translator.require_translator()
    translator.require_tokenizer("translations are text")
    return translator


def reproduction_folder(path: Path, *, resume: bool = False, overwrite: bool = False) -> RunFolder:
    """Return the folder of a reproduction, not yet opened; for the arguments see `RunFolder`."""
    holds = (RESULTS, RUNS, PAGE)
    return RunFolder(path=path, resume=resume, overwrite=overwrite, holds=holds, writes=(PAGE,))
