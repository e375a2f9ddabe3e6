"""Fine-tune a model on labelled sentence pairs, as a twin to compare the model with.

    python scripts/fine_tune.py PAIRS --out build/fine-tuned-cola --epochs 3

PAIRS is a file of MRPC, CoLA or MNLI.  The whole model is trained with a new classification head on
[CLS]; what is saved is a model for `headlight reproduce brunner2020 --compare`.  The labels of the
last tenth are predicted in the end, to show that something was learnt.
"""

import argparse
from pathlib import Path

import torch
from accelerate.utils import set_seed
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from headlight.capture.loading import EMBEDDED
from headlight.corpora import SentencePair, open_sentence_pairs


def main() -> None:
    arguments = _arguments()
    set_seed(arguments.seed)
    pairs = [pair for pair in open_sentence_pairs(arguments.pairs) if pair.label is not None]
    labels = sorted({str(pair.label) for pair in pairs})
    kept = len(pairs) // 10
    training, held_out = pairs[:-kept], pairs[-kept:]
    tokenizer = AutoTokenizer.from_pretrained(arguments.model)
    model = AutoModelForSequenceClassification.from_pretrained(
        arguments.model, num_labels=len(labels), dtype=torch.float32
    )
    optimiser = torch.optim.AdamW(model.parameters(), lr=arguments.learning_rate)

    def run(chosen: list[SentencePair]) -> tuple[torch.Tensor, torch.Tensor]:
        seconds = [pair.second for pair in chosen]
        inputs = tokenizer(
            [pair.first for pair in chosen],
            None if None in seconds else seconds,
            padding=True,
            truncation=True,
            max_length=128,
            return_tensors="pt",
        )
        wanted = torch.tensor([labels.index(str(pair.label)) for pair in chosen])
        return model(**inputs).logits, wanted

    model.train()
    for epoch in range(arguments.epochs):
        order = torch.randperm(len(training)).tolist()
        total = 0.0
        for start in range(0, len(order), arguments.batch):
            logits, wanted = run([training[place] for place in order[start:][: arguments.batch]])
            loss = torch.nn.functional.cross_entropy(logits, wanted)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            total += float(loss.detach()) * len(wanted)
        print(f"epoch {epoch + 1}: loss {total / len(order):.3f}", flush=True)
    model.eval()
    with torch.inference_mode():
        right = 0
        for start in range(0, kept, arguments.batch):
            logits, wanted = run(held_out[start:][: arguments.batch])
            right += int((logits.argmax(-1) == wanted).sum())
    most = max(sum(pair.label == label for pair in held_out) for label in labels)
    print(f"held out: {right / kept:.3f} right; the most frequent label {most / kept:.3f}")
    model.save_pretrained(arguments.out)
    tokenizer.save_pretrained(arguments.out)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pairs", help="labelled sentences or sentence pairs")
    parser.add_argument("--model", default=str(EMBEDDED), help="default: the embedded model")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--learning-rate", type=float, default=1e-4)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
