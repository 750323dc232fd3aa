import { basename, dirname } from 'node:path';
import type { Entry } from './recording.js';

/** A write, or a new length, of a file that is not synced yet. */
export type Change = { readonly at: number; readonly data: Buffer } | { readonly size: number };

export interface FileNode {
  /** The durable content. */
  readonly bytes: Bytes;
  /** Changes since the last sync in order. */
  readonly pending: Change[];
  /** Number of changes that are durable. */
  settled: number;
}

export interface FolderNode {
  /** Names as the process sees them. */
  readonly now: Map<string, Node>;
  /** Names that are durable. */
  readonly durable: Map<string, Node>;
}

export type Node = FileNode | FolderNode;

/** Names that appear or disappear together. */
export interface Naming {
  readonly number: number;
  readonly slots: readonly { readonly folder: FolderNode; readonly name: string; readonly node: Node | undefined }[];
}

/**
 * Models a disk: the synced and unsynced changes of each file, and for each folder the names that a sync has made
 * durable and those that are not durable yet. A sync of a file does not make its name durable. A rename becomes durable
 * atomically, with a sync of either folder.
 */
export interface Disk {
  readonly root: FolderNode;
  readonly namings: readonly Naming[];
  apply(entry: Entry): void;
}

const CREATE = 0o100;
const TRUNCATE = 0o1000;

export function isFolder(node: Node): node is FolderNode {
  return 'durable' in node;
}

/** Creates the disk of a recording. Its root is empty at first. */
export function createDisk(rootPath: string): Disk {
  const root: FolderNode = { now: new Map(), durable: new Map() };
  const open = new Map<string, Node>();
  const syncs = new Map<string, () => void>();
  let namings: Naming[] = [];
  let last = 0;

  function placeOf(path: string): { folder: FolderNode; name: string } {
    let folder = root;
    for (const name of dirname(path).slice(rootPath.length).split('/').filter(Boolean)) {
      const next = folder.now.get(name);
      if (next === undefined || !isFolder(next)) throw new Error(`${path} is in no folder that is known`);
      folder = next;
    }
    return { folder, name: basename(path) };
  }

  function nodeAt(path: string): Node | undefined {
    if (path === rootPath) return root;
    const { folder, name } = placeOf(path);
    return folder.now.get(name);
  }

  function rename(slots: Naming['slots']): void {
    for (const { folder, name, node } of slots) setName(folder.now, name, node);
    namings.push({ number: last++, slots });
  }

  function openAt(path: string, flags: number): Node {
    const found = nodeAt(path);
    if (found === undefined) {
      if ((flags & CREATE) === 0) throw new Error(`${path} is opened, and nobody has made it`);
      const made: FileNode = { bytes: createBytes(), pending: [], settled: 0 };
      rename([{ ...placeOf(path), node: made }]);
      return made;
    }
    if ((flags & TRUNCATE) !== 0 && !isFolder(found)) found.pending.push({ size: 0 });
    return found;
  }

  function settleNames(folder: FolderNode, before: number): void {
    const durable = new Set<Naming>();
    for (const naming of namings) {
      if (naming.number < before && naming.slots.some((slot) => slot.folder === folder))
        addNaming(durable, naming, namings);
    }
    for (const naming of namings) {
      if (durable.has(naming)) for (const { folder, name, node } of naming.slots) setName(folder.durable, name, node);
    }
    namings = namings.filter((naming) => !durable.has(naming));
  }

  /**
   * Starts a sync. Returns the function to call when the sync has ended; it makes the changes up to the start durable.
   */
  function beginSync(node: Node): () => void {
    if (isFolder(node)) {
      const before = last;
      return () => settleNames(node, before);
    }
    const until = node.settled + node.pending.length;
    return () => settleFile(node, until - node.settled);
  }

  function fileOf(file: string): FileNode {
    const node = open.get(file);
    if (node === undefined || isFolder(node)) throw new Error(`${file} is no open file`);
    return node;
  }

  return {
    root,
    get namings() {
      return namings;
    },
    apply(entry) {
      switch (entry.kind) {
        case 'open':
          return void open.set(entry.file, openAt(entry.path, entry.flags));
        case 'close':
          return void open.delete(entry.file);
        case 'write':
          return void fileOf(entry.file).pending.push({ at: entry.at, data: entry.data });
        case 'truncate':
          return void fileOf(entry.file).pending.push({ size: entry.size });
        case 'sync':
          return void syncs.set(entry.ticket, beginSync(open.get(entry.file) ?? root));
        case 'synced':
          syncs.get(entry.ticket)?.();
          return void syncs.delete(entry.ticket);
        case 'folder':
          return rename([{ ...placeOf(entry.path), node: { now: new Map(), durable: new Map() } }]);
        case 'remove':
          return rename([{ ...placeOf(entry.path), node: undefined }]);
        case 'link':
          return rename([{ ...placeOf(entry.to), node: nodeAt(entry.path) }]);
        case 'rename': {
          const node = nodeAt(entry.path);
          return rename([
            { ...placeOf(entry.path), node: undefined },
            { ...placeOf(entry.to), node },
          ]);
        }
        case 'answer':
      }
    },
  };
}

export function setName(names: Map<string, Node>, name: string, node: Node | undefined): void {
  if (node === undefined) names.delete(name);
  else names.set(name, node);
}

/**
 * Adds a naming to a set, together with the earlier namings of the same names, without which it never becomes durable.
 */
export function addNaming(into: Set<Naming>, naming: Naming, all: readonly Naming[]): void {
  if (into.has(naming)) return;
  into.add(naming);
  for (const other of all) {
    if (other.number >= naming.number) break;
    const same = other.slots.some((one) =>
      naming.slots.some(({ folder, name }) => one.folder === folder && one.name === name),
    );
    if (same) addNaming(into, other, all);
  }
}

function settleFile(node: FileNode, count: number): void {
  if (count <= 0) return;
  for (const change of node.pending.splice(0, count)) applyChange(node.bytes, change);
  node.settled += count;
}

export function applyChange(bytes: Bytes, change: Change): void {
  if ('size' in change) bytes.resize(change.size);
  else bytes.write(change.at, change.data);
}

/** A growing byte array, with zeros where nothing was written. */
export interface Bytes {
  write(at: number, data: Uint8Array): void;
  resize(size: number): void;
  copy(): Bytes;
  view(): Uint8Array;
}

function createBytes(from: Uint8Array = new Uint8Array(0)): Bytes {
  let held = new Uint8Array(from);
  let size = from.length;
  function resize(next: number): void {
    if (next > held.length) {
      const larger = new Uint8Array(Math.max(next, 2 * held.length));
      larger.set(held.subarray(0, size));
      held = larger;
    } else if (next < size) {
      held.fill(0, next, size);
    }
    size = next;
  }
  return {
    write(at, data) {
      if (at + data.length > size) resize(at + data.length);
      held.set(data, at);
    },
    resize,
    copy: () => createBytes(held.subarray(0, size)),
    view: () => held.subarray(0, size),
  };
}
