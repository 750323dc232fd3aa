"""What the SDK does about faults. Each test runs on the client that waits and on the one for asyncio."""

from __future__ import annotations

import asyncio
import io
import json
import time
import unittest
from typing import Any, Awaitable, Callable, Dict, List, Type

import commonplace as c
from tests.scripted_server import Script, Step, answer, cut, data, event, events, page, refuse, silence

Call = Callable[[Any], Any]


class Sync:
    """Calls the client that waits."""

    def __init__(self, base_url: str, **settings: Any) -> None:
        self._settings = {"api_key": "wsk_test", "retry_delay_seconds": 0.001, **settings}
        self._base_url = base_url

    def run(self, call: Call) -> Any:
        with c.Commonplace(self._base_url, **self._settings) as client:
            result = call(client)
            return result.first() if isinstance(result, c.Pages) else result

    def collect(self, call: Call, most: int = 1000) -> List[Any]:
        """Returns what an iterator gives, at most some."""
        found: List[Any] = []
        with c.Commonplace(self._base_url, **self._settings) as client:
            iterator = iter(call(client))
            for item in iterator:
                found.append(item)
                if len(found) == most:
                    break
            if hasattr(iterator, "close"):
                iterator.close()
        return found


class Async:
    """Calls the client for asyncio."""

    def __init__(self, base_url: str, **settings: Any) -> None:
        self._settings = {"api_key": "wsk_test", "retry_delay_seconds": 0.001, **settings}
        self._base_url = base_url

    def run(self, call: Call) -> Any:
        async def main() -> Any:
            async with c.AsyncCommonplace(self._base_url, **self._settings) as client:
                return await call(client)

        return asyncio.run(main())

    def collect(self, call: Call, most: int = 1000) -> List[Any]:
        async def main() -> List[Any]:
            found: List[Any] = []
            async with c.AsyncCommonplace(self._base_url, **self._settings) as client:
                iterator = call(client).__aiter__()
                async for item in iterator:
                    found.append(item)
                    if len(found) == most:
                        break
                await iterator.aclose()
            return found

        return asyncio.run(main())


