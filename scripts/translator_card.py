"""Evaluate the embedded translator on pairs that it was not trained on, and write its card.

    python scripts/translator_card.py DATA --run build/translator --gold FOLDER [FOLDER ...]

DATA is what it was trained on; a FOLDER holds ``test.de``, ``test.en`` and ``gold.talp``.  Where
the program of eflomal is, its links on the sentences held out are silver to compare with.
Everything in the card is measured by this script or read from the log of the training run.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from pathlib import Path

import sacrebleu
import torch
from pretrain_translator import PUBLISHABLE, Pairs, evaluate, read_part, split_part
from tokenizers.pre_tokenizers import BertPreTokenizer
from transformers import MarianMTModel, PreTrainedTokenizerFast

import headlight
from headlight_words.links.aligners import EFLOMAL, baseline_links
from headlight_words.studies.alignment.page import best_layers

AT_ONCE = 25
MEASURES = ("weight", "norm", "effective", "gradient", "difference")
GOLD = {
    "align_de-en_rwth": "Europarl, gold links of RWTH Aachen (Vilar et al. 2006)",
    "align_de-en_bicici": "Europarl, gold links of Biçici (2014)",
}
"""What folders of gold links hold."""


def translate(
    model: MarianMTModel, tokenizer: PreTrainedTokenizerFast, sentences: list[str]
) -> list[str]:
    """Greedily, sentences of similar length together."""
    order = sorted(range(len(sentences)), key=lambda at: len(sentences[at]))
    found = [""] * len(sentences)
    for start in range(0, len(order), AT_ONCE):
        chosen = order[start : start + AT_ONCE]
        batch = tokenizer([sentences[at] for at in chosen], padding=True, return_tensors="pt")
        with torch.inference_mode():
            made = model.generate(
                input_ids=batch["input_ids"],
                attention_mask=batch["attention_mask"],
                max_new_tokens=120,
                num_beams=1,
                do_sample=False,
            )
        texts = tokenizer.batch_decode(made, skip_special_tokens=True)
        for at, text in zip(chosen, texts, strict=True):
            found[at] = text
    return found


def bleu(found: list[str], wanted: list[str]) -> tuple[float, str]:
    """Of lower-cased text, and the signature of how it was computed."""
    scorer = sacrebleu.metrics.BLEU(lowercase=True)
    return scorer.corpus_score(found, [wanted]).score, str(scorer.get_signature())


def parts_table(model: MarianMTModel, tokenizer: PreTrainedTokenizerFast, data: Path) -> list[str]:
    """A row for each part of the data: perplexity, accuracy and BLEU of its held-out pairs."""
    rows, signature = [], ""
    for part in PUBLISHABLE:
        _, held = split_part(read_part(data, part))
        numbers = evaluate(model, Pairs.encode(held, tokenizer), torch.device("cpu"))
        found = translate(model, tokenizer, [german for german, _ in held])
        score, signature = bleu(found, [english for _, english in held])
        rows.append(
            f"| {part} | {len(held)} | {numbers['perplexity']:.1f} | {numbers['accuracy']:.1%} "
            f"| {score:.1f} |"
        )
    heading = ["| held out | pairs | perplexity | pieces right | BLEU |", "| --- " * 5 + "|"]
    return [*heading, *rows, "", f"BLEU by sacrebleu, of greedy translations: `{signature}`."]


def alignment_rows(folder: Path, model: Path, name: str) -> list[str]:
    """The best layer of each measure, in AER."""
    result = headlight.alignment(
        folder / "test.de",
        target=str(folder / "test.en"),
        gold=str(folder / "gold.talp"),
        model=str(model),
        measures=MEASURES,
        progress=False,
    )
    name = f"{name}, {int(result.attrs['sentences'])} sentences"
    rows = []
    for row in best_layers(result).to_dict("records"):
        layer = row["layer"] if row["layer"] >= 0 else "–"
        interval = f"{row['low']:.1%} to {row['high']:.1%}"
        cells = (
            name,
            row["measure"],
            row["step"] or "–",
            layer,
            f"{row['error_rate']:.1%}",
            interval,
        )
        rows.append(f"| {' | '.join(map(str, cells))} |")
    return rows


def words(text: str) -> list[str]:
    """In small letters, punctuation by itself."""
    return [word for word, _ in BertPreTokenizer().pre_tokenize_str(text.lower())]


def write_silver(data: Path, part: str, folder: Path) -> None:
    """The sentences of a part that were held out, with the links that eflomal gives them.

    It learns from the whole part.  What both of its directions say is sure, what one says possible.
    """
    parts = split_part(read_part(data, part))
    kept, held = ([(words(one), words(other)) for one, other in pairs] for pairs in parts)
    found = baseline_links("eflomal", held, training=kept)
    lines = []
    for forward, reverse in zip(found.forward, found.reverse, strict=True):
        sure = sorted(forward & reverse)
        possible = sorted((forward | reverse) - (forward & reverse))
        links = [f"{i + 1}-{j + 1}" for i, j in sure] + [f"{i + 1}p{j + 1}" for i, j in possible]
        lines.append(" ".join(links))
    for name, texts in (
        ("test.de", [" ".join(german) for german, _ in held]),
        ("test.en", [" ".join(english) for _, english in held]),
        ("gold.talp", lines),
    ):
        (folder / name).write_text("".join(f"{line}\n" for line in texts), encoding="utf-8")


def alignment_table(arguments: argparse.Namespace) -> list[str]:
    """By gold links, and by silver ones."""
    model = arguments.run / "model"
    rows = [
        row
        for folder in arguments.gold
        for row in alignment_rows(folder, model, GOLD.get(folder.name, folder.name))
    ]
    for part in PUBLISHABLE if shutil.which(EFLOMAL) else ():
        with tempfile.TemporaryDirectory() as place:
            write_silver(arguments.data, part, Path(place))
            rows += alignment_rows(Path(place), model, f"{part}, held out, silver (eflomal)")
    if not rows:
        return []
    return [
        "",
        "Alignment error rates, with the layer that is best by these very links. Silver links are "
        "no gold: both directions of eflomal, which learnt from the whole part; what both say is "
        "sure, what one says possible.",
        "",
        "| links | measure | step | layer | AER | 95% interval |",
        "| --- " * 6 + "|",
        *rows,
    ]


CARD = """# headlight-translator

