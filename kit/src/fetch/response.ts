import type { Fetched } from './guard.js';

/** Reads a response's body until it has at least `bytes` bytes. The rest is not read, because it may have no end. */
export async function readStart({ body }: Pick<Fetched, 'body'>, bytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let read = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      read += chunk.length;
      if (read >= bytes) break;
    }
  } finally {
    body.destroy();
  }
  return Buffer.concat(chunks);
}

/** Returns the first value of a response's header. */
export function headerOf({ headers }: Pick<Fetched, 'headers'>, name: string): string | undefined {
  const header = headers[name];
  return Array.isArray(header) ? header[0] : header;
}

/**
 * Parses `Retry-After` (RFC 9110, 10.2.3), which holds seconds or a date. Returns milliseconds from `now`; 0 if it is
 * absent or invalid.
 */
export function retryAfterMs(response: Pick<Fetched, 'headers'>, now: number): number {
  const text = headerOf(response, 'retry-after')?.trim() ?? '';
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return Number.isFinite(ms) && ms > 0 ? ms : 0;
}
