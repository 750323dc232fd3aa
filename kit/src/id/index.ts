import { createHash, randomBytes } from 'node:crypto';
import { v5, v7 } from 'uuid';

const last = { msecs: 0, seq: 0 };

/**
 * Returns a new record id: a UUID version 7, so that ids sort by creation time. Ids of one process also sort within a
 * millisecond, by a counter that starts at random (RFC 9562, 6.2, method 1).
 */
export function newId(): string {
  const random = randomPart(16);
  const now = Date.now();
  if (now > last.msecs) {
    last.msecs = now;
    // Half of the range of 32 bits remains for counting.
    last.seq = random.readUInt32BE(6) >>> 1;
  } else {
    last.seq += 1;
  }
  return v7({ random, ...last });
}

/** Returns an id that is always the same for the same name (UUID version 5 in the product's namespace). */
export function derivedId(name: string): string {
  return v5(name, 'b1f2a0de-0d4c-5d5e-9a57-2f6a0c1d7e90');
}

/** Returns the id of a person's default Personal workspace, which is also the id of their Personal tenant. */
export function homeOf(userId: string): string {
  return derivedId(`personal-workspace:${userId}`);
}

/** Returns the id of the file that a request creates; `operation` is its idempotency id or, without one, its request id. */
export function fileIdOf(operation: string): string {
  return derivedId(`file:${operation}`);
}

/** Source of a regular expression that matches a canonical (lower-case) UUID, without anchors. */
export const UUID_PATTERN = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
const UUID = new RegExp(`^${UUID_PATTERN}$`);

/** Returns whether a text is a canonical (lower-case) UUID. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';
let pool = Buffer.alloc(0);
let used = 0;

/** Returns random bytes from a pool: requesting a few at a time from the system costs more than the rest of an id. */
function randomPart(bytes: number): Buffer {
  if (used + bytes > pool.length) {
    pool = randomBytes(8192);
    used = 0;
  }
  used += bytes;
  return pool.subarray(used - bytes, used);
}

/** Returns a request id: `req_` and 26 characters of base 32, which are 130 random bits. */
export function newRequestId(): string {
  let id = 'req_';
  for (const byte of randomPart(26)) id += BASE32[byte & 31];
  return id;
}

/** Returns the SHA-256 of the parts, separated from each other, in base64url. */
export function fingerprint(...parts: (string | Buffer)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part).update('\0');
  return hash.digest('base64url');
}
