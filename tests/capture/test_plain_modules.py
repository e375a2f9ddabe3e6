"""Modules of PyTorch that are no models of transformers, wrapped."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from torch import Tensor, nn
from transformers import CLIPImageProcessorPil

import headlight
from headlight.errors import UnsupportedModelError, UsageError
from picture_material import picture

TEXT = "the cat sat on a mat"
VOCABULARY = ["<pad>", "<unk>", *TEXT.split()]
TEXTS = [TEXT, "a mat", "on the mat sat the cat"] * 4
WIDTH, HEADS = 32, 4


class Block(nn.Module):
    """Attention written by hand, whose weights are kept."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, states: Tensor, hidden: Tensor) -> Tensor:
        parts = self.qkv(states).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        scores = parts[0] @ parts[1].mT / (WIDTH // HEADS) ** 0.5
        self.weight = scores.masked_fill(hidden, -1e9).softmax(-1)
        return states + self.out((self.weight @ parts[2]).transpose(1, 2).flatten(2))


class Own(nn.Module):
    """Code of one's own, which takes ids, or of pictures pixels."""

    def __init__(self, made: nn.Module, *, causal: bool = False) -> None:
        super().__init__()
        self.made, self.causal = made, causal
        self.places = nn.Embedding(24, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.head = nn.Linear(WIDTH, len(VOCABULARY))

    def forward(self, given: Tensor, src_mask: Tensor | None = None) -> tuple[Tensor, str]:
        states = self.made(given)
        states = states.flatten(2).mT if states.dim() == 4 else states
        states = states + self.places(torch.arange(states.shape[1]))
        hidden = torch.ones(states.shape[1], states.shape[1]).triu(1).bool() & self.causal
        if src_mask is not None and not self.causal:
            hidden = hidden | (src_mask[:, None] == 0)  # of a mask batch, 1, key
        for block in self.blocks:
            states = block(states, hidden)
        return (self.head(states) if self.causal else states), "else"


def encoder(**settings: bool) -> nn.TransformerEncoder:
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 48, **settings)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).double().eval()


def embedding() -> nn.Embedding:
    return nn.Embedding(len(VOCABULARY), WIDTH).double().eval()


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("norm_first", [True, False])
def test_an_encoder_of_pytorch(batch_first: bool, norm_first: bool) -> None:
    module, embed = encoder(batch_first=batch_first, norm_first=norm_first), embedding()
    model = headlight.wrap(module, VOCABULARY, embed=embed, max_length=6)
    assert model.transformer.get_input_embeddings() is embed
    assert max(site.error for site in model.sites) < 1e-12  # Eq. 3
    layer: Any = module.layers[0]
    states = embed(torch.tensor([[VOCABULARY.index(word) for word in TEXT.split()]]))
    states = layer.norm1(states) if norm_first else states
    states = states if batch_first else states.transpose(0, 1)
    wanted = layer.self_attn(states, states, states, average_attn_weights=False)[1][0]
    np.testing.assert_allclose(model.read(TEXT).weight[0], wanted.detach(), atol=1e-7)
    assert headlight.survey(TEXTS, model=model, progress=False).attrs["examples"] == len(TEXTS)
    with pytest.raises(UsageError, match="more than 6"):
        model.read(f"{TEXT} sat")


@pytest.mark.parametrize("causal", [True, False])
def test_code_of_ones_own(causal: bool, tmp_path: Path) -> None:
    module = Own(embedding(), causal=causal).double().eval()
    ids = {word: number for number, word in enumerate(VOCABULARY)}
    tokenizer = Tokenizer(models.WordLevel(ids, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    model = headlight.wrap(module, tokenizer)
    assert (model.kinds, model.longest) == (("decoder" if causal else "encoder",), 24)
    assert model.head.language == ("causal" if causal else None)
    reading = model.read(TEXT)
    for layer, block in enumerate(module.blocks):
        np.testing.assert_allclose(reading.weight[layer], block.weight[0].detach(), atol=1e-7)
    headlight.survey(TEXTS, model=model, progress=False)
    corpus = tmp_path / "texts.txt"
    corpus.write_text("\n\n".join(TEXTS))
    with pytest.raises(UsageError, match="which no other can load; leave out workers"):
        headlight.survey(corpus, model=model, progress=False, out=tmp_path / "run", workers=2)


def test_pictures(tmp_path: Path) -> None:
    module = Own(nn.Conv2d(3, WIDTH, 4, 4)).eval()
    size = {"height": 16, "width": 16}
    model = headlight.wrap(
        module, CLIPImageProcessorPil(size={"shortest_edge": 16}, crop_size=size)
    )
    reading = model.read(image=picture(tmp_path / "a.png"))
    assert reading.tokens[:5] == ["0×0", "0×1", "0×2", "0×3", "1×0"]
    np.testing.assert_allclose(reading.weight[1], module.blocks[1].weight[0].detach(), atol=1e-6)


def test_refusals() -> None:
    with pytest.raises(UsageError, match=r"ids of tokens \(.*dimension.*give .* as embed"):
        headlight.wrap(encoder(), VOCABULARY)
    with pytest.raises(UsageError, match="the module is in training mode"):
        headlight.wrap(encoder().train(), VOCABULARY)
    with pytest.raises(UsageError, match="embed is in training mode"):
        headlight.wrap(encoder(), VOCABULARY, embed=embedding().train())
    for given, reason in (
        (encoder, "a function is"),
        ([1, 2], "a list is"),
        ([], "no token beside"),
    ):
        with pytest.raises(UsageError, match=reason):
            headlight.wrap(encoder(), given)
    with pytest.raises(UsageError, match="no parameters"):
        headlight.wrap(nn.ReLU().eval(), VOCABULARY)
    size = {"height": 16, "width": 16}
    pixels = CLIPImageProcessorPil(size=size, crop_size=size)
    with pytest.raises(UsageError, match=r"pixels of the shape \(1, 3, .*\(it puts out no states"):
        headlight.wrap(nn.Sequential(nn.Linear(16, 2), nn.Flatten(0)).eval(), pixels)
    with pytest.raises(UnsupportedModelError, match=r"^Sequential is not supported"):
        _ = headlight.wrap(nn.Sequential(embedding()).eval(), VOCABULARY).sites
