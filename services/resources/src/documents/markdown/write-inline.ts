import { dictionary } from '@commonplace/kit/dictionary';
import { escapeHtml } from '@commonplace/kit/html';
import { hasMark, inlineSteps, normalizeInline, withMarks } from '../model/inline.js';
import { attr, attrText, type DocNode, INLINE, MARK_TAGS, type Mark } from '../model/model.js';
import { type Care, escapeLineStart, escapeText, formatAddress, formatCode, formatTitle, isPlain } from './escape.js';
import { type Environment, MAX_INLINE } from './parser.js';

/** Where inline content stands: a heading or a table cell may contain less than a paragraph. */
export type Place = 'paragraph' | 'heading' | 'cell';

/** How marks are written: with Markdown's delimiters, or with tags, which work everywhere. */
type Style = 'signs' | 'tags';

const SIGNS: Readonly<Record<string, string>> = dictionary({ bold: '**', italic: '*', strike: '~~' });
interface InlineTerms {
  readonly place: Place;
  readonly style: Style;
  readonly care: Care;
  readonly env: Environment;
}

const bare = (mark: Mark): boolean => mark.attrs === undefined || Object.keys(mark.attrs).length === 0;

const isLink = (mark: Mark): boolean =>
  mark.type === 'link' && Object.keys(mark.attrs ?? {}).every((name) => name === 'href' || name === 'title');

function openMark(mark: Mark, style: Style): string {
  const sign = style === 'signs' ? SIGNS[mark.type] : undefined;
  if (isLink(mark)) return '[';
  if (bare(mark) && sign !== undefined) return sign;
  const tag = MARK_TAGS[mark.type];
  if (bare(mark) && tag !== undefined) return `<${tag}>`;
  const id = attr(mark, 'id');
  if (mark.type === 'comment' && typeof id === 'string' && Object.keys(mark.attrs ?? {}).length === 1) {
    return `<span data-comment="${escapeHtml(id)}">`;
  }
  return `<span data-mark="${escapeHtml(JSON.stringify(mark))}">`;
}

function closeMark(mark: Mark, style: Style): string {
  if (isLink(mark)) return `](${formatAddress(attrText(mark, 'href'))}${formatTitle(attrText(mark, 'title'))})`;
  const sign = style === 'signs' ? SIGNS[mark.type] : undefined;
  if (bare(mark) && sign !== undefined) return sign;
  const tag = MARK_TAGS[mark.type];
  return `</${bare(mark) && tag !== undefined ? tag : 'span'}>`;
}

/** Writes a node as JSON in an empty tag, as Markdown has no form for it. */
function verbatim({ type, attrs, extra }: DocNode): string {
  return `<span data-node="${escapeHtml(JSON.stringify({ type, attrs, ...extra }))}"></span>`;
}

const only = (node: DocNode, ...names: string[]): boolean =>
  Object.keys(node.attrs ?? {}).every((name) => names.includes(name)) && node.extra === undefined;

/** Types of nodes that are written as JSON if nothing else separates them from the text around them. */
const HELD = new Set(['math_inline', 'mention', 'wiki_link', 'footnote_ref']);

function writeLeaf(node: DocNode, next: DocNode | undefined, writing: InlineTerms): string {
  if (writing.style === 'tags' && writing.care === 'all' && HELD.has(node.type)) return verbatim(node);
  switch (node.type) {
    case 'hard_break':
      return next === undefined || writing.place !== 'paragraph' || writing.care === 'all' ? '<br>' : '\\\n';
    case 'image':
      return only(node, 'src', 'alt', 'title') ? formatImage(node, writing.care) : verbatim(node);
    case 'math_inline':
      return formatMath(node, next) ?? verbatim(node);
    case 'mention':
      return formatMention(node) ?? verbatim(node);
    case 'wiki_link':
      return formatWikiLink(node) ?? verbatim(node);
    case 'footnote_ref':
      return `[^${attrText(node, 'label')}]`;
    case 'html':
      return writing.care === 'light' && only(node, 'html') ? attrText(node, 'html') : verbatim(node);
    default:
      return INLINE.has(node.type) ? '' : verbatim(node);
  }
}

/** Formats an image as Markdown; its alternative text is escaped with the given care. */
function formatImage(node: DocNode, care: Care): string {
  const alt = escapeText(attrText(node, 'alt').replace(/\s*\n\s*/g, '\n'), care);
  return `![${alt}](${formatAddress(attrText(node, 'src'))}${formatTitle(attrText(node, 'title'))})`;
}

function formatMath(node: DocNode, next: DocNode | undefined): string | undefined {
  const tex = attrText(node, 'tex');
  if (!only(node, 'tex') || !/^[^\s$](?:(?:\\.|[^$\\])*(?:\\.|[^\s$\\]))?$/s.test(tex) || /\n/.test(tex))
    return undefined;
  return /^[\d$]/.test(next?.text ?? '') ? undefined : `$${tex}$`;
}

function formatMention(node: DocNode): string | undefined {
  const [name, user] = [attrText(node, 'name'), attrText(node, 'user_id')];
  if (!only(node, 'name', 'user_id') || !/^[\w-]{1,64}$/.test(user) || !/^[^\n\\]{1,100}$/.test(name)) return undefined;
  return `@[${name.replace(/[[\]]/g, (char) => `\\${char}`)}](user:${user})`;
}

