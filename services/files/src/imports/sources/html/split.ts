import { cleanName } from '../common/text.js';
import type { ItemContent, SourceItem } from '../port.js';
import { cleanHtml, isBlank } from './clean.js';
import { findNamed, isElement, type Node, parseTree, textOf } from './dom.js';

/** A part of a document that begins with a heading of the first level; the first one may begin without. */
export interface Section {
  readonly title?: string;
  readonly html: string;
}

/** Nodes with those in their place that hold a first heading further within. */
function flat(nodes: readonly Node[]): Node[] {
  return nodes.flatMap((node) => {
    const wraps = isElement(node) && /^(?:div|section|article|main)$/.test(node.name);
    return wraps && findNamed(node, 'h1') !== undefined ? flat(node.children) : [node];
  });
}

/** A document with more of them is not divided. */
const MOST_SECTIONS = 1000;

/** Divides clean HTML at its headings of the first level; one section where there are fewer than two. */
export function splitSections(html: string): Section[] {
  const sections: { title?: string; nodes: Node[] }[] = [{ nodes: [] }];
  for (const node of flat(parseTree(html).children)) {
    if (isElement(node) && node.name === 'h1' && textOf(node) !== '') sections.push({ title: textOf(node), nodes: [] });
    else sections.at(-1)?.nodes.push(node);
  }
  if (sections.length <= 2 || sections.length > MOST_SECTIONS) return [{ html }];
  const [intro, ...others] = sections;
  const kept = intro === undefined || isBlank(intro.nodes) ? others : [intro, ...others];
  return kept.map(({ title, nodes }) => ({ title, html: cleanHtml(nodes).html }));
}

const SECTION = /#(\d+)$/;

/** The items of a document's sections below its own item; none where it stays as one. */
export function sectionItems(item: SourceItem, sections: readonly Section[]): SourceItem[] {
  if (sections.length < 2) return [];
  return sections.flatMap(({ title }, at): SourceItem[] =>
    title === undefined
      ? []
      : [{ path: `${item.path}#${at}`, parent: item.path, kind: 'document', name: cleanName(title) }],
  );
}

/** What an item holds of a whole document: its section, or, of the document itself, what stands before the first. */
export function sectionOf(item: SourceItem, whole: ItemContent): ItemContent {
  const sections = splitSections(whole.html ?? '');
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

/** The path of the document that an item is a section of, or its own. */
export const wholePath = (path: string): string => path.replace(SECTION, '');
