type Node = Readonly<Record<string, unknown>>;

const LISTS = ['allOf', 'anyOf', 'oneOf'];
const SINGLE = ['not', 'if', 'then', 'else'];

/**
 * Returns how many schemas are applied to one value by a schema, with all that it refers to, at the most costly place in
 * it: references can double the number at each level. Infinite for a schema that refers to itself for the same value, or
 * to nothing.
 */
export function costOfSchema(root: Node): number {
  const costs = new Map<Node, number>();
  const open = new Set<Node>();

  const costOf = (node: unknown): number => {
    if (!isNode(node)) return 1;
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
    const single = SINGLE.flatMap((name) => (isNode(node[name]) ? [node[name]] : []));
    const dependent = isNode(node.dependentSchemas) ? Object.values(node.dependentSchemas) : [];
    const target = typeof node.$ref === 'string' ? [resolve(root, node.$ref)] : [];
    return [...lists, ...single, ...dependent, ...target];
  };

  let most = 0;
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const inner of value) visit(inner);
    if (!isNode(value)) return;
    most = Math.max(most, costOf(value));
    for (const inner of Object.values(value)) visit(inner);
  };
  visit(root);
  return most;
}

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Follows a JSON Pointer. Returns the root's own reference where it leads to nothing, which counts as infinite. */
function resolve(root: Node, ref: string): unknown {
  let value: unknown = root;
  for (const part of ref.split('/').slice(1)) {
    const key = decodePart(part);
    const isInside = typeof value === 'object' && value !== null && Object.hasOwn(value, key);
    if (!isInside) return NOWHERE;
    value = (value as Record<string, unknown>)[key];
  }
  return value;
}

/** Refers to itself. */
const NOWHERE: { allOf: unknown[] } = { allOf: [] };
NOWHERE.allOf.push(NOWHERE);

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return part;
  }
}
