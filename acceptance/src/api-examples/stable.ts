/**
 * Replaces values that differ between recordings: ids, times, addresses and secrets. A recorded exchange stays
 * consistent, because equal values get equal replacements.
 */

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;
const REQUEST_ID = /req_[a-z2-7]{26}/g;
/** Matches the part that makes a test's address unique: `boss.0f3a9c21@example.com`. */
const ADDRESS = /\.[0-9a-f]{8}@example\.com/g;
/** Matches tokens, cursors and checksums in base64url. They are long enough to contain all kinds of characters. */
const SECRET = /(?<![\w-])(?!wsk_)(?=[\w-]*[A-Z])(?=[\w-]*[a-z])(?=[\w-]*\d)[\w-]{22,}(?![\w-])/g;
/** Matches API keys and their prefixes after the type. */
const KEY = /(?<=wsk_[a-z]_)[\w-]+/g;
/** Matches secrets of one-time passwords in base32. */
const OTP_SECRET = /\b[A-Z2-7]{32}\b/g;
const TOKEN = 'Rx4mPle7oKen2Zq9'.repeat(64);

/** The time that recordings show as the present. Below, the distance up to which a time counts as the present. */
const PRESENT_MS = Date.UTC(2026, 0, 15, 9, 30);
const NEAR_MS = 600_000;
const HOUR_MS = 3_600_000;

interface StableOptions {
  readonly baseUrl: string;
  /** Replacements of known ids. */
  readonly ids: Readonly<Record<string, string>>;
}

/** Returns a function that replaces the changing values in the JSON of one exchange. */
export function createStable({ baseUrl, ids }: StableOptions): <T>(value: T) => T {
  const known = new Map(Object.entries(ids));
  const idOf = (id: string) => {
    const replacement = known.get(id) ?? `0198c0de-0000-7000-8000-${String(known.size).padStart(12, '0')}`;
    known.set(id, replacement);
    return replacement;
  };
  return (value) =>
    JSON.parse(
      JSON.stringify(value, (key, one: unknown) => (MEASURED.has(key) && typeof one === 'number' ? 4 : one))
        .replaceAll(baseUrl, 'https://commonplace.example.com')
        .replaceAll(baseUrl.replace('127.0.0.1', 'localhost'), 'https://commonplace.example.com')
        .replaceAll('"127.0.0.1"', '"commonplace.example.com"')
        .replaceAll(OTP_SECRET, (secret) => 'JBSWY3DPEHPK3PXP'.repeat(2).slice(0, secret.length))
        .replaceAll(UUID, idOf)
        .replaceAll(TIME, timeOf)
        .replaceAll(REQUEST_ID, 'req_r7k2mq5vxa3tz6wn4bceyd2fhj')
        .replaceAll(ADDRESS, '@example.com')
        .replaceAll(KEY, (secret) => TOKEN.slice(0, secret.length))
        .replaceAll(/(?<="last4":")[^"]+/g, '2Zq9')
        .replaceAll(SECRET, (secret) => TOKEN.slice(0, secret.length)),
    );
}

const MEASURED: ReadonlySet<string> = new Set(['took_ms', 'duration_ms', 'uptime_seconds', 'latency_ms']);

/** Moves a time so that its distance from the recordings' present is that from the real present, in whole hours. */
function timeOf(text: string): string {
  const distance = Date.parse(text) - Date.now();
  const hours = Math.abs(distance) < NEAR_MS ? 0 : Math.round(distance / HOUR_MS);
  return new Date(PRESENT_MS + hours * HOUR_MS).toISOString();
}

/** Number of items that a shortened list keeps. */
const KEPT = 2;
/** Length of an answer's JSON in characters from which on its lists are shortened. */
const LONG = 4_000;

/** Shortens the lists of a long answer to their first items. */
export function shortened(body: unknown): unknown {
  if (JSON.stringify(body).length < LONG) return body;
  return JSON.parse(JSON.stringify(body), (_, value: unknown) => (Array.isArray(value) ? value.slice(0, KEPT) : value));
}
