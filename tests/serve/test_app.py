"""The app without a browser: what it answers, and the attacks that it refuses."""

import asyncio
import gzip
import importlib.util
import json
import logging
import re
import socket
import threading
from base64 import b64encode
from hashlib import sha256

import numpy as np
import pytest
from starlette.testclient import TestClient

import example_data
import headlight
from headlight.cli.program import app
from headlight.errors import UsageError
from headlight.reading.edits import edits_of
from headlight.reading.head_removal import each_head_removed
from headlight.serve.app import make_app
from headlight.serve.functions import FUNCTIONS, Workspace
from headlight.serve.readings import KEPT, CachedReading, Readings
from headlight.serve.request_queue import MOST, Work
from headlight.serve.server import HERE, is_loopback, listening, serve
from headlight.views.reading.unpacking import unpack
from reading.test_generation import decoder
from views.sample_results import reading_sample

TOKEN = "a-token-of-the-tests"
OWN = {"Origin": "http://127.0.0.1:8000", "Authorization": f"Bearer {TOKEN}"}
TEXT = "the cat sees a dog"
BY_BOTH = {"text": TEXT, "compare_model": True}
NAME, PARTS = "encoder/weight-second", ("scale", "codes")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return headlight.load(example_data.tiny_model(tmp_path_factory.mktemp("model")))


@pytest.fixture
def client(model):
    made = make_app(model, token=TOKEN, longest=16)
    with TestClient(made, base_url="http://127.0.0.1:8000", headers=OWN) as found:
        yield found


def steps(answer):
    """What the events of an answer say."""
    assert answer.headers["content-type"].startswith("text/event-stream")
    return [json.loads(line[6:]) for line in answer.text.split("\n\n") if line]


def read(client, text=TEXT, pair=None, request="one"):
    sent = {"request": request, "text": text, "pair": pair}
    return steps(client.post("/functions/read", json=sent))


@pytest.mark.slow
def test_a_text_is_read_and_its_numbers_are_those_of_the_model(client, model):
    told = read(client)
    assert told[0]["what"] == "started"
    assert [step["done"] for step in told if step.get("what") == "layers"] == [1, 2]
    name = told[-1]["result"]["reading"]
    page = client.get(f"/readings/{name}").text
    header = json.loads(re.search(r'id="header">(.*?)</script>', page).group(1))
    answers = []

    def get(blob):
        answers.append(client.get(f"/readings/{name}/blob/{blob}"))
        return gzip.compress(answers[-1].content)

    found = unpack(header, get)
    assert {answer.headers["content-encoding"] for answer in answers} == {"gzip"}
    expected = model.read(TEXT)
    for measure, about in header["kinds"]["encoder"]["measures"].items():
        values = expected[measure].transpose(*found[measure].dims).values
        assert abs(found[measure].values - values).max() <= about["bound"] + 1e-6


def test_a_refusal_is_a_sentence(client):
    assert read(client, " ")[-1] == {
        "refused": "the text is empty but for blanks; write at least one word."
    }
    (*_, last) = read(client, "the cat " * 20)
    assert "this app takes 16; shorten it" in last["refused"]
    assert "a text is one string" in read(client, 7)[-1]["refused"]


@pytest.mark.parametrize("name", ["routes", "explain", "alternatives", "flow"])
def test_questions_of_one_text_are_answered_as_in_python(client, model, name):
    sent = {"request": "one", "text": TEXT, "settings": {}}
    if name != "flow":
        sent["settings"] = {"layer": 0}
    *_, last = steps(client.post(f"/functions/{name}", json=sent))
    answer = json.loads(json.dumps(getattr(model, name)(TEXT, **sent["settings"]).as_json()),
                        parse_constant=lambda _: None)  # fmt: skip
    for told in (last["result"], answer):
        for changing in ("created", "command", "versions"):
            told.pop(changing, None)
    assert last["result"] == answer


@pytest.mark.parametrize(
    ("name", "sent", "sentence"),
    [
        ("predict", {}, "predict"),
        ("explain", {"settings": {"layer": 99}}, "layer 99"),
        ("explain", {"settings": {"lager": 1}}, "lager"),
        ("routes", {"settings": [1]}, "settings must be an object"),
        ("alternatives", {"text": "the cat " * 20}, "tokens"),
    ],
)
def test_questions_that_cannot_be_answered_are_refused(client, name, sent, sentence):
    sent = {"request": "one", "text": TEXT, **sent}
    answer = client.post(f"/functions/{name}", json=sent)
    assert sentence in answer.text
    assert "Traceback" not in answer.text


