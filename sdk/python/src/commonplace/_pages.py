from __future__ import annotations

from typing import Any, AsyncIterator, Awaitable, Callable, Generator, Generic, Iterator, List, Mapping, Optional, TypeVar, cast

from .generated.types import Page

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class Pages(Generic[Item, Answer]):
    """A list. A loop over it gives all items, and fetches further pages as they are needed.

    Nothing is sent before something of it is read.
    """

    def __init__(self, fetch: Callable[[Optional[str]], Answer]) -> None:
        self._fetch = fetch
        self._first: Optional[Answer] = None

    def first(self) -> Answer:
        """Returns the whole first page, with `items`, `page` and what else the list has."""
        if self._first is None:
            self._first = self._fetch(None)
        return self._first

    @property
    def items(self) -> List[Item]:
        """The items of the first page."""
        return _items(self.first())

    @property
    def page(self) -> Page:
        """Where the first page stands in the list: `total`, `has_more`, `next_cursor` …"""
        return _page(self.first())

    def pages(self) -> Iterator[Answer]:
        """Returns the pages one after the other."""
        answer = self.first()
        while True:
            yield answer
            cursor = _next(answer)
            if cursor is None:
                return
            answer = self._fetch(cursor)

    def __iter__(self) -> Iterator[Item]:
        for answer in self.pages():
            yield from _items(answer)


class AsyncPages(Generic[Item, Answer]):
    """A list. `await` gives its first page; `async for` gives all items, and fetches further pages as needed."""

    def __init__(self, fetch: Callable[[Optional[str]], Awaitable[Answer]]) -> None:
        self._fetch = fetch

    def __await__(self) -> Generator[Any, None, Answer]:
        return self._fetch(None).__await__()

    async def pages(self) -> AsyncIterator[Answer]:
        """Returns the pages one after the other."""
        answer = await self._fetch(None)
        while True:
            yield answer
            cursor = _next(answer)
            if cursor is None:
                return
            answer = await self._fetch(cursor)

    async def __aiter__(self) -> AsyncIterator[Item]:
        async for answer in self.pages():
            for item in _items(answer):
                yield item


def _items(answer: Any) -> List[Any]:
    return cast(List[Any], answer["items"])


def _page(answer: Any) -> Page:
    return cast(Page, answer["page"])


def _next(answer: Any) -> Optional[str]:
    page = _page(answer)
    return page["next_cursor"] if page["has_more"] else None


def after(given: Mapping[str, Any], cursor: Optional[str]) -> Mapping[str, Any]:
    """Returns the input of the next page. The cursor goes where the other parameters are: query or body."""
    if cursor is None:
        return given
    place = "body" if "body" in given else "query"
    rest = {name: value for name, value in given.get(place, {}).items() if name != "offset"}
    return {place: {**rest, "cursor": cursor}}
