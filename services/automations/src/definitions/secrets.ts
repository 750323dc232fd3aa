import type { Faults } from '@commonplace/kit/errors';
import type { Envelope, SecretOwner } from '@commonplace/kit/secrets';
import type { AutomationSecretInput } from '@commonplace/proto/automations/v1/automation_service.js';
import { readHostPattern } from '../domain/hosts.js';
import type { StoredSecret } from './records.js';

type Owner = { readonly id: string; readonly tenant: string };

/**
 * Returns what an encrypted value is bound to, the automation and the place in it, so that it cannot be moved
 * elsewhere. Names of secrets contain no hyphen, so that they never equal the names of the webhook's token and secret.
 */
export const secretOwner = ({ id, tenant }: Owner, name: string): SecretOwner => ({
  tenant,
  record: `${id}:${name}`,
});
export const hookTokenOwner = ({ id, tenant }: Owner): SecretOwner => ({ tenant, record: `${id}:hook-token` });
export const hookSecretOwner = ({ id, tenant }: Owner): SecretOwner => ({ tenant, record: `${id}:hook-secret` });

/** Decrypts a secret of an automation. Throws `SecretUnreadable`. */
export function openSecret(envelope: Envelope, automation: Owner, { name, sealed }: StoredSecret): string {
  return envelope.open(sealed, secretOwner(automation, name));
}

/** A secret in a request. `value` is absent if the stored one is kept. */
export interface GivenSecret {
  readonly name: string;
  readonly value?: string | undefined;
  readonly allowedHosts: readonly string[];
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Reads the secrets of a request. A value is required for each secret that `before` does not contain. */
export function readSecrets(
  given: readonly AutomationSecretInput[],
  before: readonly StoredSecret[],
  faults: Faults,
): GivenSecret[] {
  const names = new Set<string>();
  return given.map(({ name, value, allowedHosts }, index) => {
    const param = `secrets[${index}]`;
    if (!NAME.test(name))
      faults.add(`${param}.name`, 'invalid_value', 'must have letters, digits and _ only, and no digit first.');
    if (names.has(name)) faults.add(`${param}.name`, 'invalid_value', 'occurs twice.');
    names.add(name);
    if (value === undefined && !before.some((one) => one.name === name)) {
      faults.add(`${param}.value`, 'missing_field', 'is required.');
    }
    if (allowedHosts.length === 0) {
      faults.add(`${param}.allowed_hosts`, 'missing_field', 'is required: the hosts to which the secret may be sent.');
    }
    return {
      name,
      value,
      allowedHosts: allowedHosts.map((host, at) => readHost(host, `${param}.allowed_hosts[${at}]`, faults)),
    };
  });
}

function readHost(host: string, param: string, faults: Faults): string {
  const read = readHostPattern(host);
  if (read === undefined)
    faults.add(param, 'invalid_value', 'must be a host such as api.example.com, or *.example.com.');
  return read ?? '';
}
