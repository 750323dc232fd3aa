"""Client of the Commonplace API."""

from . import types
from ._client import AsyncCommonplace, Commonplace
from ._events import ServerEvent
from ._options import RequestOptions, ResponseInfo
from ._pages import AsyncPages, Pages
from ._upload import UploadProgress
from .errors import (
    ApiError,
    CommonplaceError,
    ConflictError,
    ConnectionFailed,
    ForbiddenError,
    InvalidRequestError,
    NotFoundError,
    RateLimitError,
    RequestTimeout,
    ServerError,
    StreamError,
    UnauthenticatedError,
)

__all__ = [
    "ApiError",
    "AsyncCommonplace",
    "AsyncPages",
    "Commonplace",
    "CommonplaceError",
    "ConflictError",
    "ConnectionFailed",
    "ForbiddenError",
    "InvalidRequestError",
    "NotFoundError",
    "Pages",
    "RateLimitError",
    "RequestOptions",
    "RequestTimeout",
    "ResponseInfo",
    "ServerError",
    "ServerEvent",
    "StreamError",
    "UnauthenticatedError",
    "UploadProgress",
    "types",
]
