import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  addNaming,
  applyChange,
  type Bytes,
  type Change,
  type Disk,
  type FileNode,
  type FolderNode,
  isFolder,
  type Naming,
  type Node,
  setName,
} from './disk.js';
import type { Random } from './random.js';

/** Outcomes of unsynced changes after a power cut. */
const FATES = ['lost', 'kept', 'first', 'whole', 'torn'] as const;
type Fate = (typeof FATES)[number];

/** Bytes that disks write atomically: a sector and, below, a page. */
const SECTOR = 512;
const PAGE = 4096;

/** Matches shared-memory files, which are recreated by whoever opens the database first and are not durable. */
const MADE_ANEW = /-shm$/;

/**
 * Writes into `target` what a disk may hold after a power cut now. Each file gets a random outcome: its unsynced
 * changes are lost, kept, kept up to one that is torn, kept or lost one by one, or kept or lost by sector or page.
 * Names likewise.
 */
export function writeImage(disk: Disk, target: string, random: Random): void {
  const names = namesAfter(disk, random);
  writeFolder(
    disk.root,
    target,
    (folder) => names.get(folder) ?? folder.durable,
    (file) => bytesAfter(file, random),
  );
}

/** Writes what a disk holds if nothing is lost: what the processes that wrote it see. */
export function writeWhole(disk: Disk, target: string): void {
  writeFolder(
    disk.root,
    target,
    (folder) => folder.now,
    (file) => {
      const bytes = file.bytes.copy();
      for (const change of file.pending) applyChange(bytes, change);
      return bytes;
    },
  );
}

type Names = ReadonlyMap<string, Node>;

function writeFolder(
  folder: FolderNode,
  target: string,
  namesOf: (folder: FolderNode) => Names,
  bytesOf: (file: FileNode) => Bytes,
): void {
  mkdirSync(target, { recursive: true });
  for (const [name, node] of namesOf(folder)) {
    if (isFolder(node)) writeFolder(node, join(target, name), namesOf, bytesOf);
    else if (!MADE_ANEW.test(name)) writeFileSync(join(target, name), bytesOf(node).view());
  }
}

function namesAfter(disk: Disk, random: Random): Map<FolderNode, Map<string, Node>> {
  const kept = new Set<Naming>();
  for (const naming of keptOf(disk.namings, random)) addNaming(kept, naming, disk.namings);
  const names = new Map<FolderNode, Map<string, Node>>();
  for (const naming of disk.namings) {
    if (!kept.has(naming)) continue;
    for (const { folder, name, node } of naming.slots) {
      const of = names.get(folder) ?? new Map(folder.durable);
      names.set(folder, of);
      setName(of, name, node);
    }
  }
  return names;
}

function keptOf<T>(items: readonly T[], random: Random): readonly T[] {
  const fate = random.pick(FATES);
  if (fate === 'lost') return [];
  if (fate === 'kept') return items;
  if (fate === 'first') return items.slice(0, random.below(items.length + 1));
  return items.filter(() => random.chance(50));
}

function bytesAfter({ bytes, pending }: FileNode, random: Random): Bytes {
  const fate: Fate = random.pick(FATES);
  if (pending.length === 0 || fate === 'lost') return bytes;
  const after = bytes.copy();
  const whole = fate === 'first' ? random.below(pending.length) : fate === 'kept' ? pending.length : 0;
  for (const change of pending.slice(0, whole)) applyChange(after, change);
  if (fate === 'first') tear(after, pending[whole] as Change, random, SECTOR, 50);
  if (fate === 'whole') for (const change of pending) if (random.chance(50)) applyChange(after, change);
  if (fate === 'torn') {
    const [unit, percent] = [random.pick([SECTOR, PAGE]), random.pick([10, 50, 90])];
    for (const change of pending) tear(after, change, random, unit, percent);
  }
  return after;
}

/** Applies a change in units of `unit` bytes, each with a probability of `percent`. */
function tear(bytes: Bytes, change: Change, random: Random, unit: number, percent: number): void {
  if ('size' in change) {
    if (random.chance(percent)) applyChange(bytes, change);
    return;
  }
  const { at, data } = change;
  for (let from = 0; from < data.length; ) {
    const to = Math.min(data.length, from + unit - ((at + from) % unit));
    if (random.chance(percent)) bytes.write(at + from, data.subarray(from, to));
    from = to;
  }
}
