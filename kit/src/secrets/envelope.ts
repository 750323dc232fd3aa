import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';

/**
 * The record and tenant that a secret belongs to: a secret encrypted for one record cannot be decrypted for another.
 */
export interface SecretOwner {
  readonly tenant: string;
  readonly record: string;
}

/**
 * Encrypts secrets of users. Each is encrypted with a key of its own (AES-256-GCM), which a master key wraps. Tenant
 * and record are authenticated with both, so that a text that is moved to another record is useless.
 */
export interface Envelope {
  /** Encrypts a secret and returns a text that is safe to store, different at each call. */
  seal(secret: string, owner: SecretOwner): string;
  /** Decrypts a secret. Throws `SecretUnreadable` for another owner, an unknown master key, or any changed bit. */
  open(sealed: string, owner: SecretOwner): string;
  /** Returns whether the current master key wraps the secret. */
  isCurrent(sealed: string): boolean;
  /** Wraps the secret's key with the current master key, without decrypting the secret. */
  rewrap(sealed: string, owner: SecretOwner): string;
}

/** Thrown for a stored secret that cannot be decrypted. The message reveals nothing about its content. */
export class SecretUnreadable extends Error {
  constructor(why: string) {
    super(`the secret cannot be read: ${why}`);
    this.name = 'SecretUnreadable';
  }
}

const FORMAT = 'v1';
const IV_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;

interface Master {
  readonly id: string;
  readonly key: Buffer;
}

/** Creates an envelope. The first of `masterKeys` is the current one, which encrypts; all of them decrypt. */
export function createEnvelope(masterKeys: readonly Buffer[]): Envelope {
  const masters = masterKeys.map(masterOf);
  const [current] = masters;
  if (current === undefined) throw new Error('an envelope needs a master key');

  const unwrap = ({ keyId, wrapped }: Parts, owner: SecretOwner): Buffer => {
    const master = masters.find(({ id }) => id === keyId);
    if (master === undefined)
      throw new SecretUnreadable('its master key is not among those of COMMONPLACE_SECRETS_KEY');
    return decrypt(master.key, wrapped, bound('key', owner));
  };
  const write = (dataKey: Buffer, data: Buffer, owner: SecretOwner): string => {
    const wrapped = encrypt(current.key, dataKey, bound('key', owner));
    return [FORMAT, current.id, wrapped.toString('base64url'), data.toString('base64url')].join('.');
  };

  return {
    seal(secret, owner) {
      const dataKey = randomBytes(KEY_BYTES);
      const sealed = write(dataKey, encrypt(dataKey, Buffer.from(secret, 'utf8'), bound('data', owner)), owner);
      dataKey.fill(0);
      return sealed;
    },
    open(sealed, owner) {
      const parts = read(sealed);
      const dataKey = unwrap(parts, owner);
      const secret = decrypt(dataKey, parts.data, bound('data', owner)).toString('utf8');
      dataKey.fill(0);
      return secret;
    },
    isCurrent: (sealed) => read(sealed).keyId === current.id,
    rewrap(sealed, owner) {
      const parts = read(sealed);
      const dataKey = unwrap(parts, owner);
      const again = write(dataKey, parts.data, owner);
      dataKey.fill(0);
      return again;
    },
  };
}

/**
 * Derives a master key with HKDF-SHA256 (RFC 5869), so that the wrapping key reveals nothing about the setting, and its
 * id nothing about the key.
 */
function masterOf(secret: Buffer): Master {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'commonplace/secrets/wrap', KEY_BYTES));
  return {
    key,
    id: createHash('sha256').update('commonplace/secrets/id').update(key).digest('base64url').slice(0, 12),
  };
}

/** Returns the data to authenticate with a text: its kind and its owner. */
function bound(what: 'key' | 'data', { tenant, record }: SecretOwner): Buffer {
  return Buffer.from(JSON.stringify([FORMAT, what, tenant, record]), 'utf8');
}

/** Encrypts a text. Returns the initialization vector, ciphertext and tag, concatenated. */
function encrypt(key: Buffer, plain: Buffer, aad: Buffer): Buffer {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(aad);
  return Buffer.concat([iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

function decrypt(key: Buffer, sealed: Buffer, aad: Buffer): Buffer {
  if (sealed.length < IV_BYTES + TAG_BYTES) throw new SecretUnreadable('it is cut short');
  const iv = sealed.subarray(0, IV_BYTES);
  const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES }).setAAD(aad);
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]);
  } catch {
    throw new SecretUnreadable('it was sealed for another record, or changed');
  }
}

interface Parts {
  readonly keyId: string;
  readonly wrapped: Buffer;
  readonly data: Buffer;
}

function read(sealed: string): Parts {
  const [format, keyId = '', wrapped = '', data = '', ...more] = sealed.split('.');
  if (format !== FORMAT || data === '' || more.length > 0) throw new SecretUnreadable('it has another format');
  return { keyId, wrapped: Buffer.from(wrapped, 'base64url'), data: Buffer.from(data, 'base64url') };
}
