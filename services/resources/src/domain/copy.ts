import { derivedId } from '@commonplace/kit/id';
import { type Breathe, sortInSlices } from '@commonplace/kit/slices';
import type { Node } from './node.js';

/** Maximum length of a name in code points. */
const MAX_NAME_CHARS = 255;
const SUFFIX = ' copy';

/** Returns the default name of a copy. */
export function copyName(name: string): string {
  const points = [...name];
  const room = MAX_NAME_CHARS - SUFFIX.length;
  return (points.length > room ? points.slice(0, room).join('').trimEnd() : name) + SUFFIX;
}

/** Returns the id of a source's copy, which is the same each time the copy is retried. */
export function copyId(key: string, sourceId: string): string {
  return derivedId(`copy:${key}:${sourceId}`);
}

/** The fields of a node that planning its copy needs. */
export type SourceNode = Pick<Node, 'id' | 'workspaceId' | 'type' | 'ancestors' | 'boundary' | 'sizeBytes' | 'tags'> & {
  /** Whether the caller manages the node, so that its grants may be copied. */
  readonly managed: boolean;
};

export interface PlannedCopy {
  readonly id: string;
  /** Id of the source whose copy becomes this copy's parent: the nearest ancestor that is copied as well. */
  readonly parentId: string;
  readonly managed?: true;
  /** Whether fewer people can read the source than the one whose copy becomes the parent. */
  readonly restricted?: true;
}

export interface Layout {
  /** Parents come before children; the head is not included. */
  readonly copies: readonly PlannedCopy[];
  /** Number of levels below the head. */
  readonly height: number;
  /** Maximum number of children of one copy. */
  readonly width: number;
  /** Number of children of the head. */
  readonly children: number;
}

/** Plans the copies of the nodes below a head, which may be a root. Siblings keep their order. */
export async function layOut(
  { id: headId, boundary: headBoundary }: Pick<Node, 'id' | 'boundary'>,
  below: readonly Pick<SourceNode, 'id' | 'ancestors' | 'boundary' | 'managed'>[],
  breathe: Breathe,
): Promise<Layout> {
  const levels = new Map([[headId, 0]]);
  const boundaries = new Map([[headId, headBoundary]]);
  const widths = new Map<string, number>();
  const copies: PlannedCopy[] = [];
  let height = 0;
  const byLevel = await sortInSlices(below, (a, b) => a.ancestors.length - b.ancestors.length, breathe);
  for (const { id, ancestors, boundary, managed } of byLevel) {
    const parentId = ancestors.findLast((above) => levels.has(above)) ?? headId;
    const level = (levels.get(parentId) as number) + 1;
    levels.set(id, level);
    boundaries.set(id, boundary);
    const restricted = boundary !== boundaries.get(parentId);
    widths.set(parentId, (widths.get(parentId) ?? 0) + 1);
    height = Math.max(height, level);
    copies.push({ id, parentId, ...(managed && { managed }), ...(restricted && { restricted }) });
    await breathe();
  }
  let width = 0;
  for (const count of widths.values()) width = Math.max(width, count);
  return { copies, height, width, children: widths.get(headId) ?? 0 };
}

/** Returns the bytes that copying a node writes: none for a file, whose bytes are shared. */
export function copiedBytes({ type, sizeBytes }: Pick<SourceNode, 'type' | 'sizeBytes'>): number {
  return type === 'file' ? 0 : sizeBytes;
}

/** Splits a list into pieces of up to `maxEntries` entries and `bytes` bytes; a larger entry is a piece by itself. */
export async function inPieces<T>(
  list: readonly T[],
  maxEntries: number,
  bytes: number,
  sizeOf: (one: T) => number,
  breathe: Breathe,
): Promise<T[][]> {
  const pieces: T[][] = [];
  let held = 0;
  for (const one of list) {
    const size = sizeOf(one);
    const piece = pieces.at(-1);
    if (piece === undefined || piece.length === maxEntries || held + size > bytes) {
      pieces.push([one]);
      held = size;
    } else {
      piece.push(one);
      held += size;
    }
    await breathe();
  }
  return pieces;
}
