import { isWebhookSecret } from '@commonplace/platform/webhooks';
import type { AutomationRecord, StoredSecret } from '../definitions/records.js';
import { openSecret } from '../definitions/secrets.js';
import { referencesOf } from '../domain/templates.js';
import { ActionError } from './failure.js';
import type { RunParts } from './parts.js';

/** The text that replaces a secret wherever people can see it. */
const MASK = '***';
/** Minimum length of a masked value. Shorter values would match unrelated text. */
const MIN_MASKED_LENGTH = 4;

/** The secrets that one request uses. */
export interface UsedSecrets {
  readonly values: Readonly<Record<string, string>>;
  readonly used: readonly Pick<StoredSecret, 'name' | 'allowedHosts'>[];
  /** The secrets that sign the request. */
  readonly signing: readonly string[];
}

/** Returns the names of the secrets that a config refers to, and of the secret that signs. */
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

/** Decrypts the secrets that a request uses. Throws `secret_missing` if the automation no longer has one of them. */
export function openSecrets(
  { envelope }: Pick<RunParts, 'envelope'>,
  automation: AutomationRecord | undefined,
  { filledIn, signWith }: ReturnType<typeof secretsIn>,
): UsedSecrets {
  const names = [...new Set([...filledIn, ...(signWith === undefined ? [] : [signWith])])];
  const found = names.map((name) => {
    const secret = automation?.secrets.find((one) => one.name === name);
    if (automation === undefined || secret === undefined) {
      throw ActionError.withoutData('secret_missing', `The automation has no secret ${name}.`);
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
  throw ActionError.withoutData(
    'invalid_value',
    `The secret ${name} must be whsec_ and 24 to 64 bytes in base64 to sign with.`,
  );
}

/** Returns a mask for each secret, for showing the input of a step. */
export const maskedSecrets = (automation: AutomationRecord | undefined): Readonly<Record<string, string>> =>
  Object.fromEntries((automation?.secrets ?? []).map(({ name }) => [name, MASK]));

type Masked = Pick<UsedSecrets, 'values' | 'signing'>;

/** Returns all forms of secrets that are masked, the longest first. */
function formsOf({ values, signing }: Masked): string[] {
  const plain = [...Object.values(values), ...signing].filter((value) => value.length >= MIN_MASKED_LENGTH);
  const forms = plain.flatMap((value) => [
    value,
    ...formsInUrls(value),
    ...formsInJson(value),
    ...formsInBase64(value),
  ]);
  const long = forms.filter((form) => form.length >= MIN_MASKED_LENGTH);
  return [...new Set(long)].sort((a, b) => b.length - a.length);
}

/** Returns a secret as URLs have it: each part of one escapes other characters, and forms write spaces as `+`. */
function formsInUrls(value: string): string[] {
  const url = new URL('https://host/');
  url.pathname = value;
  url.search = value;
  const form = new URLSearchParams({ value }).toString().slice('value='.length);
  return [encodeURIComponent(value), url.pathname.slice(1), url.search.slice(1), form];
}

/** Returns a secret as JSON has it, also that of writers that escape slashes. */
function formsInJson(value: string): string[] {
  const text = JSON.stringify(value).slice(1, -1);
  return [text, text.replaceAll('/', '\\/')];
}

/** Minimum length of a masked part of a text in Base64, four characters of which stand for three bytes. */
const MIN_BASE64_LENGTH = 8;

/**
 * Returns the characters of a secret in Base64 and its form for URLs, as a server that repeats the header of a Basic
 * authentication shows it. They depend on how many bytes of its group of three come before the secret, and the first and
 * the last one can belong to what is beside it.
 */
function formsInBase64(value: string): string[] {
  const bytes = Buffer.from(value);
  const forms = [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    const bits = (before + bytes.length) * 8;
    return text.slice(Math.ceil((before * 8) / 6), Math.floor(bits / 6));
  });
  return forms
    .filter((form) => form.length >= MIN_BASE64_LENGTH)
    .flatMap((form) => [form, form.replaceAll('+', '-').replaceAll('/', '_')]);
}

/** Returns the number of bytes to read beyond a cut, so that masking leaves no part of a secret before it. */
export const maxSecretBytes = (secrets: Masked): number =>
  Math.max(0, ...formsOf(secrets).map((form) => Buffer.byteLength(form)));

/** Returns data with the values of secrets masked, also as URLs, JSON and Base64 have them. */
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
