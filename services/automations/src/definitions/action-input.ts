import type { Faults } from '@commonplace/kit/errors';
import type { Guard } from '@commonplace/kit/fetch';
import { UrlNotAllowed } from '@commonplace/kit/fetch';
import { isObject, readJson } from '@commonplace/kit/json';
import { specifiedName } from '@commonplace/platform/enums';
import { isWebhookSecret } from '@commonplace/platform/webhooks';
import type { AutomationAction } from '@commonplace/proto/automations/v1/automation.js';
import { isAllowedHost } from '../domain/hosts.js';
import { SyntaxFault } from '../domain/path.js';
import { type PlacedReference, parseTemplate, referencesOf, TemplateFault } from '../domain/templates.js';
import { readConditions } from './condition-input.js';
import { checkConfig } from './config-check.js';
import type { ActionType, StoredAction } from './records.js';

/** Maximum bytes of the config of one action, and of the configs of all actions of an automation. */
const MAX_CONFIG_BYTES = 65_536;
const MAX_CONFIGS_BYTES = 262_144;

const ID = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
/** The fields of an earlier action that a template can read. */
const STEP_FIELDS: ReadonlySet<string> = new Set(['output', 'status', 'error']);

/** A secret, as far as the checks of actions need it. */
export interface KnownSecret {
  readonly name: string;
  readonly allowedHosts: readonly string[];
  /** Absent for a stored secret whose value the request does not contain. */
  readonly value?: string | undefined;
}

export interface ActionChecks {
  readonly guard: Guard;
  readonly secrets: readonly KnownSecret[];
}

/** Converts the actions of a request and adds their faults to `faults`. */
export function readActions(given: readonly AutomationAction[], checks: ActionChecks, faults: Faults): StoredAction[] {
  const total = given.reduce((sum, { config }) => sum + config.length, 0);
  if (total > MAX_CONFIGS_BYTES) {
    faults.add('actions', 'invalid_value', `have more than ${MAX_CONFIGS_BYTES} bytes of config.`);
    return [];
  }
  const actions = withIds(given, faults);
  checkActions(actions, checks, faults);
  return actions;
}

/** Checks all actions of an automation. A change of the secrets needs it also for actions that stay as they are. */
export function checkActions(actions: readonly StoredAction[], checks: ActionChecks, faults: Faults): void {
  for (const [index, action] of actions.entries()) {
    const param = `actions[${index}]`;
    const earlier = new Set(actions.slice(0, index).map(({ id }) => id));
    const later = new Set(actions.slice(index + 1).map(({ id }) => id));
    checkAction(action, param, { ...checks, earlier, later }, faults);
  }
}

/**
 * Returns the actions, giving an id to those without one: the type, with a number from the second action of that type
 * on.
 */
function withIds(given: readonly AutomationAction[], faults: Faults): StoredAction[] {
  const taken = new Set(given.flatMap(({ id }) => (id === '' ? [] : [id])));
  const seen = new Set<string>();
  return given.flatMap(({ id: named, type: wireType, config: bytes, onError }, index) => {
    const param = `actions[${index}]`;
    const type = specifiedName<ActionType>(wireType, 'ACTION_TYPE');
    if (type === undefined) return faults.add(`${param}.type`, 'missing_field', 'is required.') ?? [];
    if (bytes.length > MAX_CONFIG_BYTES) {
      return faults.add(`${param}.config`, 'invalid_value', `is longer than ${MAX_CONFIG_BYTES} bytes.`) ?? [];
    }
    const id = named === '' ? freeId(type, taken) : named;
    if (!ID.test(id))
      faults.add(`${param}.id`, 'invalid_value', 'must begin with a letter; letters, digits, _ and - follow.');
    if (seen.has(id)) faults.add(`${param}.id`, 'invalid_value', `occurs twice: ${id}.`);
    seen.add(id);
    taken.add(id);
    const config = readJson(bytes) ?? {};
    return [{ id, type, config: isObject(config) ? config : {}, onError: onError === '' ? 'stop' : onError }];
  });
}

