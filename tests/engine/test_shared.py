"""Shared runs without a model: workers that are killed, and what they need not make again."""

import json
import multiprocessing
import os
import socket
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from engine.corpus import bits, measure, run, run_shared, texts, work
from headlight import files
from headlight.encode import Counts, Encoded, Examples
from headlight.encode.examples import Recipe
from headlight.engine.blocks import Block, SharedBlocks, read_plan
from headlight.engine.checkpoint import FILE as CHECKPOINT, SHARD_ELEMENTS
from headlight.engine.claims import STALE, release_claims, workers_in
from headlight.engine.file_names import BLOCKS, CLAIMS, COUNTS, MERGE, PLAN
from headlight.engine.pass_folders import begin_pass
from headlight.engine.state import State
from headlight.errors import RunError
from headlight.reduce import Grouped, Moments, Tally
from headlight.tensor_files import load_tensors, save_tensors
from random_moments import random_moments

NUMBER = 42
"""Elements of a corpus: ten shards of four elements, and one of two."""
KILLS = 20


def corpus(changed: int | None = None) -> tuple[Examples, list[str]]:
    """Examples, of which each element gives none, one or two; and which elements were encoded."""
    encoded: list[str] = []

    def encode(group: list, counts: Counts) -> Iterator[Encoded]:
        for text in group:
            encoded.append(text.name)
            counts.documents += 1
            for part in range(len(text.ids) % 3):
                ids = (text.ids[part], *text.ids)
                yield Encoded(text.name, ids, *[(0,) * len(ids)] * 3)

    elements = list(texts(NUMBER))
    if changed is not None:
        elements[changed] = list(texts(NUMBER + 1))[-1]
    return Examples(Recipe(elements, lambda text: (str(text.ids),), encode)), encoded


def shared(folder: Path, examples: Examples, measuring=measure) -> State:
    return run_shared(examples, work(measuring), folder=folder, signature={}, hardware={})


def expected() -> State:
    return run(corpus()[0], work(), signature={})


def slowly(batch: Sequence[Encoded]) -> Tally:
    time.sleep(0.03)
    return measure(batch)


@pytest.mark.slow
@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="processes are forked here"
)
def test_workers_killed_at_random_leave_the_same_bits(tmp_path: Path) -> None:
    fork, generator = multiprocessing.get_context("fork"), random_moments()
    workers: list = []
    for _ in range(KILLS):
        while len(workers) < 3:
            workers.append(fork.Process(target=shared, args=(tmp_path, corpus()[0], slowly)))
            workers[-1].start()
        time.sleep(generator.uniform(0, 0.06))
        lost = workers.pop(int(generator.integers(len(workers))))
        lost.kill()
        lost.join()
    found = shared(tmp_path, corpus()[0])
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    assert bits(found.tally) == bits(expected().tally)
    assert found.digest == expected().digest
    assert found.examples == expected().examples


def test_what_is_measured_is_not_encoded_again(tmp_path: Path) -> None:
    whole = shared(tmp_path, corpus()[0])
    (tmp_path / CHECKPOINT).unlink()
    examples, encoded = corpus()
    again = shared(tmp_path, examples)
    assert bits(again.tally) == bits(whole.tally) == bits(expected().tally)
    assert again.counts == whole.counts == expected().counts
    assert not encoded


@pytest.mark.slow
def test_what_others_are_at_is_passed_over_without_encoding_it(tmp_path: Path) -> None:
    folder = SharedBlocks(tmp_path, {"shard_elements": 4}, {})
    nothing_read = corpus()[0].shards(4).digest
    assert folder.claim(Block(0, nothing_read))
    examples, encoded = corpus()

    def watching(batch: Sequence[Encoded]) -> Tally:
        if "corpus.txt:38" in (text.name for text in batch):  # of the last shard but one
            assert encoded[0] == "corpus.txt:5"
            folder.release(Block(0, nothing_read))
        return measure(batch)

    found = shared(tmp_path, examples, watching)
    assert sorted(encoded) == sorted(text.name for text in texts(NUMBER))  # each of them once
    assert bits(found.tally) == bits(expected().tally)


