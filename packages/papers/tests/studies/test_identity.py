"""Token identity: maps trained together against maps trained alone, and lookups by definition."""

from contextlib import nullcontext
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings as hypothesis_settings, strategies as st
from torch.testing import assert_close

from headlight.errors import RunError, UsageError
from headlight_papers.studies.token_identity import (
    MapTrainingSettings,
    TokenIdentitySettings,
    outcomes,
)
from headlight_papers.studies.token_identity.cases import (
    Case,
    Lookup,
    Pairs,
    Tokens,
    order,
    pairs,
    split,
)
from headlight_papers.studies.token_identity.dataset import identity_dataset
from headlight_papers.studies.token_identity.extraction import TokenVectors
from headlight_papers.studies.token_identity.models import (
    Linear,
    Mlp,
    first_weights,
    gradient_,
    prepared,
    ridge_maps,
    value,
)
from headlight_papers.studies.token_identity.outcomes import evaluate_maps, outlook
from headlight_papers.studies.token_identity.training import TrainingData, Validation, fit, train
from headlight_papers.training.json_cache import JsonCache
from studies.identity_naive import distance, loop, rate

LOSSES = ("cosine", "l2")
CPU = torch.device("cpu")
QUICK = MapTrainingSettings(epochs=40, hidden=24, rates=(1e-2, 1e-3), batch=32)


def random_rows(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape)).float()


def rotated(sequences: int = 40, size: int = 8, noise: float = 0.0, layers: int = 1):
    """Input tokens, and hidden tokens that are one rotation of them, noisier in higher layers."""
    generator = np.random.default_rng(1)
    lengths = generator.integers(3, 9, sequences)
    inputs = generator.normal(size=(lengths.sum(), size)).astype(np.float32)
    turn = np.linalg.qr(generator.normal(size=(size, size)))[0].astype(np.float32)
    hidden = [
        inputs @ turn
        + np.float32(noise * (layer + 1)) * generator.normal(size=inputs.shape).astype(np.float32)
        for layer in range(layers)
    ]
    return TokenVectors(inputs, hidden, lengths)


def result(vectors: TokenVectors, settings: TokenIdentitySettings):
    tokens = Tokens(vectors, settings, CPU)
    return identity_dataset(evaluate_maps(tokens, settings, CPU), tokens.layers, settings)


# Losses


@pytest.mark.parametrize("loss", LOSSES)
def test_losses_and_gradients_are_those_of_torch(loss):
    predicted, goals = random_rows(7, 5).requires_grad_(), random_rows(7, 5, seed=1)
    expected = distance(predicted, goals, loss)
    expected.backward()
    found = value(predicted.detach(), prepared(goals, loss), loss)
    assert_close(found.mean(), expected.detach())
    assert_close(
        gradient_(predicted.detach().clone(), prepared(goals, loss), loss, 7), predicted.grad
    )


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", ["linear", "squares", "mlp"])
def test_gradients_of_maps_are_those_of_autograd(loss, kind):
    tokens = 20 if kind == "squares" else 3  # XᵀX is only used where it is cheaper
    model = Mlp(5, 4, 6) if kind == "mlp" else Linear(5, 4)
    weights = [random_rows(2, 3, *shape, seed=number) for number, shape in enumerate(model.shapes)]
    batch, goals = random_rows(2, tokens, 5, seed=8), random_rows(2, tokens, 4, seed=9)
    found = model.gradient(weights, batch, prepared(goals, loss), loss)
    leaves = [tensor.clone().requires_grad_() for tensor in weights]
    for group in range(2):
        for rate_ in range(3):
            mine = [leaf[group : group + 1, rate_ : rate_ + 1] for leaf in leaves]
            predicted = model.predict(mine, batch[group : group + 1])[0, 0]
            distance(predicted, goals[group], loss).backward()
    for one, leaf in zip(found, leaves, strict=True):
        assert_close(one, leaf.grad, rtol=1e-4, atol=1e-6)


# Validation


