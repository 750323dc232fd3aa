import type { McpHttp } from './http.js';
import { loadLibrary } from './library.js';

/** What a server says about the authorization that it wants, where it refuses a request (RFC 9728). */
export interface Challenge {
  readonly resourceMetadataUrl?: URL | undefined;
  readonly scope?: string | undefined;
}

const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const PING = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
const REFUSALS: ReadonlySet<number> = new Set([401, 403]);

/** Asks a server without a token, and returns what it says to that; nothing if it does not refuse, or says nothing. */
export async function challengeOf(http: McpHttp, url: string): Promise<Challenge> {
  try {
    const answer = await http.fetch(url, { method: 'POST', headers: HEADERS, body: PING });
    await answer.body?.cancel();
    if (!REFUSALS.has(answer.status)) return {};
    const { extractWWWAuthenticateParams } = await loadLibrary();
    return extractWWWAuthenticateParams(answer);
  } catch {
    // The places that the protocol names are tried all the same, and tell why the server cannot be reached.
    return {};
  }
}
