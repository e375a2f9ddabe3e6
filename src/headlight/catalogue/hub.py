"""The hub of models: names, those in its cache, and whether it answers."""

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

PATIENCE = 5.0
"""Seconds that the hub is given to take a connection."""


def no_model(name: str, why: str) -> ModelError:
    """Return the error for a model that is neither here nor available, with a similar name."""
    near = get_close_matches(name, [*embedded_models(), *cached_models()], n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return ModelError(
        f"there is no folder {name!r}, no model of that name is in the cache of the hub, and "
        f"{why}.{hint}"
    )


def cached_models() -> list[str]:
    """Return the names of the models in the cache of the hub."""
    folders = Path(hub.HF_HUB_CACHE).glob("models--*")
    return [
        each.name.removeprefix("models--").replace("--", "/")
        for each in folders
        if any(each.glob(f"snapshots/*/{CONFIG}"))
    ]


def hub_answers() -> bool:
    """Whether the hub takes connections; True behind a proxy, where loading finds out."""
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
    asking = Thread(target=knock, daemon=True)  # a name is looked up without any limit of time
    asking.start()
    asking.join(PATIENCE)
    return bool(answers)