class Cases:
    class Client(unittest.TestCase):
        kind: Any

        def start(self, *steps: Step, **settings: Any) -> Any:
            script = Script(self, *steps)
            return script, self.kind(script.base_url, **settings)

        def test_a_request_has_credential_path_query_and_body_as_the_api_has_them(self) -> None:
            script, client = self.start(page([], None), data({"id": "a"}))
            client.run(lambda api: api.resources.list("a/b", type=["document", "table"], recursive=False))
            options = c.RequestOptions(if_match=12, headers={"X-Tenant": "personal"})
            client.run(lambda api: api.resources.update("ä", name="New", request_options=options))
            listed, updated = script.requests
            self.assertEqual(listed.url, "/api/v1/workspaces/a%2Fb/resources?type=document%2Ctable&recursive=false")
            self.assertEqual(listed.headers["authorization"], "Bearer wsk_test")
            self.assertEqual((updated.method, updated.url), ("PATCH", "/api/v1/resources/%C3%A4"))
            self.assertEqual(json.loads(updated.body), {"name": "New"})
            self.assertEqual((updated.headers["if-match"], updated.headers["x-tenant"]), ('"v12"', "personal"))

        def test_each_status_has_its_class_and_the_error_all_that_the_answer_says(self) -> None:
            classes: Dict[int, Type[c.ApiError]] = {
                400: c.InvalidRequestError,
                401: c.UnauthenticatedError,
                403: c.ForbiddenError,
                404: c.NotFoundError,
                409: c.ConflictError,
                429: c.RateLimitError,
                500: c.ServerError,
                418: c.ApiError,
            }
            fault = {"param": "name", "code": "missing_field", "message": "It is missing."}
            for status, kind in classes.items():
                _, client = self.start(refuse(status, "some_code", {"Retry-After": "7"}, details=[fault]), max_retries=0)
                with self.assertRaises(c.ApiError) as caught:
                    client.run(lambda api: api.account.get_me())
                error = caught.exception
                self.assertIs(type(error), kind)
                self.assertEqual((error.status, error.code, error.request_id), (status, "some_code", "req_1"))
                self.assertEqual((str(error), error.retry_after_seconds), ("It is some_code.", 7))
                self.assertEqual(error.faults, [fault])

        def test_an_answer_of_a_proxy_that_is_no_json_is_an_error_of_its_status(self) -> None:
            _, client = self.start(answer(502, "<html>"), max_retries=0)
            with self.assertRaises(c.ServerError) as caught:
                client.run(lambda api: api.account.get_me())
            self.assertEqual((caught.exception.code, caught.exception.retryable), ("http_502", True))

        def test_a_write_is_repeated_with_one_key(self) -> None:
            script, client = self.start(
                cut,
                refuse(429, "rate_limited"),
                refuse(503, "unavailable", retryable=True),
                refuse(409, "idempotency_in_progress", {"Retry-After": "0"}),
                data({"id": "made"}),
                max_retries=4,
            )
            made = client.run(lambda api: api.workspaces.create(name="A"))
            self.assertEqual((made["id"], len(script.requests), len(set(script.keys()))), ("made", 5, 1))
            self.assertRegex(script.keys()[0], "^[0-9a-f-]{36}$")

        def test_every_write_has_a_key_of_its_own_or_that_of_the_caller(self) -> None:
            script, client = self.start(data({}), data({}), data({}))
            mine = c.RequestOptions(idempotency_key="mine")
            for options in (None, None, mine):
                client.run(lambda api: api.workspaces.create(name="A", request_options=options))
            self.assertEqual((len(set(script.keys())), script.keys()[2]), (3, "mine"))

        def test_what_is_wrong_and_what_has_no_key_is_not_repeated(self) -> None:
            script, client = self.start(refuse(409, "version_conflict"))
            with self.assertRaises(c.ConflictError):
                client.run(lambda api: api.resources.update("a", name="B"))
            self.assertEqual(len(script.requests), 1)
            script, client = self.start(cut)
            with self.assertRaises(c.ConnectionFailed):
                client.run(lambda api: api.sign_in.sign_in(email="a@example.com", password="b"))
            self.assertEqual(script.keys(), [None])

        def test_retry_after_is_obeyed_and_a_longer_one_than_the_client_waits_is_the_error(self) -> None:
            _, client = self.start(refuse(429, "rate_limited", {"Retry-After": "1"}), data({}))
            began = time.monotonic()
            client.run(lambda api: api.account.get_me())
            self.assertGreaterEqual(time.monotonic() - began, 0.99)
            _, client = self.start(refuse(429, "rate_limited", {"Retry-After": "3600"}))
            with self.assertRaises(c.RateLimitError):
                client.run(lambda api: api.account.get_me())

        def test_retries_end_after_as_many_as_are_allowed(self) -> None:
            script, client = self.start(cut, cut, cut, cut, max_retries=2)
            with self.assertRaises(c.ConnectionFailed):
                client.run(lambda api: api.account.get_me())
            self.assertEqual(len(script.requests), 3)

        def test_a_list_is_read_to_its_end_and_only_as_far_as_it_is_needed(self) -> None:
            script, client = self.start(page(["a", "b"], "two"), page(["c"], None), page(["a", "b"], "two"))
            found = client.collect(lambda api: api.workspaces.list(limit=2, offset=0))
            self.assertEqual([item["id"] for item in found], ["a", "b", "c"])
            queries = [request.url.split("?")[1] for request in script.requests]
            self.assertEqual(queries, ["limit=2&offset=0", "limit=2&cursor=two"])
            client.collect(lambda api: api.workspaces.list(), most=2)
            self.assertEqual(len(script.requests), 3)

        def test_a_list_whose_cursor_is_in_the_body_has_a_key_for_each_page(self) -> None:
            script, client = self.start(page(["a"], "two"), page(["b"], None))
            mine = c.RequestOptions(idempotency_key="mine")
            found = client.collect(lambda api: api.search.query(query="x", request_options=mine))
            self.assertEqual([item["id"] for item in found], ["a", "b"])
            self.assertEqual(json.loads(script.requests[1].body), {"query": "x", "cursor": "two"})
            self.assertNotEqual(script.keys()[1], "mine")

        def test_the_first_page_is_one_request(self) -> None:
            script, client = self.start(page(["a"], "two"))
            first = client.run(lambda api: api.workspaces.list())
            self.assertEqual((len(first["items"]), first["page"]["total"], len(script.requests)), (1, 3, 1))

        def test_a_time_out_is_an_error_of_its_own_and_the_attempt_is_repeated(self) -> None:
            script, client = self.start(silence, silence, timeout_seconds=0.1, max_retries=1)
            with self.assertRaises(c.RequestTimeout):
                client.run(lambda api: api.account.get_me())
            self.assertEqual(len(script.requests), 2)

        def test_what_stands_around_an_answer_is_told(self) -> None:
            body = {"data": {}, "request_id": "req_9", "warnings": [{"code": "w", "message": ""}]}
            _, client = self.start(answer(201, body, {"ETag": '"v1.x"', "Idempotency-Replayed": "true"}))
            told: List[c.ResponseInfo] = []
            options = c.RequestOptions(on_response=told.append)
            client.run(lambda api: api.workspaces.create(name="A", request_options=options))
            info = told[0]
            self.assertEqual((info.status, info.request_id, info.etag, info.replayed), (201, "req_9", '"v1.x"', True))
            self.assertEqual(len(info.warnings), 1)

        def test_a_stream_that_breaks_or_ends_early_continues_behind_its_last_event(self) -> None:
            begin = "retry: 10\n\n: ping\n\n" + event(1, "message.delta")
            script, client = self.start(
                events(begin + event(2, "message.delta", '{"a":\ndata: 1}') + "id: 3\neve", "breaks"),
                events(event(3, "message.delta")),
                events(event(4, "error", '{"code":"unavailable","message":"Restarting."}')),
                events(event(5, "run.completed") + event(6, "message.delta")),
            )
            seen: List[c.ServerEvent] = client.collect(lambda api: api.runs.stream("r"))
            self.assertEqual([one.id for one in seen], ["1", "2", "3", "5"])
            self.assertEqual(seen[1].data, {"a": 1})
            resumed = [request.headers.get("last-event-id") for request in script.requests]
            self.assertEqual(resumed, [None, "2", "3", "4"])
            self.assertEqual({request.headers["accept"] for request in script.requests}, {"text/event-stream"})

        def test_a_stream_that_the_server_refuses_or_fails_is_an_error(self) -> None:
            _, client = self.start(refuse(404, "not_found"))
            with self.assertRaises(c.NotFoundError):
                client.collect(lambda api: api.runs.stream("r"))
            failure = '{"code":"unauthenticated","message":"Expired.","request_id":"req_2"}'
            _, client = self.start(events(event(1, "error", failure)))
            with self.assertRaises(c.StreamError) as caught:
                client.collect(lambda api: api.runs.stream("r"))
            self.assertEqual((caught.exception.code, caught.exception.request_id), ("unauthenticated", "req_2"))

        def test_a_stream_ends_with_the_loop_and_when_it_is_silent_for_too_long(self) -> None:
            _, client = self.start(events(event(1, "position"), "stays"))
            self.assertEqual(len(client.collect(lambda api: api.events.stream(), most=1)), 1)
            script, client = self.start(events(event(1, "position"), "stays"), timeout_seconds=0.1)
            with self.assertRaises(c.RequestTimeout):
                options = c.RequestOptions(max_retries=0)
                client.collect(lambda api: api.events.stream(request_options=options))

        def test_a_part_of_an_upload_that_is_cut_is_sent_again_the_others_are_not(self) -> None:
            places = [(0, 4), (4, 4), (8, 2)]

            def created(handler: Any) -> None:
                url = f"http://127.0.0.1:{handler.server.server_port}/part/"
                parts = [
                    {"number": n + 1, "url": f"{url}{n}", "offset": offset, "size_bytes": size}
                    for n, (offset, size) in enumerate(places)
                ]
                upload = {"method": "PUT", "url": None, "headers": {"X-Part": "y"}, "parts": parts}
                data({"resource": {"id": "f"}, "upload": upload})(handler)

            script, client = self.start(created, data({}), cut, data({}), data({}), data({"id": "f", "name": "n"}))
            told: List[c.UploadProgress] = []
            one = {"concurrency": 1} if self.kind is Async else {}
            made = client.run(lambda api: api.upload(io.BytesIO(b"abcdefghij"), name="n", on_progress=told.append, **one))
            self.assertEqual(made["name"], "n")
            self.assertEqual(json.loads(script.requests[0].body), {"name": "n", "size_bytes": 10})
            puts = [request for request in script.requests if request.method == "PUT"]
            sent = [f"{request.url} {request.body}" for request in puts]
            self.assertEqual(sent, ["/part/0 abcd", "/part/1 efgh", "/part/1 efgh", "/part/2 ij"])
            # The credential is not for the addresses of parts, which may be another server's.
            self.assertTrue(all("authorization" not in put.headers and put.headers["x-part"] == "y" for put in puts))
            self.assertEqual([progress.sent_bytes for progress in told], [0, 4, 8, 10])

        def test_an_upload_takes_as_long_as_its_bytes_go_out_and_tells_how_many_did(self) -> None:
            size = 24 * 1024 * 1024

            def created(handler: Any) -> None:
                url = f"http://127.0.0.1:{handler.server.server_port}/all"
                upload: Dict[str, Any] = {"method": "PUT", "url": url, "headers": {}, "parts": None}
                data({"resource": {"id": "f"}, "upload": upload})(handler)

            script, client = self.start(created, data({}), data({"id": "f", "name": "n"}), timeout_seconds=1)
            script.read_delay_seconds = 0.02
            told: List[int] = []
            began = time.monotonic()
            client.run(
                lambda api: api.upload(
                    io.BytesIO(bytes(size)), name="n", on_progress=lambda progress: told.append(progress.sent_bytes)
                )
            )
            self.assertGreater(time.monotonic() - began, 1)
            self.assertEqual(script.requests[1].headers["content-length"], str(size))
            self.assertGreater(len(told), 20)
            self.assertEqual((told[0], told[-1]), (0, size))
            self.assertEqual(told, sorted(told))


class SyncTest(Cases.Client):
    kind = Sync


class AsyncTest(Cases.Client):
    kind = Async

    def test_a_cancelled_call_ends_at_once_and_closes_its_connection(self) -> None:
        script = Script(self, silence)

        async def main() -> None:
            async with c.AsyncCommonplace(script.base_url) as client:
                call: Awaitable[Any] = asyncio.ensure_future(client.account.get_me())
                while not script.requests:
                    await asyncio.sleep(0.01)
                call.cancel()  # type: ignore[attr-defined]
                with self.assertRaises(asyncio.CancelledError):
                    await call

        asyncio.run(main())
        self.assertEqual(len(script.requests), 1)