function freeId(type: ActionType, taken: ReadonlySet<string>): string {
  for (let number = 1; ; number++) {
    const id = number === 1 ? type : `${type}_${number}`;
    if (!taken.has(id)) return id;
  }
}

interface Surroundings extends ActionChecks {
  readonly earlier: ReadonlySet<string>;
  readonly later: ReadonlySet<string>;
}

function checkAction(action: StoredAction, param: string, around: Surroundings, faults: Faults): void {
  const { type, config, onError } = action;
  if (onError !== 'stop' && onError !== 'continue') checkTarget(onError, `${param}.on_error`, around, faults);
  faults.list.push(...checkConfig(type, config, `${param}.config`));
  checkTemplates(action, param, around, faults);
  if (type === 'condition') {
    const conditions = Array.isArray(config.conditions) ? config.conditions : [];
    readConditions(conditions, `${param}.config.conditions`, (path) => pathFault(path, around, false), faults);
    if (typeof config.else === 'string' && config.else !== 'stop') {
      checkTarget(config.else, `${param}.config.else`, around, faults);
    }
  }
  if (type === 'http_request') checkRequest(config, `${param}.config`, around, faults);
}

function checkTarget(target: string, param: string, { later }: Surroundings, faults: Faults): void {
  if (target.startsWith('goto:') && later.has(target.slice(5))) return;
  faults.add(param, 'invalid_value', 'must be stop, continue where it may be, or goto: and the id of a later action.');
}

function checkTemplates({ type, config }: StoredAction, param: string, around: Surroundings, faults: Faults): void {
  for (const { reference, at } of references(config, param, faults)) {
    const mayHaveSecrets = type === 'http_request' && /^(?:url$|headers\.|body)/.test(at);
    const fault = pathFault(reference.path, around, mayHaveSecrets);
    if (fault !== undefined)
      faults.add(`${param}.config.${at}`, 'invalid_template', `has {{${reference.text}}}: it ${fault}`);
  }
}

/** Returns the references of a config. If a template cannot be parsed it adds a fault and returns none. */
function references(config: unknown, param: string, faults: Faults): readonly PlacedReference[] {
  try {
    return referencesOf(config);
  } catch (error) {
    if (!(error instanceof TemplateFault)) throw error;
    faults.add(`${param}.config.${error.at.slice(0, 255)}`, error.code, `${error.message}.`);
    return [];
  }
}

/** Returns why an action cannot read a path, as a sentence without its subject; undefined if it can. */
function pathFault(path: readonly string[], around: Surroundings, mayHaveSecrets: boolean): string | undefined {
  const [root, name = '', field = ''] = path;
  if (root === 'trigger') return undefined;
  if (root === 'steps') {
    if (!around.earlier.has(name)) return `names ${name || 'no action'}, which is not an earlier action.`;
    return STEP_FIELDS.has(field)
      ? undefined
      : `reads of an action what it does not have: output, status and error are there.`;
  }
  if (root !== 'secrets') return 'must begin with trigger, steps or secrets.';
  if (!mayHaveSecrets) return 'is a secret, which only the url, the headers and the body of an http_request can have.';
  if (path.length !== 2) return 'must be secrets. and a name.';
  return around.secrets.some((secret) => secret.name === name)
    ? undefined
    : `names ${name}, which is not a secret of the automation.`;
}

/**
 * Returns why the conditions of an automation cannot read a path, as a sentence without its subject; undefined if they
 * can.
 */
export function conditionPathFault(path: readonly string[]): string | undefined {
  return path[0] === 'trigger' ? undefined : 'must begin with trigger: no action has run before the conditions.';
}

