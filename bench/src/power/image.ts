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

/** Possible outcomes of unsynced changes after a power cut. */
const OUTCOMES = ['lost', 'kept', 'first', 'whole', 'torn'] as const;
type Outcome = (typeof OUTCOMES)[number];

/** Sizes in bytes of units that disks write atomically: a sector and, below, a page. */
const SECTOR = 512;
const PAGE = 4096;

/** Matches shared-memory files. They are not durable, and the first process that opens the database recreates them. */
const SHARED_MEMORY = /-shm$/;

/**
 * Writes a possible state of the disk after a power cut to `target`. Each file gets a random outcome: all its unsynced
 * changes are lost, all are kept, those up to a torn one are kept, each is kept or lost as a whole, or each is kept or
 * lost by sector or page. Names get outcomes in the same way.
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

/** Writes the state of the disk without any loss, which is what the recorded processes see. */
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
    else if (!SHARED_MEMORY.test(name)) writeFileSync(join(target, name), bytesOf(node).view());
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
  const outcome = random.pick(OUTCOMES);
  if (outcome === 'lost') return [];
  if (outcome === 'kept') return items;
  if (outcome === 'first') return items.slice(0, random.below(items.length + 1));
  return items.filter(() => random.chance(50));
}

function bytesAfter({ bytes, pending }: FileNode, random: Random): Bytes {
  const outcome: Outcome = random.pick(OUTCOMES);
  if (pending.length === 0 || outcome === 'lost') return bytes;
  const after = bytes.copy();
  const whole = outcome === 'first' ? random.below(pending.length) : outcome === 'kept' ? pending.length : 0;
  for (const change of pending.slice(0, whole)) applyChange(after, change);
  if (outcome === 'first') tear(after, pending[whole] as Change, random, SECTOR, 50);
  if (outcome === 'whole') for (const change of pending) if (random.chance(50)) applyChange(after, change);
  if (outcome === 'torn') {
    const [unit, percent] = [random.pick([SECTOR, PAGE]), random.pick([10, 50, 90])];
    for (const change of pending) tear(after, change, random, unit, percent);
  }
  return after;
}

/** Applies each unit of `unit` bytes of a change with a probability of `percent`. */
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
