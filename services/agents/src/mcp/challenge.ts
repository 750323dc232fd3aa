import type { McpHttp } from './http.js';
import { loadLibrary } from './library.js';

/** The authorization that a server requires when it refuses a request (RFC 9728). */
interface Challenge {
  readonly resourceMetadataUrl?: URL | undefined;
  readonly scope?: string | undefined;
}

const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const PING = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
const REFUSALS: ReadonlySet<number> = new Set([401, 403]);

/**
 * Sends a request without a token, and returns the challenge in the server's refusal; an empty one if it does not
 * refuse or sends none.
 */
export async function challengeOf(http: McpHttp, url: string): Promise<Challenge> {
  try {
    const answer = await http.fetch(url, { method: 'POST', headers: HEADERS, body: PING });
    await answer.body?.cancel();
    if (!REFUSALS.has(answer.status)) return {};
    const { extractWWWAuthenticateParams } = await loadLibrary();
    return extractWWWAuthenticateParams(answer);
  } catch {
    // The caller then tries the locations that the protocol defines, and reports if the server cannot be reached.
    return {};
  }
}
