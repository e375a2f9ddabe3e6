"""A run over a corpus: the same bits however it was cut, and a sentence for whatever goes wrong."""

import gc
import weakref
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.corpus import Text, bits, by_length, files, measure, never, run, texts, work
from headlight.engine.shard_runner import BatchJob
from headlight.engine.state import State
from headlight.errors import RunError, RunInterruptedError, UsageError
from headlight.reduce import Count, Tally

SIGNATURE = {"model": "none", "layers": (0, 1), "pairs": False}


class Recorder:
    """A progress that remembers what it was told."""

    def __init__(self) -> None:
        self.skipped: list[tuple[int, int]] = []
        self.advanced: list[tuple[int, int]] = []
        self.notes: list[str] = []

    def skip(self, examples: int, tokens: int) -> None:
        self.skipped.append((examples, tokens))

    def advance(self, examples: int, tokens: int) -> None:
        self.advanced.append((examples, tokens))

    def note(self, sentence: str) -> None:
        self.notes.append(sentence)

    def share(self, workers: int, blocks: int) -> None:
        raise AssertionError("nobody else works")


def stopping_after(calls: int, error: BaseException):
    """A measurement that fails in the call after so many."""
    done = 0

    def stopping(batch: Sequence[Text]) -> Tally:
        nonlocal done
        if done == calls:
            raise error
        done += 1
        return measure(batch)

    return stopping


def whole(number: int, **changes) -> State:
    return run(texts(number), replace(work(), **changes), signature=SIGNATURE)


class TestResult:
    @pytest.mark.parametrize("number", [0, 1, 3, 4, 5, 8, 11])
    def test_every_example_is_measured_once(self, number: int) -> None:
        state = whole(number)
        assert (state.examples, state.finished) == (number, True)
        assert state.tokens == sum(len(text.ids) for text in texts(number))
        if number:
            alone = measure(list(texts(number)))
            for name, statistics in alone.compute().items():
                for statistic, expected in statistics.items():
                    found = state.tally.compute()[name][statistic]
                    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)

    def test_a_folder_changes_nothing(self, tmp_path: Path) -> None:
        kept = run(texts(11), work(), folder=tmp_path / "a" / "b", signature=SIGNATURE)
        assert bits(kept.tally) == bits(whole(11).tally)
        assert files(tmp_path / "a" / "b") == {"checkpoint.safetensors"}

    def test_batches_are_those_of_the_plan_shard_by_shard(self) -> None:
        seen: list[list[str]] = []

        def noting(batch: Sequence[Text]) -> Tally:
            seen.append([text.name for text in batch])
            return measure(batch)

        whole(11, measure=noting)
        corpus = list(texts(11))
        shards = [corpus[:4], corpus[4:8], corpus[8:]]
        assert seen == [
            [shard[place].name for place in batch] for shard in shards for batch in by_length(shard)
        ]

    @pytest.mark.parametrize("plan", [[[0, 1]], [[0, 1], [2, 2]], [[0], [1], [2], [3]], []])
    def test_a_plan_that_loses_or_doubles_examples_is_refused(self, plan) -> None:
        with pytest.raises(RunError, match="exactly once"):
            whole(3, batches=lambda shard: plan)

    def test_the_digest_is_of_what_the_model_sees(self) -> None:
        text = Text("a.txt:1", (1, 2), (0, 1), (3,))
        digests = {
            run(corpus, work(), signature={}).digest
            for corpus in (
                [],
                [text],
                [text, text],
                [replace(text, ids=(1, 3))],
                [replace(text, segments=(0, 0))],
                [replace(text, target=())],
                [replace(text, ids=(1,)), replace(text, ids=(2,))],
                [replace(text, ids=(1, 2, 0), segments=(1,))],
            )
        }
        assert len(digests) == 8
        renamed = run([replace(text, name="b.txt:7")], work(), signature={}).digest
        assert renamed == run([text], work(shard_size=1), signature={}).digest

    def test_memory_does_not_grow_with_the_corpus(self) -> None:
        alive: weakref.WeakSet[Text] = weakref.WeakSet()
        most = 0

        def corpus(number: int):
            for text in texts(number):
                fresh = replace(text)
                alive.add(fresh)
                yield fresh

        def watching(batch: Sequence[Text]) -> Tally:
            nonlocal most
            most = max(most, len(alive))
            return measure(batch)

        peaks = []
        for number in (40, 320):
            most = 0
            run(corpus(number), work(watching), signature={})
            peaks.append(most)
        assert peaks[0] == peaks[1] <= 2 * 4