OF_OTHER_DOORS = re.compile(r"--|headlight[ .]|=|\w_\w|\w\(|/(?:home|usr|work|tmp|src)/")
"""Options, commands, modules, arguments and files, none of which the app has."""


@pytest.mark.parametrize(
    "text",
    [
        '[{"role": "user", "content": "the cat',
        "[{'role': 'user', 'content': 'the cat'}]",
        '[{role: "user", content: "the cat"}]',
        '{"messages": []}',
        '[{"role": "user"}]',
        '{"content": "the cat", "role": "user"',
        ' [ {"role": "king", "content": "the cat"}]',
        "[{“role”: “user”, “content”: “the cat”}]",
    ],
)
def test_what_begins_as_a_chat_is_no_text(client, text):
    """The command line refuses such files; as words, it was read with braces and all."""
    for field, name in (("text", "text"), ("compare", "text to compare with")):
        sent = {"request": "one", "text": TEXT, field: text}
        refused = steps(client.post("/functions/read", json=sent))[-1]["refused"]
        assert name in refused or "message" in refused
        assert not OF_OTHER_DOORS.search(refused.replace(text, ""))
    *_, last = read(client, pair=text)
    assert "the second text begins as the JSON of a chat; a chat is read as" in last["refused"]


@pytest.mark.parametrize("text", ["[CLS] the cat", "{the cat} sees", '[{"cat": 1}]', "role: cat"])
def test_brackets_alone_make_no_chat(client, text):
    assert "result" in read(client, text)[-1]


CHAT = [{"role": "user", "content": TEXT}]
REFUSED = (
    {},
    {"text": " "},
    {"text": CHAT},
    {"text": TEXT, "pair": CHAT},
    {"text": TEXT, "pair": json.dumps(CHAT)},
    {"text": [TEXT, TEXT]},
    {"text": "the cat " * 20},
    {"text": TEXT, "compare_model": True},
    {"text": TEXT, "image": "none"},
    {"text": TEXT, "image": b64encode(b"none").decode()},
    {"text": TEXT, "settings": {"layer": 99}},
    {"text": TEXT, "settings": {"layer": -1}},
    {"text": TEXT, "settings": {"kind": "cross"}},
    {"text": TEXT, "settings": {"target": ""}},
    {"text": TEXT, "settings": {"methods": []}},
    {"text": TEXT, "settings": [1]},
    {"text": TEXT, "reading": "gone"},
    {"text": TEXT, "edits": [{"layer": 0}]},
)
"""What is wrong for most functions of the app."""


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_refusals_speak_of_what_the_app_has(client, model, name):
    """It was ``load(head='any')``, ``headlight.corpora.Chat.of``, ``--max-tokens``."""
    reading = read(client)[-1]["result"]["reading"]
    said = [
        step["refused"]
        for sent in (*REFUSED, {"reading": reading, "edits": [{"layer": 0}]})
        for step in steps(client.post(f"/functions/{name}", json={"request": "two", **sent}))
        if "refused" in step
    ]
    assert len(said) > 3
    for sentence in said:
        # Settings, which no field of the page is, have the names under which they are sent.
        words = sentence.replace(model.name, "").partition("Known:")[0]
        assert not OF_OTHER_DOORS.search(words), sentence
        assert sentence.isprintable()


def test_the_embedded_model_is_no_folder_in_a_refusal():
    made = make_app(headlight.load(), token=TOKEN, longest=64)
    with TestClient(made, base_url="http://127.0.0.1:8000", headers=OWN) as client:
        refused = read(client, CHAT)[-1]["refused"]
    assert refused == (
        "headlight-small has no chat template; take a model that was tuned on chats, or write the "
        "messages one after the other as a text."
    )


@pytest.mark.slow
def test_only_the_last_readings_are_kept(client):
    names = [read(client)[-1]["result"]["reading"] for _ in range(KEPT + 1)]
    answer = client.get(f"/readings/{names[0]}")
    assert (answer.status_code, "read the text again" in answer.text) == (404, True)
    assert client.get(f"/readings/{names[-1]}").status_code == 200
    assert client.get(f"/readings/{names[-1]}/blob/encoder/x/0/codes").status_code == 404