A small translator from German to English, which comes with Headlight so that word alignment and
cross-attention can be looked at without a network. It is no good translator.

A Marian model of {encoder} encoder and {decoder} decoder layers, {width} wide, {heads} heads,
{size:.1f} million parameters, stored in float16; a lower-cased vocabulary of {vocabulary:,} pieces,
which both languages share.

**Licence.** Apache-2.0.

**Training.** By `scripts/pretrain_translator.py` (`make pretrain-translator`), from random weights:
{steps:,} steps, {tokens:.1f} million target pieces, label smoothing 0.1, Muon for the matrices
inside the layers and AdamW for the rest. No alignment entered the training.

**Data.** Sentences of [Tatoeba](https://tatoeba.org) (CC BY 2.0 FR, by its contributors, through
manythings.org/anki) and of [Europarl](https://www.statmt.org/europarl/) (Koehn 2005; eight sittings
of the year 2000).

"""


def card(arguments: argparse.Namespace) -> str:
    """All of it."""
    folder = arguments.run / "model"
    model = MarianMTModel.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    log = [json.loads(line) for line in (arguments.run / "log.jsonl").read_text().splitlines()]
    config = model.config
    introduction = CARD.format(
        encoder=config.encoder_layers,
        decoder=config.decoder_layers,
        width=config.d_model,
        heads=config.decoder_attention_heads,
        size=sum(parameter.numel() for parameter in model.parameters()) / 1e6,
        vocabulary=config.vocab_size,
        steps=log[-1]["step"],
        tokens=log[-1]["tokens"] / 1e6,
    )
    lines = parts_table(model, tokenizer, arguments.data)
    return introduction + "\n".join([*lines, *alignment_table(arguments)]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--run", type=Path, default=Path("build/translator"))
    parser.add_argument("--gold", type=Path, nargs="*", default=())
    arguments = parser.parse_args()
    (arguments.run / "model" / "README.md").write_text(card(arguments), encoding="utf-8")


if __name__ == "__main__":
    main()
