import { accessSync, constants } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { ConfigError, type Values } from '@commonplace/kit/config';
import { makeFolder, writeSmallFile } from '@commonplace/kit/durable';
import type { BootstrapResponse } from '@commonplace/proto/identity/v1/auth_service.js';
import type { welcomeConfig } from './welcome-config.js';

/**
 * The places to which the first start writes the owner's password and key: never a log, since logs are kept and
 * collected.
 */
interface Disclosure {
  /** Whether standard output is a terminal. */
  readonly prints: boolean;
  /** Path of a file that only its owner may read. */
  readonly file: string | undefined;
}

type Settings = Pick<Values<typeof welcomeConfig>, 'bootstrapJson' | 'ownerPassword'>;

/**
 * Chooses the terminal, the file of the settings, or a file in the data folder. If the operator has set the
 * password and neither of the first two is available, nothing has to be written and no key is created. Throws
 * ConfigError if the file cannot be written, since generated credentials would be lost.
 */
export function disclosureOf(
  { bootstrapJson, ownerPassword }: Settings,
  dataDir: string,
  prints = process.stdout.isTTY === true,
): Disclosure {
  const fallback = prints || ownerPassword !== undefined ? undefined : join(dataDir, 'bootstrap.json');
  const file = bootstrapJson ?? fallback;
  if (file !== undefined) requireWritable(file);
  return { prints, file };
}

function requireWritable(file: string): void {
  const folder = dirname(resolve(file));
  try {
    makeFolder(folder);
    accessSync(folder, constants.W_OK);
  } catch (error) {
    throw new ConfigError([
      `the sign-in of the first owner can't be written to ${file}: ${(error as Error).message}; ` +
        'set COMMONPLACE_OWNER_PASSWORD, or COMMONPLACE_BOOTSTRAP_JSON to a file that can be written',
    ]);
  }
}

/** Writes the generated credentials once, to the file and the terminal. */
export function disclose(made: BootstrapResponse, publicUrl: string, { prints, file }: Disclosure): void {
  const { user, password, apiKey } = made;
  const email = user?.email ?? '';
  if (file !== undefined) {
    const facts = { base_url: publicUrl, api_key: apiKey, email, password };
    writeSmallFile(file, `${JSON.stringify(facts, null, 2)}\n`);
  }
  console.log(`Sign in      ${publicUrl}/auth/sign-in   ${email}${prints && password !== '' ? `   ${password}` : ''}`);
  if (prints && apiKey !== '') console.log(`API key      ${apiKey}`);
  if (prints) console.log('The password and the key are shown this once.');
  else if (file !== undefined) console.log(`The password and the first API key are in ${resolve(file)}.`);
  else console.log('The password is the one that COMMONPLACE_OWNER_PASSWORD held at this start. No API key was made.');
}