@pytest.mark.parametrize(
    "path", ["/readings/x", "/readings/x/blob/y", "/functions/read", "/cancel"]
)
@pytest.mark.parametrize("given", [None, "Bearer ", "Bearer wrong", f"Basic {TOKEN}", "Bearer é"])
def test_without_the_token_nothing_is_given(client, path, given):
    headers = {"Authorization": (given or "").encode("latin-1")}
    ask = client.post if path in ("/functions/read", "/cancel") else client.get
    assert ask(path, headers=headers).status_code == 401


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:8000", "127.0.0.1.evil.example", "10.0.0.7:8000", "[::2]"),
        *("", "[::1].evil.example", "localhost:evil.example", "localhost:80@evil.example"),
    ],
)
def test_another_name_of_the_host_is_refused(client, host):
    # Another site may have made its name point to this machine (DNS rebinding).
    for path in ("/", "/health", "/readings/x"):
        assert client.get(path, headers={"Host": host}).status_code == 421


@pytest.mark.parametrize(
    "host", ["localhost:9", "LOCALHOST", "127.0.0.1:9", "[::1]:9", "127.0.0.2"]
)
def test_names_of_this_machine_are_taken_whatever_the_port(client, host):
    assert client.get("/health", headers={"Host": host}).status_code == 200


def test_other_machines_only_where_they_were_allowed(model):
    made = make_app(model, token=TOKEN, names=("my-server",), any_address=True)
    with TestClient(made, headers=OWN) as client:
        for host, status in (("my-server:8000", 200), ("10.0.0.7", 200), ("evil.example", 421)):
            assert client.get("/health", headers={"Host": host}).status_code == status


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none", "nonsense"])
def test_what_another_site_makes_its_visitors_send_is_refused(client, site):
    headers = {"Sec-Fetch-Site": site}
    assert client.get("/readings/x", headers=headers).status_code == 403
    assert client.post("/functions/read", json={}, headers=headers).status_code == 403
    opened = client.get("/", headers=headers).status_code
    assert opened == (200 if site == "none" else 403)  # none: somebody has typed the address


@pytest.mark.parametrize(
    "origin",
    [
        *("http://evil.example", "null", "", "http://127.0.0.1:9000"),
        *("evil://127.0.0.1:8000", "https://127.0.0.1:8000", "127.0.0.1:8000"),
    ],
)
def test_another_origin_is_refused(client, origin):
    answer = client.post("/functions/read", json={"text": TEXT}, headers={"Origin": origin})
    assert answer.status_code == 403


@pytest.mark.parametrize(
    "kind",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""],
)
def test_what_a_form_can_send_is_refused(client, kind):
    answer = client.post("/functions/read", content=b"{}", headers={"Content-Type": kind})
    assert answer.status_code == 415


def test_what_is_sent_has_a_length_and_is_short(client):
    headers = {"Content-Type": "application/json"}
    long = client.post("/functions/read", content=b" " * 1_000_001, headers=headers)
    assert long.status_code == 413
    parts = client.post("/functions/read", content=iter([b"{}"]), headers=headers)
    assert parts.status_code == 411
    lying = {**headers, "Content-Length": "5", "Transfer-Encoding": "chunked"}
    parts = client.post("/functions/read", content=iter([b"{}"]), headers=lying)
    assert parts.status_code == 411


async def asked(made, messages):
    """Statuses that a request gets whose body comes in these messages."""
    headers = {**OWN, "Host": "127.0.0.1:8000", "Content-Type": "application/json"}
    scope = {
        "type": "http", "method": "POST", "path": "/functions/read", "scheme": "http",
        "headers": [(name.lower().encode(), value.encode())
                    for name, value in (headers | {"Content-Length": "5"}).items()],
    }  # fmt: skip
    coming, sent = iter(messages), []

    async def receive():
        found = next(coming, None)
        if found is None:
            await asyncio.Event().wait()  # for ever
        return found

    async def send(message):
        sent.append(message)

    await made(scope, receive, send)
    return [message["status"] for message in sent if "status" in message]


def test_what_is_sent_is_counted_whatever_its_length_is_said_to_be(model):
    part = {"type": "http.request", "body": b"x" * 400_000, "more_body": True}
    assert asyncio.run(asked(make_app(model, token=TOKEN), [part] * 3)) == [413]


