from __future__ import annotations

from dataclasses import dataclass, field
from typing import Callable, List, Mapping, Optional, Union

import httpx

from .generated.types import Page, Warning as ApiWarning

DEFAULT_TIMEOUT_SECONDS = 60.0
DEFAULT_MAX_RETRIES = 3
DEFAULT_RETRY_DELAY_SECONDS = 0.5
DEFAULT_MAX_RETRY_DELAY_SECONDS = 30.0


@dataclass(frozen=True)
class ResponseInfo:
    """What stands around the data of an answer."""

    status: int
    headers: httpx.Headers
    request_id: str
    etag: Optional[str]
    replayed: bool
    """Whether the answer is that of an earlier request with the same key."""
    warnings: List[ApiWarning]
    page: Optional[Page]


OnResponse = Callable[[ResponseInfo], None]


@dataclass(frozen=True)
class RequestOptions:
    """Settings of one request, which go before those of the client."""

    timeout_seconds: Optional[float] = None
    max_retries: Optional[int] = None
    idempotency_key: Optional[str] = None
    """The key under which the server takes the request once. A write without one gets a random key."""
    if_match: Union[int, str, None] = None
    """The version that the record must still have, or its ETag. Another one answers 409 `version_conflict`."""
    headers: Mapping[str, str] = field(default_factory=dict)
    on_response: Optional[OnResponse] = None
    last_event_id: Optional[str] = None
    """For a stream of events: the id of the last event that the caller has seen."""


@dataclass(frozen=True)
class ClientOptions:
    """Settings of a client; see `Commonplace`."""

    base_url: str
    api_key: Union[str, Callable[[], str], None]
    timeout_seconds: float
    max_retries: int
    retry_delay_seconds: float
    max_retry_delay_seconds: float
    headers: Mapping[str, str]
    on_response: Optional[OnResponse]
