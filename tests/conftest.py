"""What tests share."""

import signal
from collections.abc import Iterator

import jaxtyping
import pytest
from hypothesis import settings

# A machine at work may take long for any example.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell lets nobody interrupt what it began in the background, nor what is begun from there;
    # some tests interrupt processes.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Types are not checked, so that a wrong value meets the refusal that users see."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
