"""Recordings with transcripts, from folders and tables."""

import json
from pathlib import Path

import pytest

from headlight.corpora import Recording, medium_of, open_recordings
from headlight.errors import CorpusError, UsageError
from speech_material import SAID, recordings, wav


def test_a_folder_is_read_in_the_order_of_names(tmp_path: Path) -> None:
    folder = recordings(tmp_path / "all")
    (folder / "README.md").write_text("none of it", encoding="utf-8")
    found = list(open_recordings(folder))
    assert [each.audio.name for each in found] == ["a.wav", "b.wav", "c.wav"]
    assert [each.text for each in found] == [text for _, text, _ in SAID.values()]
    assert [each.times for each in found] == [times for *_, times in SAID.values()]
    (folder / "d.mp3").write_bytes(b"ID3")
    (folder / "d.txt").write_text("words without a sound that is read", encoding="utf-8")
    corpus = open_recordings(folder)
    assert (len(list(corpus)), corpus.counts.other_files) == (3, 2)
    sounds = (folder, str(folder / "*.wav"), open_recordings(folder))
    assert [*map(medium_of, sounds)] == ["speech"] * 3
    assert [*map(medium_of, (folder / "a.txt", None, "-", ["a.wav"]))] == [None] * 4
    (folder / "pictures").mkdir()
    (folder / "pictures" / "a.png").write_bytes(b"")  # which is decoded by the model that sees it
    assert medium_of(folder / "pictures") == "pictures"
    (one,) = open_recordings(folder / "b.wav")
    assert one.text == SAID["b"][1]


@pytest.mark.parametrize("suffix", [".tsv", ".csv", ".jsonl"])
def test_a_table_names_sounds_as_seen_from_itself(tmp_path: Path, suffix: str) -> None:
    recordings(tmp_path / "sounds", times=False)
    path = tmp_path / f"said{suffix}"
    rows = [(f"sounds/{name}.wav", text) for name, (_, text, _) in SAID.items()]
    if suffix == ".jsonl":
        words = [
            [[word, *time] for word, time in zip(text.split(), times, strict=True)]
            for _, text, times in SAID.values()
        ]
        lines = [
            json.dumps({"audio": audio, "text": text, "words": said})
            for (audio, text), said in zip(rows, words, strict=True)
        ]
    else:
        mark = "\t" if suffix == ".tsv" else ","
        lines = [mark.join(row) for row in [("path", "text"), *rows]]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = list(open_recordings(path))
    assert [each.audio for each in found] == [tmp_path / audio for audio, _ in rows]
    assert [each.text for each in found] == [text for _, text in rows]
    known = [times if suffix == ".jsonl" else None for *_, times in SAID.values()]
    assert [each.times for each in found] == known


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.txt", None, r"a\.wav has no transcript; write the words into a\.txt beside it"),
        ("a.txt", " \n", r"a\.txt is empty; write the words of a\.wav"),
        ("a.times", "The 0 0.1\n", r"word 2 is 'the end', and in the transcript it is 'cat'"),
        ("a.times", "The 0\n", "a line is a word, its beginning and its end in seconds"),
        ("a.times", "The 0 0.1\ncat 0.3 0.2\nsat. 0.3 0.4\n", "'cat' lasts from 0.3 to 0.2"),
        ("a.times", "The x 0.1\ncat 0.1 0.2\nsat. 0.3 0.4\n", "'The' lasts from x to 0.1"),
        ("a.times", "The 0.2 0.3\ncat 0.1 0.2\nsat. 0.3 0.4\n", "'cat' lasts from 0.1"),
    ],
)
def test_what_lies_beside_a_sound_must_fit(
    tmp_path: Path, name: str, content: str | None, sentence: str
) -> None:
    folder = recordings(tmp_path / "all")
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_text(content, encoding="utf-8")
    with pytest.raises(CorpusError, match=sentence):
        list(open_recordings(folder))


def test_tables_must_be_whole(tmp_path: Path) -> None:
    for name, content, sentence in (
        ("a.tsv", "sound\ttext\nx.wav\tHello\n", "no column names the file with the sound"),
        ("b.tsv", "path\ttext\nx.wav\n", "the row has 1 fields, and should have 2"),
        ("c.tsv", "path\tsaid\nx.wav\tHello\n", "there is no column 'text'"),
        ("d.jsonl", '{"audio": "x.wav", "text": ""}\n', "file and transcript must both be texts"),
        ("e.jsonl", '{"audio": "x.wav", "text": "a", "words": [["a", 1]]}\n', "must be a list"),
    ):
        (tmp_path / name).write_text(content, encoding="utf-8")
        with pytest.raises(CorpusError, match=sentence):
            list(open_recordings(tmp_path / name))


def test_what_holds_no_sound_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Hello", encoding="utf-8")
    with pytest.raises(CorpusError, match="holds no recordings; give a folder of WAV files"):
        open_recordings(tmp_path)
    with pytest.raises(UsageError, match="of class Recording"):
        list(open_recordings(iter(["a.wav"])))  # type: ignore[arg-type]
    given = [Recording("a", wav(tmp_path / "a.wav"), "Hello")]
    assert list(open_recordings(given)) == given
