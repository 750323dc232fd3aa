import { momentOfWhen, readWhen } from '../csv/values.js';
import { cleanHtml } from '../html/clean.js';
import { type Element, find, findAll, findNamed, hasClass, textOf } from '../html/dom.js';
import { treeOf } from '../html/page.js';
import type { ItemContent } from '../port.js';
import { confluenceRule } from './rule.js';

/** Original names of a page's attachments, by the path of their entry. */
type Attachments = ReadonlyMap<string, string>;

interface ConfluencePage {
  readonly content: ItemContent;
  readonly attachments: Attachments;
  /** Path of the parent page within the export, from the breadcrumbs. */
  readonly above?: string;
}

const byId = (root: Element, id: string): Element | undefined => find(root, ({ attributes }) => attributes.id === id);

/** Returns a page's title without the name of its space, which an export prepends. */
function titleOf(root: Element): string | undefined {
  const whole = textOf(byId(root, 'title-text')) || textOf(findNamed(root, 'title'));
  const space = textOf(
    find(byId(root, 'breadcrumbs') ?? root, ({ name, attributes }) => name === 'a' && attributes.href === 'index.html'),
  );
  const title =
    space !== '' && whole.startsWith(`${space} : `)
      ? whole.slice(space.length + 3)
      : whole.replace(/^[^:]+ : (?=\S)/, '');
  return title || undefined;
}

function attachmentsOf(root: Element): Attachments {
  const links = findAll(
    root,
    ({ name, attributes }) => name === 'a' && /^attachments\/\d+\//.test(attributes.href ?? ''),
  );
  const named = new Map<string, string>();
  for (const link of links) {
    const path = (link.attributes.href ?? '').replace(/[?#].*$/, '');
    const words = link.attributes['data-linked-resource-default-alias'] ?? textOf(link);
    if (words !== '' && !named.has(path)) named.set(path, words);
  }
  for (const image of findAll(
    root,
    ({ name, attributes }) => name === 'img' && /^attachments\/\d+\//.test(attributes.src ?? ''),
  )) {
    const path = (image.attributes.src ?? '').replace(/[?#].*$/, '');
    const alias = image.attributes['data-linked-resource-default-alias'];
    if (alias) named.set(path, alias);
  }
  return named;
}

/** Reads the author and the time of a page from its metadata line, which is understood in English only. */
function historyOf(root: Element): Pick<ItemContent, 'author' | 'createdAt' | 'updatedAt' | 'metadata'> {
  const line = find(root, (inner) => hasClass(inner, 'page-metadata'));
  if (line === undefined) return {};
  const author = textOf(find(line, (inner) => hasClass(inner, 'author'))) || undefined;
  const editor = textOf(find(line, (inner) => hasClass(inner, 'editor'))) || undefined;
  const when = readWhen(
    / on ([A-Z][a-z]{2,8}\.? \d{1,2}, \d{4}(?: \d{1,2}:\d{2}(?: ?[AP]M)?)?)/.exec(textOf(line))?.[1] ?? '',
    undefined,
  );
  const moment = when === undefined ? undefined : momentOfWhen(when);
  return {
    author,
    ...(editor === undefined ? { createdAt: moment, updatedAt: moment } : { updatedAt: moment }),
    metadata: {
      ...(author === undefined ? {} : { author }),
      ...(editor === undefined ? {} : { last_modified_by: editor }),
    },
  };
}

/** Reads a page of a space's export: only its content, not the frame that the export adds. */
export function readConfluencePage(page: Buffer): ConfluencePage {
  const root = treeOf(page);
  const main =
    byId(root, 'main-content') ?? find(root, (inner) => hasClass(inner, 'wiki-content')) ?? byId(root, 'content');
  const { html, losses } = cleanHtml((main ?? findNamed(root, 'body') ?? root).children, confluenceRule);
  const comments = findAll(
    root,
    ({ name, attributes }) =>
      /^comment-?\d+$/.test(attributes.id ?? '') ||
      (name === 'td' && hasClass({ name, attributes, children: [] }, 'pagecomment')),
  );
  losses.add('A comment is left out', new Set(comments).size);
  const labels = findAll(
    byId(root, 'labels-section') ?? { name: '', attributes: {}, children: [] },
    (inner) => inner.name === 'a',
  ).map(textOf);
  const crumbs = findAll(
    byId(root, 'breadcrumbs') ?? { name: '', attributes: {}, children: [] },
    ({ name }) => name === 'a',
  );
  return {
    content: {
      title: titleOf(root),
      ...historyOf(root),
      tags: labels.filter((label) => label !== '' && label.length <= 64).slice(0, 50),
      html,
      warnings: losses.list(),
    },
    attachments: attachmentsOf(root),
    above: crumbs.at(-1)?.attributes.href,
  };
}
