import { invalidField } from '@commonplace/kit/errors';
import { verifySigned } from '@commonplace/platform/webhooks';
import type { TriggerAutomationRequest } from '@commonplace/proto/automations/v1/automation_service.js';
import { InvalidSignature } from '../definitions/errors.js';
import type { VerifyType } from '../definitions/records.js';
import { withPrefix } from '../definitions/trigger-input.js';
import { isHmacOf } from '../domain/signatures.js';

/** Maximum nesting of lists and objects in the body of a webhook. */
const MAX_BODY_DEPTH = 64;
/** Maximum number of webhook headers that a run receives, and maximum characters of each. */
const MAX_HEADERS = 50;
const MAX_HEADER_CHARACTERS = 1024;
/** Maximum characters of a delivery's id; the rest is ignored. */
const MAX_DELIVERY_CHARACTERS = 255;

/** A received webhook request. */
export interface HookRequest {
  /** The parsed JSON, or the fields of a form. */
  readonly payload: unknown;
  /** The body as received, which signatures cover. */
  readonly raw: string;
  /** The headers by name in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Empty if the sender has set none. */
  readonly deliveryId: string;
}

/** Reads a webhook request. Throws if the body is nested too deeply. */
export function readHookRequest({ payload, body, headers, deliveryId }: TriggerAutomationRequest): HookRequest {
  const json = payload.length > 0 ? payload.toString() : body.trim() === 'null' ? 'null' : '{}';
  if (isTooDeep(json)) {
    const message = `The body has more than ${MAX_BODY_DEPTH} levels of lists and objects.`;
    throw invalidField('payload', 'invalid_value', message);
  }
  return {
    payload: JSON.parse(json) as unknown,
    raw: body,
    headers: readHeaders(headers),
    deliveryId: deliveryId.slice(0, MAX_DELIVERY_CHARACTERS),
  };
}

function readHeaders(json: string): Record<string, string> {
  const given = json === '' ? {} : (JSON.parse(json) as Record<string, unknown>);
  const texts = Object.entries(given).map(([name, value]) => [
    name.toLowerCase(),
    Array.isArray(value) ? value.join(', ') : String(value),
  ]);
  return Object.fromEntries(texts) as Record<string, string>;
}

/**
 * Returns whether a JSON text is nested too deeply, by counting its brackets outside of strings. Parsing a very deep
 * text could crash the process.
 */
function isTooDeep(json: string): boolean {
  let depth = 0;
  let quoted = false;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (quoted) {
      if (code === BACKSLASH) at++;
      else if (code === QUOTE) quoted = false;
    } else if (code === QUOTE) quoted = true;
    else if (code === OPEN_BRACKET || code === OPEN_BRACE) depth++;
    else if (code === CLOSE_BRACKET || code === CLOSE_BRACE) depth--;
    if (depth > MAX_BODY_DEPTH) return true;
  }
  return false;
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d];

/** The settings for verifying the sender of a webhook. */
interface Verification {
  readonly type: VerifyType;
  readonly header?: string | undefined;
  /** Absent for the type `none`. */
  readonly secret?: string | undefined;
}

/** Throws `invalid_signature` unless a webhook is signed as the automation requires. */
export function verifyHook({ type, header, secret }: Verification, request: HookRequest): void {
  if (type === 'none') return;
  const why = secret === undefined ? 'the automation has no secret.' : faultOf(type, header ?? '', secret, request);
  if (why !== undefined) throw InvalidSignature({ why });
}

function faultOf(type: VerifyType, header: string, secret: string, { raw, headers }: HookRequest): string | undefined {
  if (type === 'standard_webhooks') return verifySigned(withPrefix(secret), raw, headers);
  const name = type === 'github' ? 'x-hub-signature-256' : header;
  const given = Object.hasOwn(headers, name) ? headers[name] : undefined;
  if (given === undefined) return `the header ${name} is missing.`;
  if (type === 'github' && !given.startsWith('sha256=')) return `the header ${name} must begin with sha256=.`;
  return isHmacOf(raw, secret, given)
    ? undefined
    : `the header ${name} is not the HMAC-SHA256 of the body with the secret.`;
}

const KEPT = /^(?:content-type|user-agent|webhook-id|webhook-timestamp|idempotency-key|x-.+)$/;
const DROPPED =
  /signature|token|secret|auth|api-key|^x-(?:forwarded|real-ip|request-id|client-request-id|share-link|tenant|workspace-id)/;

/**
 * Returns the headers that a run receives: those that describe the content, without signatures, credentials and headers
 * of proxies. `signedIn` is the header in which the automation expects a signature, whatever its name is.
 */
export function shownHeaders(headers: HookRequest['headers'], signedIn = ''): Record<string, string> {
  const isShown = (name: string) => KEPT.test(name) && !DROPPED.test(name) && name !== signedIn;
  const shown = Object.entries(headers).filter(([name]) => isShown(name));
  return Object.fromEntries(
    shown.slice(0, MAX_HEADERS).map(([name, value]) => [name, value.slice(0, MAX_HEADER_CHARACTERS)]),
  );
}

/** Returns the id by which a repeated delivery is recognized; GitHub sends it in a header of its own. */
export function deliveryOf({ deliveryId, headers }: HookRequest, type: VerifyType): string {
  if (deliveryId !== '' || type !== 'github') return deliveryId;
  return (headers['x-github-delivery'] ?? '').slice(0, MAX_DELIVERY_CHARACTERS);
}
