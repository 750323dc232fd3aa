import { createBreathe } from '@commonplace/kit/slices';
import type { Part } from '../../content/kind.js';
import { namedResources } from '../index.js';
import { bare, EMPTY } from './document-body.js';
import { type DocumentKind, type DocumentParts, type DocumentReader, within } from './document-parts.js';
import { createLocated } from './located.js';
import type { StoredContent } from './records.js';
import { renamesIn } from './redirect.js';

type TextMethods = Pick<
  DocumentKind,
  'shownBody' | 'published' | 'redirected' | 'textIn' | 'shownText' | 'text' | 'texts' | 'locate'
>;

/** Creates the methods that return texts of documents: for search, publications, exports and comments. */
export function createDocumentTexts(
  { contents, hidden, deriver }: DocumentParts,
  { kept }: DocumentReader,
): TextMethods {
  const located = createLocated(deriver);

  function markdownOf(record: StoredContent | undefined): Promise<string> | string {
    if (record === undefined || record.format === 'markdown') return record?.text ?? '';
    return deriver.run(record.tenant, record.text.length, 'text', bare(record), 'markdown', []);
  }

  return {
    async shownBody(node, subject) {
      const record = await contents.get(node.id);
      const body = bare(record ?? EMPTY);
      const text = await deriver.run(
        record?.tenant ?? '',
        body.text.length,
        'text',
        body,
        body.format,
        await hidden.from(subject, body.text),
      );
      return text === body.text ? body : { format: body.format, text };
    },
    async published({ node, keptId }, linksOf, format, context) {
      const body = keptId === undefined ? bare((await contents.get(node.id)) ?? EMPTY) : await kept(keptId, context);
      const links = linksOf(namedResources(body.text));
      const { tenant } = node;
      const requester = within({ tenant }, context);
      if (format === 'html') return deriver.run(requester, body.text.length, 'publishedHtml', body, links);
      return { markdown: await deriver.run(requester, body.text.length, 'publishedMarkdown', body, links) };
    },
    async redirected(tenant, body, renamed) {
      const renames = renamesIn(body, renamed);
      return renames.size === 0 ? body : deriver.run(tenant, body.text.length, 'redirect', bare(body), renames);
    },
    textIn: (tenant, body, format) => deriver.run(tenant, body.text.length, 'text', bare(body), format, []),
    async shownText(node, subject) {
      const record = await contents.get(node.id);
      if (record === undefined) return '';
      const { tenant, text } = record;
      return deriver.run(tenant, text.length, 'text', bare(record), 'markdown', await hidden.from(subject, text));
    },
    text: async (node) => markdownOf(await contents.get(node.id)),
    async texts(nodes) {
      const found = await contents.getMany(nodes.map(({ id }) => id));
      const texts = new Map<string, string>();
      await createBreathe()();
      for (const record of found) texts.set(record.id, await markdownOf(record));
      return texts;
    },
    async locate(places) {
      const breathe = createBreathe();
      const found = new Map<string, (Part | undefined)[]>();
      for (const record of await contents.getMany([...places.keys()])) {
        found.set(record.id, await located(record, places.get(record.id) ?? []));
        await breathe();
      }
      return found;
    },
  };
}
