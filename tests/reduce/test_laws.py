"""The laws of accumulators, held against every row of the table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings, strategies

from headlight.errors import ResultError
from headlight.reduce import (
    ACCUMULATORS,
    Accumulator,
    Count,
    Grouped,
    Histogram,
    KeyedSums,
    Moments,
    Pearson,
    RankCorrelation,
    Ratio,
    Sample,
    SecondMoment,
    Slots,
    Strongest,
    Tally,
)

Columns = tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Case:
    """How to make an accumulator, and what it can be fed: `n` rows of each column."""

    make: Callable[[], Accumulator]
    columns: Callable[[int, np.random.Generator], Columns]

    def seen(self, columns: Columns, rows: Sequence[int]) -> Accumulator:
        made = self.make()
        made.update(*(column[list(rows)] for column in columns))
        return made


def numbers(n: int, generator: np.random.Generator, *shape: int) -> np.ndarray:
    drawn = generator.normal(3.0, 2.0, (n, *shape))
    drawn[generator.random(drawn.shape) < 0.2] = np.nan
    return drawn


def whole(n: int, generator: np.random.Generator, *shape: int) -> np.ndarray:
    return np.floor(numbers(n, generator, *shape))


def sizes(n: int, generator: np.random.Generator, *shape: int) -> np.ndarray:
    return np.abs(numbers(n, generator, *shape))


def own_numbers(n: int, generator: np.random.Generator) -> np.ndarray:
    return generator.permutation(n)


def ranks(n: int, generator: np.random.Generator, *shape: int) -> np.ndarray:
    """No two alike, and not in order."""
    return np.broadcast_to(
        generator.permutation(n).reshape(n, *(1,) * len(shape)), (n, *shape)
    ).astype(float)


def keys(n: int, generator: np.random.Generator) -> np.ndarray:
    return generator.integers(-2, 3, n)


EDGES = [0.0, 1.0, 2.5, 4.0]
CASES = {
    "count": Case(lambda: Count((2, 3)), lambda n, g: (whole(n, g, 2, 3),)),
    "moments": Case(lambda: Moments((2, 3)), lambda n, g: (numbers(n, g, 2, 3),)),
    "moments, one number": Case(lambda: Moments(ddof=1), lambda n, g: (numbers(n, g),)),
    "histogram": Case(lambda: Histogram(EDGES, (2, 3)), lambda n, g: (numbers(n, g, 2, 3),)),
    "histogram, one number": Case(lambda: Histogram(EDGES), lambda n, g: (numbers(n, g),)),
    "pearson": Case(lambda: Pearson((2, 3)), lambda n, g: (numbers(n, g, 2, 3),) * 2),
    "pearson, one number": Case(lambda: Pearson(), lambda n, g: (numbers(n, g), numbers(n, g))),
    "ratio": Case(lambda: Ratio((2, 3)), lambda n, g: (numbers(n, g, 2, 3), numbers(n, g, 2, 3))),
    "slots": Case(
        lambda: Slots((2, 3)),
        lambda n, g: (own_numbers(n, g) * 7, numbers(n, g, 2, 3), numbers(n, g, 2, 3)),
    ),
    "slots, a whole that is shared": Case(
        lambda: Slots((2,), (1,)),
        lambda n, g: (own_numbers(n, g), g.normal(size=(n, 2)), g.normal(size=(n, 1))),
    ),
    "slots, one number": Case(
        Slots, lambda n, g: (own_numbers(n, g) * 40, numbers(n, g), numbers(n, g))
    ),
    "rank correlation": Case(
        lambda: RankCorrelation((2,)),
        lambda n, g: (g.random((n, 3)), sizes(n, g), keys(n, g) % 2),
    ),
    "rank correlation, one number": Case(
        lambda: RankCorrelation(), lambda n, g: (g.random((n, 1)), sizes(n, g), keys(n, g) * 0)
    ),
    "strongest": Case(
        lambda: Strongest((2,), size=2, width=3),
        lambda n, g: (whole(n, g, 2), ranks(n, g, 2), numbers(n, g, 2, 3)),
    ),
    "strongest, one number": Case(
        lambda: Strongest(), lambda n, g: (whole(n, g), ranks(n, g), numbers(n, g, 1))
    ),
    "keyed sums": Case(lambda: KeyedSums((2,), 3), lambda n, g: (keys(n, g), numbers(n, g, 2))),
    "keyed sums, one number": Case(lambda: KeyedSums(), lambda n, g: (keys(n, g), numbers(n, g))),
    "sample": Case(lambda: Sample(4, 2), lambda n, g: (own_numbers(n, g), sizes(n, g, 2))),
    "second moment": Case(lambda: SecondMoment((2,), 3), lambda n, g: (numbers(n, g, 2, 3),)),
    "second moment, one entry": Case(
        lambda: SecondMoment(size=2), lambda n, g: (numbers(n, g, 2),)
    ),
    "grouped": Case(lambda: Grouped(Moments((2,))), lambda n, g: (keys(n, g), numbers(n, g, 2))),
    "grouped, pearson": Case(
        lambda: Grouped(Pearson()), lambda n, g: (keys(n, g), numbers(n, g), numbers(n, g))
    ),
    "grouped, histogram": Case(
        lambda: Grouped(Histogram(EDGES, (2,))), lambda n, g: (keys(n, g), numbers(n, g, 2))
    ),
}
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


def assert_close(left: Accumulator, right: Accumulator) -> None:
    one, two = left.compute(), right.compute()
    assert one.keys() == two.keys()
    for name in one:
        np.testing.assert_allclose(one[name], two[name], rtol=1e-12, atol=1e-12, err_msg=name)


def assert_identical(left: Accumulator, right: Accumulator) -> None:
    assert type(left) is type(right)
    assert left.settings() == right.settings()
    one, two = left.arrays(), right.arrays()
    assert {name: bits(array) for name, array in one.items()} == {
        name: bits(array) for name, array in two.items()
    }


def bits(array: np.ndarray) -> tuple[str, tuple[int, ...], bytes]:
    return array.dtype.str, array.shape, array.tobytes()


def test_every_accumulator_is_held_to_the_laws() -> None:
    assert {case.make().kind for case in CASES.values()} == set(ACCUMULATORS)


@every_case
@settings(max_examples=40, deadline=None)
@given(data=strategies.data())
def test_any_split_and_any_order_of_merging_is_one_pass(
    case: Case, data: strategies.DataObject
) -> None:
    n = data.draw(strategies.integers(0, 12))
    columns = case.columns(n, np.random.default_rng(data.draw(strategies.integers(0, 2**32))))
    shard = np.array(data.draw(strategies.lists(strategies.integers(0, 4), min_size=n, max_size=n)))
    parts = [case.seen(columns, np.flatnonzero(shard == number)) for number in range(5)]
    while len(parts) > 1:
        right = parts.pop(data.draw(strategies.integers(0, len(parts) - 1)))
        left = parts.pop(data.draw(strategies.integers(0, len(parts) - 1)))
        parts.append(left.merge(right))
    assert_close(parts[0], case.seen(columns, range(n)))


@every_case
def test_one_by_one_is_one_pass(case: Case) -> None:
    columns = case.columns(9, np.random.default_rng(0))
    merged, updated = case.make(), case.make()
    for row in range(9):
        merged = merged.merge(case.seen(columns, [row]))
        updated.update(*(column[row : row + 1] for column in columns))
    assert_close(merged, case.seen(columns, range(9)))
    assert_close(updated, case.seen(columns, range(9)))


@every_case
def test_merging_is_associative_and_commutative(case: Case) -> None:
    columns = case.columns(9, np.random.default_rng(1))
    one, two, three = (case.seen(columns, range(start, start + 3)) for start in (0, 3, 6))
    assert_close(one.merge(two).merge(three), one.merge(two.merge(three)))
    assert_close(one.merge(two), two.merge(one))


@every_case
def test_empty_is_neutral_exactly(case: Case) -> None:
    seen = case.seen(case.columns(5, np.random.default_rng(2)), range(5))
    assert_identical(seen.merge(seen.empty()), seen)
    assert_identical(seen.empty().merge(seen), seen)
    assert_identical(seen.empty(), case.make())


@every_case
def test_no_observations_change_nothing(case: Case) -> None:
    columns = case.columns(5, np.random.default_rng(2))
    seen = case.seen(columns, range(5))
    seen.update(*(column[:0] for column in columns))
    assert_identical(seen, case.seen(columns, range(5)))


@every_case
def test_merging_changes_no_operand_and_shares_no_memory(case: Case) -> None:
    columns = case.columns(8, np.random.default_rng(3))
    one, two = case.seen(columns, range(4)), case.seen(columns, range(4, 8))
    merged = one.merge(two)
    merged.update(*columns)
    assert_identical(one, case.seen(columns, range(4)))
    assert_identical(two, case.seen(columns, range(4, 8)))


@every_case
def test_taking_is_merging_in_place(case: Case) -> None:
    columns = case.columns(8, np.random.default_rng(3))
    one, two = case.seen(columns, range(4)), case.seen(columns, range(4, 8))
    merged = one.merge(two)
    tally = Tally()
    for each in (one, two):
        tally.take(Tally({"a": each}))
    assert_identical(tally["a"], merged)
    tally["a"].update(*columns)
    assert_identical(one, case.seen(columns, range(4)))
    assert_identical(two, case.seen(columns, range(4, 8)))
    with pytest.raises(ValueError, match="cannot merge"):
        tally["a"].take(Moments((7,)))


@every_case
def test_computing_changes_nothing_and_shares_no_memory(case: Case) -> None:
    seen = case.seen(case.columns(4, np.random.default_rng(4)), range(4))
    before = seen.copy()
    for array in seen.compute().values():
        array[...] = 77
    assert_identical(seen, before)


@every_case
def test_arrays_are_copies(case: Case) -> None:
    seen = case.seen(case.columns(4, np.random.default_rng(4)), range(4))
    before = seen.copy()
    arrays = seen.arrays()
    twin = seen.from_arrays(seen.settings(), arrays)
    for array in arrays.values():
        array[...] = 77
    assert_identical(seen, before)
    assert_identical(twin, before)


@every_case
def test_other_settings_are_not_merged(case: Case) -> None:
    with pytest.raises(ValueError, match="cannot merge"):
        case.make().merge(Moments((7,)))


@every_case
@pytest.mark.parametrize("rows", [0, 1, 6])
def test_a_file_keeps_every_bit(case: Case, rows: int, tmp_path) -> None:
    columns = case.columns(6, np.random.default_rng(5))
    tally = Tally({"some/name": case.seen(columns, range(rows)), "another": case.make()})
    tally.save(tmp_path / "tally.safetensors", {"α": [1, None]})
    loaded, notes = Tally.load(tmp_path / "tally.safetensors")
    assert notes == {"α": [1, None]}
    assert set(loaded) == set(tally)
    for name, member in tally.items():
        assert_identical(loaded[name], member)


@every_case
def test_a_file_is_the_same_whoever_writes_it(case: Case, tmp_path) -> None:
    seen = case.seen(case.columns(6, np.random.default_rng(5)), range(6))
    Tally({"a": seen, "b": case.make()}).save(tmp_path / "one")
    Tally({"b": case.make(), "a": seen.copy()}).save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


class TestTally:
    def test_merges_name_by_name_and_takes_over_the_rest(self) -> None:
        one = Tally({"both": counted(1), "left": counted(2)})
        two = Tally({"both": counted(10), "right": counted(20)})
        merged = one.merge(two)
        assert {name: int(each["total"]) for name, each in merged.compute().items()} == {
            "both": 11,
            "left": 2,
            "right": 20,
        }
        merged["left"].update(np.array([100.0]))
        merged["right"].update(np.array([100.0]))
        assert int(one["left"].compute()["total"]) == 2
        assert int(two["right"].compute()["total"]) == 20

    def test_nothing_at_all_is_neutral(self) -> None:
        tally = Tally({"a": counted(1)})
        assert_identical(Tally().merge(tally)["a"], tally["a"])
        assert_identical(tally.merge(Tally())["a"], tally["a"])
        assert len(Tally().merge(Tally())) == 0
        assert int(tally.empty().compute()["a"]["total"]) == 0

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "cannot be read"),
            (b"nonsense" * 100, "cannot be read"),
            (b"\x02\0\0\0\0\0\0\0{}", "not a file that Headlight wrote"),
        ],
    )
    def test_refuses_what_it_has_not_written(self, content: bytes, message: str, tmp_path) -> None:
        (tmp_path / "other").write_bytes(content)
        with pytest.raises(ResultError, match=message):
            Tally.load(tmp_path / "other")

    def test_refuses_every_part_of_a_file(self, tmp_path) -> None:
        path = tmp_path / "tally"
        Tally({"a": counted(1)}).save(path)
        whole_file = path.read_bytes()
        for length in range(len(whole_file)):
            path.write_bytes(whole_file[:length])
            with pytest.raises(ResultError):
                Tally.load(path)

    def test_refuses_another_format(self, tmp_path, monkeypatch) -> None:
        path = tmp_path / "tally"
        with monkeypatch.context() as later_version:
            later_version.setattr("headlight.reduce.tally._FORMAT", "2")
            Tally({"a": counted(1)}).save(path)
        with pytest.raises(
            ResultError, match=r"is in format 2, and this version .* reads format 1"
        ):
            Tally.load(path)

    def test_a_missing_file_is_a_plain_sentence(self, tmp_path) -> None:
        with pytest.raises(ResultError, match=r"nothing\.safetensors cannot be read"):
            Tally.load(tmp_path / "nothing.safetensors")


def counted(number: int) -> Count:
    made = Count()
    made.update(np.array([float(number)]))
    return made
