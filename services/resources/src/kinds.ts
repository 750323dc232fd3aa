import type { ContentKind, Part, PlacesByNode } from './content/kind.js';
import type { DocumentKind } from './documents/kind/document-parts.js';
import type { Node, NodeType } from './domain/node.js';
import { ContentNotSupported } from './errors.js';
import type { TableKind } from './tables/kind.js';

/** The content kind of each node type; folders have none. */
export type ContentKinds = Readonly<Partial<Record<NodeType, ContentKind>>> & {
  readonly document: DocumentKind;
  readonly table: TableKind;
};

/** Returns the content kind of a node type. Throws `content_not_supported` if it has none. */
export function requireKind(kinds: ContentKinds, type: NodeType): ContentKind {
  const kind = kinds[type];
  if (kind === undefined) throw ContentNotSupported({ type });
  return kind;
}

/** Returns the texts for search by node id; nodes without text are missing. */
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

/** Returns which part of a content holds each place in its text, by node; kinds without parts are skipped. */
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

/**
 * Returns the text of a node, for a document its Markdown; empty if it has none. The text is not filtered by access.
 */
export function readText({ kinds }: { readonly kinds: ContentKinds }, node: Node): Promise<string> {
  return requireKind(kinds, node.type).text(node);
}
