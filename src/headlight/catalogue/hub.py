"""Model hub: names of models, its cache on this machine, and whether it answers."""

import socket
from difflib import get_close_matches
from pathlib import Path
from re import compile as pattern
from threading import Thread
from urllib.parse import urlsplit
from urllib.request import getproxies

from huggingface_hub import constants as hub

from headlight.catalogue.embedded_models import embedded_models
from headlight.catalogue.model_configuration import CONFIG
from headlight.errors import ModelError

HUB_NAME = pattern(r"\w[\w.-]*(/\w[\w.-]*)?")
"""Name of a model, with or without its owner."""

PATIENCE = 5.0
"""Time limit for a connection to the hub, in seconds."""


def no_model(name: str, why: str) -> ModelError:
    """Return the error for a model that cannot be found, with a similar name as advice.

    Args:
        name: Name of the model.
        why: Reason why it cannot be fetched from the hub.
    """
    near = get_close_matches(name, [*embedded_models(), *cached_models()], n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return ModelError(
        f"there is no folder {name!r}, no model of that name is in the cache of the hub, and "
        f"{why}.{hint}"
    )


def cached_models() -> list[str]:
    """Return the names of the models in the cache of the hub."""
    folders = Path(hub.HF_HUB_CACHE).glob("models--*")
    # A folder without a configuration holds a tokenizer alone, or a download that was interrupted.
    return [
        folder.name.removeprefix("models--").replace("--", "/")
        for folder in folders
        if any(folder.glob(f"snapshots/*/{CONFIG}"))
    ]


def hub_answers() -> bool:
    """Return whether the hub accepts connections; always True behind a proxy.

    Behind a proxy only a real request would tell, and loading makes one.
    """
    address = urlsplit(hub.ENDPOINT)
    answers: list[bool] = []

    def knock() -> None:
        port = address.port or (80 if address.scheme == "http" else 443)
        try:
            socket.create_connection((address.hostname or "", port), PATIENCE).close()
        except OSError:
            return
        answers.append(True)

    if getproxies():
        return True
    # A thread, as the time limit of a connection does not cover the lookup of the host name.
    asking = Thread(target=knock, daemon=True)
    asking.start()
    asking.join(PATIENCE)
    return bool(answers)
