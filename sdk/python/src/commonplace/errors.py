"""The errors of this package. `CommonplaceError` is what all of them are."""

from __future__ import annotations

import json
from email.utils import parsedate_to_datetime
from datetime import datetime, timezone
from typing import Any, Dict, List, Mapping, Optional, Type, cast

from .generated.types import Fault


class CommonplaceError(Exception):
    """What every error of this package is."""


class ConnectionFailed(CommonplaceError):
    """No answer has arrived: the server can not be reached, or the connection broke."""


class RequestTimeout(ConnectionFailed):
    """An attempt took longer than `timeout_seconds`."""


class StreamError(CommonplaceError):
    """The server has ended a stream with an error."""

    def __init__(self, code: str, message: str, request_id: Optional[str]) -> None:
        super().__init__(message)
        self.code = code
        self.request_id = request_id


class ApiError(CommonplaceError):
    """The server has refused a request."""

    status: int
    code: str
    """Stable, for programs; `commonplace.types.ErrorCode` has those that this version knows."""
    param: Optional[str]
    """The field at fault, where there is one."""
    details: Any
    retryable: bool
    """Whether the same request may succeed later."""
    doc_url: Optional[str]
    request_id: Optional[str]
    """Names the request in the server's logs."""
    retry_after_seconds: Optional[float]
    """Seconds after which another try may succeed; None if the server names none."""

    def __init__(self, status: int, headers: Mapping[str, str], body: Mapping[str, Any]) -> None:
        error: Mapping[str, Any] = body.get("error") or {}
        super().__init__(error.get("message") or f"The server answered {status}.")
        self.status = status
        self.code = error.get("code") or f"http_{status}"
        self.param = error.get("param")
        self.details = error.get("details")
        self.retryable = bool(error.get("retryable", status in (429, 502, 503, 504)))
        self.doc_url = error.get("doc_url")
        self.request_id = body.get("request_id") or headers.get("x-request-id")
        self.retry_after_seconds = _seconds(headers.get("retry-after"))

    @property
    def faults(self) -> List[Fault]:
        """All fields at fault; empty if the error is of no field."""
        if isinstance(self.details, list):
            return cast(List[Fault], self.details)
        if self.param is None:
            return []
        return [{"param": self.param, "code": self.code, "message": str(self)}]


class InvalidRequestError(ApiError):
    """400: the request is not valid."""


class UnauthenticatedError(ApiError):
    """401: the credential is missing, wrong or expired."""


class ForbiddenError(ApiError):
    """403: the credential or the person may not do this."""


class NotFoundError(ApiError):
    """404: the record does not exist, or the caller can not see it."""


class ConflictError(ApiError):
    """409: the record's state does not allow this, or it has changed (`version_conflict`)."""


class RateLimitError(ApiError):
    """429: too many requests."""


class ServerError(ApiError):
    """5xx: the server failed."""


_CLASSES: Dict[int, Type[ApiError]] = {
    400: InvalidRequestError,
    401: UnauthenticatedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    429: RateLimitError,
}


def error_of(status: int, headers: Mapping[str, str], text: str) -> ApiError:
    """Returns the error of an answer that is none of success."""
    kind = _CLASSES.get(status, ServerError if status >= 500 else ApiError)
    try:
        body = json.loads(text)
    except ValueError:
        body = {}
    return kind(status, headers, body if isinstance(body, dict) else {})


def _seconds(value: Optional[str]) -> Optional[float]:
    """Reads `Retry-After`, which is a number of seconds or a date."""
    if value is None:
        return None
    if value.isdigit():
        return float(value)
    try:
        at = parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return None
    return max(0.0, (at - datetime.now(timezone.utc)).total_seconds())
