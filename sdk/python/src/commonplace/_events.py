from __future__ import annotations

import asyncio
import json
import random
import re
import time
from dataclasses import dataclass, field, replace
from typing import Any, AsyncIterator, Dict, Iterator, List, Mapping, Optional

from ._options import RequestOptions
from ._request import Request
from ._transport import AsyncTransport, Transport
from .errors import ApiError, CommonplaceError, ConnectionFailed, StreamError

# Events after which there are no others.
_LAST = re.compile(r"(run|import)\.(completed|failed|canceled|expired)|idle")
# A stream that was open for as long as this was not refused.
_SETTLED_SECONDS = 10.0
_DEFAULT_REOPENINGS = 5
_REOPEN_SECONDS = 0.5


@dataclass(frozen=True)
class ServerEvent:
    """One event of a stream."""

    id: str
    """Where to continue: `last_event_id` of a later stream."""
    event: str
    """What has happened, such as `message.delta` or `resource.created`."""
    data: Dict[str, Any]


@dataclass
class _Parser:
    """Reads `text/event-stream` as the HTML standard has it; events without data are skipped."""

    id: str = ""
    event: str = ""
    data: List[str] = field(default_factory=list)

    def read(self, line: str) -> Optional[ServerEvent]:
        name, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "id":
            self.id = value
        elif name == "event":
            self.event = value
        elif name == "data":
            self.data.append(value)
        if line != "":
            return None
        found = ServerEvent(self.id, self.event or "message", json.loads("\n".join(self.data))) if self.data else None
        self.event, self.data = "", []
        return found


class _Position:
    """Where a stream is, and whether it is opened again."""

    def __init__(self, path: str, given: Mapping[str, Any], options: RequestOptions) -> None:
        self._options = options
        self._most = _DEFAULT_REOPENINGS if options.max_retries is None else options.max_retries
        self._last_event_id = options.last_event_id or ""
        self._reopenings = 0
        self._opened = 0.0
        self.request = Request("GET", path, given, keyed=False, accept="text/event-stream")

    def open(self) -> RequestOptions:
        self._opened = time.monotonic()
        if self._last_event_id == "":
            return self._options
        return replace(self._options, headers={**self._options.headers, "Last-Event-ID": self._last_event_id})

    def saw(self, event: ServerEvent) -> None:
        self._reopenings = 0
        self._last_event_id = event.id or self._last_event_id
        if event.event == "error":
            raise _error_of(event)

    def ended(self) -> Optional[float]:
        """Returns the seconds after which to open again; None at the end.

        What has nothing more to tell is ended at once, each time that it is opened.
        """
        if time.monotonic() - self._opened > _SETTLED_SECONDS:
            self._reopenings = 0
        return self._delay()

    def broke(self, error: CommonplaceError) -> float:
        """Returns the seconds after which to open again. Raises the error if it is final."""
        passing = error.retryable if isinstance(error, ApiError) else isinstance(error, ConnectionFailed)
        delay = self._delay() if passing else None
        if delay is None:
            raise error
        return delay

    def _delay(self) -> Optional[float]:
        self._reopenings += 1
        if self._reopenings > self._most:
            return None
        return float(_REOPEN_SECONDS * 2 ** min(self._reopenings - 1, 5) * (0.5 + random.random() / 2))


def stream_events(
    transport: Transport, path: str, given: Mapping[str, Any], options: RequestOptions
) -> Iterator[ServerEvent]:
    """Yields the events of a stream.

    Where the connection breaks or the server ends it before its last event, it is opened again behind the event that
    was seen last. Leaving the loop closes the connection.
    """
    position = _Position(path, given, options)
    while True:
        try:
            with transport.stream(position.request, position.open()) as response:
                parser = _Parser()
                for line in response.iter_lines():
                    event = parser.read(line)
                    if event is None:
                        continue
                    position.saw(event)
                    yield event
                    if _LAST.fullmatch(event.event):
                        return
            delay = position.ended()
        except CommonplaceError as error:
            delay = position.broke(error)
        if delay is None:
            return
        time.sleep(delay)


async def stream_events_async(
    transport: AsyncTransport, path: str, given: Mapping[str, Any], options: RequestOptions
) -> AsyncIterator[ServerEvent]:
    """Yields the events of a stream as `stream_events` does."""
    position = _Position(path, given, options)
    while True:
        try:
            async with transport.stream(position.request, position.open()) as response:
                parser = _Parser()
                async for line in response.aiter_lines():
                    event = parser.read(line)
                    if event is None:
                        continue
                    position.saw(event)
                    yield event
                    if _LAST.fullmatch(event.event):
                        return
            delay = position.ended()
        except CommonplaceError as error:
            delay = position.broke(error)
        if delay is None:
            return
        await asyncio.sleep(delay)


def _error_of(event: ServerEvent) -> CommonplaceError:
    """A server that stops for a moment says so; the stream continues on the next one."""
    code, message = event.data.get("code", "unknown"), event.data.get("message", "The stream has failed.")
    if code in ("unavailable", "timeout"):
        return ConnectionFailed(message)
    return StreamError(code, message, event.data.get("request_id"))
