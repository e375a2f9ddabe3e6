"""Readings of pictures: tiny encoders of random weights, and pictures drawn here."""

import json
import re
import subprocess
import sys
import warnings
from base64 import b64decode
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from transformers import (
    AutoModel,
    CLIPConfig,
    CLIPImageProcessorPil,
    CLIPModel,
    SiglipModel,
    SwinConfig,
    SwinModel,
)
from transformers.models.qwen2_vl.configuration_qwen2_vl import Qwen2VLVisionConfig
from transformers.models.qwen2_vl.modeling_qwen2_vl import Qwen2VisionTransformerPretrainedModel

import headlight
from headlight.corpora.pictures import decode_picture, picture_address
from headlight.errors import CorpusError, UnsupportedModelError, UsageError
from headlight.reading.model import Model
from headlight.views import reading_page
from headlight.views.reading.flow import headline
from picture_material import ENCODERS, PATCH, SIDE, encoder, picture, saved
from studies.command import Command
from studies.models import VOCABULARY, texts, tokenizer
from views.browsers import CHROMIUM, Opened

GRID = [f"{row}×{column}" for row in range(SIDE // PATCH) for column in range(SIDE // PATCH)]


@pytest.fixture(scope="module")
def vit(tmp_path_factory: pytest.TempPathFactory) -> Model:
    return headlight.load(saved(encoder("vit"), tmp_path_factory.mktemp("vit")))


@pytest.mark.parametrize("name", ENCODERS)
def test_positions_are_those_of_the_model(name: str, tmp_path: Path) -> None:
    folder = saved(encoder(name), tmp_path / "model")
    model = headlight.load(folder)
    seen: list[torch.Tensor] = []
    model.transformer.register_forward_pre_hook(
        lambda _, args, given: seen.append(given["pixel_values"]) if given else None,
        with_kwargs=True,
    )
    reading = model.read(image=picture(tmp_path / "a.png")).dataset
    assert reading.key_token.values.tolist() == ENCODERS[name][2] + GRID
    assert reading.query_token.values.tolist() == reading.key_token.values.tolist()
    eager = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    with torch.no_grad():
        own = torch.stack(eager(seen[-1], output_attentions=True).attentions)[:, 0]
    assert own.shape[-1] == reading.sizes["key"]
    np.testing.assert_allclose(reading.weight, own, atol=1e-6)


@pytest.mark.slow
def test_norms_are_those_of_loops(tmp_path: Path) -> None:
    network = encoder("registers")
    model = headlight.load(saved(network, tmp_path / "model"))
    reading = model.read(image=picture(tmp_path / "a.png")).dataset
    pixels = model.viewer.pixels([Image.open(tmp_path / "a.png").convert("RGB")])
    with torch.no_grad():
        hidden = network(pixels, output_hidden_states=True).hidden_states
    for layer, block in enumerate(network.encoder.layer):
        attention = block.attention
        given = block.norm1(hidden[layer])[0].double()
        value, output = attention.v_proj.double(), attention.o_proj.double()
        for head in range(4):
            own = slice(8 * head, 8 * head + 8)
            for query in (0, 2, 9):
                for key in range(reading.sizes["key"]):
                    moved = value(given[key])[own] @ output.weight[:, own].T
                    weight = float(reading.weight[layer, head, query, key])
                    np.testing.assert_allclose(
                        reading.norm[layer, head, query, key],
                        weight * moved.norm().item(),
                        rtol=1e-4,
                    )


def test_rows_and_columns_of_a_wide_picture(tmp_path: Path) -> None:
    folder = saved(encoder("dinov2"), tmp_path / "model")
    wide = {"height": 2 * PATCH, "width": 5 * PATCH}
    CLIPImageProcessorPil(do_resize=False, crop_size=wide).save_pretrained(folder)
    model = headlight.load(folder)
    plain = Image.new("RGB", (5 * PATCH, 2 * PATCH), "gray")
    layout = model.viewer.layout(plain)
    assert (layout.rows, layout.columns) == (2, 5)
    changed = plain.copy()
    changed.paste("red", (3 * PATCH, PATCH, 4 * PATCH, 2 * PATCH))
    with torch.no_grad():
        before, after = (
            model.transformer.embeddings(model.viewer.pixels([each])) for each in (plain, changed)
        )
    (position,) = (before - after)[0].abs().amax(-1).nonzero().flatten().tolist()
    assert layout.places[position] == (1, 3)
    reading = model.read(image=changed).dataset
    assert reading.key_token.values[position] == "1×3"
    assert set(reading.key_segment.values) == {"cls", "border"}


def test_categories_and_segments(tmp_path: Path) -> None:
    model = headlight.load(saved(encoder("registers"), tmp_path / "model"))
    reading = model.read(image=picture(tmp_path / "a.png")).dataset
    assert reading.key_category.values.tolist() == ["cls"] + ["sep"] * 3 + ["other"] * 16
    segments = dict(zip(reading.key_token.values, reading.key_segment.values, strict=True))
    assert segments["cls"] == "cls"
    assert segments["reg2"] == "register"
    assert [name for name, each in segments.items() if each == "patch"] == [
        "1×1", "1×2", "2×1", "2×2",
    ]  # fmt: skip
    share = reading.head_number.sel(statistic="border", measure="weight")
    on_border = reading.key_segment.values == "border"
    np.testing.assert_allclose(share, reading.weight[..., on_border].sum("key").mean("query"), 1e-5)


def test_the_tower_of_a_model_of_text_and_pictures_reads_pictures(tmp_path: Path) -> None:
    text = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 99}
    vision = ENCODERS["clip"][1]
    config = CLIPConfig(text_config=text, vision_config=vision, projection_dim=16)
    torch.manual_seed(0)
    whole = CLIPModel(config).eval()
    whole.set_attn_implementation("eager")
    model = headlight.load(saved(whole, tmp_path / "model"))
    image = picture(tmp_path / "a.png")
    reading = model.read(image=image).dataset
    with torch.no_grad():
        own = whole.vision_model(
            model.vision().viewer.pixels([Image.open(image).convert("RGB")]), output_attentions=True
        )
    np.testing.assert_allclose(reading.weight, torch.stack(own.attentions)[:, 0], atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [CLIPModel, SiglipModel])
def test_the_tower_of_a_model_of_text_and_pictures_reads_texts(kind: Any) -> None:
    (words,) = texts(1)
    text = {**ENCODERS["clip"][1], "vocab_size": len(VOCABULARY), "max_position_embeddings": 32}
    vision = ENCODERS["clip"][1]
    torch.manual_seed(0)
    whole = kind(kind.config_class(text_config=text, vision_config=vision)).eval()
    whole.set_attn_implementation("eager")
    model = headlight.load(whole, tokenizer("bert"))
    ids = model.tokenizer(words, return_tensors="pt")["input_ids"]  # type: ignore[misc]
    with torch.no_grad():
        own = whole.text_model(ids, output_attentions=True).attentions
    np.testing.assert_allclose(model.read(words).dataset.weight, torch.stack(own)[:, 0], atol=1e-6)
    assert headlight.survey([words], model=model, progress=False).sizes["layer"] == 2
    assert model.routes(words).dataset.sizes["layer"] == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("image", "sentence"),
    [
        ("none.png", "there is no picture"),
        ("text.png", "is no picture that is read here; give a PNG"),
        ("cut.png", "cannot be read as a picture"),
        ("film.gif", "holds several pictures"),
        ("deep.png", "mode I;16; save it with 8 bits"),
        ("bomb.png", "and 50,000,000 at most are read"),
        ("line.png", "one side may be 50 times the other; cut it"),
        ("drawing.png", "is no picture that is read here; give a PNG"),
        ("text-bomb.png", "cannot be read as a picture"),
        (np.zeros((4, 4, 3)), "no ndarray; make one of an array with PIL.Image.fromarray"),
    ],
)
def test_what_is_no_picture_is_refused(
    image: Any, sentence: str, vit: Model, tmp_path: Path
) -> None:
    (tmp_path / "text.png").write_text("no picture", encoding="utf-8")
    whole = picture(tmp_path / "a.png").read_bytes()
    (tmp_path / "cut.png").write_bytes(whole[: len(whole) // 2])
    frames = [Image.new("L", (9, 9), shade) for shade in (0, 99)]
    frames[0].save(tmp_path / "film.gif", save_all=True, append_images=frames[1:])
    Image.fromarray(np.full((9, 9), 30000, np.uint16)).save(tmp_path / "deep.png")
    Image.new("1", (20_000, 20_000)).save(tmp_path / "bomb.png")
    Image.new("1", (20_000, 1)).save(tmp_path / "line.png")
    svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
    (tmp_path / "drawing.png").write_text(svg, encoding="utf-8")
    notes = PngInfo()
    notes.add_text("note", "a" * 100_000_000, zip=True)
    Image.new("L", (9, 9)).save(tmp_path / "text-bomb.png", pnginfo=notes)
    with pytest.raises(UsageError, match=sentence):
        vit.read(image=tmp_path / image if isinstance(image, str) else image)


@pytest.mark.slow
def test_models_read_what_they_can(vit: Model, tmp_path: Path) -> None:
    image = picture(tmp_path / "a.png")
    with pytest.raises(UsageError, match="reads no pictures; give a model that does"):
        headlight.load().read(image=image)
    with pytest.raises(UsageError, match=r"reads pictures; give .*image="):
        vit.read("The cat sat.")
    for options in ({"pair": "a"}, {"attribution": True}):
        with pytest.raises(UsageError, match="a picture is read alone or beside one text"):
            vit.read(image=image, **options)
    for other in (vit, headlight.load()):
        with pytest.raises(UsageError, match=r"no image_token_id|has no tokenizer"):
            other.read("What is this?", image=image)
    with pytest.raises(UsageError, match=r"a picture is read alone .* without sound"):
        vit.read(image=image, audio="a.wav")
    bare = headlight.load(encoder("vit"))
    with pytest.raises(UsageError, match="does not say how pictures become pixels"):
        bare.read(image=image)


def test_patches_in_one_row_are_refused(tmp_path: Path) -> None:
    sizes = {"depth": 1, "embed_dim": 32, "hidden_size": 48, "num_heads": 4, "patch_size": 8}
    torch.manual_seed(0)
    tower = Qwen2VisionTransformerPretrainedModel(Qwen2VLVisionConfig(**sizes, mlp_ratio=2)).eval()
    with pytest.raises(UsageError, match=r"as one row.*\(grid_thw\).*give a text beside"):
        headlight.load(tower).read(image=picture(tmp_path / "a.png"))


def test_merged_patches_have_no_names(tmp_path: Path) -> None:
    sizes = {
        "image_size": 32,
        "patch_size": 4,
        "embed_dim": 8,
        "depths": [1, 1],
        "num_heads": [2, 2],
    }
    torch.manual_seed(0)
    model = SwinModel(SwinConfig(**sizes, window_size=4)).eval()
    with pytest.raises(UnsupportedModelError):
        headlight.load(saved(model, tmp_path / "m")).read(image=picture(tmp_path / "a.png"))


def test_transparent_and_turned_pictures(tmp_path: Path) -> None:
    clear = Image.new("RGBA", (9, 4), (255, 0, 0, 0))
    clear.save(tmp_path / "clear.png")
    assert decode_picture(tmp_path / "clear.png").getpixel((1, 1)) == (255, 255, 255)
    turned = Image.new("RGB", (9, 4), "red")
    tags = turned.getexif()
    tags[0x0112] = 6
    turned.save(tmp_path / "turned.jpg", exif=tags)
    assert decode_picture(tmp_path / "turned.jpg").size == (4, 9)
    address = picture_address(Image.open(tmp_path / "turned.jpg"))
    written = b64decode(address.partition(",")[2])
    assert address.startswith("data:image/png;base64,")
    assert b"Exif" not in written
    assert b"eXIf" not in written
    noise = np.random.default_rng(0).integers(0, 256, (900, 1200, 3), dtype=np.uint8)
    address = picture_address(Image.fromarray(noise))
    assert address.startswith("data:image/jpeg;base64,")
    assert Image.open(BytesIO(b64decode(address.partition(",")[2]))).size == (768, 576)


RED, WHITE = (255, 0, 0), (255, 255, 255)


def of_palette() -> Image.Image:
    """Red, and a second colour that is transparent."""
    image = Image.new("P", (9, 4))
    image.putpalette([*RED, 0, 0, 255])
    image.putpixel((1, 1), 1)
    image.info["transparency"] = 1
    return image


def with_clear_pixel(mode: str, colour: Any, clear: Any) -> Image.Image:
    image = Image.new(mode, (9, 4), colour)
    image.putpixel((1, 1), clear)
    return image


@pytest.mark.parametrize(
    ("image", "suffix", "first", "second"),
    [
        (with_clear_pixel("1", 1, 0), "png", WHITE, (0, 0, 0)),
        (with_clear_pixel("L", 90, 30), "png", (90,) * 3, (30,) * 3),
        (with_clear_pixel("LA", (90, 255), (0, 0)), "png", (90,) * 3, WHITE),
        (with_clear_pixel("LA", (0, 51), (0, 255)), "png", (204,) * 3, (0, 0, 0)),
        (of_palette(), "png", RED, WHITE),
        (with_clear_pixel("RGB", RED, (1, 2, 3)), "png", RED, (1, 2, 3)),
        (with_clear_pixel("RGBA", (*RED, 255), (0, 0, 0, 0)), "png", RED, WHITE),
        (with_clear_pixel("CMYK", (0, 255, 255, 0), (0, 0, 0, 255)), "tiff", RED, (0, 0, 0)),
    ],
    ids=["1", "L", "LA", "LA-half", "P", "RGB", "RGBA", "CMYK"],
)
def test_an_image_of_pillow_is_read_as_its_file(
    image: Image.Image, suffix: str, first: Any, second: Any, tmp_path: Path
) -> None:
    image.save(tmp_path / f"a.{suffix}")
    for each in (image, tmp_path / f"a.{suffix}", Image.open(tmp_path / f"a.{suffix}")):
        read = decode_picture(each)
        assert (read.mode, read.getpixel((0, 0)), read.getpixel((1, 1))) == ("RGB", first, second)
        assert decode_picture(read).tobytes() == read.tobytes()


CORNERS = {1: (0, 0), 2: (8, 0), 3: (8, 3), 4: (0, 3), 5: (0, 0), 6: (3, 0), 7: (3, 8), 8: (0, 8)}
"""Where the first pixel of a file of 9 × 4 pixels is shown, by the orientation of EXIF."""


@pytest.mark.parametrize("orientation", CORNERS)
def test_an_image_of_pillow_is_turned_as_its_file(orientation: int, tmp_path: Path) -> None:
    image = with_clear_pixel("RGB", WHITE, WHITE)
    image.putpixel((0, 0), RED)
    tags = image.getexif()
    tags[0x0112] = orientation
    image.save(tmp_path / "a.png", exif=tags)
    for each in (image, tmp_path / "a.png", Image.open(tmp_path / "a.png")):
        read = decode_picture(each)
        assert read.size == ((9, 4) if orientation < 5 else (4, 9))
        assert read.getpixel(CORNERS[orientation]) == RED


@pytest.mark.parametrize(
    ("image", "suffix", "sentence"),
    [
        (Image.fromarray(np.full((9, 9), 300, np.uint16)), "png", "mode I;16; save it with 8 bits"),
        (Image.new("F", (9, 9), 0.5), "tiff", "mode F; save it with 8 bits"),
        (Image.new("I", (9, 9), 70_000), "tiff", "mode I; save it with 8 bits"),
        (Image.new("1", (8_000, 8_000)), "png", "50,000,000 at most are read"),
        (Image.new("L", (200, 1)), "png", "one side may be 50 times the other"),
    ],
    ids=["I;16", "F", "I", "pixels", "sides"],
)
def test_an_image_of_pillow_is_refused_as_its_file(
    image: Image.Image, suffix: str, sentence: str, tmp_path: Path
) -> None:
    image.save(tmp_path / f"a.{suffix}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Pillow, which opens more pixels than are read
        opened = Image.open(tmp_path / f"a.{suffix}")
    for each in (image, tmp_path / f"a.{suffix}", opened):
        with pytest.raises(CorpusError, match=sentence):
            decode_picture(each)


def test_a_damaged_image_of_pillow_is_refused(tmp_path: Path) -> None:
    whole = picture(tmp_path / "a.png").read_bytes()
    with pytest.raises(CorpusError, match="the picture cannot be read as a picture"):
        decode_picture(Image.open(BytesIO(whole[: len(whole) // 2])))


@pytest.mark.slow
def test_nothing_but_a_picture_imports_the_decoder() -> None:
    code = (
        "import sys; import headlight, headlight.corpora, headlight.encode, headlight.cli.read; "
        "print('PIL' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of pictures of two sizes, which the processor crops to one."""
    made = tmp_path_factory.mktemp("pictures")
    for number in range(4):
        picture(made / f"{number}.png", size=(50 + 10 * (number % 2), 40), seed=number)
    return made


@pytest.mark.slow
def test_the_command_reads_a_picture(
    vit: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    command, image = Command(monkeypatch, capsys), str(picture(tmp_path / "a.png"))
    page, numbers = tmp_path / "a.html", tmp_path / "a.json"
    code, shown, complaint = command(
        *("read", "--image", image, "--model", vit.name, "--html", str(page)),
        "--json",
        str(numbers),
    )
    assert code == 0, complaint
    assert "border" in shown
    assert json.loads(numbers.read_text(encoding="utf-8"))["keys"]["tokens"] == ["cls", *GRID]
    header = re.search(r'id="header">(.*?)</script>', page.read_text(encoding="utf-8"))
    address = json.loads(header[1])["picture"]
    assert Image.open(BytesIO(b64decode(address.partition(",")[2]))).size == (SIDE, SIDE)
    for more, sentence in (
        (["The cat."], "has no tokenizer, and a prompt is read"),
        (["--audio", "a.wav"], "a picture is read alone"),
        (["--measure", "attribution"], "a picture is read alone"),
        (["--compare-text", "b", "--html", str(page)], "a picture is read alone"),
        (["--routes", str(page)], "--routes is about a text; leave it or --image out"),
        (["A cat.", "--flow", str(page)], "--flow is about a text; leave it or --image out"),
    ):
        code, _, complaint = command("read", "--image", image, "--model", vit.name, *more)
        assert code == 2
        assert sentence in " ".join(complaint.split())
    flow = tmp_path / "flow.html"
    code, shown, complaint = command(
        "read", "--image", image, "--model", vit.name, "--flow", str(flow)
    )
    assert code == 0, complaint
    title = headline(vit.flow(image=image).dataset).title
    assert title in " ".join(shown.split())
    assert "data:image/png" in flow.read_text(encoding="utf-8")
    code, _, complaint = command("read", image)
    assert f"headlight read --image {image}" in " ".join(complaint.split())
    assert code == 2


@pytest.mark.parametrize("name", ["vit", "registers"])
def test_shares_of_patches_are_those_of_products_of_loops(name: str, tmp_path: Path) -> None:
    model = headlight.load(saved(encoder(name), tmp_path / "model"))
    image = picture(tmp_path / "a.png")
    found = model.flow(image=image, methods=["rollout", "alti"]).dataset
    positions = found.sizes["key"]
    expected = np.eye(positions)
    for layer in model.read(image=image).dataset["weight"].values.astype(np.float64):
        mixed = np.zeros((positions, positions))
        for query, key, middle in np.ndindex(positions, positions, positions):
            own = 0.5 * (query == middle)
            mean = sum(head[query, middle] for head in layer) / len(layer)
            mixed[query, key] += (0.5 * mean + own) * expected[middle, key]
        expected = mixed
    shares = found["share"].sel(map="rollout")[-1]
    np.testing.assert_allclose(shares, expected / expected.sum(1, keepdims=True), atol=1e-6)

    row = found["share"].sel(map="alti")[-1, 0].values[-len(GRID) :].reshape(4, 4)
    halves = {"upper": slice(2), "lower": slice(2, 4), "left": slice(2), "right": slice(2, 4)}
    quarters = {
        f"{rows} {columns}": row[halves[rows], halves[columns]].sum()
        for rows in ("upper", "lower")
        for columns in ("left", "right")
    }
    most = max(quarters, key=quarters.__getitem__)
    shown = headline(found)
    assert shown.title.startswith(
        f"After the last layer, {quarters[most]:.0%} of “cls” comes from the patches in the "
        f"{most} (25% of the picture); "
    )
    maps = re.findall(r"<p>(\w+): at most(.*?)</svg>", shown.pictures[0].html)
    assert [label for label, _ in maps] == ["ALTI", "rollout"]
    for (label, html), of_map in zip(maps, ("alti", "rollout"), strict=True):
        own = found["share"].sel(map=of_map)[-1, 0].values[-len(GRID) :]
        drawn = re.findall(r"opacity: ([\d.]+).*?<title>(\d×\d): ([\d.]+)%", html)
        assert [name for _, name, _ in drawn] == GRID, label
        np.testing.assert_allclose([float(share) / 100 for *_, share in drawn], own, atol=6e-3)
        np.testing.assert_allclose(
            [float(seen) for seen, *_ in drawn], 0.85 * np.sqrt(own / own.max()), atol=1e-3
        )


def test_a_flow_page_holds_no_foreign_address(vit: Model, tmp_path: Path) -> None:
    found = vit.flow(image=picture(tmp_path / "a.png")).dataset
    foreign = found.assign_attrs(picture='https://example.org/a.png"><script>')
    assert "example.org" not in headline(foreign).pictures[0].html
    for subject in ({}, {"text": "A cat.", "image": tmp_path / "a.png"}):
        with pytest.raises(UsageError, match="through a text, or patches through a picture"):
            vit.flow(**subject)


def test_a_page_holds_no_foreign_address(vit: Model, tmp_path: Path) -> None:
    reading = vit.read(image=picture(tmp_path / "a.png")).dataset
    svg = 'data:image/svg+xml;base64,"><script>'
    for foreign in ("https://example.org/a.png", svg, "notes.txt"):
        page = reading_page(reading.assign_attrs(picture=foreign))
        assert foreign[:20] not in page


@pytest.mark.slow
def test_a_survey_of_pictures(vit: Model, folder: Path, tmp_path: Path) -> None:
    result = headlight.survey(folder, model=vit, out=tmp_path / "run")
    assert result.attrs["pictures"] == 4
    assert result.attrs["tokens"] == 4 * 17
    readings = [vit.read(image=image).dataset for image in sorted(folder.iterdir())]
    for segment in ("patch", "border"):
        own = readings[0].key_segment.values == segment
        shares = [each.weight[..., own].sum("key").mean("query") for each in readings]
        np.testing.assert_allclose(
            result.behaviour_share.sel(measure="weight", behaviour=segment),
            np.mean(shares, axis=0), atol=1e-6,
        )  # fmt: skip
    to_cls = [each.weight[..., 0].mean("query") for each in readings]
    own = result.share.sel(measure="weight", query_category="all", key_category="cls")
    np.testing.assert_allclose(own, np.mean(to_cls, axis=0), atol=1e-6)
    assert "register" not in result.behaviour.values
    report = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "4 pictures, of 17 positions each" in report
    assert "to patches at the border" in report
    assert "to other tokens" not in report
    again = headlight.survey(folder, model=vit, out=tmp_path / "run", resume=True)
    assert again.identical(result)


def test_what_a_survey_of_pictures_refuses(vit: Model, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The cat sat.\n", encoding="utf-8")
    for source, options, sentence in (
        (None, {}, "reads pictures, for which there is no sample; give a folder of PNG"),
        (tmp_path, {}, "holds no pictures; give a folder of files such as .png"),
        (folder, {"pairs": True}, "pictures are no texts; leave out pairs and format"),
        (folder, {"max_length": 9}, "leave out column and max_length"),
        (folder, {"numbers": ["ranks"]}, "patches of pictures are no tokens"),
    ):
        with pytest.raises((UsageError, CorpusError), match=sentence):
            headlight.survey(source, model=vit, **options)
    with pytest.raises(UsageError, match="holds pictures, and headlight-small reads text"):
        headlight.survey(folder)
    with pytest.raises(UsageError, match=r"or a folder to headlight\.survey"):
        headlight.distances(folder, model=vit)


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_a_head_is_drawn_over_the_picture(browser: Any, tmp_path: Path) -> None:
    model = headlight.load(saved(encoder("registers"), tmp_path / "model"))
    reading = model.read(image=picture(tmp_path / "a.png"))
    reading.save(tmp_path / "page.html")
    opened = Opened(browser, tmp_path / "page.html")
    page = opened.page
    assert "“cls”" in re.sub("[\u2068\u2069]", "", page.text_content("#said"))
    assert page.locator("#bars image").count() == 2
    assert page.locator('#bars [data-patch="norm"]').count() == 20
    page.locator('#bars rect[data-patch="weight"][data-token="9"]').click()  # 4 special, then 1×1
    assert "“1×1”" in re.sub("[\u2068\u2069]", "", page.text_content("#bars-said"))
    layer, head = re.search(r"L(\d)H(\d)", page.text_content("#said")).groups()
    row = reading.dataset.weight[int(layer), int(head), 9].values
    title = page.locator('#bars rect[data-patch="weight"][data-token="6"] title').text_content()
    name, shown = title.split(": ")
    assert name == "0×2"
    assert float(shown.split("%")[0]) / 100 == pytest.approx(row[6] / row.sum(), abs=0.006)
    assert opened.complaints == []
    assert opened.requests == []
    page.context.close()


def test_code_of_a_processor_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, mark = saved(encoder("vit"), tmp_path / "model"), tmp_path / "ran"
    (folder / "own.py").write_text(f"open({str(mark)!r}, 'w')\nclass Own: ...\n")
    settings = {"auto_map": {"AutoImageProcessor": "own.Own"}, "image_processor_type": "Own"}
    (folder / "preprocessor_config.json").write_text(json.dumps(settings))
    monkeypatch.setenv("HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.setattr("builtins.input", lambda *_: "y")  # what transformers asks at a terminal
    with pytest.raises(UsageError, match="does not say how pictures become pixels"):
        headlight.load(folder).read(image=picture(tmp_path / "a.png"))
    assert not mark.exists()
