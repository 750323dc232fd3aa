from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Dict, List, Optional
from unittest import TestCase


@dataclass
class Received:
    method: str
    url: str
    headers: Dict[str, str]
    body: str


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    script: "Script"

    def handle_any(self) -> None:
        body = self._read(int(self.headers.get("content-length") or 0)).decode()
        headers = {name.lower(): value for name, value in self.headers.items()}
        step = self.script.take(Received(self.command, self.path, headers, body))
        step(self)

    def _read(self, size: int) -> bytes:
        pieces = []
        while size > 0:
            pieces.append(self.rfile.read(min(size, 256 * 1024)))
            size -= len(pieces[-1])
            time.sleep(self.script.read_delay_seconds)
        return b"".join(pieces)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

    def log_message(self, format: str, *args: Any) -> None:
        pass


Step = Callable[[Handler], None]


class Script:
    """A server that answers each request by the next step of a script. It ends with the test."""

    def __init__(self, test: TestCase, *steps: Step) -> None:
        self.steps = list(steps)
        self.requests: List[Received] = []
        self.read_delay_seconds = 0.0
        self.released = threading.Event()
        handler = type("Scripted", (Handler,), {"script": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.base_url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        test.addCleanup(self._stop)

    def take(self, request: Received) -> Step:
        self.requests.append(request)
        return self.steps.pop(0) if self.steps else refuse(500, "unexpected")

    def keys(self) -> List[Optional[str]]:
        return [request.headers.get("idempotency-key") for request in self.requests]

    def _stop(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()


def answer(status: int, body: Any, headers: Optional[Dict[str, str]] = None) -> Step:
    """A step that answers JSON, or text as it is."""

    def step(handler: Handler) -> None:
        text = body if isinstance(body, str) else json.dumps(body)
        handler.send_response(status)
        for name, value in {"Content-Length": str(len(text.encode())), **(headers or {})}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(text.encode())

    return step


def refuse(status: int, code: str, headers: Optional[Dict[str, str]] = None, **more: Any) -> Step:
    """A step that answers an error as the API does."""
    error = {"code": code, "message": f"It is {code}.", "param": None, "retryable": False, **more}
    return answer(status, {"error": error, "request_id": "req_1"}, headers)


def data(value: Any, **more: Any) -> Step:
    return answer(200, {"data": value, "request_id": "req_1", **more})


def page(ids: List[str], cursor: Optional[str]) -> Step:
    items = [{"id": each} for each in ids]
    return data({"items": items}, page={"has_more": cursor is not None, "next_cursor": cursor, "total": 3})


def cut(handler: Handler) -> None:
    """A step that closes the connection without an answer."""
    handler.close_connection = True


def silence(handler: Handler) -> None:
    """A step that never answers."""
    handler.script.released.wait()
    handler.close_connection = True


def event(id: int, name: str, value: str = "{}") -> str:
    return f"id: {id}\nevent: {name}\ndata: {value}\n\n"


def events(text: str, end: str = "ends") -> Step:
    """A step that sends events, and then ends the answer, breaks the connection or stays open."""

    def step(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        handler.wfile.write(f"{len(text.encode()):x}\r\n{text}\r\n".encode())
        if end == "ends":
            handler.wfile.write(b"0\r\n\r\n")
        elif end == "stays":
            handler.script.released.wait()
        handler.close_connection = True

    return step
