import { derivedId } from '@commonplace/kit/id';
import type { Node } from '../stores/nodes.js';

/** Code points of a name. */
const NAME_LENGTH = 255;
const SUFFIX = ' copy';

/** The name of a copy for which none was given. */
export function copyName(name: string): string {
  const points = [...name];
  const room = NAME_LENGTH - SUFFIX.length;
  return (points.length > room ? points.slice(0, room).join('').trimEnd() : name) + SUFFIX;
}

/** The id of a source's copy: the same however often the copying is begun again. */
export function copyId(key: string, sourceId: string): string {
  return derivedId(`copy:${key}:${sourceId}`);
}

/** What has to be known of a node to plan its copy. */
export type SourceNode = Pick<Node, 'id' | 'workspaceId' | 'type' | 'ancestors' | 'sizeBytes' | 'tags'> & {
  /** Whether the caller manages it, so that its grants may come along. */
  readonly managed: boolean;
};

export interface PlannedCopy {
  readonly id: string;
  /** The source whose copy is to hold this one's: the nearest above it that is copied as well. */
  readonly parentId: string;
  readonly managed?: true;
}

export interface Layout {
  /** Parents before children; without the head. */
  readonly copies: readonly PlannedCopy[];
  /** Levels below the head. */
  readonly height: number;
  /** Most copies side by side. */
  readonly width: number;
  /** Copies right below the head. */
  readonly children: number;
}

/** Lays out the copies of nodes that stand below a head. */
export function layOut(headId: string, below: readonly Pick<SourceNode, 'id' | 'ancestors' | 'managed'>[]): Layout {
  const levels = new Map([[headId, 0]]);
  const widths = new Map<string, number>();
  const copies: PlannedCopy[] = [];
  let height = 0;
  for (const { id, ancestors, managed } of [...below].sort((a, b) => a.ancestors.length - b.ancestors.length)) {
    const parentId = ancestors.findLast((above) => levels.has(above)) ?? headId;
    const level = (levels.get(parentId) as number) + 1;
    levels.set(id, level);
    widths.set(parentId, (widths.get(parentId) ?? 0) + 1);
    height = Math.max(height, level);
    copies.push({ id, parentId, ...(managed && { managed }) });
  }
  let width = 0;
  for (const count of widths.values()) width = Math.max(width, count);
  return { copies, height, width, children: widths.get(headId) ?? 0 };
}

/** Bytes that copying a node writes: a file's are shared. */
export function copiedBytes({ type, sizeBytes }: Pick<SourceNode, 'type' | 'sizeBytes'>): number {
  return type === 'file' ? 0 : sizeBytes;
}

/** Parts a list into pieces of so many entries and so many bytes at the most; what is larger is a piece by itself. */
export function inPieces<T>(list: readonly T[], most: number, bytes: number, sizeOf: (one: T) => number): T[][] {
  const pieces: T[][] = [];
  let held = 0;
  for (const one of list) {
    const size = sizeOf(one);
    const piece = pieces.at(-1);
    if (piece === undefined || piece.length === most || held + size > bytes) {
      pieces.push([one]);
      held = size;
    } else {
      piece.push(one);
      held += size;
    }
  }
  return pieces;
}
