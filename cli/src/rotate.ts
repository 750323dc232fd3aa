import { randomBytes } from 'node:crypto';
import { readFile, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { rewrapMcpSecrets } from '@commonplace/agents/secrets';
import { rewrapAutomationSecrets } from '@commonplace/automations/secrets';
import { type InstallationRecords, strangeKeys } from '@commonplace/kit/installation';
import { silentLog } from '@commonplace/kit/log';
import { createEnvelope, parseMasterKeys, SECRETS_KEY } from '@commonplace/kit/secrets';
import { openStoreBeside, type RecordPlaces } from '@commonplace/platform/runtime';
import { rewrapFormSecrets } from '@commonplace/resources/secrets';
import { rewrapSecrets } from '@commonplace/tenancy/secrets';
import { once, syncFolder, writeDurable } from './backup/files.js';
import { CommandError, EXIT } from './exit.js';
import type { Progress } from './progress.js';

/** The state of rotating the master key of users' secrets. */
export interface Rotation {
  /**
   * `added`: a new key was written, and a restart has to load it. `done`: everything is encrypted with the current key.
   */
  readonly stage: 'added' | 'done';
  readonly rewrapped: number;
  /** Ids of records whose secret no key can decrypt. As long as there are any, no key is removed. */
  readonly unreadable: readonly string[];
  /** Number of keys that are no longer needed. */
  readonly spareKeys: number;
}

interface RotateOptions {
  readonly places: RecordPlaces;
  /** Value of `COMMONPLACE_SECRETS_KEY`; undefined if the key is in the data folder. */
  readonly setting: string | undefined;
}

const FILE = 'secrets.key';
/** File with the keys that the last rotation removed. The next rotation replaces it. */
const FORMER_FILE = 'secrets.key.former';

/**
 * Performs the next step of a rotation. With a single key, it puts a new one before it in the data folder. With
 * several, it re-encrypts every secret with the first and removes the others. An interrupted step can be repeated.
 */
export async function rotateSecrets({ places, setting }: RotateOptions, progress: Progress): Promise<Rotation> {
  const file = join(places.dataDir, FILE);
  const text = setting ?? (await readFile(file, 'utf8').catch(() => undefined))?.trim();
  if (text === undefined) throw new CommandError(EXIT.missing, `there is no ${FILE} in ${places.dataDir}`);
  const keys = text.split(',').map((key) => key.trim());
  if (keys.length === 1) {
    if (setting !== undefined) throw new CommandError(EXIT.config, NO_KEY_SETTING);
    await replace(file, `${randomBytes(32).toString('base64')},${text}\n`);
    return { stage: 'added', rewrapped: 0, unreadable: [], spareKeys: 0 };
  }
  const { rewrapped, unreadable } = await rewrapAll(places, text, progress);
  const spareKeys = unreadable.length === 0 ? keys.length - 1 : 0;
  if (setting === undefined && spareKeys > 0) {
    await replace(join(places.dataDir, FORMER_FILE), `${keys.slice(1).join(',')}\n`);
    await replace(file, `${keys[0]}\n`);
  }
  return { stage: 'done', rewrapped, unreadable, spareKeys };
}

const NO_KEY_SETTING =
  'COMMONPLACE_SECRETS_KEY contains only one key: put a new one (openssl rand -hex 32) and a comma before it, restart the ' +
  'services that read it, and run this command again';

async function rewrapAll(places: RotateOptions['places'], text: string, progress: Progress) {
  const masterKeys = parseMasterKeys(text);
  const envelope = createEnvelope(masterKeys);
  const sum = { rewrapped: 0, unreadable: [] as string[] };
  progress.step('Putting secrets under the current key');
  try {
    for (const [service, rewrap] of REENCRYPTIONS) {
      const beside = await openStoreBeside(places, service);
      if (beside === undefined) continue;
      try {
        await requireStarted(beside.installation, masterKeys[0] as Buffer);
        const parts = { store: beside.store, envelope, masterKeys, log: silentLog };
        const done = await repeatUntilUnchanged(() => rewrap(parts, () => progress.add(1)));
        sum.rewrapped += done.rewrapped;
        sum.unreadable.push(...done.unreadable);
      } finally {
        await beside.close();
      }
    }
    return sum;
  } finally {
    progress.end();
  }
}

/**
 * Throws if the last start was without the new key: that process could not decrypt what is encrypted with it, and without
 * the old key none would start.
 */
async function requireStarted(records: InstallationRecords, key: Buffer): Promise<void> {
  const known = await records.read();
  if (known !== undefined && strangeKeys(known, new Map([[SECRETS_KEY.variable, [key]]])).length > 0)
    throw new CommandError(EXIT.failed, NOT_STARTED);
}

const NOT_STARTED =
  'the system has not started with the new key yet: restart it (in a mesh: tenancy, resources, agents and automations), ' +
  'and run this command again';

/** Services that store secrets of users, with their re-encryption functions. */
const REENCRYPTIONS = [
  ['tenancy', rewrapSecrets],
  ['resources', rewrapFormSecrets],
  ['agents', rewrapMcpSecrets],
  ['automations', rewrapAutomationSecrets],
] as const;

interface Pass {
  readonly rewrapped: number;
  readonly unreadable: readonly string[];
}

/**
 * Repeats a pass until it changes nothing, because secrets written meanwhile may have been encrypted with an older key.
 */
async function repeatUntilUnchanged(pass: () => Promise<Pass>): Promise<Pass> {
  for (let rewrapped = 0; ; ) {
    const done = await pass();
    rewrapped += done.rewrapped;
    if (done.rewrapped === 0) return { rewrapped, unreadable: done.unreadable };
  }
}

/** Replaces a file atomically. A crash leaves either the old file or the new one. */
async function replace(file: string, text: string): Promise<void> {
  const part = `${file}.${randomBytes(6).toString('hex')}`;
  await writeDurable(part, once(text));
  await rename(part, file);
  await syncFolder(dirname(file));
}