/** Returns the names of the secrets that an action uses. */
export function secretsOf({ type, config }: StoredAction): Set<string> {
  if (type !== 'http_request') return new Set();
  const used = referencesOf(config).flatMap(({ reference: { path } }) =>
    path[0] === 'secrets' ? (path[1] ?? []) : [],
  );
  return new Set([...used, ...(typeof config.sign_with === 'string' ? [config.sign_with] : [])]);
}

function checkRequest(
  config: StoredAction['config'],
  param: string,
  { guard, secrets }: Surroundings,
  faults: Faults,
): void {
  const { sign_with: signWith, url } = config;
  if (typeof signWith === 'string') {
    const secret = secrets.find(({ name }) => name === signWith);
    if (secret === undefined)
      faults.add(`${param}.sign_with`, 'invalid_value', 'is the name of no secret of the automation.');
    else if (secret.value !== undefined && !isWebhookSecret(secret.value)) {
      faults.add(
        `${param}.sign_with`,
        'invalid_value',
        'names a secret that is not whsec_ and 24 to 64 bytes in base64.',
      );
    }
  }
  if (typeof url === 'string' && extendsHost(url)) {
    faults.add(
      `${param}.url`,
      'invalid_value',
      'has a template directly behind the host, whose value would be part of it. Write / before it.',
    );
  }
  const literal = typeof url === 'string' ? literalUrl(url) : undefined;
  if (literal === undefined) return;
  const host = checkUrl(guard, literal, `${param}.url`, faults);
  if (host === undefined) return;
  for (const name of usedIn(config)) {
    const allowed = secrets.find((secret) => secret.name === name)?.allowedHosts;
    if (allowed !== undefined && !isAllowedHost(host, allowed)) {
      faults.add(
        `${param}.url`,
        'invalid_value',
        `leads to ${host}, which is not among the allowed_hosts of the secret ${name}.`,
      );
    }
  }
}

function usedIn(config: StoredAction['config']): Set<string> {
  try {
    return secretsOf({ id: '', type: 'http_request', config, onError: 'stop' });
  } catch (error) {
    // `checkTemplates` reports this fault.
    if (error instanceof TemplateFault) return new Set();
    throw error;
  }
}

const ENDS_IN_HOST = /^[a-z][a-z0-9+.-]*:\/\/(?:[^/?#\\]*@)?[^/?#\\@:]*[\p{L}\p{N}]$/iu;

/**
 * Returns whether a host is written out and a template follows it where it ends: in `https://api.example.com{{path}}` the
 * value `.example.net` would name another host. Secrets are for their allowed hosts only.
 */
function extendsHost(url: string): boolean {
  try {
    const parts = parseTemplate(url);
    const at = parts.findIndex((part) => typeof part !== 'string');
    const reference = parts[at];
    if (reference === undefined || typeof reference === 'string' || reference.path[0] === 'secrets') return false;
    const next = parts.slice(at).find((part) => typeof part === 'string');
    return ENDS_IN_HOST.test(parts.slice(0, at).join('')) && (next === undefined || /^[/?#\\:]/.test(next));
  } catch (error) {
    // `checkTemplates` reports this fault.
    if (error instanceof SyntaxFault) return false;
    throw error;
  }
}

/** Returns a URL with its templates replaced by a letter; undefined if a template determines the host. */
function literalUrl(url: string): string | undefined {
  try {
    const parts = parseTemplate(url);
    const [first] = parts;
    const text = parts.map((part) => (typeof part === 'string' ? part : 'x')).join('');
    const isFixed =
      parts.length === 1 || (typeof first === 'string' && /^[a-z][a-z0-9+.-]*:\/\/[^/?#\\]+[/?#]/i.test(first));
    return typeof first === 'string' && isFixed ? text : undefined;
  } catch {
    return undefined;
  }
}

function checkUrl(guard: Guard, url: string, param: string, faults: Faults): string | undefined {
  try {
    return guard.check(url).hostname;
  } catch (error) {
    if (!(error instanceof UrlNotAllowed)) throw error;
    return faults.add(param, 'url_not_allowed', `must not be called. ${error.message}`);
  }
}
