/** Returns whether a value is a JSON object: neither null nor a list. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns whether parsed JSON has a number that is too large: it is infinite, and would be stored and sent as null. */
export function hasInfinity(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return value === Infinity || value === -Infinity;
  return Object.values(value).some(hasInfinity);
}

/** Returns a value as bytes of JSON; no bytes for undefined. */
export function jsonBytes(value: unknown): Buffer {
  return Buffer.from(value === undefined ? '' : JSON.stringify(value));
}

/** Returns the value of JSON that a client has sent as a field; undefined if it is absent or null. */
export function readJson(bytes: Buffer): unknown {
  return bytes.length === 0 ? undefined : (JSON.parse(bytes.toString()) ?? undefined);
}
