import { derivedId } from '@commonplace/kit/id';

/** The resource that an item becomes: the same at each attempt, so that none is made twice and links can be written first. */
export function resourceIdOf(importId: string, path: string): string {
  return derivedId(`import:${importId}:${path}`);
}

/** The folder that holds an import. */
export function rootIdOf(importId: string): string {
  return derivedId(`import-root:${importId}`);
}

/** The record of an item. */
export function itemIdOf(importId: string, path: string): string {
  return derivedId(`import-item:${importId}:${path}`);
}
