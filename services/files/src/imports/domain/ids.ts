import { derivedId } from '@commonplace/kit/id';

/**
 * Derives the id of the resource that an item becomes. It is the same in each attempt, so that nothing is created twice
 * and links can be written before their target exists.
 */
export function resourceIdOf(importId: string, path: string): string {
  return derivedId(`import:${importId}:${path}`);
}

/** Derives the id of the folder that holds an import. */
export function rootIdOf(importId: string): string {
  return derivedId(`import-root:${importId}`);
}

/** Derives the id of an item's record. */
export function itemIdOf(importId: string, path: string): string {
  return derivedId(`import-item:${importId}:${path}`);
}