class TestResume:
    @pytest.mark.parametrize("calls", range(5))
    def test_after_any_batch_gives_the_same_bits(self, calls: int, tmp_path: Path) -> None:
        broken = stopping_after(calls, ValueError("a bug"))
        with pytest.raises(ValueError, match="a bug"):
            run(texts(11), work(broken), folder=tmp_path, signature=SIGNATURE)
        progress = Recorder()
        state = run(
            texts(11), work(), folder=tmp_path, signature=SIGNATURE, resume=True, progress=progress
        )
        expected = whole(11)
        assert bits(state.tally) == bits(expected.tally)
        assert replace(state, tally=expected.tally) == expected
        done = 4 * (calls // 2)  # a shard of four makes two batches
        assert progress.skipped == ([(done, sum_of_lengths(done))] if done else [])
        assert done + sum(examples for examples, _ in progress.advanced) == 11

    def test_again_and_again_gives_the_same_bits(self, tmp_path: Path) -> None:
        for _ in range(3):
            with pytest.raises(ValueError, match="a bug"):
                run(
                    texts(19),
                    work(stopping_after(3, ValueError("a bug"))),
                    folder=tmp_path,
                    signature=SIGNATURE,
                    resume=True,
                )
        state = run(texts(19), work(), folder=tmp_path, signature=SIGNATURE, resume=True)
        assert bits(state.tally) == bits(whole(19).tally)
        assert state.digest == whole(19).digest

    @pytest.mark.parametrize("number", [0, 3, 8])
    def test_of_a_finished_run_returns_at_once(self, number: int, tmp_path: Path) -> None:
        first = run(texts(number), work(), folder=tmp_path, signature=SIGNATURE)

        def untouchable():
            raise AssertionError("the corpus was read")
            yield

        again = run(untouchable(), work(), folder=tmp_path, signature=SIGNATURE, resume=True)
        assert bits(again.tally) == bits(first.tally)
        assert replace(again, tally=first.tally) == first

    def test_without_a_state_begins(self, tmp_path: Path) -> None:
        state = run(texts(5), work(), folder=tmp_path, signature=SIGNATURE, resume=True)
        assert bits(state.tally) == bits(whole(5).tally)

    def test_must_be_wanted(self, tmp_path: Path) -> None:
        run(texts(5), work(), folder=tmp_path, signature=SIGNATURE)
        before = (tmp_path / "checkpoint.safetensors").read_bytes()
        with pytest.raises(UsageError, match=r"holds a run already; go on with resume=True.*out="):
            run(texts(5), work(), folder=tmp_path, signature=SIGNATURE)
        assert (tmp_path / "checkpoint.safetensors").read_bytes() == before

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"model": "bert"}, 'model was "none" and is now "bert"'),
            ({"layers": [0]}, r"layers was \[0, 1\] and is now \[0\]"),
            ({"new": 1}, "new was not set and is now 1"),
            ({"pairs": True, "model": "x"}, "model was .*; pairs was false and is now true"),
        ],
    )
    def test_with_other_settings_is_refused(self, changes, message: str, tmp_path: Path) -> None:
        run(texts(5), work(), folder=tmp_path, signature=SIGNATURE)
        with pytest.raises(RunError, match=message):
            run(texts(5), work(), folder=tmp_path, signature={**SIGNATURE, **changes}, resume=True)

    def test_with_other_shards_is_refused(self, tmp_path: Path) -> None:
        run(texts(5), work(), folder=tmp_path, signature=SIGNATURE)
        with pytest.raises(RunError, match="shard_elements was 4 and is now 5"):
            run(texts(5), work(shard_size=5), folder=tmp_path, signature=SIGNATURE, resume=True)

    @pytest.mark.parametrize(
        ("corpus", "message"),
        [
            (list(texts(11))[1:], "its first 8 examples are no longer the same"),
            (list(texts(11, seed=1)), "its first 8 examples are no longer the same"),
            (list(texts(5)), "no longer the same"),
            ([], "and it ends after 0 of 2 shards now"),
        ],
    )
    def test_with_a_changed_corpus_is_refused(self, corpus, message: str, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="a bug"):
            run(
                texts(11),
                work(stopping_after(4, ValueError("a bug"))),
                folder=tmp_path,
                signature=SIGNATURE,
            )
        before = (tmp_path / "checkpoint.safetensors").read_bytes()
        with pytest.raises(RunError, match=message):
            run(corpus, work(), folder=tmp_path, signature=SIGNATURE, resume=True)
        assert (tmp_path / "checkpoint.safetensors").read_bytes() == before

    @pytest.mark.parametrize("content", [b"", b"junk" * 50, b"\x02\0\0\0\0\0\0\0{}"])
    def test_of_a_damaged_state_is_refused(self, content: bytes, tmp_path: Path) -> None:
        (tmp_path / "checkpoint.safetensors").write_bytes(content)
        with pytest.raises(RunError, match=r"cannot be read .* remove it, or choose"):
            run(texts(5), work(), folder=tmp_path, signature=SIGNATURE, resume=True)

    def test_of_a_file_that_is_no_state_is_refused(self, tmp_path: Path) -> None:
        Tally({"a": Count()}).save(tmp_path / "checkpoint.safetensors")
        with pytest.raises(RunError, match=r"cannot be read .* remove it, or choose"):
            run(texts(5), work(), folder=tmp_path, signature=SIGNATURE, resume=True)

    def test_of_an_earlier_version_is_refused(self, tmp_path: Path) -> None:
        notes = {"signature": SIGNATURE, "state": {"examples": 4, "tokens": 9}, "levels": [0]}
        Tally({"0/a": Count()}).save(tmp_path / "checkpoint.safetensors", notes)
        with pytest.raises(RunError, match=r"an earlier version .* overwrite=True"):
            run(texts(5), work(), folder=tmp_path, signature=SIGNATURE, resume=True)