def test_blocks_are_merged_by_one_process_for_all(tmp_path: Path) -> None:
    whole = shared(tmp_path, corpus()[0])
    for path in (tmp_path / BLOCKS).iterdir():
        path.unlink()
    again = shared(tmp_path, corpus()[0])
    assert bits(again.tally) == bits(whole.tally)


def test_who_dies_while_it_merges_is_replaced(tmp_path: Path) -> None:
    SharedBlocks(tmp_path, {"shard_elements": 4}, {})
    gone = multiprocessing.Process()
    gone.start()
    gone.join()
    owner = {"host": socket.gethostname(), "process": gone.pid, "token": "gone"}
    (tmp_path / CLAIMS / f"{MERGE}.json").write_text(json.dumps(owner))
    assert bits(shared(tmp_path, corpus()[0]).tally) == bits(expected().tally)


class Recorder:
    """A progress that remembers what it was told."""

    def __init__(self) -> None:
        self.examples = 0
        self.last = (0, 0)

    def skip(self, examples: int, tokens: int) -> None:
        self.examples += examples

    def advance(self, examples: int, tokens: int) -> None:
        self.examples += examples

    def note(self, sentence: str) -> None:
        pass

    def share(self, workers: int, blocks: int) -> None:
        self.last = (workers, blocks)