def test_what_never_comes_is_not_waited_for(model, monkeypatch):
    monkeypatch.setattr("headlight.serve.guard.PATIENCE", 0.05)
    part = {"type": "http.request", "body": b"{", "more_body": True}
    assert asyncio.run(asked(make_app(model, token=TOKEN), [part])) == [408]


def test_who_leaves_while_sending_is_no_news(model):
    part = {"type": "http.request", "body": b"{", "more_body": True}
    left = [part, {"type": "http.disconnect"}]
    assert asyncio.run(asked(make_app(model, token=TOKEN), left)) == []


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"7", b'"x"', b"\xff", b"[" * 5000])
def test_what_is_no_object_is_refused(client, body):
    headers = {"Content-Type": "application/json"}
    answer = client.post("/functions/read", content=body, headers=headers)
    assert answer.status_code == 400
    assert "load the page again" in answer.text


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS"])
def test_other_methods_are_refused(client, method):
    answer = client.request(method, "/functions/read", json={})
    assert answer.status_code == 405
    assert "access-control-allow-origin" not in answer.headers


def test_nobody_chooses_a_model_or_a_file_from_the_browser(client):
    assert client.post("/functions/load", json={"request": "a"}).status_code == 404
    sent = {"request": "a", "text": TEXT, "model": "/etc", "trust_remote_code": True, "path": "/x"}
    told = steps(client.post("/functions/read", json=sent))
    page = client.get(f"/readings/{told[-1]['result']['reading']}").text
    assert "/etc" not in page
    for path in ("/readings/..%2f..%2fetc%2fpasswd", "/../etc/passwd", "/static/x"):
        assert client.get(path).status_code == 404


@pytest.mark.parametrize("path", ["/", "/health", "/readings/x", "/nothing"])
@pytest.mark.parametrize("host", ["127.0.0.1:8000", "evil.example"])
def test_every_answer_has_safe_headers(client, path, host):
    headers = client.get(path, headers={"Host": host}).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cache-control"] == "no-store"
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "script-src 'sha256-" in policy
    assert "unsafe-eval" not in policy
    assert "script-src 'unsafe" not in policy


def test_the_policy_names_every_script_of_the_page_and_of_the_view(client):
    policy = client.get("/").headers["content-security-policy"]
    name = read(client)[-1]["result"]["reading"]
    for page in (client.get("/").text, client.get(f"/readings/{name}").text):
        scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
        assert scripts
        for script in scripts:
            assert b64encode(sha256(script.encode()).digest()).decode() in policy


def test_the_page_holds_no_token(client):
    assert TOKEN not in client.get("/").text


@pytest.mark.parametrize("text", ["<img src=x>", "</script><b>", "a \u2028 b", "[SEP]"])
def test_hostile_text_stays_text(client, text):
    name = read(client, text)[-1]["result"]["reading"]
    page = client.get(f"/readings/{name}").text
    assert "<img" not in page
    assert "</script><b>" not in page
    assert "\u2028" not in page.partition('id="header">')[2].partition("</script>")[0]


def test_a_request_is_cancelled_by_its_name(client, monkeypatch):
    began, go_on = threading.Event(), threading.Event()

    def slow(workspace, params, on_progress):
        on_progress("at work")
        began.set()
        go_on.wait(10)
        on_progress("still at work")
        raise AssertionError("it went on")

    monkeypatch.setitem(FUNCTIONS, "read", slow)
    found = []
    asking = threading.Thread(target=lambda: found.extend(read(client, request="slow")))
    asking.start()
    assert began.wait(10)
    again = client.post("/functions/read", json={"request": "slow"})
    assert (again.status_code, "a name of its own" in again.text) == (400, True)
    assert client.post("/cancel", json={"request": "other"}).json() == {"cancelled": False}
    assert client.post("/cancel", json={"request": "slow"}).json() == {"cancelled": True}
    go_on.set()
    asking.join(10)
    assert found[-1] == {"refused": "cancelled."}


def test_a_cancelled_reading_leaves_the_model_as_it_was(client, model, monkeypatch):
    workspace = Workspace(model, 16)
    work = Work()
    seen = []

    def on_progress(what, done=0, of=0):
        seen.append(done)
        if done == 1:
            raise UsageError("enough.")

    with pytest.raises(UsageError, match="enough"):
        FUNCTIONS["read"](workspace, {"text": TEXT}, on_progress)
    assert 2 not in seen
    assert read(client)[-1]["result"]
    work.close()


