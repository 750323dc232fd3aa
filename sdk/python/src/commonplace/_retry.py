from __future__ import annotations

import random
from typing import Optional

from ._options import ClientOptions
from .errors import ApiError, CommonplaceError, ConnectionFailed

PASSING = (429, 502, 503, 504)


def delay_of(
    error: CommonplaceError, retries: int, most: int, options: ClientOptions, repeatable: bool
) -> Optional[float]:
    """Returns the seconds to wait before the next attempt; None if there is none.

    `repeatable` says whether the request may have an effect twice without harm. One that may not is repeated only if
    the server has refused it before it began (429).
    """
    if retries >= most:
        return None
    if isinstance(error, ApiError):
        if not _is_passing(error) or not (repeatable or error.status == 429):
            return None
        asked = error.retry_after_seconds
        if asked is not None:
            # Some jitter, so that clients that were refused together do not come back together.
            jitter = random.random() * options.retry_delay_seconds
            return None if asked > options.max_retry_delay_seconds else asked + jitter
    elif not (isinstance(error, ConnectionFailed) and repeatable):
        return None
    longest: float = min(options.max_retry_delay_seconds, options.retry_delay_seconds * float(2**retries))
    return longest * (0.5 + random.random() / 2)


def _is_passing(error: ApiError) -> bool:
    return error.code == "idempotency_in_progress" or error.retryable or error.status in PASSING
