"""The whole path where the right links are known: made by hand, and learnt in a minute."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_model as load_model_file, save_model
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import MarianConfig, MarianMTModel, PreTrainedTokenizerFast

from headlight.capture import CapturedModel, load_model
from headlight.capture.record import LayerRecord
from headlight.measures import Scores
from headlight_words.corpora import TranslationPair, open_parallel
from headlight_words.links import Gold, Links, score_links
from headlight_words.word_alignment import AlignerSettings, LinkSettings
from headlight_words.word_alignment.aligner import Aligner, Sides, attention_links, encode
from shared import Shared

WORDS = 30
START, END = 0, 1


def tokenizer(words: list[str]) -> PreTrainedTokenizerFast:
    """One piece for each word."""
    vocabulary = {"<pad>": START, "</s>": END, "<unk>": 2}
    vocabulary |= {word: 3 + at for at, word in enumerate(words)}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    inner.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", END)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )


def model(words: list[str], width: int, heads: int, layers: int) -> CapturedModel:
    torch.manual_seed(0)
    config = MarianConfig(
        vocab_size=3 + len(words),
        d_model=width,
        encoder_layers=layers,
        decoder_layers=layers,
        encoder_attention_heads=heads,
        decoder_attention_heads=heads,
        encoder_ffn_dim=2 * width,
        decoder_ffn_dim=2 * width,
        max_position_embeddings=32,
        pad_token_id=START,
        eos_token_id=END,
        decoder_start_token_id=START,
        scale_embedding=True,
        dropout=0.0,
        init_std=0.1,
    )
    return load_model(MarianMTModel(config).eval(), tokenizer(words))


def test_weight_that_lies_on_a_vector_of_zero_gives_no_link_and_norms_the_right_one() -> None:
    """The finding of the paper in one layer: ``</s>`` has 90% of the weight, and no value."""
    made = model(["das", "haus", "the", "house"], width=8, heads=1, layers=1)
    pair = TranslationPair("a:1", "das haus", "the house")
    (site,) = made.sites_of("cross")
    wanted = torch.tensor([[0.0, 0.0, 1.0], [0.1, 0.0, 0.9], [0.0, 0.1, 0.9]])
    module = site.module
    with torch.no_grad():
        for linear in (module.v_proj, module.out_proj):
            linear.weight.copy_(torch.eye(8))
            linear.bias.zero_()

    def read(_: object, inputs: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
        vectors = torch.zeros_like(inputs[0])
        vectors[0, 0, 0] = vectors[0, 1, 1] = 1.0  # and that of </s> is zero
        return (vectors,)

    handle = module.v_proj.register_forward_pre_hook(read)
    (example,) = encode(made, [pair], AlignerSettings(layer=0))
    batch = made.collate([example])
    found: dict[str, Links] = {}

    def visit(record: LayerRecord) -> None:
        fixed = LayerRecord(record.site, wanted[None, None], record.value, record.visible)
        for measure in ("weight", "norm"):
            links = attention_links(
                Scores(fixed), measure, Sides.from_batch(batch), "input", LinkSettings()
            )
            found[measure] = frozenset(
                (source, target) for target, source in links[0, 0].nonzero().tolist()
            )

    with made.capture([site]) as recorder:
        recorder.visit = visit
        made.run(batch)
    handle.remove()
    assert found["weight"] == frozenset()
    assert found["norm"] == {(0, 0), (1, 1)}


def pairs(count: int, seed: int) -> Iterator[tuple[TranslationPair, Gold]]:
    """A dictionary of words, and an order: every two neighbours change places."""
    chosen = np.random.default_rng(seed)
    for number in range(count):
        source = chosen.integers(WORDS, size=2 * int(chosen.integers(2, 5))).tolist()
        order = [at ^ 1 for at in range(len(source))]
        target = [source[at] for at in order]
        links = Gold.of((source_at, target_at) for target_at, source_at in enumerate(order))
        first, second = (
            " ".join(f"{side}{word}" for word in words)
            for side, words in (("s", source), ("t", target))
        )
        yield TranslationPair(f"made:{number}", first, second), links


@pytest.fixture(scope="module")
def translator(shared_folder: Path) -> CapturedModel:
    """Has learnt the language of `pairs`; one process teaches it, and the others read its file."""
    made = model([f"{side}{n}" for side in "st" for n in range(WORDS)], 64, 4, 2)
    folder = Shared(shared_folder)("translator", lambda folder: learn(made, folder))
    load_model_file(made.transformer, folder / "model.safetensors")
    made.transformer.eval()
    return made


def learn(made: CapturedModel, folder: Path) -> None:
    """400 steps over 50 batches."""
    network = made.transformer
    network.train()
    optimiser = torch.optim.AdamW(network.parameters(), lr=2e-3)
    steps = 400
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 3e-3, total_steps=steps)
    batches = []
    for seed in range(1000, 1050):
        some = [pair for pair, _ in pairs(64, seed)]
        batches.append(made.collate(list(encode(made, some, AlignerSettings(layer=0)))))
    for step in range(steps):
        batch = batches[step % len(batches)]
        assert batch.target_ids is not None
        labels = torch.nn.functional.pad(batch.target_ids[:, 1:], (0, 1), value=START)
        ends = batch.target_lengths[:, None] - 1
        labels = labels.scatter(1, ends, END)
        given = made.inputs(batch)
        logits = network(**given).logits
        there = torch.arange(labels.shape[1]) < batch.target_lengths[:, None]
        loss = torch.nn.functional.cross_entropy(logits[there], labels[there])
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()
        schedule.step()
    folder.mkdir()
    save_model(network, folder / "model.safetensors")


@pytest.mark.long
@pytest.mark.parametrize(
    ("measure", "step"),
    [("norm", "output"), ("weight", "output"), ("difference", "input")],
)
def test_a_language_that_was_learnt_is_aligned(
    translator: CapturedModel, measure: str, step: str
) -> None:
    tested = list(pairs(60, seed=1))
    gold = [links for _, links in tested]
    asked = AlignerSettings(measure=measure, step=step)  # type: ignore[arg-type]
    layers = [0, 1] if asked.of_attention else [None]
    rates = []
    for layer in layers:
        found = Aligner(translator, asked.replace(layer=layer)).align([pair for pair, _ in tested])
        rates.append(score_links(gold, [each.links for each in found]).error_rate)
    assert min(rates) < 0.05, rates


def test_a_path_of_files(tmp_path: Path) -> None:
    """Nothing is lost between pairs in a file and links in a file."""
    made = list(pairs(5, seed=2))
    file = tmp_path / "pairs.txt"
    file.write_text("".join(f"{p.source} ||| {p.target}\n" for p, _ in made))
    assert [(p.source, p.target) for p in open_parallel(file)] == [
        (p.source, p.target) for p, _ in made
    ]
