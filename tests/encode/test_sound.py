"""WAV files as numbers, also those whose headers lie."""

import struct
from pathlib import Path

import numpy as np
import pytest

from headlight.encode.wav_files import read_sound
from headlight.errors import CorpusError
from headlight.files import reason


def wav(path: Path, *, rate: int, channels: int = 1, width: int = 2, kind: int = 1) -> Path:
    """A tenth of a second at 16 kHz of a slow wave, under a header that says this."""
    data = (9000 * np.sin(np.arange(1600) / 20)).astype("<i2").tobytes()
    size = (channels * width) & 0xFFFF
    about = struct.pack("<HHIIHH", kind, channels, rate, 0, size, 8 * width)
    chunks = b"fmt " + struct.pack("<I", len(about)) + about + b"data"
    chunks += struct.pack("<I", len(data)) + data
    path.write_bytes(b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks)
    return path


def test_the_rate_may_be_any_that_there_is(tmp_path: Path) -> None:
    assert len(read_sound(wav(tmp_path / "a.wav", rate=16_000), 16_000)) == 1600
    assert len(read_sound(wav(tmp_path / "b.wav", rate=44_100), 16_000)) == 581
    assert len(read_sound(wav(tmp_path / "c.wav", rate=192_000), 16_000)) == 134


@pytest.mark.parametrize("rate", [0, 2_147_483_647, 4_294_967_295])
def test_a_rate_that_nothing_has_is_refused(tmp_path: Path, rate: int) -> None:
    with pytest.raises(CorpusError, match=f"a second of it has {rate:,} samples"):
        read_sound(wav(tmp_path / "a.wav", rate=rate), 16_000)


@pytest.mark.parametrize("header", [{"channels": 0}, {"width": 0}, {"width": 3}, {"kind": 3}])
def test_other_headers_are_refused(tmp_path: Path, header: dict[str, int]) -> None:
    with pytest.raises(CorpusError, match=r"a\.wav (cannot be read as sound|has samples)"):
        read_sound(wav(tmp_path / "a.wav", rate=16_000, **header), 16_000)


def test_a_file_cut_short_in_its_sound_is_refused(tmp_path: Path) -> None:
    path = wav(tmp_path / "a.wav", rate=16_000)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(CorpusError, match=r"a\.wav is cut short: it has .* bytes of sound"):
        read_sound(path, 16_000)


@pytest.mark.parametrize(
    ("name", "start"),
    [("a.mp3", b"ID3\4\0\0"), ("b.mp3", b"\xff\xfb\x90d"), ("c.wav", b"OggS\0\2"), ("d", b"fLaC")],
)
def test_sound_of_other_formats_is_named(tmp_path: Path, name: str, start: bytes) -> None:
    (tmp_path / name).write_bytes(start)
    with pytest.raises(CorpusError, match=f"{name} is sound, but no WAV file; convert it to WAV"):
        read_sound(tmp_path / name, 16_000)


def test_a_reason_is_never_bare(tmp_path: Path) -> None:
    (tmp_path / "a.wav").write_bytes(b"RIFF")
    with pytest.raises(CorpusError, match=r"cannot be read as sound \(it ends too early\); give a"):
        read_sound(tmp_path / "a.wav", 16_000)
    assert reason(KeyError("data")) == "it lacks 'data'"
    assert reason(ValueError("")) == "there was a ValueError without a reason"


@pytest.mark.parametrize("size", [0, 4, 12, 20, 36, 43])
def test_a_file_cut_short_in_its_header_is_refused(tmp_path: Path, size: int) -> None:
    path = wav(tmp_path / "a.wav", rate=16_000)
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(CorpusError, match=r"a\.wav cannot be read as sound"):
        read_sound(path, 16_000)
