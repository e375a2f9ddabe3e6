"""Pictures in the app: what is sent as base64 is read, and refused if it is none."""

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from starlette.testclient import TestClient

import headlight
from headlight.serve.app import make_app
from headlight.serve.guard import LONGEST_BODY, LONGEST_PICTURE
from picture_material import PROMPT, encoder, llava, picture, saved
from serve.test_app import OWN, TOKEN, steps


def opened(model: Any, longest: int = 64) -> TestClient:
    made = make_app(model, token=TOKEN, longest=longest)
    return TestClient(made, base_url="http://127.0.0.1:8000", headers=OWN)


def asked(client: TestClient, name: str = "read", **sent: Any) -> dict[str, Any]:
    return steps(client.post(f"/functions/{name}", json={"request": "one", **sent}))[-1]


def code(content: bytes) -> str:
    return b64encode(content).decode()


@pytest.mark.slow
def test_a_picture_is_read_as_in_python(tmp_path: Path) -> None:
    model = headlight.load(saved(encoder("vit"), tmp_path / "model"))
    image = picture(tmp_path / "a.png")
    sent = code(image.read_bytes())
    app = make_app(model, token=TOKEN, longest=17)
    workspace = app.app.routes[0].endpoint.__self__.workspace
    with TestClient(app, base_url="http://127.0.0.1:8000", headers=OWN) as client:
        page = client.get("/").text
        assert 'type="file"' in page
        assert "<textarea" not in page
        reading = asked(client, image=sent)["result"]["reading"]
        held = workspace.readings[reading].dataset
        np.testing.assert_array_equal(held.weight, model.read(image=image).dataset.weight)
        assert "data:image/png;base64," in client.get(f"/readings/{reading}").text
        Image.new("1", (20_000, 20_000)).save(tmp_path / "bomb.png")
        bomb = code((tmp_path / "bomb.png").read_bytes())
        for wrong, sentence in (
            ({"image": "/etc/passwd"}, "was not sent as a whole"),
            ({"image": "../../a.png"}, "was not sent as a whole"),
            ({"image": {"path": "a.png"}}, "was not sent as a whole"),
            ({"image": code(b"file:///etc/passwd")}, "the picture is no picture that is read here"),
            ({"image": bomb}, "the picture has too many pixels"),
            ({"image": ""}, "the picture is no picture that is read here"),
            ({"image": None, "text": None}, "no picture is chosen"),
            ({"image": sent, "pair": "a"}, "a picture is read alone or beside one text"),
            ({"image": sent, "compare_model": True}, "a picture is read alone or beside one text"),
            ({"image": sent, "text": "What?"}, "has no tokenizer"),
            ({"text": "What?"}, "reads pictures"),
        ):
            assert sentence in asked(client, **wrong)["refused"]
        long = client.post("/functions/read", content=b" " * (LONGEST_PICTURE + 1), headers={
            "Content-Type": "application/json"
        })  # fmt: skip
        assert long.status_code == 413
    with opened(model, longest=16) as client:
        assert "17 tokens, and this app takes 16" in asked(client, image=sent)["refused"]


@pytest.mark.slow
def test_a_prompt_is_read_beside_a_picture(tmp_path: Path) -> None:
    llava(tmp_path / "model")
    model = headlight.load(tmp_path / "model")
    sent = code(picture(tmp_path / "a.png").read_bytes())
    with opened(model) as client:
        page = client.get("/").text
        assert 'type="file"' in page
        assert 'id="text"' in page
        reading = asked(client, image=sent, text=PROMPT)["result"]["reading"]
        assert "image 1 3×3" in client.get(f"/readings/{reading}").text
        for name in ("what_if", "each_head"):
            refused = asked(client, name, reading=reading, kind="decoder")["refused"]
            assert "a picture was read; read the text without it" in refused
        assert "is no picture" in asked(client, image="", text=PROMPT)["refused"]
        assert "the text is empty" in asked(client, image=None, text=None)["refused"]
        refused = asked(client, "generate", image=sent, text=PROMPT)["refused"]
        assert "generated without a picture" in refused
        chat = json.dumps([{"role": "user", "content": PROMPT}])
        assert "beside one text" in asked(client, image=sent, text=chat)["refused"]


def test_other_models_take_no_pictures(tmp_path: Path) -> None:
    with opened(headlight.load()) as client:
        assert 'type="file"' not in client.get("/").text
        image = code(picture(tmp_path / "a.png").read_bytes())
        assert "reads no pictures" in asked(client, image=image)["refused"]
        long = client.post("/functions/read", content=b" " * (LONGEST_BODY + 1), headers={
            "Content-Type": "application/json"
        })  # fmt: skip
        assert long.status_code == 413
