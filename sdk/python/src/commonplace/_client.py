from __future__ import annotations

from types import TracebackType
from typing import Callable, Mapping, Optional, Type, Union

import httpx
from typing_extensions import Self, Unpack

from ._options import (
    DEFAULT_MAX_RETRIES,
    DEFAULT_MAX_RETRY_DELAY_SECONDS,
    DEFAULT_RETRY_DELAY_SECONDS,
    DEFAULT_TIMEOUT_SECONDS,
    ClientOptions,
    OnResponse,
    RequestOptions,
)
from ._request import Request
from ._transport import AsyncTransport, Transport
from ._upload import DEFAULT_CONCURRENCY, OnProgress, Source, upload_file, upload_file_async
from .generated.operations import AsyncOperations, Operations
from .generated.types import CreateFileRequest, Resource

ApiKey = Union[str, Callable[[], str], None]


class Commonplace(Operations):
    """A client of one server with one credential: `client.resources.list(…)`, `client.runs.stream(…)`.

    `base_url` is the address of the server without `/api/v1`, `api_key` an API key or an identity provider's token, or
    a function that returns one before every request. `timeout_seconds` is for one attempt, `max_retries` how often a
    request that may be repeated is repeated. `http` is the httpx client to use in place of one of its own.
    """

    def __init__(
        self,
        base_url: str,
        api_key: ApiKey = None,
        *,
        timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
        max_retries: int = DEFAULT_MAX_RETRIES,
        retry_delay_seconds: float = DEFAULT_RETRY_DELAY_SECONDS,
        max_retry_delay_seconds: float = DEFAULT_MAX_RETRY_DELAY_SECONDS,
        headers: Optional[Mapping[str, str]] = None,
        on_response: Optional[OnResponse] = None,
        http: Optional[httpx.Client] = None,
    ) -> None:
        self._http = http or httpx.Client()
        delays = (retry_delay_seconds, max_retry_delay_seconds)
        options = ClientOptions(base_url, api_key, timeout_seconds, max_retries, *delays, headers or {}, on_response)
        self._transport = Transport(options, self._http)
        super().__init__(self._transport)

    def upload(
        self,
        source: Source,
        *,
        request_options: Optional[RequestOptions] = None,
        on_progress: Optional[OnProgress] = None,
        **fields: Unpack[CreateFileRequest],
    ) -> Resource:
        """Creates a file and uploads its bytes, in parts where it is large. Returns the file's resource.

        `source` is bytes, a path or a binary file that can seek. A path brings its own name.
        """
        return upload_file(self._transport, self, source, request_options, on_progress, fields)

    def download(self, url: str, *, request_options: Optional[RequestOptions] = None) -> bytes:
        """Downloads a signed URL, such as a file's `download_url`."""
        request = Request("GET", url, {}, keyed=False, accept="*/*")
        return self._transport.send(request, request_options or RequestOptions()).content

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()


class AsyncCommonplace(AsyncOperations):
    """The client for asyncio; its settings and methods are those of `Commonplace`."""

    def __init__(
        self,
        base_url: str,
        api_key: ApiKey = None,
        *,
        timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
        max_retries: int = DEFAULT_MAX_RETRIES,
        retry_delay_seconds: float = DEFAULT_RETRY_DELAY_SECONDS,
        max_retry_delay_seconds: float = DEFAULT_MAX_RETRY_DELAY_SECONDS,
        headers: Optional[Mapping[str, str]] = None,
        on_response: Optional[OnResponse] = None,
        http: Optional[httpx.AsyncClient] = None,
    ) -> None:
        self._http = http or httpx.AsyncClient()
        delays = (retry_delay_seconds, max_retry_delay_seconds)
        options = ClientOptions(base_url, api_key, timeout_seconds, max_retries, *delays, headers or {}, on_response)
        self._transport = AsyncTransport(options, self._http)
        super().__init__(self._transport)

    async def upload(
        self,
        source: Source,
        *,
        request_options: Optional[RequestOptions] = None,
        on_progress: Optional[OnProgress] = None,
        concurrency: int = DEFAULT_CONCURRENCY,
        **fields: Unpack[CreateFileRequest],
    ) -> Resource:
        """Creates a file and uploads its bytes, `concurrency` parts at a time. Returns the file's resource."""
        own = (request_options, on_progress, concurrency)
        return await upload_file_async(self._transport, self, source, *own, fields)

    async def download(self, url: str, *, request_options: Optional[RequestOptions] = None) -> bytes:
        """Downloads a signed URL, such as a file's `download_url`."""
        request = Request("GET", url, {}, keyed=False, accept="*/*")
        return (await self._transport.send(request, request_options or RequestOptions())).content

    async def aclose(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        await self.aclose()
