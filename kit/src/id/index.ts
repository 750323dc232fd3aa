import { createHash, randomBytes } from 'node:crypto';
import { v5, v7 } from 'uuid';

const last = { msecs: 0, seq: 0 };

/**
 * A new record id: UUID version 7, so that ids sort by the time they were made; those of one process also within a
 * millisecond, by a counter that starts at random (RFC 9562, 6.2, method 1).
 */
export function newId(): string {
  const random = randomPart(16);
  const now = Date.now();
  if (now > last.msecs) {
    last.msecs = now;
    // Half of the 32 bits are left to count in.
    last.seq = random.readUInt32BE(6) >>> 1;
  } else {
    last.seq += 1;
  }
  return v7({ random, ...last });
}

/** The same id for the same name, always (UUID version 5 in the namespace of the product). */
export function derivedId(name: string): string {
  return v5(name, 'b1f2a0de-0d4c-5d5e-9a57-2f6a0c1d7e90');
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Tells a canonical (lower-case) UUID. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';
let pool = Buffer.alloc(0);
let used = 0;

/** Random bytes out of a pool: asking the system for a few at a time costs more than all else of an id. */
function randomPart(bytes: number): Buffer {
  if (used + bytes > pool.length) {
    pool = randomBytes(8192);
    used = 0;
  }
  used += bytes;
  return pool.subarray(used - bytes, used);
}

/** `req_` and 26 characters of base 32: 130 random bits. */
export function newRequestId(): string {
  let id = 'req_';
  for (const byte of randomPart(26)) id += BASE32[byte & 31];
  return id;
}

/** SHA-256 of the parts, each told apart from its neighbours, in base64url. */
export function fingerprint(...parts: (string | Buffer)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part).update('\0');
  return hash.digest('base64url');
}
