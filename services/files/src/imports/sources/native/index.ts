import { compareCodeUnits } from '@commonplace/kit/words';
import { type Bundle, ImportFault, type ItemContent, type OpenSource, type SourceItem } from '../port.js';
import { contentOf, type OpenedArchive } from './content.js';
import { type ArchivedResource, type Manifest, readManifest, readResource } from './shapes.js';

const RESOURCE = /^resources\/([0-9a-f-]{36})\.json$/;
/** Files that are part of the archive format. */
const OWN = /^(?:resources|content|files|comments|snapshots|checksums)\/|^(?:manifest|tags)\.json$/;
/** Descriptions of resources that are read concurrently. */
const AT_ONCE = 16;

/** Opens archives of this product, as `docs/archive-format.md` describes them. */
export const openNativeSource: OpenSource = async (bundle) => {
  const manifest = await readManifest(bundle);
  const found = await readAll(bundle);
  const ids = new Set(found.map(({ id }) => id));
  const parents = new Set(found.flatMap(({ parent_id }) => parent_id ?? []));
  const opened: OpenedArchive = { bundle, ids, parents, paths: new Set(bundle.entries.map(({ path }) => path)) };
  const byPath = new Map(found.map((one) => [pathOf(one.id), one.id]));
  return {
    items: itemsOf(inOrder(found)),
    skipped: bundle.entries
      .filter(({ path }) => !OWN.test(path))
      .map(({ path }) => ({ path, code: 'not_in_archive', message: 'The file is not part of a workspace archive.' })),
    async read(item): Promise<ItemContent> {
      const resource = await readResource(bundle, item.path);
      return contentOf(resource, opened);
    },
    resolve(_from, href) {
      const id = /^resource:([0-9a-f-]{36})$/.exec(href)?.[1];
      return id !== undefined && ids.has(id) && byPath.has(pathOf(id)) ? { item: pathOf(id) } : { outside: true };
    },
    opaquePaths: true,
    notes: notesOf(manifest),
  };
};

function pathOf(id: string): string {
  return `resources/${id}.json`;
}

/** Holds what is needed of all resources to sort them; the rest is read again with each resource. */
type Outline = Pick<ArchivedResource, 'id' | 'type' | 'name' | 'parent_id' | 'position' | 'external_id'> & {
  readonly file: string | undefined;
};

async function readAll(bundle: Bundle): Promise<Outline[]> {
  const paths = bundle.entries.flatMap(({ path }) => (RESOURCE.test(path) ? path : []));
  const found: Outline[] = [];
  for (let at = 0; at < paths.length; at += AT_ONCE) {
    const some = paths.slice(at, at + AT_ONCE);
    found.push(...(await Promise.all(some.map((path) => outlineOf(bundle, path)))));
  }
  if (found.length === 0) throw new ImportFault('nothing_in_archive', 'The archive contains no resources.');
  return found;
}

async function outlineOf(bundle: Bundle, path: string): Promise<Outline> {
  const { id, type, name, parent_id, position, external_id, content } = await readResource(bundle, path);
  const file = type === 'file' ? (content?.path ?? undefined) : undefined;
  return { id, type, name, parent_id, position, external_id, file };
}

/** Sorts parents before their children, and siblings by position. Cycles of parents begin anywhere. */
function inOrder(all: readonly Outline[]): Outline[] {
  const byId = new Map(all.map((one) => [one.id, one]));
  const depths = new Map<string, number>();
  const depthOf = (one: Outline): number => {
    const chain = new Set<Outline>();
    let at: Outline | undefined = one;
    while (at !== undefined && !depths.has(at.id) && !chain.has(at)) {
      chain.add(at);
      at = byId.get(at.parent_id ?? '');
    }
    let depth = at === undefined || chain.has(at) ? -1 : (depths.get(at.id) as number);
    for (const link of [...chain].reverse()) depths.set(link.id, ++depth);
    return depths.get(one.id) as number;
  };
  return [...all].sort(
    (a, b) => depthOf(a) - depthOf(b) || compareCodeUnits(a.position, b.position) || compareCodeUnits(a.id, b.id),
  );
}

/** Returns the items, each below its parent if that precedes it: one in a cycle of parents stands at the top. */
function itemsOf(ordered: readonly Outline[]): SourceItem[] {
  const before = new Set<string>();
  return ordered.map((one) => {
    const item = itemOf(one, before);
    before.add(one.id);
    return item;
  });
}

function itemOf(one: Outline, before: ReadonlySet<string>): SourceItem {
  const { id, type, name, parent_id: parent, external_id: externalId, file } = one;
  return {
    path: pathOf(id),
    ...(parent !== null && before.has(parent) && { parent: pathOf(parent) }),
    kind: type,
    name,
    ...(externalId !== null && { externalId }),
    ...(file !== undefined && { entry: file }),
    ...(type === 'file' && { described: true }),
  };
}

function notesOf({ include, publication }: Manifest): string[] {
  const published =
    publication === null
      ? []
      : [
          `The workspace was published as ${JSON.stringify(publication.slug ?? '')} and is not published here: publish it again.`,
        ];
  const left = ['files', 'comments', 'snapshots', 'permissions'].flatMap((part) =>
    include[part] === false ? `The archive was made without ${part}.` : [],
  );
  return [...published, ...left];
}
