"""A server whose connections are many, silent and slow, in a process that may open few files."""

import asyncio
import resource
import socket
import subprocess
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress

import pytest
import uvicorn
from starlette.responses import PlainTextResponse
from uvicorn.server import ServerState

import headlight.serve  # noqa: F401 - so that copies of this process have it
from forked import Forked
from headlight.serve.connections import LimitedConnection

SERVER = """
import sys, types
from headlight.serve import server
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse
from starlette.routing import Route

async def health(request):
    return PlainTextResponse("well")

async def page(request):
    return PlainTextResponse("x" * 200_000)

async def sent(request):
    try:
        return PlainTextResponse(await request.body())
    except ClientDisconnect:
        return PlainTextResponse("")

server.make_app = lambda *_, **__: Starlette(
    routes=[Route("/", page), Route("/health", health), Route("/sent", sent, methods=["POST"])]
)
server.LimitedConnection.patience = float(sys.argv[1])
model = types.SimpleNamespace(name="a model", sees=False, hears=False)
server.serve(lambda: (model, None), say=lambda line: print(line, flush=True))
"""


POST = b"POST /sent HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n"


@contextmanager
def served(patience):
    """Port of a server that may have 200 files open, and what it said in the end."""
    complaints = []
    limits = (200, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    with Forked(
        [sys.executable, "-c", SERVER, str(patience)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limits),
    ) as running:
        try:
            port = int(running.stdout.readline().partition("127.0.0.1:")[2].partition("/")[0])
            health(port)
            yield port, complaints
        finally:
            running.terminate()
            complaints.append(running.communicate(timeout=300)[1])


def health(port):
    """What the server says of itself; it may take a second to come round."""
    address = f"http://127.0.0.1:{port}/health"
    with urllib.request.urlopen(address, timeout=120) as answer:
        return answer.read()


def connected(port, sent, room=None):
    """A client that has sent something; it may have had to go for others by then, at any moment."""
    client = socket.socket()
    if room is not None:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
    client.settimeout(60)
    with suppress(ConnectionError):
        client.connect(("127.0.0.1", port))
        client.sendall(sent)
    return client


class Wire:
    """A transport that remembers whether it was hung up."""

    def __init__(self):
        self.is_open = True

    def abort(self):
        self.is_open = False

    def is_closing(self):
        return not self.is_open

    def get_extra_info(self, name):
        return None


@pytest.mark.parametrize("sent", [b"", b"GET /health HTTP/1.1\r\nHost: 127", POST + b"{"])
def test_a_newcomer_has_not_to_go_for_those_that_waited_before_it(sent):
    config = uvicorn.Config(PlainTextResponse("well"), ws="none")
    config.load()
    state, loop = ServerState(), asyncio.new_event_loop()

    class Connection(LimitedConnection):
        most = 3

    def arrive():
        connection, wire = Connection(config, state, {}, loop), Wire()
        connection.connection_made(wire)
        if sent and wire.is_open:
            connection.data_received(sent)
        return wire

    try:
        wires = [arrive() for _ in range(3)]
        wires.append(arrive())
    finally:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
    assert [each.is_open for each in wires] == [False, True, True, True]


@pytest.mark.slow
@pytest.mark.parametrize("sent", [b"", b"GET /health HTTP/1.1\r\nHost: 127", POST + b"{"])
def test_300_clients_that_say_nothing_keep_nobody_out(sent):
    with served(600) as (port, complaints), ExitStack() as stack:

        def connect(_):
            return connected(port, sent)

        with ThreadPoolExecutor(100) as at_once:  # or each would wait a while to be let in
            for client in at_once.map(connect, range(300)):
                stack.enter_context(client)
        assert health(port) == b"well"
    assert complaints == [""]


@pytest.mark.slow
def test_who_sends_no_whole_headers_is_hung_up_on():
    with served(2) as (port, complaints):
        silent, slow, second = (socket.create_connection(("127.0.0.1", port), 60) for _ in range(3))
        slow.sendall(b"GET /hea")
        second.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\nGET /hea")
        answer = b""
        while b"well" not in answer:
            received = second.recv(10_000)
            assert received, answer
            answer += received
        began = time.monotonic()
        for client in (silent, slow, second):
            with client, suppress(ConnectionResetError):
                assert client.recv(10_000) == b""
        assert time.monotonic() - began < 60
    assert complaints == [""]


@pytest.mark.long
def test_what_is_sent_in_parts_is_taken_in_time_and_dropped_after():
    with served(6) as (port, complaints):
        whole, half = (socket.create_connection(("127.0.0.1", port), 60) for _ in range(2))
        with whole, half:
            for client in (whole, half):
                client.sendall(POST + b"01234")
            time.sleep(1)
            whole.sendall(b"56789")
            answer = b""
            while not answer.endswith(b"0123456789"):  # headers may come by themselves
                received = whole.recv(10_000)
                assert received, answer
                answer += received
            began = time.monotonic()
            with suppress(ConnectionResetError):
                assert half.recv(10_000) == b""
            assert time.monotonic() - began < 60
    assert complaints == [""]


def asking_without_reading(port):
    """A client with the smallest room, which asks for the page fifty times and reads nothing."""
    return connected(port, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50, room=2048)


@pytest.mark.slow
def test_150_clients_that_read_nothing_keep_nobody_out():
    with served(600) as (port, complaints), ExitStack() as stack:
        with ThreadPoolExecutor(50) as at_once:
            for client in at_once.map(asking_without_reading, [port] * 150):
                stack.enter_context(client)
        assert health(port) == b"well"
    assert complaints == [""]


@pytest.mark.long
def test_who_reads_nothing_is_hung_up_on_and_who_reads_slowly_is_not():
    with served(2) as (port, complaints), asking_without_reading(port) as silent:
        with asking_without_reading(port) as slow:
            began, read = time.monotonic(), 0
            while time.monotonic() - began < 5:
                read += len(slow.recv(20_000))
                time.sleep(0.01)
            assert slow.recv(1)
            assert read > 200_000
        received = b"there"
        with suppress(ConnectionResetError):
            while received:
                received = silent.recv(100_000)
                assert time.monotonic() - began < 60
        assert health(port) == b"well"
    assert complaints == [""]
