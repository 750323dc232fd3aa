from __future__ import annotations

import asyncio
import io
import itertools
import os
import time
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, Callable, Dict, Iterator, List, Mapping, Optional, Tuple, Union

from ._options import RequestOptions
from ._request import Request
from ._transport import AsyncTransport, Transport
from .generated.operations import AsyncOperations, Operations
from .generated.types import Resource

Source = Union[bytes, "os.PathLike[str]", BinaryIO]
DEFAULT_CONCURRENCY = 3


@dataclass(frozen=True)
class UploadProgress:
    sent_bytes: int
    total_bytes: int


OnProgress = Callable[[UploadProgress], None]


class _Upload:
    """The bytes of a file, and how many of them are sent."""

    def __init__(self, source: Source, options: Optional[RequestOptions], on_progress: Optional[OnProgress]) -> None:
        self.name: Optional[str] = None
        self._owned = isinstance(source, (bytes, os.PathLike))
        if isinstance(source, bytes):
            self._file: BinaryIO = io.BytesIO(source)
        elif isinstance(source, os.PathLike):
            self.name = os.path.basename(os.fspath(source))
            self._file = open(source, "rb")
        else:
            self._file = source
        self.size = self._file.seek(0, os.SEEK_END)
        self._sent = 0
        self._on_progress = on_progress
        self.options = options or RequestOptions()
        # The key and the callback are of the file's creation.
        self.others = replace(self.options, idempotency_key=None, on_response=None)

    def fields(self, given: Mapping[str, Any]) -> Dict[str, Any]:
        return {"name": self.name, **given, "size_bytes": self.size}

    def parts(self, upload: Mapping[str, Any]) -> List[Tuple[str, int, int]]:
        """Returns where each part goes: its URL, and its offset and size in bytes."""
        self._headers = {**(upload["headers"] or {}), **self.others.headers}
        self._report()
        if upload["parts"] is None:
            return [(upload["url"], 0, self.size)]
        return [(part["url"], part["offset"], part["size_bytes"]) for part in upload["parts"]]

    def request(self, part: Tuple[str, int, int]) -> Tuple[Request, RequestOptions]:
        url, offset, size = part
        self._file.seek(offset)
        options = replace(self.others, headers=self._headers)
        given = {"bytes": self._file.read(size), "on_sent": self._reporter()}
        return Request("PUT", url, given, keyed=False), options

    def _reporter(self) -> Callable[[int], None]:
        """Returns the function that reports how many bytes of one part are sent."""
        before = 0

        def report(sent: int) -> None:
            nonlocal before
            if sent == before:
                return
            self._sent += sent - before
            before = sent
            self._report()

        return report

    def _report(self) -> None:
        if self._on_progress is not None:
            self._on_progress(UploadProgress(self._sent, self.size))

    def close(self) -> None:
        if self._owned:
            self._file.close()


def _is_pending(resource: Resource) -> bool:
    """The server learns a moment later that the bytes have arrived, and assembles parts."""
    file = resource.get("file")
    return file is not None and file["status"] in ("pending_upload", "processing")


def _delays() -> Iterator[float]:
    """Returns the seconds to wait before each further look at the file, without an end."""
    for number in itertools.count():
        yield min(0.05 * 2 ** min(number, 10), 2.0)


def upload_file(
    transport: Transport,
    operations: Operations,
    source: Source,
    options: Optional[RequestOptions],
    on_progress: Optional[OnProgress],
    given: Mapping[str, Any],
) -> Resource:
    upload = _Upload(source, options, on_progress)
    try:
        created: Any = operations.files.create(request_options=upload.options, **upload.fields(given))
        if created["upload"] is not None:
            # A part whose connection breaks is sent again, the others are not.
            for part in upload.parts(created["upload"]):
                transport.send(*upload.request(part))
        for delay in _delays():
            resource = operations.resources.get(created["resource"]["id"], request_options=upload.others)
            if not _is_pending(resource):
                break
            time.sleep(delay)
        return resource
    finally:
        upload.close()


async def upload_file_async(
    transport: AsyncTransport,
    operations: AsyncOperations,
    source: Source,
    options: Optional[RequestOptions],
    on_progress: Optional[OnProgress],
    concurrency: int,
    given: Mapping[str, Any],
) -> Resource:
    upload = _Upload(source, options, on_progress)
    try:
        created: Any = await operations.files.create(request_options=upload.options, **upload.fields(given))
        if created["upload"] is not None:
            await _send_parts(transport, upload, upload.parts(created["upload"]), concurrency)
        for delay in _delays():
            resource = await operations.resources.get(created["resource"]["id"], request_options=upload.others)
            if not _is_pending(resource):
                break
            await asyncio.sleep(delay)
        return resource
    finally:
        upload.close()


async def _send_parts(
    transport: AsyncTransport, upload: _Upload, parts: List[Tuple[str, int, int]], concurrency: int
) -> None:
    waiting = iter(parts)

    async def send() -> None:
        for part in waiting:
            await transport.send(*upload.request(part))

    tasks = [asyncio.ensure_future(send()) for _ in range(min(concurrency, len(parts)))]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
