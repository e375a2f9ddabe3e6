"""One small run of every study on a model whose layers differ in heads, and what it leaves."""

from functools import cached_property
from pathlib import Path
from typing import Any

import xarray

import example_data
import headlight
from headlight.catalogue import find_study, studies
from headlight.reading.model import Model
from headlight.result import load
from shared import Shared
from speech_material import recordings, tiny_whisper
from translators import FAMILIES
from views.pages import Page, undrawn_page, with_pictures

LAYERS = (1, 3)
HEADS = {(1, 0), (1, 1), (3, 0)}
"""Those that there are in these layers."""
ENCODED, SPOKEN = "alignment_of_encoders", "alignment_of_speech"
FEW = {"text": {"max_examples": 12}, "treebank": {"max_examples": 12}}


class StudyRuns:
    """Runs of studies by name, each made when it is first asked for.

    Several processes may share the folder; see `Shared`.

    Args:
        folder: in which they are.
    """

    def __init__(self, folder: Path) -> None:
        self._shared = Shared(folder)
        self._results: dict[str, xarray.Dataset] = {}
        self._pages: dict[str, Page] = {}

    def folder(self, name: str) -> Path:
        """What a run leaves: the result, the page, the tables."""
        return self._shared(name, lambda out: self._run(name, out))

    def result(self, name: str) -> xarray.Dataset:
        """The result of a run: a copy, since tests change numbers and reading takes long."""
        if name not in self._results:
            self._results[name] = load(self.folder(name) / "result.nc", stage=name)
        return self._results[name].copy(deep=True)

    def page(self, name: str) -> Page:
        """Return the page of the result of a run, without pictures; nobody changes it."""
        if name not in self._pages:
            self._pages[name] = undrawn_page(self.result(name))
        return self._pages[name]

    def results(self) -> dict[str, xarray.Dataset]:
        """Those of all studies by name, and of alignment two more: by an encoder, and of speech."""
        found = {name: self.result(name) for name in studies()}
        if "alignment" not in found:
            return found
        pairs, gold = self.data / example_data.SOURCES["parallel"], self.data / "gold.talp"
        encoded = headlight.alignment(
            pairs, model=self.data / "model", gold=str(gold), progress=False
        )
        whisper, sounds = self._spoken
        spoken = headlight.alignment(sounds, model=whisper, chosen_heads=["L1H0"], progress=False)
        return {**found, ENCODED: encoded, SPOKEN: spoken}

    @cached_property
    def _spoken(self) -> tuple[Path, Path]:
        """A model of speech, and recordings."""
        folder = self._shared("speech", _write_speech)
        return folder / "whisper", folder / "sounds"

    @cached_property
    def data(self) -> Path:
        """What studies read, see `example_data.SOURCES`, and two models of four layers."""
        return self._shared("data", _write)

    def _run(self, name: str, out: Path) -> None:
        study = find_study(name)
        settings: dict[str, Any] = {**study.smallest, **FEW.get(study.reads, {})}
        if study.reads == "parallel":
            model, settings["gold"] = uneven_translator(), str(self.data / "gold.talp")
        elif study.reads == "haystack":
            model = uneven_decoder(self.data)
        else:
            head = study.settings.from_mapping(study.smallest).required_head
            model = uneven(self.data, {"none": None, "any": "language_model"}.get(head, head))
        source = self.data / example_data.SOURCES[study.reads]
        with with_pictures():
            getattr(headlight, name)(
                source, model=model, out=out, layers=LAYERS, progress=False, **settings
            )


def uneven(data: Path, head: str | None = None) -> Model:
    """Four layers of two heads, but for the last, which has one of twice the size."""
    made = headlight.load(data / ("classifier" if head == "classification" else "model"), head=head)
    attention = made.transformer.base_model.encoder.layer[3].attention.self
    attention.num_attention_heads, attention.attention_head_size = 1, 16
    attention.scaling = 16**-0.5
    return made


def uneven_decoder(data: Path) -> Model:
    """The same of a decoder."""
    made = headlight.load(data / "decoder", head="language_model")
    attention = made.transformer.transformer.h[3].attn
    attention.num_heads, attention.head_dim = 1, 16
    attention.scaling = 16**-0.5
    return made


def uneven_translator() -> Model:
    """The same of a decoder that attends to a source."""
    found = FAMILIES["marian"].model(head=True, decoder_layers=4, decoder_attention_heads=2)
    attention = found.transformer.base_model.decoder.layers[3].encoder_attn
    attention.num_heads, attention.head_dim = 1, 2 * attention.head_dim
    attention.scaling = attention.head_dim**-0.5
    return Model(found.transformer, found.tokenizer, found.name, found.revision)


def _write_speech(folder: Path) -> None:
    (folder / "whisper").mkdir(parents=True)
    tiny_whisper(folder / "whisper")
    recordings(folder / "sounds")


def _write(folder: Path) -> None:
    folder.mkdir()
    example_data.write(folder)
    (folder / "model").mkdir()
    example_data.tiny_model(folder / "model", layers=4)
    example_data.tiny_classifier(folder / "classifier", layers=4)
    example_data.tiny_decoder(folder / "decoder", layers=4)
