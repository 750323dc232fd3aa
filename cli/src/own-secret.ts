import { config as identityConfig } from '@commonplace/identity/config';
import { type InstallationRecords, strangeKeys } from '@commonplace/kit/installation';
import { CommandError, EXIT } from './exit.js';

/**
 * Throws if none of the secrets is one that the system has started with: it would refuse every key and link that a
 * command derives from them.
 */
export async function requireOwnSecret(records: InstallationRecords, secrets: readonly Buffer[]): Promise<void> {
  const { variable } = identityConfig.secrets;
  const known = await records.read();
  if (known === undefined || strangeKeys(known, new Map([[variable, secrets]])).length === 0) return;
  throw new CommandError(
    EXIT.config,
    `${variable}, or secret.key in the data folder, is not the key of this database: use the one that the system runs with`,
  );
}
