import { cleanName } from '../common/text.js';
import type { ItemContent, SourceItem } from '../port.js';
import { cleanHtml, isBlank } from './clean.js';
import { findNamed, isElement, type Node, parseTree, textOf } from './dom.js';

/** Holds a part of a document that begins with a heading of level 1; the first part may lack one. */
interface Section {
  readonly title?: string;
  readonly html: string;
}

/** Replaces nodes that contain a heading of level 1 by their children, recursively. */
function flat(nodes: readonly Node[]): Node[] {
  return nodes.flatMap((node) => {
    const wraps = isElement(node) && /^(?:div|section|article|main)$/.test(node.name);
    return wraps && findNamed(node, 'h1') !== undefined ? flat(node.children) : [node];
  });
}

/** Sections beyond which a document is not split. */
const MAX_SECTIONS = 1000;

/** Splits clean HTML at its headings of level 1; returns a single section when there are fewer than two. */
export function splitSections(html: string): Section[] {
  const sections: { title?: string; nodes: Node[] }[] = [{ nodes: [] }];
  for (const node of flat(parseTree(html).children)) {
    if (isElement(node) && node.name === 'h1' && textOf(node) !== '') sections.push({ title: textOf(node), nodes: [] });
    else sections.at(-1)?.nodes.push(node);
  }
  if (sections.length <= 2 || sections.length > MAX_SECTIONS) return [{ html }];
  const [intro, ...others] = sections;
  const kept = intro === undefined || isBlank(intro.nodes) ? others : [intro, ...others];
  return kept.map(({ title, nodes }) => ({ title, html: cleanHtml(nodes).html }));
}

const SECTION = /#(\d+)$/;

/** Returns items for a document's sections below its own item; none when it is not split. */
export function sectionItems(item: SourceItem, sections: readonly Section[]): SourceItem[] {
  if (sections.length < 2) return [];
  return sections.flatMap(({ title }, at): SourceItem[] =>
    title === undefined
      ? []
      : [{ path: `${item.path}#${at}`, parent: item.path, kind: 'document', name: cleanName(title) }],
  );
}

/** Returns the content of an item: its section, or for the document itself what precedes the first section. */
export function sectionOf(item: SourceItem, whole: ItemContent, sections: readonly Section[]): ItemContent {
  if (sections.length < 2) return whole;
  const at = SECTION.exec(item.path)?.[1];
  const own = at === undefined ? sections.find(({ title }) => title === undefined) : sections[Number(at)];
  if (at === undefined) return { ...whole, html: own?.html ?? '' };
  return {
    title: own?.title,
    html: own?.html ?? '',
    author: whole.author,
    createdAt: whole.createdAt,
    updatedAt: whole.updatedAt,
  };
}

/** Returns the path of the document that an item is a section of, or the item's own. */
export const wholePath = (path: string): string => path.replace(SECTION, '');
