"""A loopback proxy in front of an emulator that makes things go wrong, for real: on the wire."""

from __future__ import annotations

import http.client
import json
import random
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from aws_stub import operation


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that came by."""

    operation: str
    body: bytes
    json: bool

    @property
    def table(self) -> str:
        asked = json.loads(self.body)
        return str(asked.get("TableName") or asked.get("ResourceArn", "").rpartition("/")[2])


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    body: bytes
    lost: int = 0  # so many bytes are promised and never come


RESET = Reply(0, b"reset")
DOWN = Reply(0, b"down")  # from now on nobody listens, and what is connected is reset
Fault = Callable[[Asked, Callable[[], Reply]], Reply]  # what to answer, given how to get the true answer


def error(asked: Asked, code: str, status: int = 400, message: str = "injected") -> Reply:
    """An error as AWS sends it, in the protocol of the request."""
    if asked.json:
        return Reply(status, json.dumps({"__type": f"com.amazonaws#{code}", "message": message}).encode())
    text = f"<Error><Type>Sender</Type><Code>{code}</Code><Message>{message}</Message></Error>"
    return Reply(status, f"<ErrorResponse>{text}</ErrorResponse>".encode())


def only(names: set[str], then: Callable[[Asked], Reply]) -> Fault:
    """These operations go wrong; the others do not."""
    return lambda asked, forward: then(asked) if asked.operation in names else forward()


def sometimes(share: float, then: Callable[[Asked], Reply]) -> Fault:
    chance = random.Random(20260423)
    return lambda asked, forward: then(asked) if chance.random() < share else forward()


@contextmanager
def proxy(target: str, fault: Fault) -> Iterator[str]:
    """The endpoint of a proxy that asks ``fault`` about every request."""
    host = target.removeprefix("http://")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            name = operation(f"{self.requestline}\r\n{self.headers}", body)
            form = "x-www-form-urlencoded" in self.headers.get("Content-Type", "")
            s3 = "/s3/aws4_request" in self.headers.get("Authorization", "")
            reply = fault(Asked(name, body, not form and not s3), lambda: self._forward(body))
            if reply is DOWN:
                server.shutdown()
                server.server_close()
            if reply in (RESET, DOWN):
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.close_connection = True
                return
            self.send_response(reply.status)
            self.send_header("Content-Length", str(len(reply.body) + reply.lost))
            self.close_connection = self.close_connection or bool(reply.lost)
            self.end_headers()
            self.wfile.write(reply.body)

        do_GET = do_POST  # noqa: N815

        def _forward(self, body: bytes) -> Reply:
            connection = http.client.HTTPConnection(host, timeout=20)
            try:
                connection.request(self.command, self.path, body, {**dict(self.headers.items()), "Host": host})
                answer = connection.getresponse()
                return Reply(answer.status, answer.read())
            finally:
                connection.close()

        def finish(self) -> None:
            if not self.wfile.closed:
                self.wfile.close()
            self.rfile.close()

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

        def handle_error(self, *_: Any) -> None:
            pass  # a client that went away

        def shutdown_request(self, request: Any) -> None:
            request.close()  # without a FIN first, where a reset was asked for

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
