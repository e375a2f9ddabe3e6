"""What the exhibits of one reproduction share: the model, the data, and results made only once."""

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import xarray

from headlight.capture import CapturedModel, Kind, load_model
from headlight.errors import MissingHeadError, ResultError, UnknownNameError, UsageError
from headlight.files import make_folder, write
from headlight.measures import GRADIENT, MEASURES
from headlight.papers.sources import Sources
from headlight.result import load, save
from headlight.studies.token_identity.settings import SOLVERS

RESULTS = "results"
RUNS = "runs"
SIGNATURE = "signature.json"

CONCERNS: dict[str, tuple[str, ...]] = {
    "max_sentences": ("dependency", "parser_probes", "contributions"),
    "overlap": ("coreference",),
    "max_pairs": ("token_identity", "contributions"),
    "attribution_probes": ("contributions", "reading"),
    "exact_pairs": ("contributions", "reading"),
    "folds": ("token_identity",),
    "mlp_folds": ("token_identity",),
    "solver": ("token_identity",),
}
"""Options that only results of some stages depend on; all results depend on the others."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """How to reproduce; everything that the results depend on besides model and data.

    Attributes:
        measures: what is compared with one another: of ``weight``, ``norm``, ``effective`` and
            ``gradient``; the last needs a language-model head.
        max_examples: segments of text.
        max_length: tokens in a segment of text, special ones included.
        kind: the attention that is looked at, ``encoder``, ``decoder`` or ``cross``; by default the
            first that the model has.
        segment_ids: of pairs of paragraphs: ``zeros``, as in the released maps of Clark et al., or
            ``pair``, as in the code of Kobayashi et al. and in BERT's training.
        max_sentences: sentences of each treebank; by default all.
        overlap: words that windows of a document share, for coreference; None cuts documents off
            after 128 tokens, as Clark et al. do.
        broken: what becomes of sentences and documents whose annotation is broken, or whose words
            the tokenizer drops: ``refuse`` or ``skip``.
        seed: of everything random.
        max_pairs: examples of each set of sentence pairs.
        attribution_probes: random probes for each input token by which attribution is estimated.
        exact_pairs: examples of the first set of which attribution is computed exactly as well.
        folds: random splits of the pairs on which tokens are identified.
        mlp_folds: as many of them for MLPs, which take ten times as long as linear maps.
        solver: of the linear maps that identify tokens: ``adam``, as in the paper, or ``ridge``.
    """

    measures: tuple[str, ...] = (*MEASURES, GRADIENT)
    max_examples: int = 992
    max_length: int = 128
    kind: Kind | None = None
    segment_ids: str = "pair"
    max_sentences: int | None = None
    overlap: int | None = None
    broken: str = "refuse"
    seed: int = 0
    max_pairs: int = 408
    attribution_probes: int = 8
    exact_pairs: int = 20
    folds: int = 10
    mlp_folds: int = 2
    solver: str = "adam"

    def __post_init__(self) -> None:
        for measure in self.measures:
            if measure not in (*MEASURES, GRADIENT):
                raise UnknownNameError("measure", measure, (*MEASURES, GRADIENT))
        if not self.measures:
            raise UsageError("no measure is asked for; name at least one with --measures.")
        if self.solver not in SOLVERS:
            raise UnknownNameError("solver", self.solver, SOLVERS)


@dataclass(eq=False)
class Study:
    """A model at work on the data of a paper; every result is made once and kept.

    Attributes:
        model: the model without a head.
        language_model: the same weights with their language-model head; None if it has none.
        sources: what is read.
        options: see `Options`.
        folder: where results are kept; an interrupted study goes on from them.
        progress: show bars on standard error.
        compared: a second model with the same vocabulary, such as the first one after fine-tuning.
    """

    model: CapturedModel
    language_model: CapturedModel | None
    sources: Sources
    options: Options
    folder: Path
    progress: bool = True
    compared: CapturedModel | None = None
    _made: dict[str, xarray.Dataset] = field(default_factory=dict, repr=False)

    @property
    def kind(self) -> Kind:
        """The attention that is looked at."""
        return self.options.kind or self.model.kinds[0]

    @property
    def tokenizer(self) -> Any:
        """The model's."""
        return self.model.tokenizer

    @property
    def forward_measures(self) -> tuple[str, ...]:
        """The measures that one forward pass gives."""
        return tuple(name for name in self.options.measures if name in MEASURES)

    @property
    def wants_gradient(self) -> bool:
        """Whether the gradient is asked for, and there is a loss to take it of."""
        return GRADIENT in self.options.measures and self.language_model is not None

    def kept(
        self,
        name: str,
        stage: str,
        make: Callable[[Path], xarray.Dataset],
        **settings: Any,
    ) -> xarray.Dataset:
        """A result, from this study, from the folder, or made now and kept there.

        Args:
            name: of the file in ``results``.
            stage: of the result.
            make: makes it; is given a folder of its own in which it may keep what is half done.
                It finds there what it left behind, unless that was with other settings.
            settings: what it depends on besides the model and the options, such as its source.

        Raises:
            ResultError: the folder cannot be written.
        """
        if name not in self._made:
            signature = self._signature(stage, settings)
            path = self.folder / RESULTS / f"{name}.nc"
            found = _kept(path, stage, signature)
            if found is None:
                make_folder(path.parent)
                run = _begun(self.folder / RUNS / name, signature)
                found = make(run).assign_attrs(signature=signature, stage=stage)
                save(found, path)
            self._made[name] = found
        return self._made[name]

    def _signature(self, stage: str, settings: dict[str, Any]) -> str:
        options = {
            name: value
            for name, value in asdict(self.options).items()
            if stage in CONCERNS.get(name, (stage,))
        }
        return json.dumps(
            {
                "model": self.model.name,
                "revision": self.model.revision,
                "dtype": str(self.model.transformer.dtype),
                **options,
                **settings,
            },
            sort_keys=True,
        )