@pytest.mark.parametrize("tokens", [3, 40, 300])
@pytest.mark.parametrize("loss", LOSSES)
def test_validation_loss_is_that_of_all_tokens(loss, tokens):
    hidden, goals = random_rows(tokens, 6), random_rows(tokens, 5, seed=1)
    model, weights = Linear(6, 5), random_rows(1, 2, 5, 6, seed=2)
    found = Validation([hidden], [goals], loss, model).losses(model, [weights], [0])[0]
    expected = [distance(hidden @ one.mT, goals, loss) for one in weights[0]]
    assert_close(found.float(), torch.stack(expected))


def test_a_validation_loss_near_zero_keeps_its_digits():
    hidden = random_rows(200, 6)
    matrix = random_rows(6, 6, seed=1)
    goals = (hidden.double() @ matrix.double().mT + 1e-5 * random_rows(200, 6, seed=2)).float()
    model = Linear(6, 6)
    found = Validation([hidden], [goals], "l2", model).losses(model, [matrix[None, None]], [0])
    assert float(found) == pytest.approx(1e-10, rel=0.2)


# Training


def course_material(groups: int = 2):
    goals = [random_rows(70, 5, seed=20)] * groups
    hidden = [
        goals[0] @ random_rows(5, 6, seed=group) + 0.4 * random_rows(70, 6, seed=30 + group)
        for group in range(groups)
    ]
    return hidden, goals


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", ["linear", "mlp"])
def test_maps_trained_together_are_those_of_loops_and_stop_when_they_do(loss, kind):
    hidden, goals = course_material()
    how = MapTrainingSettings(rates=(0.3, 0.03, 1e-3), batch=16, epochs=25, patience=3)
    model = Mlp(6, 5, 7) if kind == "mlp" else Linear(6, 5)
    begin = [first_weights(model.shapes, [group]) for group in range(2)]
    orders = partial(order, 50, 0, 3)
    training = TrainingData([one[:50] for one in hidden], [goals[0][:50]] * 2)
    held_out = [one[50:] for one in hidden], [one[50:] for one in goals]
    histories = train(model, begin, training, Validation(*held_out, loss, model), loss, how, orders)
    epochs = set()
    for group in range(2):
        for rate_, history in zip(how.rates, histories[group], strict=True):
            weights, least, best, count = loop(
                begin[group],
                (hidden[group][:50], goals[0][:50]),
                (hidden[group][50:], goals[0][50:]),
                loss,
                rate_,
                how,
                orders,
            )
            assert (history.best, history.epochs) == (best, count)
            assert history.loss == pytest.approx(least, rel=1e-4)
            for one, other in zip(history.weights, weights, strict=True):
                assert_close(one, other, rtol=1e-3, atol=1e-4)
            epochs.add(count)
    assert len(epochs) > 2  # some have left the stack early


def test_how_layers_are_put_together_changes_nothing():
    vectors = rotated(noise=0.3, layers=3)
    quick = replace(QUICK, epochs=5)
    settings = TokenIdentitySettings(folds=1, training=quick)
    tokens = Tokens(vectors, settings, CPU)
    for kind in ("linear", "mlp"):
        case = Case(kind, "cosine", 0, 1.0, 0, (0, 1, 2))
        together = fit(tokens, case, settings, quick)
        for layer, one in enumerate(together):
            (alone,) = fit(tokens, replace(case, layers=(layer,)), settings, quick)
            assert (alone.parameter, alone.epochs) == (one.parameter, one.epochs)
            for mine, other in zip(alone.weights, one.weights, strict=True):
                assert_close(mine, other, rtol=1e-3, atol=1e-4)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_result_on_any_number_of_threads():
    vectors = rotated(noise=0.5, layers=2)
    settings = TokenIdentitySettings(folds=2, training=replace(QUICK, epochs=2))
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        one = result(vectors, settings)
        torch.set_num_threads(3)
        three = result(vectors, settings)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
    assert one.identical(three)
    other = result(vectors, replace(settings, seed=1))
    assert not one["validation_loss"].equals(other["validation_loss"])


def test_training_that_diverges_is_refused():
    vectors = rotated()
    vectors.hidden[0][:] = np.nan
    settings = TokenIdentitySettings(maps=("linear",), folds=1, training=replace(QUICK, epochs=1))
    with pytest.raises(RunError, match="diverged at every learning rate"):
        result(vectors, settings)


