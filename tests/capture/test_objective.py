"""What is hidden, what is predicted, and what the loss is; and which head a checkpoint has."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from transformers import (
    AutoModel,
    BertConfig,
    BertForMaskedLM,
    BertForPreTraining,
    BertForSequenceClassification,
    BertModel,
    BertTokenizer,
    ElectraConfig,
    ElectraForPreTraining,
    GPT2Config,
    GPT2LMHeadModel,
    T5Config,
    T5ForConditionalGeneration,
)

from headlight.capture import (
    NOTHING,
    CapturedModel,
    CausalLanguageModel,
    MaskedLanguageModel,
    Objective,
    OwnObjective,
    Prepared,
    SequenceToSequence,
    default_objective,
    load_model,
)
from headlight.encode import Encoded
from headlight.encode.batch import Batch, collate
from headlight.errors import MissingHeadError, ModelError, UnknownNameError, UsageError
from headlight.vocabulary import CATEGORIES

MASK, SPECIAL, VOCABULARY = 4, frozenset({0, 1, 2, 3, 4}), 50
CLS, SEP, PUNCTUATION, OTHER = range(len(CATEGORIES))


def masked_language_model(**options: Any) -> MaskedLanguageModel:
    return MaskedLanguageModel(mask_id=MASK, vocabulary=VOCABULARY, special_ids=SPECIAL, **options)


def text(*pieces: int) -> Encoded:
    """Between [CLS] = 1 and [SEP] = 2; every piece is punctuation, so that a change shows."""
    ids = (1, *pieces, 2)
    categories = (CLS, *[PUNCTUATION] * len(pieces), SEP)
    return Encoded("text", ids, (0,) * len(ids), categories, (-1, *range(len(pieces)), -1))


def long_texts(number: int, length: int, seed: int = 0) -> list[Encoded]:
    generator = np.random.default_rng(seed)
    return [text(*generator.integers(5, VOCABULARY, length).tolist()) for _ in range(number)]


def batch_of(*examples: Encoded, side: str = "right") -> Batch:
    return collate(examples, pad_id=0, side=side)


# Masked language modelling


def test_fifteen_percent_are_chosen_of_which_most_become_the_mask() -> None:
    prepared, before = _prepared_and_before(masked_language_model(), 300, 98)
    assert prepared.labels is not None
    chosen = prepared.labels != NOTHING
    assert (chosen.sum(-1) == 15).all()  # of a hundred, special ones included
    assert torch.equal(prepared.labels[chosen], before.input_ids[chosen])
    changed = prepared.input_ids != before.input_ids
    assert not (changed & ~chosen).any()
    shares = [
        float(each.sum() / chosen.sum())
        for each in (prepared.masked, changed & ~prepared.masked, chosen & ~changed)
    ]
    # 4500 draws: three standard deviations are 0.018 and 0.0134; a random piece may be the same
    assert shares == pytest.approx([0.8, 0.1 * 44 / 45, 0.1 + 0.1 / 45], abs=0.018)
    assert torch.equal(prepared.masked, prepared.input_ids == MASK)


@pytest.mark.slow
def test_every_place_and_every_piece_is_as_likely_as_any_other() -> None:
    objective = masked_language_model(mask_share=0.0, random_share=1.0)
    prepared, _ = _prepared_and_before(objective, 2000, 20)
    assert prepared.labels is not None
    chosen = prepared.labels[:, 1:-1] != NOTHING
    times = chosen.sum(0).double()
    expected = 2000 * 3 / 20
    assert float(((times - expected) ** 2 / expected).sum()) < 50  # χ² of 19 degrees: p < 0.0002
    pieces = prepared.input_ids[:, 1:-1][chosen].bincount(minlength=VOCABULARY)
    assert not pieces[:5].any()
    expected = 6000 / 45
    assert float(((pieces[5:] - expected) ** 2 / expected).sum()) < 90  # 44 degrees: p < 0.0001


def _prepared_and_before(
    objective: MaskedLanguageModel, number: int, length: int
) -> tuple[Prepared, Batch]:
    batch = batch_of(*long_texts(number, length))
    return objective.prepare(batch), batch


def test_the_shares_are_a_choice() -> None:
    for options, kept in (
        ({"mask_share": 1.0, "random_share": 0.0}, "masked"),
        ({"mask_share": 0.0, "random_share": 0.0}, "same"),
    ):
        prepared, before = _prepared_and_before(masked_language_model(**options, rate=0.5), 20, 30)
        assert prepared.labels is not None
        chosen = prepared.labels != NOTHING
        assert (chosen.sum(-1) == 16).all()
        wanted = (
            before.input_ids.masked_fill(chosen, MASK) if kept == "masked" else before.input_ids
        )
        assert torch.equal(prepared.input_ids, wanted)


texts = st.lists(st.lists(st.integers(0, VOCABULARY - 1), max_size=30), min_size=1, max_size=5)


@pytest.mark.slow
@given(texts, st.floats(0.01, 1), st.integers(0, 3), st.sampled_from(["right", "left"]))
@settings(max_examples=60, deadline=None)
def test_whatever_the_texts(pieces: list[list[int]], rate: float, seed: int, side: str) -> None:
    examples = [text(*ids) for ids in pieces]
    objective = masked_language_model(rate=rate, seed=seed)
    prepared = objective.prepare(batch_of(*examples, side=side))
    assert prepared.labels is not None
    assert prepared.predicted is not None
    for row, example in enumerate(examples):
        real = prepared.attention_mask[row] > 0
        ids, labels = prepared.input_ids[row][real], prepared.labels[row][real]
        alone = objective.prepare(batch_of(example))
        assert alone.labels is not None
        assert torch.equal(ids, alone.input_ids[0])
        assert torch.equal(labels, alone.labels[0])
        assert (prepared.labels[row][~real] == NOTHING).all()
        assert not prepared.masked[row][~real].any()
        candidates = [piece not in SPECIAL for piece in example.ids]
        wanted = min(sum(candidates), max(1, round(rate * len(example.ids))))
        assert int(prepared.predicted[row]) == wanted
        assert not (labels != NOTHING)[~torch.tensor(candidates)].any()
        original, category = torch.tensor(example.ids), torch.tensor(example.categories)
        replaced = ids != original
        assert (prepared.category[row][real][replaced] == OTHER).all()
        assert torch.equal(prepared.category[row][real][~replaced], category[~replaced])


PINNED = [1, 29, 30, 33, 36, 37]


def test_the_seed_and_the_text_decide() -> None:
    one, other = text(*range(5, 45)), text(*range(6, 46))

    def labels(example: Encoded, seed: int) -> list[int]:
        prepared = masked_language_model(seed=seed).prepare(batch_of(example))
        assert prepared.labels is not None
        return (prepared.labels[0] != NOTHING).nonzero().flatten().tolist()

    assert labels(one, 0) == labels(one, 0)
    assert labels(one, 0) != labels(one, 1)
    assert labels(one, 0) != labels(other, 0)
    # The choice is part of the result of a run that may be resumed on another machine.
    assert labels(one, 0) == PINNED


def test_the_batch_given_is_not_changed() -> None:
    batch = batch_of(*long_texts(3, 20))
    ids, category = batch.input_ids.clone(), batch.category.clone()
    masked_language_model(rate=0.9).prepare(batch)
    assert torch.equal(batch.input_ids, ids)
    assert torch.equal(batch.category, category)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"rate": 0.0}, r"rate must be above 0 and at most 1, not 0\.0\.$"),
        ({"rate": 1.5}, r"rate must be above 0 and at most 1, not 1\.5\.$"),
        ({"mask_share": 0.8, "random_share": 0.3}, r"are 0\.8 and 0\.3; they must not be"),
        ({"random_share": -0.1}, r"they must not be negative"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        masked_language_model(**options)


@pytest.mark.parametrize("kind", [CausalLanguageModel, SequenceToSequence])
def test_an_unknown_reduction(kind: type) -> None:
    given = SimpleNamespace(reduction="max")  # the shape checker would be first to refuse it
    with pytest.raises(UnknownNameError, match=r"no reduction of the loss is called 'max'\."):
        kind.__post_init__(given)


def test_a_vocabulary_of_special_tokens() -> None:
    with pytest.raises(UsageError, match="no piece that is not special"):
        MaskedLanguageModel(mask_id=1, vocabulary=2, special_ids=frozenset({0, 1}))


# Losses


def logits(batch: Batch, positions: int) -> SimpleNamespace:
    generator = torch.Generator().manual_seed(0)
    shape = (len(batch.lengths), positions, VOCABULARY)
    return SimpleNamespace(logits=torch.randn(shape, generator=generator, dtype=torch.float64))


def surprise(logits: torch.Tensor, piece: int) -> float:
    """−ln p(piece), by the definition."""
    return -float(logits[piece] - logits.exp().sum().log())


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_the_loss_of_a_masked_language_model(reduction: Any) -> None:
    objective = masked_language_model(reduction=reduction, rate=0.4)
    prepared = objective.prepare(batch_of(*long_texts(2, 9), text(7), text()))
    output = logits(prepared, prepared.input_ids.shape[1])
    found = objective.loss(output, prepared)
    assert prepared.labels is not None
    for row, labels in enumerate(prepared.labels.tolist()):
        parts = [
            surprise(output.logits[row, place], label)
            for place, label in enumerate(labels)
            if label != NOTHING
        ]
        wanted = sum(parts) / (max(1, len(parts)) if reduction == "mean" else 1)
        assert float(found[row]) == pytest.approx(wanted, rel=1e-12)
    assert float(found[3]) == 0


@pytest.mark.parametrize("side", ["right", "left"])
def test_the_loss_of_a_causal_language_model(side: str) -> None:
    examples = [text(5, 6, 7, 8), text(9)]
    prepared = CausalLanguageModel().prepare(batch_of(*examples, side=side))
    output = logits(prepared, 6)
    found = CausalLanguageModel().loss(output, prepared)
    mean = CausalLanguageModel(reduction="mean").loss(output, prepared)
    assert prepared.predicted is not None
    assert prepared.predicted.tolist() == [5, 2]
    assert not prepared.masked.any()
    for row, example in enumerate(examples):
        first = 6 - len(example.ids) if side == "left" else 0
        wanted = sum(
            surprise(output.logits[row, first + place], piece)
            for place, piece in enumerate(example.ids[1:])
        )
        assert float(found[row]) == pytest.approx(wanted, rel=1e-12)
        assert float(mean[row]) == pytest.approx(wanted / (len(example.ids) - 1), rel=1e-12)


def test_the_loss_of_an_encoder_decoder_is_that_of_the_target() -> None:
    def paired(*target: int) -> Encoded:
        return replace(
            text(5, 6, 7),
            target=target,
            target_categories=(OTHER,) * len(target),
            target_words=(0,) * len(target),
        )

    examples = [paired(0, 8, 9, 2), paired(0, 7)]
    prepared = SequenceToSequence().prepare(batch_of(*examples))
    output = logits(prepared, 4)
    found = SequenceToSequence().loss(output, prepared)
    for row, example in enumerate(examples):
        wanted = sum(
            surprise(output.logits[row, place], piece)
            for place, piece in enumerate(example.target[1:])
        )
        assert float(found[row]) == pytest.approx(wanted, rel=1e-12)
    with pytest.raises(UsageError, match=r"predicts a second text, .* use pairs"):
        SequenceToSequence().prepare(batch_of(text(5)))


def test_halves_are_added_up_in_single_precision() -> None:
    objective = CausalLanguageModel()
    prepared = objective.prepare(batch_of(*long_texts(1, 200)))
    output = logits(prepared, 202)
    wanted = objective.loss(output, prepared)
    half = objective.loss(SimpleNamespace(logits=output.logits.bfloat16()), prepared)
    assert half.dtype == torch.float32
    assert float(half) == pytest.approx(float(wanted), rel=1e-3)


def test_a_batch_of_another_objective_has_no_labels() -> None:
    prepared = OwnObjective(lambda output, batch: output, "own").prepare(batch_of(text(5)))
    assert prepared.labels is None
    assert prepared.predicted is None
    with pytest.raises(UsageError, match="prepared for another objective"):
        CausalLanguageModel().loss(logits(prepared, 3), prepared)


@pytest.mark.parametrize(
    "objective",
    [
        masked_language_model(),
        CausalLanguageModel(),
        SequenceToSequence(),
        OwnObjective(lambda output, batch: output, "own"),
    ],
)
def test_all_are_objectives(objective: Any) -> None:
    assert isinstance(objective, Objective)
    assert objective.settings()["objective"]


# Heads


WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "."]
SMALL = BertConfig(
    vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
    intermediate_size=16, max_position_embeddings=16,
)  # fmt: skip
GPT2 = GPT2Config(vocab_size=20, n_embd=16, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=1)
T5 = T5Config(
    vocab_size=20, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2, decoder_start_token_id=0
)
ELECTRA = ElectraConfig(
    vocab_size=20, hidden_size=16, embedding_size=16, num_hidden_layers=1, num_attention_heads=2,
    intermediate_size=16,
)  # fmt: skip


@pytest.fixture(autouse=True)
def no_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)


def saved(model: Any, folder: Path) -> Path:
    model.save_pretrained(folder)
    words = folder / "vocab.txt"
    words.write_text("\n".join(WORDS), encoding="utf-8")
    BertTokenizer(str(words)).save_pretrained(folder)
    return folder


@pytest.mark.parametrize(
    ("transformer", "wanted"),
    [
        (lambda: BertForMaskedLM(SMALL), MaskedLanguageModel),
        (lambda: BertForPreTraining(SMALL), MaskedLanguageModel),
        (lambda: GPT2LMHeadModel(GPT2), CausalLanguageModel),
        (lambda: T5ForConditionalGeneration(T5), SequenceToSequence),
    ],
)
def test_the_head_of_a_checkpoint_is_loaded(transformer: Any, wanted: type, tmp_path: Path) -> None:
    made = transformer().eval()
    model = load_model(saved(made, tmp_path), device="cpu", head="language_model")
    objective = default_objective(model, reduction="mean", seed=3)
    assert isinstance(objective, wanted)
    assert objective.reduction == "mean"
    for name, value in model.transformer.state_dict().items():
        assert torch.equal(made.state_dict()[name], value), name
    assert model.name == str(tmp_path)
    assert model.revision == load_model(tmp_path, device="cpu").revision
    assert not model.transformer.training
    assert len(model.sites) == (3 if wanted is SequenceToSequence else 1)


def test_the_options_of_the_masked_language_model_are_those_of_the_tokenizer(
    tmp_path: Path,
) -> None:
    path = saved(BertForMaskedLM(SMALL), tmp_path)
    objective = default_objective(load_model(path, device="cpu", head="language_model"), seed=5)
    assert objective == MaskedLanguageModel(
        mask_id=4, vocabulary=9, special_ids=frozenset(range(5)), seed=5
    )


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (lambda: BertModel(SMALL), "holds a BertModel, and so has no language-model head"),
        (lambda: BertForSequenceClassification(SMALL), "holds a BertForSequenceClassification"),
        (lambda: ElectraForPreTraining(ELECTRA), "its weights lack 'generator_"),
    ],
)
def test_a_checkpoint_without_a_head(model: Any, sentence: str, tmp_path: Path) -> None:
    path = saved(model(), tmp_path)
    with pytest.raises(MissingHeadError, match=sentence + r".*\.$"):
        load_model(path, device="cpu", head="language_model")
    assert load_model(path, device="cpu").sites


def test_a_checkpoint_that_claims_a_head(tmp_path: Path) -> None:
    """Its configuration speaks of one, and the weights lack it."""
    path = saved(BertModel(SMALL), tmp_path)
    config = (path / "config.json").read_text(encoding="utf-8")
    (path / "config.json").write_text(config.replace("BertModel", "BertForMaskedLM"))
    with pytest.raises(MissingHeadError, match=r"its weights lack 'cls\.predictions"):
        load_model(path, device="cpu", head="language_model")
    (path / "config.json").write_text(config.replace('"BertModel"', ""))
    with pytest.raises(MissingHeadError, match="does not say what it holds"):
        load_model(path, device="cpu", head="language_model")


def test_a_checkpoint_that_lacks_more_than_its_head_is_damaged(tmp_path: Path) -> None:
    path = saved(BertModel(SMALL), tmp_path)
    config = (path / "config.json").read_text(encoding="utf-8")
    changed = config.replace("BertModel", "BertForMaskedLM")
    (path / "config.json").write_text(
        changed.replace('"num_hidden_layers": 1', '"num_hidden_layers": 2')
    )
    with pytest.raises(ModelError, match=r"lack '.*' \(\d+ missing in all\)") as refused:
        load_model(path, device="cpu", head="language_model")
    assert not isinstance(refused.value, MissingHeadError)


def test_an_unknown_head() -> None:
    with pytest.raises(UnknownNameError, match=r"no head is called 'mlm'\."):
        load_model(head="mlm")


def test_a_subject_without_a_head_has_no_default_objective() -> None:
    with pytest.raises(MissingHeadError, match=r"^tiny is a BertModel, which has no language"):
        default_objective(CapturedModel(AutoModel.from_config(SMALL).eval(), name="tiny"))
    with pytest.raises(UsageError, match="has no mask token"):
        default_objective(CapturedModel(BertForMaskedLM(SMALL).eval(), name="tiny"))


def test_the_embedded_model_has_its_head() -> None:
    """With every weight, and better than chance: less than half of ln 8000 = 9 nats."""
    model = load_model(device="cpu", head="language_model")
    objective = default_objective(model)
    ids = model.tokenizer("the king of england was crowned in london .")["input_ids"]
    text = Encoded("text", tuple(ids), (0,) * len(ids), (OTHER,) * len(ids), (0,) * len(ids))
    prepared = objective.prepare(collate([text], 0))
    with torch.no_grad():
        loss = objective.loss(model.transformer(**model.inputs(prepared)), prepared)
    assert float(loss) / int(prepared.predicted) < 4.5
