import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

/** The data that a browser passes to an authenticator for signing, and what the authenticator reports about itself. */
export interface Ceremony {
  readonly origin: string;
  readonly rpId: string;
  /** Whether the person was verified; true when absent. */
  readonly verified?: boolean;
  /** Overrides the next value of the signature counter. */
  readonly counter?: number;
  readonly type?: string;
}

/** A passkey in memory (ES256, attestation `none`) that behaves like an authenticator with a browser. */
export interface Authenticator {
  /** Returns `RegistrationResponseJSON` as text. */
  register(options: string, ceremony: Ceremony): string;
  /** Returns `AuthenticationResponseJSON` as text. */
  sign(options: string, ceremony: Ceremony): string;
  /** User handle that it returns; that of the registration when absent. */
  userHandle: string;
}

interface Options {
  readonly challenge: string;
  readonly user?: { readonly id: string };
}

const [PRESENT, VERIFIED, ATTESTED] = [0x01, 0x04, 0x40];

export function createAuthenticator(): Authenticator {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const id = randomBytes(32);
  let counter = 0;

  const base = { id: id.toString('base64url'), rawId: id.toString('base64url'), type: 'public-key' };
  const dataOf = ({ rpId, verified = true, ...given }: Ceremony, attested: Buffer | undefined): Buffer => {
    counter = given.counter ?? counter + 1;
    const count = Buffer.alloc(4);
    count.writeUInt32BE(counter);
    const flags = PRESENT | (verified ? VERIFIED : 0) | (attested === undefined ? 0 : ATTESTED);
    return Buffer.concat([sha256(Buffer.from(rpId)), Buffer.from([flags]), count, attested ?? Buffer.alloc(0)]);
  };
  const clientData = (type: string, challenge: string, { origin, type: other = type }: Ceremony): Buffer =>
    Buffer.from(JSON.stringify({ type: other, challenge, origin, crossOrigin: false }));

  const authenticator: Authenticator = {
    userHandle: '',
    register(text, ceremony) {
      const { challenge, user } = JSON.parse(text) as Options;
      authenticator.userHandle = user?.id ?? '';
      const attested = Buffer.concat([Buffer.alloc(16), Buffer.from([0, id.length]), id, coseOf(publicKey)]);
      const response = {
        clientDataJSON: clientData('webauthn.create', challenge, ceremony).toString('base64url'),
        attestationObject: attestationOf(dataOf(ceremony, attested)).toString('base64url'),
        transports: ['internal'],
      };
      return JSON.stringify({ ...base, clientExtensionResults: {}, response });
    },
    sign(text, ceremony) {
      const { challenge } = JSON.parse(text) as Options;
      const data = dataOf(ceremony, undefined);
      const client = clientData('webauthn.get', challenge, ceremony);
      const response = {
        clientDataJSON: client.toString('base64url'),
        authenticatorData: data.toString('base64url'),
        signature: sign('sha256', Buffer.concat([data, sha256(client)]), privateKey).toString('base64url'),
        userHandle: authenticator.userHandle,
      };
      return JSON.stringify({ ...base, clientExtensionResults: {}, response });
    },
  };
  return authenticator;
}

function sha256(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest();
}

/** Encodes `{fmt: "none", attStmt: {}, authData}` in CBOR. */
function attestationOf(data: Buffer): Buffer {
  const text = (value: string) => Buffer.concat([Buffer.from([0x60 + value.length]), Buffer.from(value)]);
  const length = Buffer.from([0x59, data.length >> 8, data.length & 0xff]);
  const none = [text('fmt'), text('none'), text('attStmt'), Buffer.from([0xa0])];
  return Buffer.concat([Buffer.from([0xa3]), ...none, text('authData'), length, data]);
}

/** Encodes the key in CBOR by RFC 9053: `{1: 2, 3: -7, -1: 1, -2: x, -3: y}`. */
function coseOf(key: KeyObject): Buffer {
  const { x = '', y = '' } = key.export({ format: 'jwk' });
  const bytes = (text: string) => Buffer.concat([Buffer.from([0x58, 32]), Buffer.from(text, 'base64url')]);
  const head = Buffer.from([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01]);
  return Buffer.concat([head, Buffer.from([0x21]), bytes(x), Buffer.from([0x22]), bytes(y)]);
}
