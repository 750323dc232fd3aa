"""What the generated groups of operations share: one method for each kind of answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, AsyncIterator, Dict, Iterator, Mapping, Optional
from urllib.parse import quote

from ._events import ServerEvent, stream_events, stream_events_async
from ._options import RequestOptions
from ._pages import AsyncPages, Pages, after
from ._request import Body, Request
from ._transport import AsyncTransport, Transport

__all__ = ["AsyncGroup", "AsyncPages", "Body", "Group", "Pages", "path"]

_DEFAULTS = RequestOptions()


def path(template: str, **values: str) -> str:
    """Writes a path with parameters that may contain any character."""
    return template.format(**{name: quote(value, safe="") for name, value in values.items()})


def _record(envelope: Dict[str, Any]) -> Any:
    """Returns the data of an answer, with the page of its list if it has one."""
    return {**envelope["data"], "page": envelope["page"]} if "page" in envelope else envelope["data"]


def _of_page(options: RequestOptions, cursor: Optional[str]) -> RequestOptions:
    """A key is of one request: the next page is another one."""
    return options if cursor is None else replace(options, idempotency_key=None)


class Group:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def _record(self, method: str, path: str, given: Mapping[str, Any], options: Optional[RequestOptions], keyed: bool = True) -> Any:
        return _record(self._bare(method, path, given, options, keyed))

    def _bare(self, method: str, path: str, given: Mapping[str, Any], options: Optional[RequestOptions], keyed: bool = True) -> Any:
        return self._transport.json(Request(method, path, given, keyed), options or _DEFAULTS)

    def _bytes(self, method: str, path: str, given: Mapping[str, Any], options: Optional[RequestOptions], keyed: bool = True) -> bytes:
        return self._transport.send(Request(method, path, given, keyed, "*/*"), options or _DEFAULTS).content

    def _pages(self, method: str, path: str, given: Mapping[str, Any], options: Optional[RequestOptions]) -> Pages[Any, Any]:
        own = options or _DEFAULTS
        return Pages(lambda cursor: self._record(method, path, after(given, cursor), _of_page(own, cursor)))

    def _events(self, path: str, given: Mapping[str, Any], options: Optional[RequestOptions]) -> Iterator[ServerEvent]:
        return stream_events(self._transport, path, given, options or _DEFAULTS)


class AsyncGroup:
    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def _record(self, method: str, path: str, given: Mapping[str, Any], options: Optional[RequestOptions], keyed: bool = True) -> Any:
        return _record(await self._bare(method, path, given, options, keyed))

    async def _bare(self, method: str, path: str, given: Mapping[str, Any], options: Optional[RequestOptions], keyed: bool = True) -> Any:
        return await self._transport.json(Request(method, path, given, keyed), options or _DEFAULTS)

    async def _bytes(self, method: str, path: str, given: Mapping[str, Any], options: Optional[RequestOptions], keyed: bool = True) -> bytes:
        return (await self._transport.send(Request(method, path, given, keyed, "*/*"), options or _DEFAULTS)).content

    def _pages(self, method: str, path: str, given: Mapping[str, Any], options: Optional[RequestOptions]) -> AsyncPages[Any, Any]:
        own = options or _DEFAULTS
        return AsyncPages(lambda cursor: self._record(method, path, after(given, cursor), _of_page(own, cursor)))

    def _events(self, path: str, given: Mapping[str, Any], options: Optional[RequestOptions]) -> AsyncIterator[ServerEvent]:
        return stream_events_async(self._transport, path, given, options or _DEFAULTS)
