import { isObject } from '@commonplace/kit/json';
import { DATA, NAMED } from './schema-words.js';

/** Maximum number of schemas that may be applied to one value. */
export const MAX_SCHEMA_COST = 5_000;

type Node = Readonly<Record<string, unknown>>;

const LISTS = ['allOf', 'anyOf', 'oneOf'];
const SINGLE = ['not', 'if', 'then', 'else'];

/**
 * Returns the maximum number of schemas that are applied to a single value, including referenced ones, since references
 * can double the number at each level. Returns Infinity for a schema that refers to itself for the same value, or to
 * nothing.
 */
export function costOfSchema(root: Node): number {
  const costs = new Map<Node, number>();
  const open = new Set<Node>();

  const costOf = (node: unknown): number => {
    if (!isObject(node)) return 1;
    const known = costs.get(node);
    if (known !== undefined) return known;
    if (open.has(node)) return Number.POSITIVE_INFINITY;
    open.add(node);
    const cost = appliedBy(node).reduce<number>((sum, inner) => sum + costOf(inner), 1);
    open.delete(node);
    costs.set(node, cost);
    return cost;
  };

  const appliedBy = (node: Node): unknown[] => {
    const lists = LISTS.flatMap((name) => (Array.isArray(node[name]) ? (node[name] as unknown[]) : []));
    const single = SINGLE.flatMap((name) => (isObject(node[name]) ? [node[name]] : []));
    const dependent = isObject(node.dependentSchemas) ? Object.values(node.dependentSchemas) : [];
    const target = typeof node.$ref === 'string' ? [resolve(root, node.$ref)] : [];
    return [...lists, ...single, ...dependent, ...target];
  };

  let most = 0;
  const visit = (value: unknown, isNames = false): void => {
    if (Array.isArray(value)) for (const inner of value) visit(inner);
    if (!isObject(value)) return;
    if (!isNames) most = Math.max(most, costOf(value));
    for (const [key, inner] of Object.entries(value)) {
      if (isNames || !DATA.has(key)) visit(inner, !isNames && NAMED.has(key));
    }
  };
  visit(root);
  return most;
}

/**
 * Follows a local reference. If it leads nowhere, it returns a schema that refers to itself, whose cost is infinite.
 */
function resolve(root: Node, ref: string): unknown {
  if (/^#[^/]/.test(ref)) return anchored(root, ref.slice(1)) ?? NOWHERE;
  let value: unknown = root;
  for (const part of ref.split('/').slice(1)) {
    const key = decodePart(part);
    const isInside = typeof value === 'object' && value !== null && Object.hasOwn(value, key);
    if (!isInside) return NOWHERE;
    value = (value as Record<string, unknown>)[key];
  }
  return value;
}

/** Returns the schema with an anchor; undefined if there is none. */
function anchored(value: unknown, name: string): unknown {
  if (Array.isArray(value)) return firstOf(value, name);
  if (!isObject(value)) return undefined;
  return value.$anchor === name ? value : firstOf(Object.values(value), name);
}

function firstOf(values: readonly unknown[], name: string): unknown {
  for (const value of values) {
    const found = anchored(value, name);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A schema that refers to itself. */
const NOWHERE: { allOf: unknown[] } = { allOf: [] };
NOWHERE.allOf.push(NOWHERE);

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return part;
  }
}