class TestInterruption:
    def test_says_how_to_go_on(self, tmp_path: Path) -> None:
        stopped = work(stopping_after(4, KeyboardInterrupt()))
        with pytest.raises(
            RunInterruptedError, match=r"8 examples are done .* resume=True"
        ) as caught:
            run(texts(11), stopped, folder=tmp_path, signature=SIGNATURE)
        assert caught.value.exit_code == 130
        state = run(texts(11), work(), folder=tmp_path, signature=SIGNATURE, resume=True)
        assert bits(state.tally) == bits(whole(11).tally)

    def test_without_a_folder_says_that_nothing_is_kept(self) -> None:
        with pytest.raises(RunInterruptedError, match="nothing is kept"):
            run(texts(11), work(stopping_after(1, KeyboardInterrupt())), signature=SIGNATURE)


class OutOfMemory:
    """A device that holds so many tokens, padding included, and counts the failures."""

    def __init__(self, tokens: int) -> None:
        self.tokens = tokens
        self.failures = 0
        self.sizes: list[int] = []

    def measure(self, batch: Sequence[Text]) -> Tally:
        if len(batch) * max(len(text.ids) for text in batch) > self.tokens:
            self.failures += 1
            raise MemoryError
        self.sizes.append(len(batch))
        return measure(batch)

    def work(self, shard_size: int = 8) -> BatchJob[Text]:
        return BatchJob(
            measure=self.measure,
            batches=lambda shard: [list(range(len(shard)))],
            length=lambda text: len(text.ids),
            out_of_memory=lambda error: isinstance(error, MemoryError),
            shard_size=shard_size,
        )


def same_length(number: int, length: int = 4) -> list[Text]:
    return [Text(f"t:{place}", tuple(range(place, place + length))) for place in range(number)]


