import { type Entries, jsonIn } from './archives.js';

interface Described {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly parent_id: string | null;
  readonly position: string;
  readonly content: { readonly path?: string | null; readonly csv?: string } | null;
  readonly comments: string | null;
  readonly snapshots: readonly string[];
  readonly permissions: readonly object[];
  readonly [field: string]: unknown;
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/**
 * Returns the contents of an archive by paths of names. Ids and other values that no import preserves are replaced by
 * constants, so that archives of equal trees yield equal maps. If `root` names a top-level folder, only its contents
 * are returned.
 */
export function treeIn(entries: Entries, root?: string): Map<string, unknown> {
  const all = [...entries.keys()]
    .filter((path) => path.startsWith('resources/'))
    .map((path) => jsonIn<Described>(entries, path));
  const byId = new Map(all.map((one) => [one.id, one]));
  const orders = new Map<string, number>();
  for (const one of [...all].sort((a, b) => (a.position < b.position ? -1 : 1))) {
    const siblings = all.filter((other) => other.parent_id === one.parent_id && other.position < one.position);
    orders.set(one.id, siblings.length);
  }
  const pathOf = (one: Described): string => {
    const above = byId.get(one.parent_id ?? '');
    const own = `${one.name.replace(/["\\]/g, "'")}#${orders.get(one.id)}`;
    return above === undefined || (root !== undefined && above.name === root && above.parent_id === null)
      ? own
      : `${pathOf(above)}/${own}`;
  };
  const paths = new Map(all.map((one) => [one.id, pathOf(one)]));
  const alike = (text: string) => text.replace(UUID, (id) => (paths.has(id) ? `<${paths.get(id)}>` : '<id>'));
  const tree = new Map<string, unknown>();
  for (const one of all) {
    if (root !== undefined && one.parent_id === null) continue;
    const { position: _, parent_id: __, ...described } = one;
    const whole = {
      ...described,
      content_text: textOf(entries, one, alike),
      comments: one.comments === null ? null : jsonIn(entries, one.comments),
      snapshots: one.snapshots.map((path) => jsonIn(entries, path)),
      permissions: one.permissions.map((grant) => ({ ...grant, granted_by: null, created_at: null })),
      publication: null,
    };
    tree.set(paths.get(one.id) as string, JSON.parse(alike(JSON.stringify(whole))));
  }
  return tree;
}

/** Returns a content as text in which ids are replaced by constants. */
function textOf(entries: Entries, { type, content }: Described, alike: (text: string) => string): string | null {
  const bytes = entries.get(content?.path ?? '');
  if (bytes === undefined) return null;
  if (type === 'file') return bytes.toString('base64');
  return alike(bytes.toString());
}