# What is found


def test_a_planted_rotation_is_recovered_and_the_naive_map_is_lost():
    found = result(
        rotated(),
        TokenIdentitySettings(
            maps=("naive", "linear"), folds=2, training=replace(QUICK, rates=(3e-2,))
        ),
    )
    for loss in LOSSES:
        assert float(found["rate_mean"].sel(map="linear", loss=loss).min()) == 1
        assert float(found["rate_mean"].sel(map="naive", loss=loss).max()) < 0.5
    ridge = result(rotated(), TokenIdentitySettings(maps=("linear",), folds=2, solver="ridge"))
    assert float(ridge["rate_mean"].min()) == 1


def test_maps_of_one_layer_on_others_and_between_layers():
    vectors = rotated(layers=2)
    vectors.hidden[1][:] = np.roll(vectors.hidden[0], 1, axis=1)  # another basis
    settings = TokenIdentitySettings(
        maps=("linear",), losses=("cosine",), folds=1, solver="ridge", across=True
    )
    across = result(vectors, settings)["rate_across"].squeeze(drop=True)
    own = [float(across.sel(layer=layer, tested_layer=layer)) for layer in (0, 1)]
    assert own == [1, 1]
    assert float(across.sel(layer=0, tested_layer=1)) < 0.8
    below = result(
        vectors, replace(settings, maps=("naive", "linear"), across=False, target="previous_layer")
    )
    assert float(below["rate"].sel(map="linear").min()) == 1
    assert float(below["rate"].sel(map="naive", layer=1).max()) < 0.8


def test_a_neighbour_is_recovered_where_it_is_copied():
    vectors = rotated(sequences=60)
    copied = np.zeros_like(vectors.inputs)
    copied[1:] = vectors.inputs[:-1]  # the first of a sequence has nothing to give
    found = result(
        TokenVectors(vectors.inputs, [copied], vectors.lengths),
        TokenIdentitySettings(
            maps=("linear",), losses=("l2",), offsets=(-1, 1), folds=1, solver="ridge"
        ),
    )
    assert float(found["rate"].sel(offset=-1).min()) == 1
    assert float(found["rate"].sel(offset=1).max()) < 0.6


@pytest.mark.parametrize("loss", LOSSES)
def test_nearest_neighbours_are_those_of_brute_force(loss):
    vectors = rotated(sequences=12, noise=0.8)
    lookup = Lookup(vectors, torch.from_numpy(vectors.inputs), loss)
    everything = pairs(vectors, np.arange(12))
    predicted = torch.from_numpy(vectors.inputs + vectors.hidden[0])
    expected = rate(predicted.double().numpy(), vectors.inputs.astype(float), vectors.lengths)
    assert lookup.rate(predicted, everything) == pytest.approx(expected[loss])
    assert 0 < expected[loss] < 1


def test_a_case_by_hand():
    """Two tokens at (1, 0) and (3, 1): the one is nearer in angle, the other by L2 distance."""
    inputs = np.array([[1, 0], [3, 1], [0, 1]], dtype=np.float32)
    vectors = TokenVectors(inputs, [inputs], np.array([2, 1]))
    both = Pairs(np.array([0, 1, 2]), np.array([0, 1, 2]))
    predicted = torch.tensor([[2.2, 0.3], [2.2, 0.3], [5.0, -4.0]])
    # L2 to (1, 0): 1.24, to (3, 1): 1.06; angle 7.8° from (1, 0), 10.7° from (3, 1).
    answers = {
        loss: Lookup(vectors, torch.from_numpy(inputs), loss)
        .are_identified(predicted, both)
        .tolist()
        for loss in LOSSES
    }
    assert answers == {"cosine": [True, False, True], "l2": [False, True, True]}


def test_words_that_have_the_same_vector_count_as_one():
    inputs = np.array([[1, 0], [0, 1], [1, 0]], dtype=np.float32)
    vectors = TokenVectors(inputs, [inputs], np.array([3]))
    for loss in LOSSES:
        lookup = Lookup(vectors, torch.from_numpy(inputs), loss)
        assert lookup.are_identified(torch.from_numpy(inputs), pairs(vectors, np.arange(1))).all()


