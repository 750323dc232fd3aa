/** Maximum size of one response in bytes. Metadata, keys and tokens of OAuth servers have about ten thousand. */
const MAX_BYTES = 2 * 2 ** 20;

/** Fetches a complete response of an OAuth server that the operator has configured. Rejects once it exceeds 2 MiB. */
export async function boundedFetch(url: string | URL, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  if (response.body === null) return response;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw new Error(`${new URL(url).host} responded with more than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  const { status, statusText, headers } = response;
  return new Response(Buffer.concat(chunks), { status, statusText, headers });
}