def _begun(run: Path, signature: str) -> Path:
    """The folder of what is half done, empty if that was begun with other settings."""
    path, content = run / SIGNATURE, signature.encode()
    if not (path.exists() and path.read_bytes() == content):
        shutil.rmtree(run, ignore_errors=True)
        write(make_folder(run) / SIGNATURE, content)
    return run


def file_state(source: str) -> list[Any]:
    """What tells whether the files of a source have changed: names, sizes and times."""
    path = Path(source)
    if not path.exists():
        return [source]
    found = sorted(path.rglob("*")) if path.is_dir() else [path]
    return [source, *([file.name, file.stat().st_size, file.stat().st_mtime_ns] for file in found)]


def _kept(path: Path, stage: str, signature: str) -> xarray.Dataset | None:
    """The result in the file, if it is of the same settings."""
    if not path.exists():
        return None
    try:
        found = load(path, stage=stage)
    except ResultError:  # damaged, or of another version: made again
        return None
    return found if found.attrs.get("signature") == signature else None


@dataclass(frozen=True)
class Place:
    """The folder of a reproduction, and what may become of results that lie in it."""

    path: Path
    resume: bool = False
    overwrite: bool = False

    def made(self) -> Path:
        """The folder, existing.

        Raises:
            UsageError: it holds results, and nobody has said what should become of them.
            ResultError: it cannot be made.
        """
        if self.resume and self.overwrite:
            raise UsageError("results are either used or removed; choose --resume or --overwrite.")
        kept = self.path / RESULTS
        if kept.exists() and not (self.resume or self.overwrite):
            raise UsageError(
                f"{self.path} holds results already; use them with --resume, remove them with "
                "--overwrite, or choose another folder with --out."
            )
        if self.overwrite:
            for name in (RESULTS, RUNS):
                shutil.rmtree(self.path / name, ignore_errors=True)
        return make_folder(self.path)


def open_study(
    model: str | Path | None,
    sources: Sources,
    options: Options,
    folder: Path,
    *,
    compared: str | Path | None = None,
    **loading: Any,
) -> Study:
    """Load the model, with its language-model head if it has one and the gradient is asked for.

    Args:
        model: name or folder; None for the embedded model.
        sources: what is read.
        options: see `Options`.
        folder: where results are kept.
        compared: name or folder of a second model, such as the first one after fine-tuning.
        loading: see `headlight.capture.load_model`.

    Raises:
        ModelError: there is no such model.
        UsageError: it has no tokenizer, or the second model has another vocabulary.
    """
    language_model = None
    if GRADIENT in options.measures:
        try:
            language_model = load_model(model, head="language_model", **loading)
        except MissingHeadError:
            language_model = None
    captured = language_model.base() if language_model else load_model(model, **loading)
    if captured.tokenizer is None:
        raise UsageError(f"{captured.name} has no tokenizer, and a paper's data is text.")
    if captured.has_decoder_inputs and options.kind in (None, "encoder"):
        captured, language_model = captured.encoder(), None
    twin = None if compared is None else _compared(compared, captured, loading)
    return Study(captured, language_model, sources, options, folder, compared=twin)


def _compared(model: str | Path, first: CapturedModel, loading: dict[str, Any]) -> CapturedModel:
    """The second model, which must read the same tokens as the first."""
    twin = load_model(model, **{**loading, "revision": None})
    if twin.has_decoder_inputs:
        twin = twin.encoder()
    if twin.tokenizer is None or twin.tokenizer.get_vocab() != _vocabulary(first):
        raise UsageError(
            f"{twin.name} has another vocabulary than {first.name}, so that their tokens cannot be "
            "compared; name a model that was made from it with --compare."
        )
    return twin


def _vocabulary(captured: CapturedModel) -> dict[str, int]:
    tokenizer: Any = captured.tokenizer
    found: dict[str, int] = tokenizer.get_vocab()
    return found
