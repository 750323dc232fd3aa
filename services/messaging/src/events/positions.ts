import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto';

/** A position in the log, and when a reader was there. */
export interface Position {
  readonly seq: number;
  /** Epoch milliseconds. */
  readonly at: number;
}

/**
 * Encodes positions as opaque texts, which do not reveal how many events other tenants have, and decodes only such
 * texts.
 */
export interface Positions {
  /** Returns the text of a position. Equal positions have equal texts. */
  write(position: Position): string;
  /** Returns the position of a text; undefined for a text that `write` has not returned. */
  read(text: string): Position | undefined;
}

const CIPHER = 'aes-256-gcm';
/** Bytes of the nonce, the two numbers and the tag: together 40, which are 54 characters in base64url. */
const [NONCE, NUMBERS, TAG] = [12, 12, 16];
const SHAPE = /^[\w-]{54}$/;

/**
 * Creates the codec of positions for a key of 32 bytes. The nonce is derived from the position, so that equal positions
 * have equal texts and no nonce is used for two positions.
 */
export function createPositions(key: Buffer): Positions {
  const nonceKey = createHmac('sha256', key).update('nonce').digest();
  return {
    write({ seq, at }) {
      const numbers = Buffer.alloc(NUMBERS);
      numbers.writeUIntBE(seq, 0, 6);
      numbers.writeUIntBE(at, 6, 6);
      const nonce = createHmac('sha256', nonceKey).update(numbers).digest().subarray(0, NONCE);
      const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG });
      const hidden = Buffer.concat([cipher.update(numbers), cipher.final()]);
      return Buffer.concat([nonce, hidden, cipher.getAuthTag()]).toString('base64url');
    },
    read(text) {
      if (!SHAPE.test(text)) return undefined;
      const bytes = Buffer.from(text, 'base64url');
      const cipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE), { authTagLength: TAG });
      cipher.setAuthTag(bytes.subarray(NONCE + NUMBERS));
      try {
        const numbers = Buffer.concat([cipher.update(bytes.subarray(NONCE, NONCE + NUMBERS)), cipher.final()]);
        return { seq: numbers.readUIntBE(0, 6), at: numbers.readUIntBE(6, 6) };
      } catch {
        return undefined;
      }
    },
  };
}
