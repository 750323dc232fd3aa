import { createServer } from 'node:http';

/**
 * Starts a server that answers each request by the next step of a script, a function of the request and the response.
 * Returns its address and the requests that it got, with their bodies.
 */
export async function startServer(t, ...steps) {
  const requests = [];
  const server = createServer(async (request, response) => {
    const chunks = [];
    request.on('error', () => {});
    const { readDelayMs = 0 } = steps[requests.length] ?? {};
    for await (const chunk of request) {
      chunks.push(chunk);
      if (readDelayMs > 0) await new Promise((resolve) => setTimeout(resolve, readDelayMs));
    }
    const { method, url, headers } = request;
    requests.push({ method, url, headers, body: Buffer.concat(chunks).toString() });
    const step = steps[requests.length - 1];
    if (step === undefined)
      answer(500, { error: { code: 'unexpected', message: `${method} ${url}` } })(request, response);
    else step(request, response);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { baseUrl: `http://127.0.0.1:${server.address().port}`, requests };
}

/** A step that answers JSON. */
export function answer(status, body, headers = {}) {
  return (_, response) => {
    response.writeHead(status, { 'Content-Type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  };
}

/** A step that answers an error as the API does. */
export const refuse = (status, code, more = {}, headers = {}) =>
  answer(
    status,
    { error: { code, message: `It is ${code}.`, param: null, retryable: false, ...more }, request_id: 'req_1' },
    headers,
  );

/** A step that answers data. */
export const data = (value, more = {}) => answer(200, { data: value, request_id: 'req_1', ...more });

/** A step before which each piece of the request is read slowly. */
export const slowly = (step, readDelayMs) => Object.assign((...given) => step(...given), { readDelayMs });

/** A step that closes the connection without an answer. */
export const cut = (request) => request.socket.destroy();

/** A step that never answers. */
export const silence = () => {};

/** A step that sends events, and then ends the answer or breaks the connection. */
export const events =
  (text, end = 'ends') =>
  (_, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    response.write(text, () => (end === 'ends' ? response.end() : setTimeout(() => response.destroy(), 20)));
  };
