import { randomBytes } from 'node:crypto';
import { readFile, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { silentLog } from '@commonplace/kit/log';
import { openStoreBeside, type RecordPlaces } from '@commonplace/kit/runtime';
import { createEnvelope, parseMasterKeys } from '@commonplace/kit/secrets';
import { rewrapFormSecrets } from '@commonplace/resources/secrets';
import { rewrapSecrets } from '@commonplace/tenancy/secrets';
import { once, syncFolder, writeDurable } from './backup/files.js';
import { CommandError, EXIT } from './exit.js';
import type { Progress } from './progress.js';

/** Where a rotation of the master key of users' secrets is. */
export interface Rotation {
  /** `added`: a new key is there, to be read by a restart. `done`: everything is under the current key. */
  readonly stage: 'added' | 'done';
  readonly rewrapped: number;
  /** Records whose secret no key opens. While there are any, no key is taken out. */
  readonly unreadable: readonly string[];
  /** Keys that nothing needs any more. */
  readonly spareKeys: number;
}

export interface RotateOptions {
  readonly places: RecordPlaces;
  /** `COMMONPLACE_SECRETS_KEY`; absent where the key lies in the data folder. */
  readonly setting: string | undefined;
}

const FILE = 'secrets.key';
/** What the last rotation has taken out, until the next. */
const FORMER_FILE = 'secrets.key.former';

/**
 * Takes the next step of a rotation: puts a new key before the one in the data folder; or, where there are several keys,
 * puts every secret under the first and takes the others out. Each step can be cut off and begun again.
 */
export async function rotateSecrets({ places, setting }: RotateOptions, progress: Progress): Promise<Rotation> {
  const file = join(places.dataDir, FILE);
  const text = setting ?? (await readFile(file, 'utf8').catch(() => undefined))?.trim();
  if (text === undefined) throw new CommandError(EXIT.missing, `there is no ${FILE} in ${places.dataDir}`);
  const keys = text.split(',').map((key) => key.trim());
  if (keys.length === 1) {
    if (setting !== undefined) throw new CommandError(EXIT.config, PUT_A_KEY);
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

const PUT_A_KEY =
  'COMMONPLACE_SECRETS_KEY holds one key: put a new one (openssl rand -hex 32) and a comma before it, restart what reads ' +
  'it, and run this again';

async function rewrapAll(places: RotateOptions['places'], text: string, progress: Progress) {
  const masterKeys = parseMasterKeys(text);
  const envelope = createEnvelope(masterKeys);
  const sum = { rewrapped: 0, unreadable: [] as string[] };
  progress.step('Putting secrets under the current key');
  try {
    for (const [service, rewrap] of KEEPERS) {
      const beside = await openStoreBeside(places, service);
      if (beside === undefined) continue;
      try {
        const parts = { store: beside.store, envelope, masterKeys, log: silentLog };
        const done = await untilSettled(() => rewrap(parts, () => progress.add(1)));
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

/** The services that keep secrets of users, and how theirs are put under another key. */
const KEEPERS = [
  ['tenancy', rewrapSecrets],
  ['resources', rewrapFormSecrets],
] as const;

interface Pass {
  readonly rewrapped: number;
  readonly unreadable: readonly string[];
}

/** Once more as long as something was found: what was changed meanwhile may have been sealed by an older key. */
async function untilSettled(pass: () => Promise<Pass>): Promise<Pass> {
  for (let rewrapped = 0; ; ) {
    const done = await pass();
    rewrapped += done.rewrapped;
    if (done.rewrapped === 0) return { rewrapped, unreadable: done.unreadable };
  }
}

/** Replaces a file, so that a crash leaves the one or the other. */
async function replace(file: string, text: string): Promise<void> {
  const part = `${file}.${randomBytes(6).toString('hex')}`;
  await writeDurable(part, once(text));
  await rename(part, file);
  await syncFolder(dirname(file));
}
