import { isWebhookSecret } from '@commonplace/platform/webhooks';
import type { AutomationRecord, StoredSecret } from '../definitions/records.js';
import { openSecret } from '../definitions/secrets.js';
import { referencesOf } from '../domain/templates.js';
import { ActionError } from './failure.js';
import type { RunParts } from './parts.js';

/** What stands in the place of a secret wherever people can see it. */
export const MASK = '***';
/** Shorter values are not masked in responses: they would match what has nothing to do with them. */
const MIN_MASKED_LENGTH = 4;

/** The secrets of one request. */
export interface UsedSecrets {
  readonly values: Readonly<Record<string, string>>;
  readonly used: readonly Pick<StoredSecret, 'name' | 'allowedHosts'>[];
  /** Those that the request is signed with. */
  readonly signing: readonly string[];
}

/** Returns the names of the secrets that a config refers to, and of the one that signs. */
export function secretsIn(config: Readonly<Record<string, unknown>>): {
  readonly filledIn: readonly string[];
  readonly signWith: string | undefined;
} {
  const names = referencesOf(config).flatMap(({ reference: { path } }) =>
    path[0] === 'secrets' ? [path[1] ?? ''] : [],
  );
  const signWith = typeof config.sign_with === 'string' ? config.sign_with : undefined;
  return { filledIn: [...new Set(names)], signWith };
}

/** Decrypts the secrets of an automation that a request uses. Throws for one that it does not have any more. */
export function openSecrets(
  { envelope }: Pick<RunParts, 'envelope'>,
  automation: AutomationRecord | undefined,
  { filledIn, signWith }: ReturnType<typeof secretsIn>,
): UsedSecrets {
  const names = [...new Set([...filledIn, ...(signWith === undefined ? [] : [signWith])])];
  const found = names.map((name) => {
    const secret = automation?.secrets.find((one) => one.name === name);
    if (automation === undefined || secret === undefined) {
      throw new ActionError('secret_missing', `The automation has no secret ${name}.`);
    }
    return { ...secret, value: openSecret(envelope, automation, secret) };
  });
  const values = Object.fromEntries(
    found.filter(({ name }) => filledIn.includes(name)).map(({ name, value }) => [name, value]),
  );
  const signing = found.filter(({ name }) => name === signWith).map(({ name, value }) => signingSecret(name, value));
  return { values, used: found, signing };
}

function signingSecret(name: string, value: string): string {
  if (isWebhookSecret(value)) return value;
  throw new ActionError(
    'invalid_value',
    `The secret ${name} must be whsec_ and 24 to 64 bytes in base64 to sign with.`,
  );
}

/** Returns the scope in which the input of a step is shown: with a mask for each secret. */
export const maskedSecrets = (automation: AutomationRecord | undefined): Readonly<Record<string, string>> =>
  Object.fromEntries((automation?.secrets ?? []).map(({ name }) => [name, MASK]));

type Masked = Pick<UsedSecrets, 'values' | 'signing'>;

/** Returns the forms in which secrets are masked, the longest first. */
function formsOf({ values, signing }: Masked): string[] {
  const plain = [...Object.values(values), ...signing].filter((value) => value.length >= MIN_MASKED_LENGTH);
  const forms = plain.flatMap((value) => [value, encodeURIComponent(value), JSON.stringify(value).slice(1, -1)]);
  return [...new Set(forms)].sort((a, b) => b.length - a.length);
}

/** Returns the bytes that have to be read behind a place at which a text is cut, so that no part of a secret stays before it. */
export const longestForm = (secrets: Masked): number =>
  Math.max(0, ...formsOf(secrets).map((form) => Buffer.byteLength(form)));

/** Returns data in which the values of secrets are masked, as they are and as parts of URLs and of JSON. */
export function masked(data: unknown, secrets: Masked): unknown {
  const wanted = formsOf(secrets);
  const mask = (value: unknown): unknown => {
    if (typeof value === 'string') return wanted.reduce((text, one) => text.replaceAll(one, MASK), value);
    if (typeof value === 'number') return wanted.includes(String(value)) ? MASK : value;
    if (Array.isArray(value)) return value.map(mask);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [String(mask(name)), mask(one)]));
  };
  return mask(data);
}