function formatWikiLink(node: DocNode): string | undefined {
  const [target, label] = [attrText(node, 'target'), attrText(node, 'label')];
  const clean = (text: string) => /^[^[\]|\n]{1,500}$/.test(text) && text.trim() === text;
  if (!only(node, 'target', 'label') || !clean(target) || (label !== '' && !clean(label))) return undefined;
  return label === '' ? `[[${target}]]` : `[[${target}|${label}]]`;
}

/** Converts nodes that Markdown writes as text: emoji, and references to undefined footnotes. */
function asText(node: DocNode, env: Environment): DocNode {
  const { type, marks = [] } = node;
  const [emoji, name, label] = [attrText(node, 'emoji'), attrText(node, 'name'), attrText(node, 'label')];
  if (type === 'emoji' && (emoji !== '' || name !== ''))
    return withMarks({ type: 'text', text: emoji || `:${name}:` }, marks);
  if (type !== 'footnote_ref' || env.footnotes?.has(label)) return node;
  return withMarks({ type: 'text', text: `[^${label}]` }, marks);
}

/** Returns `<https://…>` for a link whose text is its own address; undefined for any other node. */
function autolink(nodes: readonly DocNode[], index: number): string | undefined {
  const node = nodes[index];
  const [mark] = node?.marks ?? [];
  const text = node?.text;
  if (node?.marks?.length !== 1 || mark === undefined || text === undefined || !isLink(mark)) return undefined;
  if (mark.attrs?.title !== undefined) return undefined;
  const shared = [nodes[index - 1], nodes[index + 1]].some((other) => other !== undefined && hasMark(other, 'link'));
  const href = attrText(mark, 'href');
  if (shared) return undefined;
  if (href === text && /^[A-Za-z][A-Za-z\d+.-]{1,31}:[^\s<>\p{Cc}]*$/u.test(text)) return `<${text}>`;
  return href === `mailto:${text}` && /^[\w.+-]+@[A-Za-z\d-]+(\.[A-Za-z\d-]+)+$/.test(text) ? `<${text}>` : undefined;
}

/** Writes inline content in one style. */
function write(nodes: readonly DocNode[], writing: InlineTerms): string {
  const out: string[] = [];
  const plain = nodes.map((node, index) => {
    const link = writing.care === 'light' ? autolink(nodes, index) : undefined;
    return link === undefined ? node : withMarks({ type: 'autolink', text: link }, []);
  });
  for (const step of inlineSteps(plain)) {
    if ('open' in step) out.push(openMark(step.open, writing.style));
    else if ('close' in step) out.push(closeMark(step.close, writing.style));
    else if (step.node.type === 'autolink') out.push(step.node.text ?? '');
    else if (step.node.type !== 'text') out.push(writeLeaf(step.node, step.next, writing));
    else if (hasMark(step.node, 'code')) out.push(formatCode(step.node.text ?? ''));
    else out.push(escapeText(step.node.text ?? '', writing.care));
  }
  return finish(out.join(''), writing.place);
}

function finish(text: string, place: Place): string {
  if (place === 'cell') return text.replace(/\n/g, ' ').replaceAll('|', '\\|');
  if (place === 'heading') return text.replace(/(^|[ \t])(#+)$/, '$1\\$2');
  return text.includes('\n') ? text.split('\n').map(escapeLineStart).join('\n') : escapeLineStart(text);
}

/** Returns whether Markdown parses back to the given nodes in the given place. */
export type Check = (markdown: string, nodes: readonly DocNode[], place: Place) => boolean;

const ATTEMPTS: readonly (readonly [Style, Care])[] = [
  ['signs', 'light'],
  ['tags', 'light'],
  ['signs', 'all'],
];

/**
 * Writes inline content so that it parses back unchanged. Tries plain Markdown first, then tags instead of delimiters,
 * then delimiters with all punctuation escaped; falls back to tags with all punctuation escaped.
 */
export function writeInline(content: readonly DocNode[], place: Place, env: Environment, check: Check): string {
  const texts = content.map((node) => asText(node, env));
  const nodes = normalizeInline(texts.map(place === 'cell' ? onOneLine : codeOnOneLine));
  if (nodes.every((node) => node.type === 'text' && node.marks === undefined && isPlain(node.text ?? ''))) {
    return nodes.map((node) => node.text).join('');
  }
  const long = asItIs(nodes, place);
  if (long !== undefined && check(long, nodes, place)) return long;
  for (const [style, care] of ATTEMPTS) {
    const markdown = write(nodes, { place, style, care, env });
    if (check(markdown, nodes, place)) return markdown;
  }
  return write(nodes, { place, style: 'tags', care: 'all', env });
}

/** Returns a text that is too long for inline parsing as it is, because the parser takes it as it is too. */
function asItIs(nodes: readonly DocNode[], place: Place): string | undefined {
  const [only] = nodes;
  const long = nodes.length === 1 && only?.type === 'text' && only.marks === undefined && place !== 'heading';
  return long && (only.text?.length ?? 0) > MAX_INLINE ? only.text : undefined;
}

/** Replaces line breaks in inline code by blanks. */
const codeOnOneLine = (node: DocNode): DocNode =>
  node.text !== undefined && hasMark(node, 'code') && /[\r\n]/.test(node.text)
    ? { ...node, text: node.text.replace(/\r?\n|\r/g, ' ') }
    : node;

const onOneLine = (node: DocNode): DocNode =>
  node.text !== undefined && /[\r\n]/.test(node.text)
    ? { ...node, text: node.text.replace(/\s*[\r\n]\s*/g, ' ') }
    : node;
