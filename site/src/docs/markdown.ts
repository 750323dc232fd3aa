import { posix } from 'node:path';
import { lazyLibrary } from '@commonplace/kit/library';
import type MarkdownIt from 'markdown-it';
import { escapeAttribute } from '../page/escape.js';

const library = lazyLibrary<typeof MarkdownIt>('markdown-it', import.meta.url);
let reader: InstanceType<typeof MarkdownIt> | undefined;

/**
 * Renders the Markdown of the documentation as HTML. The id of a heading is its `{#id}` or is derived from its words. A
 * code block whose language is followed by `fold` is collapsed at first. `file` is the text's path below `docs/`:
 * relative links point to the page of their file, and become plain text if that file has no page.
 */
export function docsHtml(text: string, file = 'page.md'): string {
  reader ??= createReader();
  return reader.render(text, { file });
}

/** Returns the page path of a Markdown file below `docs/`; undefined if it has no page. */
export function pathOf(file: string): string | undefined {
  const [, folder, name] = /^(?:(guides)\/)?([\w-]+)\.md$/.exec(file) ?? [];
  return name === undefined ? undefined : `/docs/${folder ?? 'topics'}/${name}`;
}

/** Returns the title of a page, which is its first heading. */
export function titleOf(markdown: string): string {
  return /^# (.+)$/m.exec(markdown)?.[1]?.trim() ?? 'Documentation';
}

const LANGUAGES: Readonly<Record<string, string>> = { sh: 'Shell', ts: 'TypeScript', python: 'Python', json: 'JSON' };
const ABSOLUTE = /^(?:[a-z][a-z\d+.-]*:|#|\/)/i;
const ID = /\s*\{#([\w-]+)\}$/;

function createReader(): InstanceType<typeof MarkdownIt> {
  const made = new (library())({ html: false, linkify: false }).disable('image');
  made.renderer.rules.table_open = () => '<div class="wide" tabindex="0" role="group" aria-label="Table"><table>\n';
  made.renderer.rules.table_close = () => '</table></div>\n';
  made.renderer.rules.fence = (tokens, index) => {
    const { info = '', content = '' } = tokens[index] ?? {};
    const [language = '', ...words] = info.split(' ');
    const label = LANGUAGES[language] ?? 'Text';
    const code = `<pre tabindex="0" role="group" aria-label="${label}"><code>${escapeAttribute(content)}</code></pre>\n`;
    return words.includes('fold') ? `<details><summary>${label}</summary>${code}</details>\n` : code;
  };
  made.core.ruler.push('page-links', ({ tokens, env }) => {
    for (const link of tokens.flatMap(({ children }) => children ?? [])) {
      const target = String(link.attrGet('href') ?? '');
      if (link.type !== 'link_open' || ABSOLUTE.test(target)) continue;
      const [path = '', fragment] = target.split('#');
      const page = pathOf(posix.join(posix.dirname((env as { file: string }).file), path));
      if (page === undefined) link.attrs = [];
      else link.attrSet('href', fragment === undefined ? page : `${page}#${fragment}`);
    }
  });
  made.core.ruler.push('heading-ids', ({ tokens }) => {
    const taken = new Map<string, number>();
    tokens.forEach((token, index) => {
      const inline = tokens[index + 1];
      if (token.type !== 'heading_open' || inline === undefined) return;
      const last = inline.children?.at(-1);
      const [, id] = ID.exec(inline.content) ?? [];
      if (id !== undefined && last !== undefined) last.content = last.content.replace(ID, '');
      token.attrSet('id', id ?? numbered(slugOf(inline.content), taken));
    });
  });
  return made;
}

/** Makes a slug unique by appending a number if an earlier heading has the same slug. */
function numbered(slug: string, taken: Map<string, number>): string {
  const count = taken.get(slug) ?? 0;
  taken.set(slug, count + 1);
  return count === 0 ? slug : `${slug}-${count}`;
}

function slugOf(words: string): string {
  return words
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s-]/gu, '')
    .trim()
    .replaceAll(/\s+/g, '-');
}
