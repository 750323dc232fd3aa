import { dictionary } from '@commonplace/kit/dictionary';
import { escapeHtml } from '@commonplace/kit/html';
import { isObject } from '@commonplace/kit/json';
import { wellFormed } from '../common/text.js';
import { createLosses, type Losses } from '../common/warnings.js';

type Attributes = Readonly<Record<string, unknown>>;

const TAGS: Readonly<Record<string, string>> = dictionary({
  paragraph: 'p',
  bullet_list: 'ul',
  list_item: 'li',
  blockquote: 'blockquote',
  table: 'table',
  tr: 'tr',
  checkbox_list: 'ul',
});

const MARKS: Readonly<Record<string, string>> = dictionary({
  strong: 'strong',
  bold: 'strong',
  em: 'em',
  italic: 'em',
  underline: 'u',
  strikethrough: 's',
  code_inline: 'code',
  code: 'code',
  highlight: 'mark',
});
/** Marks that have no meaning outside Outline. */
const SILENT_MARKS = new Set(['comment', 'placeholder']);

const KINDS: Readonly<Record<string, string>> = dictionary({
  info: 'note',
  success: 'tip',
  tip: 'tip',
  warning: 'warning',
});
const MAX_DEPTH = 200;

const word = (value: unknown): string =>
  typeof value === 'string' ? wellFormed(value) : typeof value === 'number' ? String(value) : '';
const attribute = (name: string, value: unknown): string =>
  word(value) === '' ? '' : ` ${name}="${escapeHtml(word(value))}"`;

/** Converts a ProseMirror document to HTML. Unknown types are reported as losses, and their content is kept. */
export function prosemirrorHtml(document: unknown, losses: Losses = createLosses()): string {
  const out: string[] = [];

  function textWithin(node: unknown, depth = 0): string {
    if (!isObject(node) || depth > MAX_DEPTH) return '';
    if (typeof node.text === 'string') return wellFormed(node.text);
    return Array.isArray(node.content) ? node.content.map((child) => textWithin(child, depth + 1)).join('') : '';
  }

  function writeAll(content: unknown, depth: number): void {
    if (!Array.isArray(content)) return;
    if (depth > MAX_DEPTH) out.push(escapeHtml(content.map((child) => textWithin(child)).join(' ')));
    else for (const child of content) write(child, depth + 1);
  }

  function around(open: string, close: string, content: unknown, depth: number): void {
    out.push(`<${open}>`);
    writeAll(content, depth);
    out.push(`</${close}>`);
  }

  function writeText(text: string, marks: unknown): void {
    const tags: [string, string][] = [];
    for (const mark of Array.isArray(marks) ? marks : []) {
      if (!isObject(mark)) continue;
      const type = word(mark.type);
      const tag = MARKS[type];
      if (tag !== undefined) tags.push([`<${tag}>`, `</${tag}>`]);
      else if (type === 'link' && isObject(mark.attrs)) tags.push([`<a${attribute('href', mark.attrs.href)}>`, '</a>']);
      else if (!SILENT_MARKS.has(type)) losses.add(`A mark of the type ${type} is left out`);
    }
    out.push(...tags.map(([open]) => open), escapeHtml(wellFormed(text)), ...tags.reverse().map(([, close]) => close));
  }

  function write(node: unknown, depth: number): void {
    if (!isObject(node)) return;
    const attrs: Attributes = isObject(node.attrs) ? node.attrs : {};
    const type = word(node.type);
    if (type === 'text') writeText(word(node.text), node.marks);
    else if (TAGS[type] !== undefined) around(TAGS[type], TAGS[type], node.content, depth);
    else writeSpecial(type, attrs, node, depth);
  }

  function writeSpecial(type: string, attrs: Attributes, node: Record<string, unknown>, depth: number): void {
    const { content } = node;
    switch (type) {
      case 'heading': {
        const level = Math.min(6, Math.max(1, Number(attrs.level) || 1));
        around(`h${level}`, `h${level}`, content, depth);
        return;
      }
      case 'ordered_list':
        around(`ol${attrs.order === 1 ? '' : attribute('start', attrs.order)}`, 'ol', content, depth);
        return;
      case 'checkbox_item':
        out.push(`<li><input type="checkbox"${attrs.checked === true ? ' checked=""' : ''}>`);
        writeAll(content, depth);
        out.push('</li>');
        return;
      case 'code_block':
      case 'code_fence': {
        const language = word(attrs.language);
        out.push(
          `<pre><code${language === '' || language === 'none' ? '' : ` class="language-${escapeHtml(language)}"`}>`,
        );
        out.push(escapeHtml(textWithin(node)), '</code></pre>');
        return;
      }
      case 'math_block':
        out.push(`<div data-math="block">${escapeHtml(textWithin(node))}</div>`);
        return;
      case 'math_inline':
        out.push(`<span data-math="inline">${escapeHtml(textWithin(node))}</span>`);
        return;
      case 'container_notice':
        around(`aside data-callout="${KINDS[word(attrs.style)] ?? 'note'}"`, 'aside', content, depth);
        return;
      case 'container_toggle':
      case 'toggle_block': {
        const [head, ...rest] = Array.isArray(content) ? content : [];
        out.push(`<details><summary>${escapeHtml(textWithin(head))}</summary>`);
        writeAll(rest, depth);
        out.push('</details>');
        return;
      }
      case 'th':
      case 'td':
        around(
          `${type}${attribute('align', attrs.alignment)}${attribute('colspan', attrs.colspan)}${attribute('rowspan', attrs.rowspan)}`,
          type,
          content,
          depth,
        );
        return;
      case 'hr':
        out.push('<hr>');
        return;
      case 'br':
      case 'hard_break':
        out.push('<br>');
        return;
      default:
        writeMedia(type, attrs, node, depth);
    }
  }

  function writeMedia(type: string, attrs: Attributes, node: Record<string, unknown>, depth: number): void {
    switch (type) {
      case 'image':
        out.push(
          `<img${attribute('src', attrs.src)}${attribute('alt', attrs.alt)}${attribute('width', attrs.width)}${attribute('height', attrs.height)}>`,
        );
        if (word(attrs.title) !== '') out.push(`<p>${escapeHtml(word(attrs.title))}</p>`);
        return;
      case 'attachment':
      case 'video':
      case 'embed': {
        const href = word(attrs.href) || word(attrs.src);
        out.push(`<p><a${attribute('href', href)}>${escapeHtml(word(attrs.title) || href)}</a></p>`);
        return;
      }
      case 'emoji':
        out.push(escapeHtml(`:${word(attrs['data-name'])}:`));
        return;
      case 'mention': {
        const label = escapeHtml(word(attrs.label));
        const target = word(attrs.modelId);
        const isPage = attrs.type === 'document' || attrs.type === 'collection';
        out.push(isPage && target !== '' ? `<a href="/doc/${escapeHtml(target)}">${label}</a>` : `@${label}`);
        return;
      }
      default:
        if (type !== 'doc') losses.add(`A block of the type ${type} is replaced by its content`);
        writeAll(node.content, depth);
    }
  }

  write(document, 0);
  return out.join('');
}
