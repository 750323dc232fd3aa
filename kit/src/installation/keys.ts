import { createHmac } from 'node:crypto';
import { ConfigError, type Table } from '../config/index.js';
import type { Installation, InstallationRecords } from './port.js';

/** Keys that encrypt records, by the name of their setting; the current key comes first. */
export type SealingKeys = ReadonlyMap<string, readonly Buffer[]>;

/** Key files in a data folder, by the setting that may be given in their place. */
export const KEY_FILES = { COMMONPLACE_SECRET_KEY: 'secret.key', COMMONPLACE_SECRETS_KEY: 'secrets.key' } as const;

/** Reads the keys from those settings of the tables that encrypt records. */
export function sealingKeys(tables: readonly Table[], env: NodeJS.ProcessEnv): SealingKeys {
  const keys = new Map<string, readonly Buffer[]>();
  for (const { variable, parse, seals } of tables.flatMap((table) => Object.values(table))) {
    const text = env[variable];
    if (seals === true && text !== undefined && text !== '') keys.set(variable, parse(text) as Buffer[]);
  }
  return keys;
}

/** Returns an identifier of a key that reveals nothing about it and differs between installations. */
function keyFingerprint(key: Buffer, installationId: string): string {
  return createHmac('sha256', key).update(`commonplace/key-fingerprint/${installationId}`).digest('hex').slice(0, 24);
}

/** Returns the settings of which no key was used to encrypt the records. */
export function strangeKeys({ installationId, keys: sealed }: Installation, given: SealingKeys): string[] {
  return [...given].flatMap(([variable, keys]) => {
    const before = sealed[variable];
    const same = before?.some((one) => keys.some((key) => keyFingerprint(key, installationId) === one));
    return before === undefined || same ? [] : [variable];
  });
}

/**
 * Compares the keys of this start with those that encrypted the records, and records them. At least one earlier key
 * must be among them, so that a rotation is possible. Throws ConfigError; `nameOf` returns the name of a key for the
 * message.
 */
export async function requireKeys(
  records: InstallationRecords,
  given: SealingKeys,
  { adopt, nameOf }: { readonly adopt: boolean; readonly nameOf: (variable: string) => string },
): Promise<void> {
  const known = await records.read();
  if (known === undefined) throw new Error(`${records.place} belongs to no installation yet`);
  const strange = adopt ? [] : strangeKeys(known, given);
  if (strange.length > 0) {
    throw new ConfigError(
      strange.map(
        (variable) =>
          `${nameOf(variable)} is not the key that ${records.place} was sealed with: put that key back, from a backup or ` +
          'from where you keep secrets; to go on without it, which ends all that hangs on it, start once with COMMONPLACE_ADOPT=keys',
      ),
    );
  }
  const fingerprints = (before: Installation): Record<string, readonly string[]> =>
    Object.fromEntries(
      [...given].map(([variable, keys]) => [variable, keys.map((key) => keyFingerprint(key, before.installationId))]),
    );
  const now = fingerprints(known);
  if (Object.entries(now).every(([variable, list]) => list.join() === known.keys[variable]?.join())) return;
  await records.update((before) => ({ ...before, keys: { ...before.keys, ...fingerprints(before) } }));
}
