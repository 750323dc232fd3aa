import { createHash } from 'node:crypto';

/** Returns the SHA-256 of a JSON value as hexadecimal digits, independent of the order of its keys. */
export function hashJson(value: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(sorted(value)) ?? '')
    .digest('hex');
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return Object.fromEntries(entries.map(([name, one]) => [name, sorted(one)]));
}