@pytest.mark.slow
def test_a_second_model_is_compared_where_the_app_was_started_with_one(client, model, tmp_path):
    refused = steps(client.post("/functions/read", json={"request": "a", **BY_BOTH}))[-1]
    assert "start it with a second one to compare them" in refused["refused"]
    other = headlight.load(example_data.tiny_model(tmp_path, seed=5))
    workspace = Workspace(model, 16, other)
    for compare, expected in ((None, TEXT), ("the dog", "the dog")):
        result = FUNCTIONS["read"](workspace, BY_BOTH | {"compare": compare}, lambda *_: None)
        header = workspace.readings[result["reading"]].view.header
        assert header["second"]["text"] == expected
    alike = workspace.readings[FUNCTIONS["read"](workspace, BY_BOTH, lambda *_: None)["reading"]]
    weight = other.read(TEXT).weight.isel(layer=1).values
    scale, codes = (gzip.decompress(alike.view.blob(f"{NAME}/1/{part}")) for part in PARTS)
    largest = np.frombuffer(scale, "<f4").reshape(weight.shape[:2])
    first = model.read(TEXT).weight.isel(layer=1).values
    assert largest == pytest.approx(weight.max(-1), rel=1e-3)  # as the format rounds
    assert largest != pytest.approx(first.max(-1), rel=1e-3)
    assert len(codes) == weight.size


def test_too_many_requests_are_refused():
    work, go_on = Work(), threading.Event()

    def slow(told):
        go_on.wait(10)
        return {}

    async def ask():
        asked = [work.steps(str(number), slow) for number in range(MOST)]
        first = [asyncio.ensure_future(anext(steps)) for steps in asked]
        await first[0]
        with pytest.raises(UsageError, match="wait already"):
            work.require_room("one more")
        go_on.set()
        await asyncio.gather(*first)
        for steps in asked:
            await steps.aclose()
        work.require_room("one more")

    asyncio.run(ask())
    with pytest.raises(UsageError, match="name of its own"):
        work.require_room("")
    work.close()


def test_a_reading_that_was_looked_at_stays_longer():
    held = Readings()
    kept = CachedReading.of(reading_sample(1, 1), lambda _: None)
    names = [held.keep(kept) for _ in range(KEPT)]
    assert held[names[0]] is kept
    held.keep(kept)
    assert held[names[0]] is kept
    with pytest.raises(headlight.HeadlightError, match="gone"):
        held[names[1]]


def test_other_machines_need_a_word_of_consent():
    def load():
        raise AssertionError("the model is loaded")

    with pytest.raises(UsageError, match="--allow-remote"):
        serve(load, host="0.0.0.0", say=print)
    assert [
        host for host in ("localhost", "127.0.0.9", "::1", "0.0.0.0", "x") if is_loopback(host)
    ] == [
        "localhost",
        "127.0.0.9",
        "::1",
    ]


def test_a_port_that_is_taken_is_refused_before_the_model_is_loaded():
    with listening(HERE, 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"port {port}"):
            serve(lambda: (None, None), port=port, say=print)


async def write_to_one_who_left():
    """Two sockets, of which one is closed amid what the other says."""
    mine, other = socket.socketpair()
    _, writer = await asyncio.open_connection(sock=mine)
    other.close()
    for _ in range(10):
        writer.write(b"data: {}\n\n")
    writer.close()


@pytest.mark.parametrize("quiet", [False, True])
def test_a_page_that_is_closed_amid_an_answer_is_no_news(model, monkeypatch, caplog, quiet):
    caplog.set_level(logging.WARNING, "asyncio")  # and back again after the test

    def act(*_, **__):
        asyncio.run(write_to_one_who_left())

    if quiet:
        monkeypatch.setattr("headlight.serve.server._Server.run", act)
        serve(lambda: (model, None), say=lambda _: None)
    else:
        act()
    assert bool(caplog.records) is not quiet


@pytest.mark.parametrize("missing", ["starlette", "uvicorn"])
def test_without_the_extra_it_is_said_before_the_work(monkeypatch, missing):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        "headlight.cli.serve.find_spec", lambda name: None if name == missing else found(name)
    )
    monkeypatch.setattr(
        "headlight.cli.model_options.LoadOptions.load",
        lambda *_, **__: pytest.fail("a model is loaded"),
    )
    with pytest.raises(UsageError, match=rf"needs {missing};.*\[serve\]"):
        app(["serve"], standalone_mode=False)


