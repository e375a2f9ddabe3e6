"""The widget of notebooks, seen from the kernel: messages in, buffers out."""

import gzip
import json
import re
import sys

import numpy as np
import pytest

from headlight.errors import UsageError
from headlight.reading import Reading
from headlight.views.reading.unpacking import unpack
from headlight.views.reading.widget import ReadingWidget
from views.sample_results import reading_sample


@pytest.fixture
def asked(monkeypatch):
    """A widget of a reading, and what it answers to a message."""

    def of(reading):
        widget = ReadingWidget(reading, height=500)
        sent = []
        monkeypatch.setattr(
            widget, "send", lambda content, buffers=None: sent.append((content, buffers))
        )

        def ask(message):
            widget._handle_custom_msg(message, [])
            return sent[-1]

        return widget, ask

    return of


def test_the_kernel_answers_with_the_layers_that_are_asked_for(asked):
    reading = reading_sample(2, 3, tuple("abcdefgh"))
    widget, ask = asked(reading)
    header = json.loads(re.search(r'id="header">(.*?)</script>', widget.page).group(1))

    def get(name):
        content, buffers = ask({"ask": name, "answer": f"7 {name}"})
        assert content == {"answer": f"7 {name}"}
        return buffers[0]

    found = unpack(header, get)
    for name, about in header["kinds"]["encoder"]["measures"].items():
        values = reading[name].transpose(*found[name].dims).values
        assert np.abs(found[name].values - values).max() <= about["bound"] * (1 + 1e-5)


@pytest.mark.parametrize("message", [{}, {"ask": "x"}, {"ask": 7, "answer": 1}, {"ask": "a/b/c"}])
def test_what_is_not_there_is_refused_in_a_sentence(asked, message):
    content, buffers = asked(reading_sample(1, 1))[1](message)
    assert content["answer"] == message.get("answer")
    assert content["refused"].startswith("no blob is called")
    assert buffers is None


def test_functions_go_on_step_by_step_and_can_be_stopped(monkeypatch):
    def count(params):
        yield from ({"what": "counting", "done": at} for at in range(params["to"]))
        yield {"result": {"counted": params["to"]}}

    widget = ReadingWidget(reading_sample(1, 1), height=500, functions={"count": count})
    sent = []
    monkeypatch.setattr(widget, "send", lambda content, buffers=None: sent.append(content))

    def ask(**message):
        widget._handle_custom_msg(message, [])
        return sent[-1]

    assert widget.can == ["count"]
    first = ask(call="count", params={"to": 1}, answer="a")
    assert first == {"answer": "a", "step": {"what": "counting", "done": 0}}
    assert ask(next="a")["step"] == {"result": {"counted": 1}}
    assert ask(next="a")["refused"] == "stopped."
    ask(call="count", params={"to": 9}, answer="b")
    ask(stop="b")
    assert ask(next="b") == {"answer": "b", "refused": "stopped."}
    assert "no function is called 'x'" in ask(call="x", params={}, answer="c")["refused"]


def test_a_notebook_keeps_the_page_and_no_cells():
    tokens = tuple(f"w{at}" for at in range(512))
    reading = reading_sample(1, 2, tokens)
    widget = ReadingWidget(reading, height=500)
    state = widget.get_state()
    assert {"page", "height"} <= set(state)
    kept = sum(len(value) for value in state.values() if isinstance(value, str | bytes))
    assert kept < 250_000
    sent = []
    widget.send = lambda content, buffers=None: sent.append(buffers)
    widget._handle_custom_msg({"ask": "encoder/weight/0/codes", "answer": 1}, [])
    assert len(gzip.decompress(sent[0][0])) == 2 * 512 * 512


def test_a_reading_explores_itself():
    widget = Reading(reading_sample(1, 1)).explore(height=321)
    assert isinstance(widget, ReadingWidget)
    assert widget.height == 321


def test_two_readings_are_explored_together():
    first, second = (Reading(reading_sample(1, 2, tuple(tokens))) for tokens in ("abc", "abd"))
    widget = first.explore(compare=second)
    header = json.loads(re.search(r'id="header">(.*?)</script>', widget.page).group(1))
    assert {"weight", "weight-second", "weight-difference"} <= set(
        header["kinds"]["encoder"]["measures"]
    )
    part = Reading(second.dataset.isel(head=[1]).assign_coords(head=[1]))
    with pytest.raises(UsageError, match="head"):
        first.explore(compare=part)


def test_without_the_extra_it_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "headlight.views.reading.widget", None)
    with pytest.raises(UsageError, match=r"needs anywidget; .*\[widget\]"):
        Reading(reading_sample(1, 1)).explore()