def test_what_others_do_is_shown_once_it_is_done(tmp_path: Path) -> None:
    told, blocks = Recorder(), SharedBlocks(tmp_path, {"shard_elements": 4}, {})
    first = Block(0, corpus()[0].shards(4).digest)
    assert blocks.claim(first)  # by somebody who gives up as soon as the third is measured
    seen: list[int] = []

    def watching(batch: Sequence[Encoded]) -> Tally:
        seen.append(told.examples)
        if len(seen) == 4:
            blocks.release(first)
        return measure(batch)

    given = {"folder": tmp_path, "signature": {}, "hardware": {}, "progress": told}
    found = run_shared(corpus()[0], work(watching), **given)
    assert seen[0] == 0
    assert told.examples == found.examples == expected().examples
    assert told.last == (0, -(-NUMBER // 4))


def test_another_corpus_is_noticed_without_encoding_it(tmp_path: Path) -> None:
    shared(tmp_path, corpus()[0])
    (tmp_path / CHECKPOINT).unlink()
    examples, encoded = corpus(changed=3)
    with pytest.raises(RunError, match="the corpus has changed"):
        shared(tmp_path, examples)
    assert not encoded


def test_a_worker_of_another_kind_is_refused(tmp_path: Path) -> None:
    def join(**own: str) -> State:
        given = {"torch": "2.13.0"}, {"device": "cpu", "instructions": "AVX2"}
        signature, hardware = ({name: own.get(name, is_) for name, is_ in d.items()} for d in given)
        return run_shared(
            corpus()[0], work(), folder=tmp_path, signature=signature, hardware=hardware
        )

    join()
    (tmp_path / CHECKPOINT).unlink()
    with pytest.raises(RunError, match=r'other settings: torch was "2.13.0" and is now "2.12.1"'):
        join(torch="2.12.1")
    with pytest.raises(RunError, match="instructions AVX512, which rounds otherwise"):
        join(instructions="AVX512")


def test_claims_of_lost_machines_are_freed(tmp_path: Path) -> None:
    (begin_pass(tmp_path, "pass") / CLAIMS).mkdir()
    (tmp_path / "pass" / PLAN).write_text("{}")
    for host in ("here", "lost"):
        (tmp_path / "pass" / CLAIMS / f"{host}.json").write_text(f'{{"host": "{host}"}}')
    release_claims(tmp_path, {"lost"})
    assert [path.stem for path in (tmp_path / "pass" / CLAIMS).iterdir()] == ["here"]


DAMAGED = ["[]", "5", "null", '"x"', "{", "[" * 5000, '{"host": HERE, "process": "x"}',
           '{"host": HERE, "process": null}', '{"host": HERE, "process": 1' + 30 * "0" + "}",
           '{"host": HERE, "process": -1}']  # fmt: skip


@pytest.mark.parametrize("said", DAMAGED)
def test_a_claim_that_is_none_stops_nobody(tmp_path: Path, said: str) -> None:
    """It counts as one until it is old."""
    shared(tmp_path, corpus()[0])
    (tmp_path / CHECKPOINT).unlink()
    first = sorted((tmp_path / BLOCKS).iterdir())[0]
    first.unlink()
    claim = tmp_path / CLAIMS / f"{first.stem}.json"
    claim.write_text(said.replace("HERE", json.dumps(socket.gethostname())))
    assert workers_in(tmp_path) == 1
    release_claims(tmp_path, {"lost"})
    old = time.time() - STALE - 1
    os.utime(claim, (old, old))
    assert workers_in(tmp_path) == 0
    assert bits(shared(tmp_path, corpus()[0]).tally) == bits(expected().tally)


def test_a_claim_of_a_clock_that_is_ahead_is_waited_for_no_longer_than_others(
    tmp_path: Path,
) -> None:
    shared(tmp_path, corpus()[0])
    (tmp_path / CHECKPOINT).unlink()
    first = sorted((tmp_path / BLOCKS).iterdir())[0]
    first.unlink()
    claim = tmp_path / CLAIMS / f"{first.stem}.json"
    claim.write_text('{"host": "elsewhere", "process": 1, "token": "x"}')
    ahead = time.time() + 3600
    os.utime(claim, (ahead, ahead))
    began = time.monotonic()
    assert bits(shared(tmp_path, corpus()[0]).tally) == bits(expected().tally)
    assert time.monotonic() - began < 300  # and not the hour


@pytest.mark.slow
@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="processes are forked here"
)
def test_clocks_that_jump_by_hours_leave_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Claims of others look older than they are, or yet to come: double work at most."""
    fork, generator, clock = multiprocessing.get_context("fork"), random_moments(), time.time
    monkeypatch.setattr(files.time, "time", lambda: clock() + 3600 * generator.integers(-3, 4))
    workers = [fork.Process(target=shared, args=(tmp_path, corpus()[0], slowly)) for _ in range(2)]
    for worker in workers:
        worker.start()
    found = shared(tmp_path, corpus()[0])
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    assert bits(found.tally) == bits(expected().tally)
    assert not list((tmp_path / CLAIMS).iterdir())


def test_a_plan_of_too_many_brackets_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / PLAN).write_text("[" * 100_000)
    with pytest.raises(RunError, match=r"plan\.json is damaged"):
        read_plan(tmp_path)


def test_a_block_whose_arrays_do_not_fit_is_a_sentence(tmp_path: Path) -> None:
    """Its digest is right: somebody has made it so."""
    state = State(tally=Tally({"a": Grouped(Moments())}))
    state.tally["a"].at(3)
    folder = SharedBlocks(tmp_path, {SHARD_ELEMENTS: 4}, {})
    block = Block(0, "0" * 64)
    folder.keep(block, state, last=True)
    path = next((tmp_path / BLOCKS).iterdir())
    tensors, header = load_tensors(path)
    assert any(name.endswith("/key") for name in tensors)
    forged = {name: each if name.endswith("/key") else each[:0] for name, each in tensors.items()}
    save_tensors(path, forged, header)
    with pytest.raises(RunError, match="cannot be read"):
        folder.read(block)


def test_without_the_counts_all_is_as_it_was(tmp_path: Path) -> None:
    shared(tmp_path, corpus()[0])
    (tmp_path / CHECKPOINT).unlink()
    for path in (tmp_path / COUNTS).iterdir():
        path.write_text("{")
    assert bits(shared(tmp_path, corpus()[0]).tally) == bits(expected().tally)
    assert not list((tmp_path / CLAIMS).iterdir())


def test_a_run_goes_on_without_encoding_what_is_done(tmp_path: Path) -> None:
    calls = 0

    def stopped(batch: Sequence[Encoded]) -> Tally:
        nonlocal calls
        calls += 1
        if calls > 8:
            raise KeyboardInterrupt
        return measure(batch)

    with pytest.raises(RunError, match="interrupted"):
        run(corpus()[0], work(stopped), folder=tmp_path, signature={})
    examples, encoded = corpus()
    found = run(examples, work(), folder=tmp_path, signature={}, resume=True)
    assert bits(found.tally) == bits(expected().tally)
    assert encoded[0] != "corpus.txt:1"
    assert found.counts == expected().counts
