import type { Losses } from '../common/warnings.js';
import { cleanHtml, element, mathNode, type Rule, texOf } from '../html/clean.js';
import {
  childrenOf,
  type Element,
  find,
  findAll,
  findNamed,
  hasClass,
  isElement,
  type Node,
  textOf,
  withChildren,
} from '../html/dom.js';
import { treeOf } from '../html/page.js';
import { calloutKind } from './names.js';
import type { Property } from './properties.js';

/** Holds a page of an HTML export. */
interface NotionHtml {
  readonly title: string;
  readonly icon?: string;
  readonly description?: string;
  readonly properties: readonly Property[];
  readonly html: string;
  readonly losses: Losses;
}

const isList = (node: Node): node is Element => isElement(node) && (node.name === 'ul' || node.name === 'ol');
const isWrapper = ({ name, attributes }: Element): boolean =>
  name === 'div' && /display:\s*contents/.test(attributes.style ?? '');

/** Joins adjacent lists: an export writes each list item as a list of its own. */
function joined(nodes: readonly Node[]): Node[] {
  const out: Node[] = [];
  for (const node of nodes.flatMap((child) =>
    isElement(child) && isWrapper(child) ? joined(child.children) : [child],
  )) {
    const before = out.at(-1);
    const goesOn =
      isList(node) &&
      before !== undefined &&
      isList(before) &&
      before.name === node.name &&
      before.attributes.class === node.attributes.class;
    if (goesOn && !hasClass(node, 'toggle')) for (const item of node.children) before.children.push(item);
    else out.push(isList(node) ? withChildren(node, [...node.children]) : node);
  }
  return out.map((node) => (isElement(node) ? withChildren(node, joined(node.children)) : node));
}

function calloutOf(figure: Element): Node[] {
  const icon = textOf(find(figure, (inner) => hasClass(inner, 'icon')));
  const parts = childrenOf(figure);
  const body = parts.length > 1 ? (parts.at(-1)?.children ?? []) : figure.children;
  const [first, ...others] = body;
  const lead = icon === '' || parts.length < 2 ? '' : `${icon} `;
  const content =
    isElement(first) && first.name === 'p'
      ? [withChildren(first, [lead, ...first.children]), ...others]
      : [lead, ...body];
  return [element('aside', { 'data-callout': calloutKind(icon) }, content)];
}

function todoOf(list: Element): Node[] {
  const items = childrenOf(list).map((item) =>
    withChildren(
      item,
      item.children.map((child) => {
        if (!isElement(child) || !hasClass(child, 'checkbox')) return child;
        return element(
          'input',
          hasClass(child, 'checkbox-on') ? { type: 'checkbox', checked: '' } : { type: 'checkbox' },
        );
      }),
    ),
  );
  return [element('ul', {}, items)];
}

function bookmarkOf(link: Element): Node[] {
  const part = (name: string) => textOf(find(link, (inner) => hasClass(inner, name)));
  const href = link.attributes.href ?? '';
  const words = part('bookmark-title') || part('bookmark-href') || href;
  const description = part('bookmark-description');
  const card = element('p', {}, element('a', { href }, words));
  return description === '' ? [card] : [card, element('p', {}, description)];
}

const isOnlyImage = (link: Element): boolean => {
  const [only, ...more] = childrenOf(link);
  return (
    more.length === 0 && only?.name === 'img' && only.attributes.src === link.attributes.href && textOf(link) === ''
  );
};

/** Converts the elements of an export to those of a document. */
const rule: Rule = (node) => {
  const { name } = node;
  if (name === 'figure' && hasClass(node, 'callout')) return calloutOf(node);
  if (hasClass(node, 'equation') || hasClass(node, 'katex-display') || hasClass(node, 'katex')) {
    const math = findNamed(node, 'math');
    const tex = math === undefined ? undefined : texOf(math);
    if (tex !== undefined) return [mathNode(tex, name === 'figure' || hasClass(node, 'katex-display'))];
  }
  if (name === 'ul' && hasClass(node, 'toggle')) return childrenOf(node).flatMap((item) => item.children);
  if (name === 'ul' && hasClass(node, 'to-do-list')) return todoOf(node);
  if (hasClass(node, 'checkbox')) return [hasClass(node, 'checkbox-on') ? '[x]' : '[ ]'];
  if (name === 'a' && hasClass(node, 'bookmark')) return bookmarkOf(node);
  if (name === 'a' && isOnlyImage(node)) return node.children;
  if (name === 'nav' && hasClass(node, 'table_of_contents')) return 'drop';
  if (name === 'svg' || (name === 'img' && (hasClass(node, 'user-icon') || hasClass(node, 'bookmark-icon'))))
    return 'drop';
  if (name === 'mark') return /highlight-\w+_background/.test(node.attributes.class ?? '') ? undefined : 'unwrap';
  if (hasClass(node, 'selected-value') || (name === 'span' && hasClass(node, 'icon'))) return [...node.children, ' '];
  return undefined;
};

function propertiesOf(root: Element): Property[] {
  const table = find(root, (inner) => inner.name === 'table' && hasClass(inner, 'properties'));
  if (table === undefined) return [];
  return findAll(table, ({ name }) => name === 'tr').flatMap((row): Property[] => {
    const name = textOf(findNamed(row, 'th'));
    const cell = findNamed(row, 'td');
    if (name === '' || cell === undefined) return [];
    const values = findAll(cell, (inner) => hasClass(inner, 'selected-value')).map(textOf);
    const box = find(cell, (inner) => hasClass(inner, 'checkbox'));
    if (box !== undefined) return [[name, hasClass(box, 'checkbox-on') ? 'Yes' : 'No']];
    return [[name, values.length > 1 ? values : (values[0] ?? textOf(cell).replace(/^@/, ''))]];
  });
}

export function readNotionHtml(page: Buffer): NotionHtml {
  const root = treeOf(page);
  const head = find(root, ({ name }) => name === 'header') ?? root;
  const body =
    find(root, (inner) => hasClass(inner, 'page-body')) ??
    findNamed(root, 'article') ??
    findNamed(root, 'body') ??
    root;
  const icon = textOf(find(head, (inner) => hasClass(inner, 'page-header-icon')));
  const cover = find(head, (inner) => inner.name === 'img' && hasClass(inner, 'page-cover-image'));
  const nodes = [...(cover === undefined ? [] : [element('p', {}, cover)]), ...joined(body.children)];
  const { html, losses } = cleanHtml(nodes, rule);
  return {
    title:
      textOf(find(root, (inner) => hasClass(inner, 'page-title'))) ||
      textOf(find(root, ({ name }) => name === 'title')),
    icon: icon === '' || icon.length > 16 ? undefined : icon,
    description: textOf(find(root, (inner) => hasClass(inner, 'page-description'))) || undefined,
    properties: propertiesOf(root),
    html,
    losses,
  };
}
