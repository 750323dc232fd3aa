"""Sends requests: retries, timeouts and errors. `Transport` waits, `AsyncTransport` is for asyncio."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager, contextmanager
from typing import Any, AsyncIterator, Dict, Iterator

import httpx

from ._options import ClientOptions, RequestOptions
from ._request import Prepared, Request, failure_of, pieces, pieces_async, prepare, read_envelope
from ._retry import delay_of
from .errors import CommonplaceError, RequestTimeout, error_of


class Transport:
    def __init__(self, options: ClientOptions, client: httpx.Client) -> None:
        self.options = options
        self._client = client

    def json(self, request: Request, options: RequestOptions) -> Dict[str, Any]:
        """Returns the JSON of an answer. Raises an ApiError, or ConnectionFailed if there is no answer."""
        return read_envelope(self.send(request, options), self.options, options)

    def send(self, request: Request, options: RequestOptions) -> httpx.Response:
        """Sends a request until it succeeds. Returns the whole answer."""
        prepared = prepare(request, self.options, options)
        retries = 0
        while True:
            try:
                return self._attempt(prepared)
            except CommonplaceError as error:
                delay = delay_of(error, retries, prepared.max_retries, self.options, prepared.repeatable)
                if delay is None:
                    raise
                time.sleep(delay)
                retries += 1

    def _attempt(self, prepared: Prepared) -> httpx.Response:
        # The time of httpx is that of each read and write; the deadline is that of the attempt, or of its answer where a
        # body is sent in pieces, which takes as long as it takes.
        began = time.monotonic()
        with self._open(prepared) as response:
            deadline = (began if prepared.on_sent is None else time.monotonic()) + prepared.timeout_seconds
            parts = []
            for chunk in response.iter_raw():
                if time.monotonic() > deadline:
                    raise RequestTimeout(f"No answer within {prepared.timeout_seconds} s.")
                parts.append(chunk)
        return _whole(response, b"".join(parts))

    @contextmanager
    def stream(self, request: Request, options: RequestOptions) -> Iterator[httpx.Response]:
        """Opens an answer that is read bit by bit, once. Nothing is sent again."""
        with self._open(prepare(request, self.options, options)) as response:
            yield response

    @contextmanager
    def _open(self, prepared: Prepared) -> Iterator[httpx.Response]:
        try:
            with self._client.stream(
                prepared.method,
                prepared.url,
                headers=prepared.headers,
                content=pieces(prepared),
                timeout=prepared.timeout_seconds,
            ) as response:
                if not response.is_success:
                    raise error_of(response.status_code, response.headers, response.read().decode(errors="replace"))
                yield response
        except httpx.TransportError as error:
            raise failure_of(error, prepared) from error



class AsyncTransport:
    def __init__(self, options: ClientOptions, client: httpx.AsyncClient) -> None:
        self.options = options
        self._client = client

    async def json(self, request: Request, options: RequestOptions) -> Dict[str, Any]:
        """Returns the JSON of an answer. Raises an ApiError, or ConnectionFailed if there is no answer."""
        return read_envelope(await self.send(request, options), self.options, options)

    async def send(self, request: Request, options: RequestOptions) -> httpx.Response:
        """Sends a request until it succeeds. Returns the whole answer. Cancelling the task ends it at once."""
        prepared = prepare(request, self.options, options)
        retries = 0
        while True:
            try:
                # A body that is sent in pieces takes as long as it takes; httpx limits each read and write.
                limit = prepared.timeout_seconds if prepared.on_sent is None else None
                return await asyncio.wait_for(self._attempt(prepared), limit)
            except asyncio.TimeoutError as error:
                failure: CommonplaceError = RequestTimeout(f"No answer within {prepared.timeout_seconds} s.")
                failure.__cause__ = error
            except CommonplaceError as error:
                failure = error
            delay = delay_of(failure, retries, prepared.max_retries, self.options, prepared.repeatable)
            if delay is None:
                raise failure
            await asyncio.sleep(delay)
            retries += 1

    async def _attempt(self, prepared: Prepared) -> httpx.Response:
        async with self._open(prepared) as response:
            parts = [chunk async for chunk in response.aiter_raw()]
        return _whole(response, b"".join(parts))

    @asynccontextmanager
    async def stream(self, request: Request, options: RequestOptions) -> AsyncIterator[httpx.Response]:
        """Opens an answer that is read bit by bit, once. Nothing is sent again."""
        async with self._open(prepare(request, self.options, options)) as response:
            yield response

    @asynccontextmanager
    async def _open(self, prepared: Prepared) -> AsyncIterator[httpx.Response]:
        try:
            async with self._client.stream(
                prepared.method,
                prepared.url,
                headers=prepared.headers,
                content=pieces_async(prepared),
                timeout=prepared.timeout_seconds,
            ) as response:
                if not response.is_success:
                    text = (await response.aread()).decode(errors="replace")
                    raise error_of(response.status_code, response.headers, text)
                yield response
        except httpx.TransportError as error:
            raise failure_of(error, prepared) from error


def _whole(response: httpx.Response, content: bytes) -> httpx.Response:
    """Returns an answer with its body, which httpx decodes as `Content-Encoding` says."""
    return httpx.Response(response.status_code, headers=response.headers, content=content, request=response.request)
