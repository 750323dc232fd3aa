"""What requests and answers are, whether a thread waits for them or asyncio does."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from typing import Any, AsyncIterator, Callable, Dict, Iterator, Mapping, Optional, Tuple, Union

import httpx

from ._options import ClientOptions, RequestOptions, ResponseInfo
from .errors import ConnectionFailed, RequestTimeout

Body = Union[bytes, bytearray, memoryview]


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    """A path of the server, or a signed URL."""
    input: Mapping[str, Any]
    """`query`, `body` or `bytes`; with bytes, `on_sent` is called with how many are sent, anew with each attempt."""
    keyed: bool = True
    """Whether the server takes an idempotency key."""
    accept: str = "application/json"


@dataclass(frozen=True)
class Prepared:
    """A request as all its attempts send it. They have the same key, so that the server takes one of them."""

    method: str
    url: str
    headers: Dict[str, str]
    content: Optional[bytes]
    on_sent: Optional[Callable[[int], None]]
    repeatable: bool
    timeout_seconds: float
    max_retries: int


def prepare(request: Request, client: ClientOptions, options: RequestOptions) -> Prepared:
    reads = request.method == "GET"
    key = None if reads or not request.keyed else options.idempotency_key or str(uuid.uuid4())
    content, media_type = _content(request.input)
    own = request.path.startswith("/")
    headers = {"Accept": request.accept, **media_type, **client.headers, **options.headers}
    # A signed URL carries its own rights, and may be of another server.
    if client.api_key is not None and own and "Authorization" not in headers:
        api_key = client.api_key if isinstance(client.api_key, str) else client.api_key()
        headers["Authorization"] = f"Bearer {api_key}"
    on_sent: Optional[Callable[[int], None]] = request.input.get("on_sent")
    if on_sent is not None and content is not None:
        # A body that is read in pieces has no length of its own.
        headers["Content-Length"] = str(len(content))
    if key is not None:
        headers["Idempotency-Key"] = key
    if options.if_match is not None:
        version = options.if_match
        headers["If-Match"] = f'"v{version}"' if isinstance(version, int) else version
    timeout, retries = options.timeout_seconds, options.max_retries
    return Prepared(
        method=request.method,
        url=_url(client.base_url.rstrip("/") + request.path if own else request.path, request.input.get("query")),
        headers=headers,
        content=content,
        on_sent=on_sent,
        repeatable=reads or request.method == "PUT" or key is not None,
        timeout_seconds=client.timeout_seconds if timeout is None else timeout,
        max_retries=client.max_retries if retries is None else retries,
    )


def _content(given: Mapping[str, Any]) -> Tuple[Optional[bytes], Dict[str, str]]:
    if "bytes" in given:
        return bytes(given["bytes"]), {"Content-Type": "application/octet-stream"}
    if "body" in given:
        return json.dumps(given["body"]).encode(), {"Content-Type": "application/json"}
    return None, {}


PIECE_BYTES = 64 * 1024


def pieces(prepared: Prepared) -> Union[None, bytes, Iterator[bytes]]:
    """Returns a request's body, in pieces if somebody is told how many bytes are sent."""
    if prepared.on_sent is None or prepared.content is None:
        return prepared.content
    return _pieces(prepared.content, prepared.on_sent)


def pieces_async(prepared: Prepared) -> Union[None, bytes, AsyncIterator[bytes]]:
    """Returns the same for asyncio."""
    if prepared.on_sent is None or prepared.content is None:
        return prepared.content
    return _pieces_async(_pieces(prepared.content, prepared.on_sent))


def _pieces(content: bytes, on_sent: Callable[[int], None]) -> Iterator[bytes]:
    for offset in range(0, len(content), PIECE_BYTES):
        yield content[offset : offset + PIECE_BYTES]
        on_sent(min(offset + PIECE_BYTES, len(content)))


async def _pieces_async(all_pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    for piece in all_pieces:
        yield piece


def _url(url: str, query: Optional[Mapping[str, Any]]) -> str:
    given = {name: _text(value) for name, value in (query or {}).items() if value is not None}
    return str(httpx.URL(url, params=given)) if given else url


def _text(value: Any) -> str:
    """Lists are separated by commas; objects are JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)) and not any(isinstance(one, (dict, list)) for one in value):
        return ",".join(str(one) for one in value)
    return json.dumps(value) if isinstance(value, (dict, list)) else str(value)


def failure_of(error: httpx.TransportError, prepared: Prepared) -> ConnectionFailed:
    if isinstance(error, httpx.TimeoutException):
        return RequestTimeout(f"No answer within {prepared.timeout_seconds} s.")
    return ConnectionFailed(f"The connection for {prepared.method} {prepared.url} failed: {error}")


def read_envelope(response: httpx.Response, client: ClientOptions, options: RequestOptions) -> Dict[str, Any]:
    """Returns the JSON of an answer, and tells what stands around its data."""
    body: Dict[str, Any] = response.json()
    info = ResponseInfo(
        status=response.status_code,
        headers=response.headers,
        request_id=body.get("request_id") or response.headers.get("x-request-id", ""),
        etag=response.headers.get("etag"),
        replayed=response.headers.get("idempotency-replayed") == "true",
        warnings=body.get("warnings") or [],
        page=body.get("page"),
    )
    for told in (client.on_response, options.on_response):
        if told is not None:
            told(info)
    return body
