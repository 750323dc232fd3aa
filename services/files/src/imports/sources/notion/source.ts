import { escapeHtml } from '@commonplace/kit/html';
import { isOutside, resolveRelative } from '../common/links.js';
import { extensionOf } from '../common/paths.js';
import { headOf, oneLine, readText, wellFormed } from '../common/text.js';
import { MAX_CSV_BYTES, readCsv } from '../csv/parse.js';
import { loadHtml } from '../html/dom.js';
import { MAX_PAGE_BYTES } from '../html/page.js';
import {
  type Bundle,
  ImportFault,
  type ItemContent,
  type OpenSource,
  type SourceItem,
  type SourceOptions,
} from '../port.js';
import { readNotionHtml } from './html.js';
import { fromNotionMarkdown } from './markdown.js';
import { idIn } from './names.js';
import { type NotionPage, type NotionPlan, planNotion } from './plan.js';
import { fromProperties, propertyLines, takeProperties } from './properties.js';

const isHtml = (path: string): boolean => /^html?$/.test(extensionOf(path));

/** Splits a page's Markdown into the first heading, which is its full title, and the rest. */
function takeTitle(text: string): { title?: string; text: string } {
  const match = /^\s*# (.+)(?:\n|$)/.exec(text);
  if (match === null) return { text };
  const title = oneLine((match[1] ?? '').replace(/\\([\\`*_{}[\]()#+.!~|<>-])/g, '$1'));
  return { title: title || undefined, text: text.slice(match[0].length).replace(/^\s*\n/, '') };
}

/** Creates a function that reads the pages of a bundle; it caches the columns of databases. */
function createReader(bundle: Bundle, plan: NotionPlan, options: SourceOptions) {
  const columns = new Map<string, Promise<ReadonlySet<string> | undefined>>();

  /** Returns the names of a database's columns, which its pages use for their properties. */
  function columnsOf(database: NotionPage): Promise<ReadonlySet<string> | undefined> {
    const known = columns.get(database.path) ?? readColumns(bundle, database.entry);
    columns.set(database.path, known);
    return known;
  }

  async function markdownPage(page: NotionPage, database: NotionPage | undefined): Promise<ItemContent> {
    const whole = wellFormed(await readText(bundle, page.entry, MAX_PAGE_BYTES)).replace(/\r\n?/g, '\n');
    const { title, text } = takeTitle(whole);
    const taken = database === undefined ? { properties: [], text } : takeProperties(text, await columnsOf(database));
    const { content, left } = fromProperties(taken.properties);
    const kept = propertyLines(left);
    const markdown = fromNotionMarkdown(taken.text);
    return { ...content, title, markdown: kept.length === 0 ? markdown : `${kept.join('\n\n')}\n\n${markdown}` };
  }

  async function htmlPage(page: NotionPage): Promise<ItemContent> {
    const { title, icon, description, properties, html, losses } = readNotionHtml(
      await bundle.read(page.entry, MAX_PAGE_BYTES),
    );
    const { content, left } = fromProperties(properties);
    const kept = propertyLines(left).map((line) => `<p>${escapeHtml(line)}</p>`);
    const words = description?.slice(0, 2000);
    return {
      ...content,
      title: title || undefined,
      icon,
      description: words,
      html: kept.join('') + html,
      warnings: losses.list(),
    };
  }

  async function database(page: NotionPage): Promise<ItemContent> {
    const csv = { ...options.csv, hasHeader: true, delimiter: options.csv?.delimiter ?? ',' };
    const { table, warnings } = readCsv(await bundle.read(page.entry, MAX_CSV_BYTES), page.entry, csv, true);
    return { ...(await headOfDatabase(page)), json: table, warnings };
  }

  /** Reads a database's full name and description, if the export contains its page. */
  async function headOfDatabase({ page }: NotionPage): Promise<ItemContent> {
    if (page === undefined) return {};
    if (isHtml(page)) {
      const { title, icon, description } = readNotionHtml(await bundle.read(page, MAX_PAGE_BYTES));
      return { title: title || undefined, icon, description: description?.slice(0, 2000) };
    }
    const { title, text } = takeTitle(await readText(bundle, page, MAX_PAGE_BYTES));
    return { title, description: oneLine(text).slice(0, 2000) || undefined };
  }

  return async ({ path, parent }: SourceItem): Promise<ItemContent> => {
    const page = plan.pages.get(path);
    if (page === undefined) return {};
    if (page.kind === 'table') return database(page);
    const above = plan.pages.get(parent ?? '');
    return isHtml(page.path) ? htmlPage(page) : markdownPage(page, above?.kind === 'table' ? above : undefined);
  };
}

const HEAD_BYTES = 64 * 1024;

async function readColumns(bundle: Bundle, entry: string): Promise<ReadonlySet<string> | undefined> {
  try {
    const head = await headOf(bundle, entry, HEAD_BYTES);
    const { table } = readCsv(head, entry, { hasHeader: true, delimiter: ',', detectTypes: false });
    return new Set(table.columns.map(({ name }) => name));
  } catch {
    // An error in the database is reported when its own item is read.
    return undefined;
  }
}

/**
 * Opens an export of Notion as Markdown and CSV or as HTML: pages below pages, and databases as tables with their pages
 * below.
 */
export const openNotionSource: OpenSource = async (bundle, options) => {
  await loadHtml();
  const plan = planNotion(bundle);
  if (plan.pages.size === 0)
    throw new ImportFault('no_pages', 'The source contains no Notion page: export as "Markdown & CSV" or as "HTML".');
  const hasDatabases = [...plan.pages.values()].some(({ kind }) => kind === 'table');
  return {
    items: plan.items,
    skipped: plan.skipped,
    read: createReader(bundle, plan, options),
    resolve(from, href) {
      if (/^\s*(?:#|$)/.test(href)) return { item: from.path };
      const id = idIn(href);
      const byId = id === undefined ? undefined : plan.byId.get(id);
      if (isOutside(href)) {
        const isOwn = /^https?:\/\/(?:[\w-]+\.)*notion\.(?:so|site|com)\//i.test(href.trim());
        return isOwn && byId !== undefined ? { item: byId } : { outside: true };
      }
      const found = resolveRelative(from.path, href, plan.index, ['.md', '.html']);
      return 'item' in found || byId === undefined ? found : { item: byId };
    },
    notes: [
      'An export of Notion has no comments, page history, permissions or synced blocks as such.',
      ...(hasDatabases
        ? [
            'Of databases, the export contains only the values: relations, rollups and formulas are imported as text, views and filters are missing.',
          ]
        : []),
    ],
  };
};