def test_vectors_that_cannot_be_compared_have_no_naive_rate():
    vectors = rotated()
    wide = TokenVectors(vectors.inputs, [np.tile(vectors.hidden[0], 2)], vectors.lengths)
    found = result(wide, TokenIdentitySettings(maps=("naive", "linear"), folds=1, solver="ridge"))
    assert found["rate"].sel(map="naive").isnull().all()
    assert float(found["rate"].sel(map="linear").min()) == 1


# Ridge regression


@pytest.mark.parametrize("loss", LOSSES)
def test_ridge_regression_is_least_squares_with_a_penalty(loss):
    hidden, goals = random_rows(50, 6), random_rows(50, 4, seed=1)
    found = ridge_maps(hidden, goals, loss, (1e-14, 0.3))
    x, y = hidden.double().numpy(), prepared(goals.double(), loss).numpy()
    plain = np.linalg.lstsq(x, y, rcond=None)[0].T
    np.testing.assert_allclose(found[0].numpy(), plain, rtol=1e-4, atol=1e-5)
    penalty = 0.3 * np.trace(x.T @ x) / 6
    closed = np.linalg.solve(x.T @ x + penalty * np.eye(6), x.T @ y).T
    np.testing.assert_allclose(found[1].numpy(), closed, rtol=1e-4, atol=1e-5)


def test_ridge_regression_of_fewer_tokens_than_dimensions_is_finite():
    assert ridge_maps(random_rows(3, 6), random_rows(3, 6, seed=1), "l2", (1e-6,)).isfinite().all()


# Splits


@hypothesis_settings(max_examples=60, deadline=None)
@given(st.integers(3, 300), st.integers(0, 20), st.integers(0, 5), st.floats(0.01, 1))
def test_no_sequence_is_in_two_parts_of_a_split(sequences, fold, seed, fraction):
    whole, part = split(sequences, fold, seed), split(sequences, fold, seed, fraction)
    parts = [*whole.train, *whole.validation, *whole.test]
    assert sorted(parts) == list(range(sequences))
    assert set(part.train) <= set(whole.train)
    assert len(part.train)
    assert part.test.tolist() == whole.test.tolist()
    assert abs(len(whole.test) - 0.15 * sequences) <= 1


def test_folds_differ_and_two_sequences_are_too_few():
    assert split(100, 0, 0).test.tolist() != split(100, 1, 0).test.tolist()
    with pytest.raises(UsageError, match="2 sequences cannot be split"):
        split(2, 0, 0)


def test_pairs_stay_within_their_sequence():
    lengths = np.array([1, 3, 5])
    vectors = TokenVectors(np.zeros((9, 1), np.float32), [], lengths)
    for offset in (-3, -1, 0, 2):
        found = pairs(vectors, np.array([0, 1, 2]), offset)
        expected = [
            (first + place, first + place + offset)
            for first, length in zip((0, 1, 4), lengths, strict=True)
            for place in range(length)
            if 0 <= place + offset < length
        ]
        assert list(zip(found.source, found.goal, strict=True)) == expected


@pytest.mark.usefixtures("unchecked")
def test_what_makes_no_sense_is_refused():
    with pytest.raises(UsageError, match="no map is called 'lineer'"):
        TokenIdentitySettings(maps=("lineer",))
    with pytest.raises(UsageError, match="its own layer only"):
        TokenIdentitySettings(across=True, target="previous_layer")
    with pytest.raises(UsageError, match="fractions must be above 0 and at most 1"):
        TokenIdentitySettings(fractions=(0.0,))
    with pytest.raises(UsageError, match="no layer 4"):
        result(rotated(), TokenIdentitySettings(layers=(4,), folds=1))
    short = TokenVectors(
        np.ones((4, 2), np.float32), [np.ones((4, 2), np.float32)], np.ones(4, int)
    )
    with pytest.raises(UsageError, match=r"no tokens with a neighbour at \+1"):
        result(short, TokenIdentitySettings(offsets=(1,), folds=1))


