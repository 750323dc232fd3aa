import { ContentNotSupported } from '../errors.js';
import type { Node, NodeType } from '../stores/nodes.js';
import type { TableKind } from '../tables/kind.js';
import type { DocumentKind } from './document.js';
import type { ContentKind, Part, PlacesByNode } from './kind.js';

/** What the nodes of each type hold; a folder holds nothing. */
export type ContentKinds = Readonly<Partial<Record<NodeType, ContentKind>>> & {
  readonly document: DocumentKind;
  readonly table: TableKind;
};

/** The kind of content that nodes of a type hold. Throws `content_not_supported`. */
export function requireKind(kinds: ContentKinds, type: NodeType): ContentKind {
  const kind = kinds[type];
  if (kind === undefined) throw ContentNotSupported({ type });
  return kind;
}

/** The texts that search reads, by node; those without are left out. */
export async function textsOf(kinds: ContentKinds, nodes: readonly Node[]): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  for (const [type, held] of byType(nodes)) {
    const kind = kinds[type];
    if (kind === undefined) continue;
    if (kind.texts === undefined) for (const node of held) texts.set(node.id, await kind.text(node));
    else for (const [id, text] of await kind.texts(held)) texts.set(id, text);
  }
  return texts;
}

/** Which parts of contents places in these texts lie in, by node; those of kinds without parts are left out. */
export async function locateIn(
  kinds: ContentKinds,
  places: ReadonlyMap<NodeType, PlacesByNode>,
): Promise<ReadonlyMap<string, readonly (Part | undefined)[]>> {
  const found = await Promise.all([...places].map(([type, some]) => kinds[type]?.locate?.(some)));
  return new Map(found.flatMap((parts) => [...(parts ?? [])]));
}

function byType(nodes: readonly Node[]): Map<NodeType, Node[]> {
  const groups = new Map<NodeType, Node[]>();
  for (const node of nodes) {
    const group = groups.get(node.type);
    if (group === undefined) groups.set(node.type, [node]);
    else group.push(node);
  }
  return groups;
}
