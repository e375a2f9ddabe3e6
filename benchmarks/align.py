"""Word alignment against the passes that it needs: a translator of the size of OPUS-MT."""

from collections.abc import Callable

import torch
from transformers import MarianConfig, MarianMTModel

from benchmarks.survey import THREADS
from benchmarks.timing import ratio, rounds
from headlight.capture import CapturedModel, LayerRecord
from headlight.encode import Encoded
from headlight.encode.batch import Batch, collate
from headlight.measures import Scores
from headlight.processes import keep_freed_memory
from headlight_words.word_alignment import STEPS, InputMeasureSettings, LinkSettings
from headlight_words.word_alignment.aligner import Sides, attention_links
from headlight_words.word_alignment.inputs import input_matrix

VOCABULARY = 20_000
SAMPLES = 30


def subject(layers: int = 6, width: int = 512, heads: int = 8) -> CapturedModel:
    """A Marian model with random weights."""
    torch.manual_seed(0)
    sizes = {f"{side}_layers": layers for side in ("encoder", "decoder")}
    sizes |= {f"{side}_attention_heads": heads for side in ("encoder", "decoder")}
    sizes |= {f"{side}_ffn_dim": 4 * width for side in ("encoder", "decoder")}
    config = MarianConfig(
        vocab_size=VOCABULARY,
        d_model=width,
        pad_token_id=0,
        eos_token_id=1,
        decoder_start_token_id=0,
        max_position_embeddings=128,
        **sizes,
    )
    return CapturedModel(MarianMTModel(config).eval(), name="OPUS-MT's shape, random weights")


def batch(pairs: int, length: int) -> Batch:
    """Random pairs in which a word has two pieces; the end belongs to none."""
    generator = torch.Generator().manual_seed(0)
    words = (*(at // 2 for at in range(length - 1)), -1)
    examples = []
    for number in range(pairs):
        ids = torch.randint(5, VOCABULARY, (2, length), generator=generator).tolist()
        examples.append(
            Encoded(
                f"pair {number}",
                tuple(ids[0]),
                (0,) * length,
                (3,) * length,
                words,
                target=(0, *ids[1][: length - 2]),
                target_categories=(3,) * (length - 1),
                target_words=(-1, *words[: length - 2]),
            )
        )
    return collate(examples, pad_id=0)


def links(model: CapturedModel, texts: Batch, measures: tuple[str, ...]) -> Callable[[], None]:
    """Links of all layers of cross-attention, for both steps."""
    sites = model.sites_of("cross")

    def run() -> None:
        sides = Sides.from_batch(texts)

        def visit(record: LayerRecord) -> None:
            scores = Scores(record)
            for measure in measures:
                for step in STEPS:
                    attention_links(scores, measure, sides, step, LinkSettings())

        with model.capture(sites) as recorder:
            recorder.visit = visit
            model.run(texts)

    return run


def floor(model: CapturedModel, texts: Batch, copies: int) -> Callable[[], None]:
    """Copies of the batch forward, and backward to the embeddings for each target piece."""
    network = model.transformer
    assert texts.target_ids is not None  # noqa: S101
    target = texts.target_ids.repeat(copies, 1)
    source = texts.input_ids.repeat(copies, 1)

    def run() -> None:
        network.requires_grad_(False)
        embedded = network.get_input_embeddings()(source).detach().requires_grad_()
        logits = network(inputs_embeds=embedded, decoder_input_ids=target, use_cache=False).logits
        chances = logits.log_softmax(-1).gather(-1, target[..., None])[..., 0]
        last = target.shape[1] - 1
        for place in range(1, target.shape[1]):
            torch.autograd.grad(chances[:, place].sum(), embedded, retain_graph=place < last)

    return run


def smoothgrad(model: CapturedModel, texts: Batch, copies: int) -> Callable[[], object]:
    """What is aligned by."""
    settings = InputMeasureSettings(samples=copies)
    return lambda: input_matrix(model, texts, "smoothgrad", settings)


def main(count: int = 5) -> list[tuple[str, str, str, str]]:
    """Rows of the table: what, measured, target, remark."""
    torch.set_num_threads(THREADS)
    keep_freed_memory()  # as the command line does; it helps the plain passes as well
    model, texts = subject(), batch(16, 32)
    assert model.sites  # noqa: S101 - traced before the clock runs
    attention = rounds(
        {
            "plain": lambda: model.run(texts),
            "weight": links(model, texts, ("weight",)),
            "both": links(model, texts, ("weight", "norm")),
        },
        count,
    )
    small, few = subject(3, 256, 4), batch(2, 24)
    assert small.sites  # noqa: S101
    inputs = rounds(
        {"floor": floor(small, few, SAMPLES), "smoothgrad": smoothgrad(small, few, SAMPLES)}, 3
    )
    return [
        (
            "links of all layers by weight, both steps",
            f"{ratio(attention, 'weight', 'plain'):.2f}×",
            "",
            "÷ the teacher-forced pass (sdpa), 6+6 layers, width 512, 16 pairs of 32",
        ),
        (
            "links of all layers by weight and norm, both steps",
            f"{ratio(attention, 'both', 'plain'):.2f}×",
            "≤ 1.3×",
            "÷ the same",
        ),
        (
            f"SmoothGrad with {SAMPLES} samples",
            f"{ratio(inputs, 'smoothgrad', 'floor'):.2f}×",
            "≤ 1.5×",
            f"÷ {SAMPLES} copies forward, and backward for each target piece; 3+3 layers of 256",
        ),
    ]


if __name__ == "__main__":
    for row in main():
        print(*row, sep="\t")
