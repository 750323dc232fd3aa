import { createHash, createHmac, randomBytes } from 'node:crypto';

/** Ids that prove which installation created them. */
export interface OwnIds {
  /** Returns a new id. */
  create(): string;
  /** Returns an id that is always the same for the same name. */
  derive(name: string): string;
  /** Returns whether this installation has created an id. Ids from earlier releases prove nothing. */
  owns(id: string): boolean;
}

/**
 * Number of hexadecimal digits that are the proof in an id: an id of another installation is accepted once in
 * 4,294,967,296 times.
 */
const PROOF_DIGITS = 8;

/**
 * Creates ids (UUID version 8, RFC 9562) with 90 bits that are random or derived from a name, and 32 bits that are
 * computed from these and the installation's id.
 */
export function createOwnIds(installationId: string): OwnIds {
  const proofOf = (hex: string): string =>
    createHmac('sha256', installationId).update(hex).digest('hex').slice(0, PROOF_DIGITS);

  function sealed(bytes: Buffer): string {
    bytes[6] = ((bytes[6] as number) & 0x0f) | 0x80;
    bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
    const start = bytes.toString('hex', 0, 16).slice(0, -PROOF_DIGITS);
    const hex = start + proofOf(start);
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
  }

  return {
    create: () => sealed(randomBytes(16)),
    derive: (name) => sealed(createHash('sha256').update(name).digest()),
    owns(id) {
      const hex = id.replaceAll('-', '');
      if (!/^[0-9a-f]{12}8[0-9a-f]{19}$/.test(hex)) return false;
      return hex.slice(-PROOF_DIGITS) === proofOf(hex.slice(0, -PROOF_DIGITS));
    },
  };
}
