"""Revision of a model: the commit on the hub, or a digest of its weights."""

import hashlib
from pathlib import Path

from huggingface_hub import try_to_load_from_cache
from torch import nn

from headlight.capture.changed_weights import files_of_weights
from headlight.capture.model_identity import digest_of_weights, shortened
from headlight.catalogue.model_folders import gguf_of
from headlight.errors import ModelError
from headlight.files import open_file

_READ_AT_ONCE = 1 << 22


def revision_of(source: str, network: nn.Module, revision: str | None) -> str:
    """Return the commit on the hub, else a digest of the weights: of files, or in memory."""
    packed = gguf_of(source)
    files = [packed] if packed else files_of_weights(source)
    if not files:  # its commit names the folder of the configuration in the hub's cache
        cached = try_to_load_from_cache(source, "config.json", revision=revision)
        return Path(cached).parent.name if isinstance(cached, str) else digest_of_weights(network)
    digest = hashlib.sha256()
    for path in files:
        with open_file(path, error=ModelError) as file:
            while block := file.read(_READ_AT_ONCE):
                digest.update(block)
    return shortened(digest)