@pytest.fixture
def with_head(model):
    made = headlight.load(model.name, head="any")
    with TestClient(
        make_app(made, token=TOKEN, longest=16), base_url="http://127.0.0.1:8000", headers=OWN
    ) as found:
        yield found, made


def test_predictions_with_other_attention(with_head):
    client, made = with_head
    reading = read(client)[-1]["result"]["reading"]
    edits = [{"layer": 0, "head": 1}, {"layer": 1, "query": 2, "change": "uniform"}]
    sent = {"request": "two", "reading": reading, "kind": "encoder", "edits": edits}
    found = steps(client.post("/functions/what_if", json=sent))[-1]["result"]
    assert found == made.what_if(TEXT, edits=edits_of(edits)).as_json()
    told = steps(client.post("/functions/each_head", json={**sent, "request": "three"}))
    parts = [step["part"] for step in told if "part" in step]
    assert parts == told[-1]["result"]["effects"]
    expected = [(each.layer, each.head, each.changed) for each in each_head_removed(made, TEXT)]
    assert [(layer, head, changed) for layer, head, _, changed in parts] == expected


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({"edits": []}, "edits are a list"),
        ({"edits": [{"layer": "0"}]}, "a layer, which is a number"),
        ({"edits": [{"layer": 9}]}, "no encoder layer 9"),
        ({"edits": [{"layer": 0, "head": 10**30}]}, "has no head"),
        ({"edits": [{"layer": 0, "source": "/etc/passwd"}]}, "source"),
        ({"edits": [{"layer": 0}] * 65}, "1 to 64"),
        ({"edits": [{"layer": 0}], "kind": ["encoder"]}, "kind"),
        ({"edits": [{"layer": 0}], "reading": "other"}, "gone"),
        (
            {"edits": [{"layer": 0, "query": 1, "change": "weights", "weights": [1.0]}]},
            "1 weights are given",
        ),
        ({"edits": [{"layer": 0, "query": 1, "change": "weights", "weights": [2.0]}]}, "at most 1"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_edits_that_are_none_are_refused(with_head, sent, words):
    client, _ = with_head
    reading = read(client)[-1]["result"]["reading"]
    given = {"request": "two", "reading": reading, "kind": "encoder", **sent}
    assert words in steps(client.post("/functions/what_if", json=given))[-1]["refused"]


def test_numbers_that_are_none_are_refused(with_head):
    """JSON of Python holds NaN, and that of a browser might."""
    client, _ = with_head
    reading = read(client)[-1]["result"]["reading"]
    text = json.dumps(
        {"request": "two", "reading": reading, "kind": "encoder", "edits": [
            {"layer": 0, "query": 1, "change": "weights", "weights": [float("nan")] * 7}]}
    )  # fmt: skip
    answer = client.post(
        "/functions/what_if", content=text, headers={"Content-Type": "application/json"}
    )
    assert "must be at least 0" in steps(answer)[-1]["refused"]


def test_a_model_without_a_head_predicts_nothing(model):
    made = make_app(model.base(), token=TOKEN, longest=16)
    with TestClient(made, base_url="http://127.0.0.1:8000", headers=OWN) as client:
        reading = read(client)[-1]["result"]["reading"]
        sent = {"request": "two", "reading": reading, "kind": "encoder", "edits": [{"layer": 0}]}
        assert "has no head" in steps(client.post("/functions/what_if", json=sent))[-1]["refused"]


def test_generated_text_is_kept_as_a_reading():
    made = make_app(decoder(), token=TOKEN, longest=16)
    with TestClient(made, base_url="http://127.0.0.1:8000", headers=OWN) as client:
        assert 'id="generate"' in client.get("/").text
        sent = {"request": "one", "text": "the river keeps", "settings": {"max_new_tokens": 3}}
        *_, last = steps(client.post("/functions/generate", json=sent))
        page = client.get(f"/readings/{last['result']['reading']}").text
        assert page.count('small-button" data-row="') == 3
        sent["settings"] = {"max_new_tokens": 900}
        *_, last = steps(client.post("/functions/generate", json=sent))
        assert "this app takes 0; shorten it" in last["refused"]


def test_an_encoder_offers_nothing_to_generate(client):
    assert 'id="generate"' not in client.get("/").text