class TestMemory:
    @pytest.mark.parametrize(
        ("tokens", "sizes", "failures_of_a_shard"),
        [
            (32, [8, 8, 8], 0),
            (31, [4] * 6, 1),
            (16, [4] * 6, 1),
            (15, [2] * 12, 2),
            (4, [1] * 24, 3),
        ],
    )
    def test_a_batch_is_halved_and_the_size_remembered_in_the_shard(
        self, tokens: int, sizes: list[int], failures_of_a_shard: int
    ) -> None:
        device = OutOfMemory(tokens)
        progress = Recorder()
        state = run(same_length(24), device.work(), signature={}, progress=progress)
        assert device.sizes == sizes
        assert device.failures == 3 * failures_of_a_shard
        assert len(progress.notes) == failures_of_a_shard  # said once
        assert state.examples == 24
        assert sum(examples for examples, _ in progress.advanced) == 24
        assert sum(tokens for _, tokens in progress.advanced) == state.tokens == 96

    def test_halves_of_an_odd_batch_are_tried(self) -> None:
        device = OutOfMemory(5 * 4)
        run(same_length(9), device.work(9), signature={})
        assert device.sizes == [5, 4]

    def test_results_are_the_same_up_to_rounding(self) -> None:
        found = run(same_length(20), OutOfMemory(4).work(), signature={}).tally.compute()
        expected = run(same_length(20), OutOfMemory(10**9).work(), signature={}).tally.compute()
        np.testing.assert_allclose(found["ids"]["mean"], expected["ids"]["mean"], rtol=1e-13)
        np.testing.assert_array_equal(found["ids"]["count"], expected["ids"]["count"])

    def test_a_resumed_run_halves_as_one_that_was_not_interrupted(self, tmp_path: Path) -> None:
        uninterrupted = run(same_length(24), OutOfMemory(8).work(), signature={})
        device = OutOfMemory(8)
        broken = replace(device.work(), measure=interrupting(device.measure, after=7))
        with pytest.raises(RunInterruptedError):
            run(same_length(24), broken, folder=tmp_path, signature={})
        device = OutOfMemory(8)
        state = run(same_length(24), device.work(), folder=tmp_path, signature={}, resume=True)
        assert device.failures > 0  # each shard finds out by itself
        assert bits(state.tally) == bits(uninterrupted.tally)

    def test_one_example_that_does_not_fit_is_named(self) -> None:
        corpus = [*same_length(3), Text("long.txt:9", tuple(range(50))), *same_length(3)]
        with pytest.raises(RunError, match=r"one example alone: long\.txt:9, 50 tokens"):
            run(corpus, OutOfMemory(20).work(), signature={})

    def test_the_failed_attempt_is_gone_before_the_next(self) -> None:
        """A traceback that is still alive would keep the tensors of the failed batch."""
        alive: weakref.WeakSet[Count] = weakref.WeakSet()

        def greedy(batch: Sequence[Text]) -> Tally:
            tensor = Count()
            assert not alive
            alive.add(tensor)
            if len(batch) > 1:
                raise MemoryError
            return measure(batch)

        gc.disable()  # reference counts alone must do
        try:
            run(same_length(8), replace(OutOfMemory(0).work(), measure=greedy), signature={})
        finally:
            gc.enable()

    def test_other_errors_pass_unchanged(self) -> None:
        with pytest.raises(ZeroDivisionError):
            run(
                texts(4),
                work(stopping_after(0, ZeroDivisionError()), out_of_memory=never),
                signature={},
            )


class TestFolder:
    def test_a_full_disk_keeps_the_last_state(self, tmp_path: Path, monkeypatch) -> None:
        full_after(2, monkeypatch)
        with pytest.raises(RunError, match=r"checkpoint.safetensors cannot be written: the disk"):
            run(texts(15), work(), folder=tmp_path, signature=SIGNATURE)
        assert files(tmp_path) == {"checkpoint.safetensors"}
        monkeypatch.undo()
        progress = Recorder()
        state = run(
            texts(15), work(), folder=tmp_path, signature=SIGNATURE, resume=True, progress=progress
        )
        assert progress.skipped[0][0] == 8
        assert bits(state.tally) == bits(whole(15).tally)


def full_after(writes: int, monkeypatch) -> None:
    """Let the disk be full after so many files."""
    import os

    synced = os.fsync
    count = 0

    def fsync(descriptor: int) -> None:
        nonlocal count
        count += 1
        if count > 2 * writes:  # the file and its folder
            raise OSError(28, "No space left on device")
        synced(descriptor)

    monkeypatch.setattr("headlight.files.os.fsync", fsync)


def interrupting(measure, after: int):
    calls = 0

    def interrupted(batch: Sequence[Text]) -> Tally:
        nonlocal calls
        calls += 1
        if calls > after:
            raise KeyboardInterrupt
        return measure(batch)

    return interrupted


def sum_of_lengths(number: int) -> int:
    return sum(len(text.ids) for text in texts(number))
