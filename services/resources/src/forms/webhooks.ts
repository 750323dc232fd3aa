import { newId } from '@commonplace/kit/id';
import { isObject } from '@commonplace/kit/json';
import type { Envelope, SecretOwner } from '@commonplace/kit/secrets';
import { type DisabledReason, isWebhookSecret, mintWebhookSecret } from '@commonplace/platform/webhooks';
import { type FormFaults, readObject } from './reader.js';

/** A target that a form's submissions are delivered to. */
export interface FormWebhook {
  /** Stays the same as long as a target with this URL is configured. */
  readonly id: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly is_active: boolean;
  /** The signing secret, encrypted for the form. */
  readonly sealed: string;
  /** The last four characters of the secret, for people to recognise it. */
  readonly hint: string;
  /** The previous secret and when it stops signing: for a day after the change, deliveries are signed with both. */
  readonly former?: { readonly sealed: string; readonly until: string };
}

/** A target from a request. */
export interface WebhookInput {
  readonly url: string;
  readonly secret: string | undefined;
  readonly events: readonly string[];
  readonly is_active: boolean;
}

/** The events that forms send. */
const WEBHOOK_EVENTS = ['form.submitted'] as const;
const BOTH_SIGN_MS = 24 * 3_600_000;

export function readWebhooks(list: readonly unknown[] | undefined, faults: FormFaults): readonly WebhookInput[] {
  const urls = new Set<string>();
  return (list ?? []).flatMap((one, i) => {
    const param = `config.webhooks[${i}]`;
    if (!isObject(one)) return faults.add(param, 'invalid_type', 'must be an object.') ?? [];
    const read = readObject(one, param, faults);
    const url = read.line('url', 2000, true) ?? '';
    const secret = read.line('secret', 200);
    const events = read.list('events', 20) ?? WEBHOOK_EVENTS;
    const isActive = read.flag('is_active', true);
    read.ignore('id', 'secret_hint', 'disabled_reason');
    read.end();
    if (urls.has(url)) faults.add(`${param}.url`, 'invalid_value', 'Two webhooks have this URL.');
    urls.add(url);
    if (secret !== undefined && !isWebhookSecret(secret)) {
      faults.add(`${param}.secret`, 'invalid_value', 'must be whsec_ followed by 24 to 64 bytes in Base64.');
    }
    const known = events.filter((event) => (WEBHOOK_EVENTS as readonly unknown[]).includes(event)) as string[];
    if (known.length < events.length || events.length === 0)
      faults.add(`${param}.events`, 'invalid_value', `must list some of ${WEBHOOK_EVENTS.join(', ')}.`);
    return { url, secret, events: [...new Set(known)], is_active: isActive };
  });
}

/** Returns the targets as they are stored, and the secrets that were generated for targets without one. */
export function sealWebhooks(
  inputs: readonly WebhookInput[],
  before: readonly FormWebhook[],
  envelope: Envelope,
  owner: SecretOwner,
  now: number,
): { readonly webhooks: FormWebhook[]; readonly made: { readonly url: string; readonly secret: string }[] } {
  const made: { url: string; secret: string }[] = [];
  const webhooks = inputs.map(({ url, secret, events, is_active }): FormWebhook => {
    const old = before.find((one) => one.url === url);
    if (old !== undefined && (secret === undefined || envelope.open(old.sealed, owner) === secret)) {
      return { ...old, events, is_active };
    }
    const text = secret ?? mintWebhookSecret();
    if (secret === undefined) made.push({ url, secret: text });
    const former = old && { sealed: old.sealed, until: new Date(now + BOTH_SIGN_MS).toISOString() };
    const sealed = envelope.seal(text, owner);
    return { id: old?.id ?? newId(), url, events, is_active, sealed, hint: text.slice(-4), ...(former && { former }) };
  });
  return { webhooks, made };
}

/**
 * Returns a target in the API's format; `reason` is set if its deliveries were disabled although it is configured as
 * active.
 */
export function shownWebhook(
  { id, url, events, is_active, hint }: FormWebhook,
  reason: DisabledReason | undefined,
): Record<string, unknown> {
  const off = is_active && reason !== undefined;
  return {
    id,
    url,
    events,
    is_active: is_active && !off,
    disabled_reason: off ? reason : null,
    secret_hint: `…${hint}`,
  };
}