def test_how_much_work_is_ahead_is_said_before_it() -> None:
    asked = TokenIdentitySettings(folds=10, losses=("cosine", "l2"))
    said = outlook(360, asked)
    assert said.startswith("360 maps, 240 of them trained for up to ")
    assert all(f"--{name}" in said for name in ("maps", "layers", "losses", "folds"))
    assert ("--rate-search shared" in said) == (len(asked.training.rates) > 1)
    assert "--solver ridge" in said
    ridge = TokenIdentitySettings(maps=("naive", "linear"), solver="ridge")
    assert outlook(40, ridge) == "40 maps, none of which is trained in epochs"


@pytest.mark.slow
def test_the_time_of_all_maps_is_stated_before_any_is_trained(monkeypatch, capsys) -> None:
    settings = TokenIdentitySettings(
        maps=("naive", "linear"), losses=("cosine",), folds=3, training=QUICK
    )
    trained = []
    fitted = outcomes.fit

    def noted(*given):
        trained.append((given[1], given[3].epochs, capsys.readouterr().err))
        return fitted(*given)

    monkeypatch.setattr(outcomes, "perf_counter", iter(range(0, 10_000, 40)).__next__)
    monkeypatch.setattr(outcomes, "fit", noted)
    monkeypatch.setattr(outcomes, "_threads", lambda device: 1)
    tokens = Tokens(rotated(layers=2), settings, CPU)
    result = evaluate_maps(tokens, settings, CPU, progress=True)
    layers = len(tokens.layers)  # 40 seconds for a naive map, and for some epochs of a linear one
    seconds = 3 * layers * (40 + 40 * QUICK.epochs / outcomes.TRIED)
    assert [epochs for _, epochs, _ in trained] == [outcomes.TRIED] + [QUICK.epochs] * 3 * layers
    assert f"at most about {seconds / 60:,.0f} minutes" in trained[1][2]
    # By what they show: since Python 3.13 a NaN in a dataclass is not equal to itself.
    assert repr(result) == repr(evaluate_maps(tokens, settings, CPU))


def test_the_slowest_maps_come_first_and_cached_ones_are_skipped(monkeypatch, tmp_path):
    """The time that is left is judged by the pace of what was done."""
    settings = TokenIdentitySettings(
        maps=("naive", "linear"), losses=("l2",), folds=2, solver="ridge"
    )
    tokens, cache = Tokens(rotated(layers=2), settings, CPU), JsonCache(tmp_path)
    evaluate_maps(tokens, settings.replace(maps=("naive",), folds=1), CPU, cache=cache)
    events, computed = [], outcomes._Job.outcomes
    shown = []

    class Recorded:
        skip = staticmethod(lambda number, _: events.append(("skip", number)))
        advance = staticmethod(lambda number, _, each: events.append(("advance", number, each)))
        note = share = staticmethod(lambda *_: None)

    def noted(job, case):
        events.append(case.map)
        return computed(job, case)

    monkeypatch.setattr(
        outcomes._Job, "seconds", property(lambda job: {"naive": 1.0}.get(job.cases[0].map, 60.0))
    )
    monkeypatch.setattr(outcomes, "_threads", lambda device: 1)
    monkeypatch.setattr(
        outcomes, "show_progress", lambda *_, **more: shown.append(more) or nullcontext(Recorded())
    )
    monkeypatch.setattr(outcomes._Job, "outcomes", noted)
    result = evaluate_maps(tokens, settings, CPU, cache=cache, progress=True)
    layers = len(tokens.layers)
    kinds = [each for each in events if isinstance(each, str)]
    assert kinds == ["linear"] * 2 * layers + ["naive"] * 2 * layers
    assert events[0] == ("skip", layers)
    advanced = [each[1:] for each in events if each[0] == "advance"]
    assert advanced == [(1, 60.0)] * 2 * layers + [(1, 1.0)] * layers
    assert shown[0]["seconds"] == sum(each for _, each in advanced)
    monkeypatch.undo()
    again = evaluate_maps(tokens, settings, CPU)
    assert repr(result) == repr(again), "in the order of kinds, as ever"
