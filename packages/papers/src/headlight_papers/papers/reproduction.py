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
"""Settings of the paper; any where it does not matter which paper it is."""


@dataclass(eq=False)
class Reproduction(Generic[S]):
    """Model at work on the data of a paper; every result is made once and kept.

    Attributes:
        loaded: Model without a head; None for a paper that trains models of its own.
        language_model: Same weights with their language-model head; None if it has none.
        sources: Data of the paper.
        settings: Settings of the paper.
        folder: Folder of the results; an interrupted reproduction goes on from them.  Its lock is
            the caller's, see `headlight_papers.papers.settings`.
        progress: Whether progress bars are shown on standard error.
        compared: Second model with the same vocabulary, such as the first one after fine-tuning.
        translator: Encoder-decoder model with its language-model head, whose word alignments are
            evaluated.
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
        """Return the model that was loaded."""
        assert self.loaded is not None  # noqa: S101 - a paper that loads none does not ask
        return self.loaded

    @property
    def kind(self) -> Kind:
        """Return the kind of attention observed."""
        chosen: Kind | None = getattr(self.settings, "kind", None)
        return chosen or self.model.kinds[0]

    @property
    def max_length(self) -> int:
        """Return the largest number of tokens in an example."""
        settings, longest = self.settings, self.model.longest
        assert isinstance(settings, TextPaperSettings)  # noqa: S101 - or there are no examples
        return min(settings.max_length, longest or settings.max_length)

    @property
    def tokenizer(self) -> Any:
        """Return the tokenizer of the model."""
        return self.model.tokenizer

    @property
    def measures(self) -> tuple[str, ...]:
        """Return the measures that the paper compares, if it compares several."""
        measures: tuple[str, ...] = getattr(self.settings, "measures", ())
        return measures

    @property
    def forward_measures(self) -> tuple[str, ...]:
        """Return the measures that need a forward pass only."""
        return tuple(name for name in self.measures if name != GRADIENT)

    @property
    def wants_gradient(self) -> bool:
        """Whether the gradient is requested, and there is a loss to differentiate."""
        return GRADIENT in self.measures and self.language_model is not None

    @property
    def masks(self) -> float:
        """Return the share of masked tokens; 0 if the model has no mask token."""
        has_mask = getattr(self.tokenizer, "mask_token_id", None) is not None
        share: float = getattr(self.settings, "masks", 0.0)
        return share if has_mask else 0.0

    @property
    def results(self) -> Mapping[str, xarray.Dataset]:
        """Return the results made so far, or found in the folder."""
        return self._results

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Keep all models unchanged within the block, so that their weights are read only once."""
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
        """Return the result of a study, as its function of the root gives it, kept in ``results``.

        It is kept by its own settings, its model and the state of what it reads.

        Args:
            study: Name of the study in `headlight.catalogue`.
            source: Source that the study reads.
            reads: Names of files whose state it depends on, by default the source; and whatever
                else it depends on, as JSON.
            name: Name of the file in ``results``; by default that of the study.
            model: Model under study; by default that without a head.
            objects: Arguments besides settings, such as an objective.
            settings: Settings of the study, as its function takes them.
        """
        row, model = find_study(study), model or self.model
        chosen = row.settings.from_mapping(settings)

        def make(folder: Path) -> xarray.Dataset:
            more = objects or {}
            # A study that was interrupted goes on from its folder.
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
        """Return a result: known already, from the folder, or made now and kept there.

        Args:
            name: Name of the file in ``results``.
            stage: Stage of the result.
            make: Function that makes it, given a folder of its own for unfinished work.  It finds
                there what it left behind, unless that was with another key.
            model: Model whose attention is studied; by default that without a head.
            key: Everything else that it depends on, as JSON: the signature of the settings of the
                study that makes it, and the state of what it reads.

        Raises:
            ResultError: The folder cannot be written.
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
                # The result holds everything; unfinished work is in nobody's way afterwards.
                shutil.rmtree(run, ignore_errors=True)
            self._results[name] = result
        return self._results[name]


def states_of(reads: Iterable[Any]) -> list[Any]:
    """Return the states of named files, and everything else but None as it is."""
    return [
        source_state(item) if isinstance(item, str) else item for item in reads if item is not None
    ]


def signature_of(model: Model | None, key: dict[str, Any]) -> str:
    """Return the dependencies of a result as a text; a paper that trains has no model."""
    return json.dumps({**(model.identity() if model else {}), **key}, sort_keys=True)


def begun_folder(run: Path, signature: str) -> Path:
    """Return the folder of unfinished work, emptied if settings or libraries have changed."""
    # Half a result by one version and half by another would be neither.
    libraries = json.dumps(calculated_with())
    path, content = run / SIGNATURE, f"{signature}\n{libraries}".encode()
    if not (path.exists() and read(path, refuse_links=True) == content):
        shutil.rmtree(run, ignore_errors=True)
        write(claim_work_folder(run) / SIGNATURE, content)
    return run


def _load_kept(path: Path, stage: str, signature: str) -> xarray.Dataset | None:
    """Return the result in the file, if it has the same settings."""
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
    """Load the model, with its language-model head if it has one and the gradient is requested.

    Args:
        model: Name or folder of the model; None for the embedded model.
        sources: Data of the paper.
        settings: Settings of the paper.
        folder: Folder of the results.
        compared: Name or folder of a second model, such as the first one after fine-tuning.
        translator: Name or folder of a translation model; by default the model itself if it is one,
            else the embedded translator.
        translates: Whether a translation model is needed.
        loading: See `headlight.load`.

    Raises:
        ModelError: There is no such model.
        UsageError: It has no tokenizer, the second model has another vocabulary, or the translator
            does not translate.
    """
    model = settings.embedded if model is None else model
    language_model = None
    if GRADIENT in getattr(settings, "measures", ()):
        try:
            language_model = load_model(model, head="language_model", **loading)
        except MissingHeadError:
            language_model = None
    # The base of the model with its head has the same weights, which are loaded once.
    if language_model is not None:
        captured = language_model.base()
    else:
        captured = load_model(model, head=settings.head, **loading)
    captured.require_tokenizer("a paper's data is text")
    translating = None
    if translates:
        translating = _load_translator(translator, model, language_model or captured, loading)
    # Papers on encoders read the encoder of an encoder-decoder, which has no language model.
    if captured.has_decoder_inputs and getattr(settings, "kind", None) in (None, "encoder"):
        captured, language_model = captured.encoder(), None
    twin = None if compared is None else _load_compared(compared, captured, loading)
    return Reproduction(
        captured, language_model, sources, settings, folder, compared=twin, translator=translating
    )


def _load_compared(model: str | Path, first: Model, loading: dict[str, Any]) -> Model:
    """Load the second model, which must read the same tokens as the first."""
    twin = load_model(model, head="none", **{**loading, "revision": None})
    if twin.has_decoder_inputs:
        twin = twin.encoder()
    tokenizer: Any = first.tokenizer
    # The same vocabulary means the same tokens, and so comparable attention.
    if twin.tokenizer is None or twin.tokenizer.get_vocab() != tokenizer.get_vocab():
        raise UsageError(
            f"{twin.name} has another vocabulary than {first.name}, so that their tokens cannot be "
            f"compared; name a model that was made from it with {setting('compare=')}."
        )
    return twin


def _load_translator(
    name: str | Path | None, model: str | Path | None, first: Model, loading: dict[str, Any]
) -> Model:
    """Load the named model; by default the first if it translates and predicts, else our own."""
    if name is None and first.has_decoder_inputs:
        if first.transformer.get_output_embeddings() is not None:
            return first
        with suppress(MissingHeadError):
            return load_model(model, head="language_model", **loading)
    # The translator has its own tokenizer and revisions.
    options = {**loading, "revision": None, "tokenizer": None}
    translator = load_model(name or EMBEDDED_TRANSLATOR, head="language_model", **options)
    translator.require_translator()
    translator.require_tokenizer("translations are text")
    return translator


def reproduction_folder(path: Path, *, resume: bool = False, overwrite: bool = False) -> RunFolder:
    """Return the folder of a reproduction, not yet opened; for the arguments see `RunFolder`."""
    holds = (RESULTS, RUNS, PAGE)
    return RunFolder(path=path, resume=resume, overwrite=overwrite, holds=holds, writes=(PAGE,))
