import { randomInt } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Tally } from '../soak/tally.js';
import { LOST } from './check.js';
import { createDisk, type Disk } from './disk.js';
import { writeImage, writeWhole } from './image.js';
import { type Recording, recordLoad } from './load.js';
import { createRandom } from './random.js';
import type { Entry } from './recording.js';
import { openRecovery } from './recovery.js';
import { serveImage } from './serve.js';

/**
 * Returns the duration of the load in milliseconds for a number of images. It is long enough for checkpoints and for
 * cuts at different states.
 */
const loadMs = (images: number) => (images >= 100 ? 30_000 : 5000);
/** Number of images from a run without syncs at commit. */
const UNSYNCED_IMAGES = 20;
/** Every how many images one is also served by a complete system. */
const SERVED = 25;
/**
 * Percentage of cuts directly after an answer, because a write that has just been acknowledged is the most likely one
 * to be lost.
 */
const BEHIND_ANSWERS = 60;
const LINES = 20;

/**
 * Simulates power cuts of the embedded system. It records the operations on its data folder under load and replays them
 * up to arbitrary moments, with unsynced changes lost, kept or torn. Each image is opened and compared with what was
 * acknowledged before the cut. As a control, a run without syncs at commit must be found faulty.
 */
export async function soakPower(
  images: number,
  folder: string,
  tally: Tally,
  seed = randomInt(2 ** 31),
): Promise<void> {
  if (process.platform !== 'linux') {
    console.log('skipped: power cuts are recorded on Linux alone');
    return;
  }
  console.log(`power cuts: ${images} images, seed ${seed}`);
  const synced = await record(join(folder, 'synced'), images, {});
  tally.check('the recording has all that was written', sameFolders(synced));
  const { bad, served, faults } = await cutMany(images, seed, synced, join(folder, 'synced'));
  tally.check('every write that was acknowledged before a power cut is there, and no file is torn', faults);
  console.log(`${images} power cuts: ${bad} images with faults; ${served} were served by a whole system as well`);

  const unsynced = await record(join(folder, 'unsynced'), UNSYNCED_IMAGES, UNSYNCED);
  const lost = await cutMany(UNSYNCED_IMAGES, seed, unsynced, join(folder, 'unsynced'), { serve: false });
  const found = lost.faults.some((fault) => fault.includes(LOST))
    ? []
    : [`no image of ${UNSYNCED_IMAGES} lacks a write`];
  tally.check('without syncs at commit writes are lost, and that is found', found);
  console.log(`with synchronous=NORMAL ${lost.bad} of ${UNSYNCED_IMAGES} images lack what was acknowledged`);
}

const UNSYNCED = { NODE_OPTIONS: `--import=${fileURLToPath(new URL('./unsynced.js', import.meta.url))}` };

async function record(folder: string, images: number, settings: Readonly<Record<string, string>>): Promise<Recording> {
  mkdirSync(folder, { recursive: true });
  const recording = await recordLoad(folder, loadMs(images), settings);
  const { entries, history } = recording;
  const count = (kind: Entry['kind']) => entries.filter((entry) => entry.kind === kind).length;
  const writes = history.documents.reduce((sum, { length }) => sum + length, 0);
  console.log(
    `recorded ${writes} writes to ${history.documents.length} documents, ${history.uploads.length} uploads: ` +
      `${count('write')} writes to files, ${count('sync')} syncs, ${count('answer')} answers`,
  );
  return recording;
}

/** Returns the differences between the replay of a complete recording and the recorded folder. */
function sameFolders({ home, entries }: Recording): string[] {
  const target = imagesFolder();
  const disk = createDisk(home);
  for (const entry of entries) disk.apply(entry);
  try {
    writeWhole(disk, target);
    const [there, replayed] = [filesBelow(home), filesBelow(target)];
    return [...new Set([...there.keys(), ...replayed.keys()])]
      .filter((name) => !(there.get(name) ?? EMPTY).equals(replayed.get(name) ?? EMPTY))
      .map((name) => `${name} is not what was recorded`);
  } finally {
    rmSync(target, { recursive: true, force: true });
  }
}

const EMPTY = Buffer.alloc(0);

function filesBelow(folder: string): Map<string, Buffer> {
  const files = readdirSync(folder, { withFileTypes: true, recursive: true }).filter((entry) => entry.isFile());
  return new Map(
    files
      .map(({ parentPath, name }) => join(parentPath, name))
      .filter((path) => !path.endsWith('-shm'))
      .map((path) => [path.slice(folder.length), readFileSync(path)]),
  );
}

interface Outcome {
  readonly bad: number;
  readonly served: number;
  readonly faults: readonly string[];
}

async function cutMany(
  images: number,
  seed: number,
  { home, entries, history }: Recording,
  folder: string,
  { serve = true } = {},
): Promise<Outcome> {
  const historyFile = join(folder, 'history.json');
  writeFileSync(historyFile, JSON.stringify(history));
  const recovery = openRecovery(historyFile);
  const faults: string[] = [];
  let [bad, served] = [0, 0];
  const disk = createDisk(home);
  try {
    let done = 0;
    for (const [i, place] of placesOf(images, seed, entries).entries()) {
      for (; done < place; done++) disk.apply(entries[done] as Entry);
      const target = cutAt(disk, seed + i);
      const found = await recovery.check(target, place);
      if (serve && found.length === 0 && i % SERVED === SERVED - 1) {
        served++;
        found.push(...(await serveImage(target, place, history)));
      }
      if (found.length > 0) {
        bad++;
        faults.push(`image ${seed + i}, cut at ${place} of ${entries.length}: ${found.slice(0, 3).join('; ')}`);
      }
      rmSync(target, { recursive: true, force: true });
      if ((i + 1) % Math.ceil(images / LINES) === 0) console.log(`image ${i + 1}/${images}: ${bad} with faults`);
    }
    return { bad, served, faults };
  } finally {
    recovery.close();
  }
}

/** Returns the places to cut at in ascending order. */
function placesOf(images: number, seed: number, entries: readonly Entry[]): number[] {
  const random = createRandom(seed);
  const answers = entries.flatMap(({ kind }, place) => (kind === 'answer' ? [place] : []));
  const place = () => {
    if (random.chance(BEHIND_ANSWERS)) return random.pick(answers) + 1 + random.below(3);
    return random.below(entries.length + 1);
  };
  return Array.from({ length: images }, () => Math.min(entries.length, place())).sort((a, b) => a - b);
}

function cutAt(disk: Disk, seed: number): string {
  const target = imagesFolder();
  writeImage(disk, target, createRandom(seed));
  return target;
}

/** Creates a folder for short-lived images, in memory if possible, because there are many. */
function imagesFolder(): string {
  return mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'commonplace-power-'));
}
