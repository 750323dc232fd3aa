"""Calls operations by the Python SDK: one JSON line in for each call, one out for its outcome.

`python3 drive.py BASE_URL sync|async` reads `{group, method, path, place, input, headers}`.
"""

import asyncio
import base64
import json
import sys
from typing import Any, Dict, List

from commonplace import ApiError, AsyncCommonplace, Commonplace, RequestOptions, ResponseInfo


async def call(base_url: str, mode: str, line: Dict[str, Any]) -> Dict[str, Any]:
    seen: List[ResponseInfo] = []
    given = {"max_retries": 0, "timeout_seconds": 60.0, "headers": line["headers"], "on_response": seen.append}
    client = Commonplace(base_url, **given) if mode == "sync" else AsyncCommonplace(base_url, **given)
    method = getattr(getattr(client, line["group"]), line["method"])
    whole = line["place"] in ("record", "bytes")
    body = base64.b64decode(line["input"]) if line["place"] == "bytes" else line["input"]
    args = [*line["path"], *([body] if whole else [])]
    try:
        result = method(*args, **({} if whole else body))
        if mode == "async":
            result = await result
        elif hasattr(result, "first"):
            result = result.first()
        return {"status": seen[-1].status if seen else 200, "is_data": result is not None}
    except ApiError as error:
        return {"status": error.status, "code": error.code, "request_id": error.request_id}
    finally:
        if isinstance(client, Commonplace):
            client.close()
        else:
            await client.aclose()


async def main(base_url: str, mode: str) -> None:
    for line in sys.stdin:
        try:
            outcome = await call(base_url, mode, json.loads(line))
        except Exception as error:
            outcome = {"status": 0, "code": f"{type(error).__name__}: {error}"}
        print(json.dumps(outcome), flush=True)


# Sync calls block the loop, which has nothing else to do.
asyncio.run(main(sys.argv[1], sys.argv[2]))
