/** Bytes that are handed to the connection at once. */
const PIECE_BYTES = 64 * 1024;

export interface BytesRequest {
  readonly method: string;
  readonly headers: Headers;
  readonly body: Blob | BufferSource | string | null;
  readonly signal: AbortSignal;
}

/**
 * Sends a request and tells how many bytes of its body are sent: in browsers by `XMLHttpRequest`, whose `fetch` does not
 * tell, elsewhere by a body that is read in pieces. Rejects as `fetch` does.
 */
export function sendBytes(
  url: string,
  { body, ...init }: BytesRequest,
  onSent: (sentBytes: number) => void,
): Promise<Response> {
  const blob = body instanceof Blob ? body : new Blob(body === null ? [] : [body]);
  if (typeof XMLHttpRequest !== 'undefined') return sendByXhr(url, { ...init, body: blob }, onSent);
  // The storage of some servers takes no body of unknown length.
  init.headers.set('Content-Length', String(blob.size));
  const streamed = { ...init, body: piecesOf(blob, onSent), redirect: 'manual', duplex: 'half' } as const;
  return fetch(url, blob.size === 0 ? { ...init, body: blob } : streamed);
}

function piecesOf(blob: Blob, onSent: (sentBytes: number) => void): ReadableStream<Uint8Array> {
  let offset = 0;
  const source: UnderlyingDefaultSource<Uint8Array> = {
    async pull(controller) {
      // The piece before this one has been taken.
      if (offset > 0) onSent(offset);
      if (offset === blob.size) {
        controller.close();
        return;
      }
      const piece = new Uint8Array(await blob.slice(offset, offset + PIECE_BYTES).arrayBuffer());
      offset += piece.length;
      controller.enqueue(piece);
    },
  };
  return new ReadableStream(source, { highWaterMark: 0 });
}

function sendByXhr(
  url: string,
  { method, headers, body, signal }: BytesRequest & { readonly body: Blob },
  onSent: (sentBytes: number) => void,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const xhr = new XMLHttpRequest();
    const abort = () => xhr.abort();
    const fail = () => reject(signal.aborted ? signal.reason : new TypeError('The upload failed.'));
    xhr.open(method, url);
    for (const [name, value] of headers) xhr.setRequestHeader(name, value);
    xhr.upload.onprogress = ({ loaded }) => onSent(loaded);
    xhr.onload = () => resolve(responseOf(xhr));
    xhr.onerror = fail;
    xhr.onabort = fail;
    xhr.onloadend = () => signal.removeEventListener('abort', abort);
    signal.addEventListener('abort', abort);
    if (signal.aborted) fail();
    else xhr.send(body);
  });
}

function responseOf(xhr: XMLHttpRequest): Response {
  const lines = xhr
    .getAllResponseHeaders()
    .split('\r\n')
    .filter((line) => line !== '');
  const headers = new Headers(
    lines.map((line): [string, string] => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const isEmpty = [204, 205, 304].includes(xhr.status);
  return new Response(isEmpty ? null : xhr.responseText, { status: xhr.status, statusText: xhr.statusText, headers });
}
