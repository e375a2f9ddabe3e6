"""Modules of PyTorch that are no models of transformers, wrapped."""

from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from torch import Tensor, nn

import definitions
import headlight
from headlight.errors import UnsupportedModelError, UsageError
from headlight.reading.model import Model

VOCABULARY = ["<pad>", "<unk>", *"the cat sat on a mat dog ran far".split()]
TEXT, TEXTS = "the cat sat on a mat", ["the dog ran far", "a mat", "the cat sat on the mat"] * 4
WIDTH, HEADS, LAYERS = 32, 4, 2


class Block(nn.Module):
    """Attention written by hand, whose weights are kept."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, states: Tensor, hidden: Tensor) -> Tensor:
        parts = self.qkv(states).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        scores = parts[0] @ parts[1].mT / (WIDTH // HEADS) ** 0.5
        self.seen = scores.masked_fill(hidden, -1e9).softmax(-1), parts[2]
        context = (self.seen[0] @ self.seen[1]).transpose(1, 2).flatten(2)
        return states + self.out(context)


class Own(nn.Module):
    """Code of one's own, which takes ids, or of pictures pixels."""

    def __init__(self, *, causal: bool = False, pixels: bool = False) -> None:
        super().__init__()
        self.causal, self.pixels = causal, pixels
        self.embedding = nn.Embedding(len(VOCABULARY), WIDTH)
        self.patches = nn.Conv2d(3, WIDTH, 4, 4) if pixels else None
        self.places = nn.Embedding(24, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, len(VOCABULARY))

    def forward(self, given: Tensor, src_mask: Tensor | None = None) -> tuple[Tensor, str]:
        made = self.patches(given).flatten(2).mT if self.patches else self.embedding(given)
        states = made + self.places(torch.arange(made.shape[1]))
        hidden = torch.ones(made.shape[1], made.shape[1]).triu(1).bool() & self.causal
        if src_mask is not None and not self.causal:
            hidden = hidden | (src_mask[:, None] == 0)  # batch, 1, key
        for block in self.blocks:
            states = block(states, hidden)
        return (self.head(states) if self.causal else states), "else"


def encoder(**settings: Any) -> nn.TransformerEncoder:
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 48, **settings)
    return nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False).double().eval()


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("norm_first", [True, False])
def test_an_encoder_of_pytorch(batch_first: bool, norm_first: bool) -> None:
    module = encoder(batch_first=batch_first, norm_first=norm_first)
    embedding = nn.Embedding(len(VOCABULARY), WIDTH).double().eval()
    model = headlight.wrap(module, VOCABULARY, embed=embedding)
    assert isinstance(model, Model)
    assert model.transformer.get_input_embeddings() is embedding
    assert max(site.error for site in model.sites) < 1e-12  # Eq. 3
    layer: Any = module.layers[0]
    states = embedding(torch.tensor([[VOCABULARY.index(word) for word in TEXT.split()]]))
    states = layer.norm1(states) if norm_first else states
    states = states if batch_first else states.transpose(0, 1)
    wanted = layer.self_attn(states, states, states, average_attn_weights=False)[1]
    found = model.read(TEXT).weight[0]
    np.testing.assert_allclose(found, wanted[0].detach(), atol=1e-7)  # kept in float32
    assert headlight.survey(TEXTS, model=model, progress=False).attrs["examples"] == len(TEXTS)


def tokenizer() -> Tokenizer:
    made = Tokenizer(WordLevel({word: at for at, word in enumerate(VOCABULARY)}, "<unk>"))
    made.pre_tokenizer = Whitespace()
    return made


@pytest.mark.parametrize("causal", [True, False])
def test_code_of_ones_own(causal: bool, tmp_path: Any) -> None:
    module = Own(causal=causal).double().eval()
    model = headlight.wrap(module, tokenizer())
    assert (model.kinds, model.longest) == (("decoder" if causal else "encoder",), 24)
    assert model.head.language == ("causal" if causal else None)
    reading = model.read(TEXT)
    for layer, block in enumerate(module.blocks):
        weight, value = (seen[0].detach().numpy() for seen in block.seen)
        np.testing.assert_allclose(reading.weight[layer], weight, atol=1e-7)
        output = block.out.weight.detach().T.reshape(HEADS, -1, WIDTH).numpy()
        norm = definitions.weighted_norm(weight, value, output)
        np.testing.assert_allclose(reading.norm[layer], norm, atol=1e-6)
    headlight.survey(TEXTS, model=model, progress=False)
    corpus = tmp_path / "texts.txt"
    corpus.write_text("\n\n".join(TEXTS))
    with pytest.raises(UsageError, match="which no other can load; leave out workers"):
        headlight.survey(corpus, model=model, progress=False, out=tmp_path / "run", workers=2)


def test_characters_and_a_maximal_length() -> None:
    embedding = nn.Embedding(4, WIDTH).double().eval()
    model = headlight.wrap(encoder(), ["<unk>", *"tac"], embed=embedding, max_length=5)
    assert model.read("tact!").tokens == ["t", "a", "c", "t", "<unk>"]
    with pytest.raises(UsageError, match="more than 5"):
        model.read("tactac")


def test_pictures() -> None:
    module = Own(pixels=True).eval()

    def pixels(image: Image.Image) -> Tensor:
        return torch.tensor(np.asarray(image.resize((16, 16)))).permute(2, 0, 1) / 255

    model = headlight.wrap(module, pixels)
    image = Image.fromarray(np.random.default_rng(0).integers(0, 255, (9, 9, 3), np.uint8))
    reading = model.read(image=image)
    assert reading.tokens[:5] == ["0×0", "0×1", "0×2", "0×3", "1×0"]
    np.testing.assert_allclose(reading.weight[1], module.blocks[1].seen[0][0].detach(), atol=1e-6)
    with pytest.raises(UsageError, match="does not read what function makes of a picture"):
        headlight.wrap(module, lambda image: image)


def test_refusals() -> None:
    with pytest.raises(UsageError, match=r"ids of tokens \(.*dimension.*give .* as embed"):
        headlight.wrap(encoder(), VOCABULARY)
    with pytest.raises(UsageError, match="the module is in training mode"):
        headlight.wrap(Own(), VOCABULARY)
    embedding = nn.Embedding(len(VOCABULARY), WIDTH).double()
    with pytest.raises(UsageError, match="embed is in training mode"):
        headlight.wrap(encoder(), VOCABULARY, embed=embedding)
    with pytest.raises(UnsupportedModelError, match="^Sequential is not supported"):
        _ = headlight.wrap(nn.Sequential(embedding).eval(), VOCABULARY).sites
