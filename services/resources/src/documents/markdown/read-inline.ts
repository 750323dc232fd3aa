import { dictionary } from '@commonplace/kit/dictionary';
import { unescapeHtml } from '@commonplace/kit/html';
import { isAttrs, parseAttributeObject } from '../model/attribute-json.js';
import { inlineText, normalizeInline, sortMarks } from '../model/inline.js';
import { type Attrs, type DocNode, INLINE, type Mark } from '../model/model.js';
import type { Token } from './parser.js';

const DELIMITERS: Readonly<Record<string, string>> = { strong: 'bold', em: 'italic', s: 'strike' };

/** Tags that are marks if they have no attributes; Markdown has no delimiters for those from `u` on. */
const TAGS: Readonly<Record<string, string>> = dictionary({
  strong: 'bold',
  b: 'bold',
  em: 'italic',
  i: 'italic',
  del: 'strike',
  s: 'strike',
  strike: 'strike',
  u: 'underline',
  mark: 'highlight',
  sub: 'sub',
  sup: 'sup',
});

const TAG = /^<(\/?)(strong|b|em|i|del|s|strike|u|mark|sub|sup|span)(\s[^>]*)?>$/i;
const COMMENT_MARK = /^\s+data-comment="([^"]*)"$/;
const ANY_MARK = /^\s+data-mark="([^"]*)"$/;
const NODE = /^<span data-node="([^"]*)">$/;

function markOf(name: string, attributes: string): Mark | undefined {
  const type = TAGS[name];
  if (type !== undefined) return attributes === '' ? { type } : undefined;
  const id = COMMENT_MARK.exec(attributes)?.[1];
  if (id !== undefined) return { type: 'comment', attrs: { id: unescapeHtml(id) } };
  const json = parseAttributeObject(unescapeHtml(ANY_MARK.exec(attributes)?.[1] ?? ''));
  if (typeof json?.type !== 'string') return undefined;
  return isAttrs(json.attrs) ? { type: json.type, attrs: json.attrs } : { type: json.type };
}

/** Pairs opening and closing tags of the same name within one content, innermost first. Returns them by token index. */
function pairTags(tokens: readonly Token[]): Map<number, { mark: Mark; opens: boolean }> {
  const pairs = new Map<number, { mark: Mark; opens: boolean }>();
  const open = new Map<string, { index: number; mark: Mark | undefined }[]>();
  tokens.forEach((token, index) => {
    const match = token.type === 'html_inline' ? TAG.exec(token.content) : null;
    if (match === null) return;
    const name = (match[2] ?? '').toLowerCase();
    const stack = open.get(name) ?? [];
    open.set(name, stack);
    if (match[1] === '') {
      stack.push({ index, mark: markOf(name, match[3] ?? '') });
      return;
    }
    const start = stack.pop();
    if (start?.mark === undefined) return;
    pairs.set(start.index, { mark: start.mark, opens: true });
    pairs.set(index, { mark: start.mark, opens: false });
  });
  return pairs;
}

function linkMark(token: Token): Mark {
  const attrs: Attrs = { href: token.attrGet('href') ?? '' };
  const title = token.attrGet('title');
  if (title) attrs.title = title;
  return { type: 'link', attrs };
}

function imageNode(token: Token): DocNode {
  const attrs: Attrs = { src: token.attrGet('src') ?? '' };
  const alt = inlineText(readTokens(token.children ?? []));
  if (alt !== '') attrs.alt = alt;
  const title = token.attrGet('title');
  if (title) attrs.title = title;
  return { type: 'image', attrs };
}

/** Returns the inline node that was written as JSON; undefined if the JSON is not a valid node. */
function verbatimNode({ type, attrs, ...extra }: Attrs): DocNode | undefined {
  if (typeof type !== 'string' || type === 'text') return undefined;
  const node: DocNode = isAttrs(attrs) ? { type, attrs } : { type };
  return INLINE.has(type) || Object.keys(extra).length === 0 ? node : { ...node, extra };
}

function htmlNode(html: string): DocNode {
  if (/^<br\s*\/?>$/i.test(html)) return { type: 'hard_break' };
  return { type: 'html', attrs: { html } };
}

/** Converts a token that is a node by itself. */
function leaf(token: Token): DocNode {
  switch (token.type) {
    case 'softbreak':
      return { type: 'text', text: '\n' };
    case 'hardbreak':
      return { type: 'hard_break' };
    case 'code_inline':
      return { type: 'text', text: token.content, marks: [{ type: 'code' }] };
    case 'image':
      return imageNode(token);
    case 'html_inline':
      return htmlNode(token.content);
    case 'math_inline':
      return { type: 'math_inline', attrs: { tex: token.content } };
    case 'mention':
    case 'wiki_link':
    case 'footnote_ref':
      return { type: token.type, attrs: token.meta as Attrs };
    default:
      return { type: 'text', text: token.content };
  }
}

/** Maximum number of mark types on one text, more than any real page has; further ones are dropped. */
const MAX_MARKS = 32;

/** Tracks the open marks; the same type may be opened several times. */
function createActive() {
  const open = new Map<string, Mark[]>();
  let sorted: readonly Mark[] | undefined;
  return {
    open(mark: Mark): void {
      const stack = open.get(mark.type) ?? [];
      stack.push(mark);
      if (open.size < MAX_MARKS) open.set(mark.type, stack);
      sorted = undefined;
    },
    close(type: string): void {
      const stack = open.get(type);
      stack?.pop();
      if (stack?.length === 0) open.delete(type);
      sorted = undefined;
    },
    marks: (): readonly Mark[] => {
      sorted ??= sortMarks([...open.values()].map((stack) => stack.at(-1) as Mark));
      return sorted;
    },
  };
}

/** Returns the node that an empty tag holds as JSON; undefined if the token is not such a tag. */
function heldNode(tokens: readonly Token[], index: number): DocNode | undefined {
  const source = tokens[index]?.type === 'html_inline' ? NODE.exec(tokens[index].content)?.[1] : undefined;
  if (source === undefined || tokens[index + 1]?.content !== '</span>') return undefined;
  const json = parseAttributeObject(unescapeHtml(source));
  return json === undefined ? undefined : verbatimNode(json);
}

function readTokens(tokens: readonly Token[]): DocNode[] {
  const pairs = pairTags(tokens);
  const active = createActive();
  const nodes: DocNode[] = [];
  let held = -1;
  const add = (node: DocNode): void => {
    const marks = active.marks();
    nodes.push(marks.length === 0 ? node : { ...node, marks: [...marks, ...(node.marks ?? [])] });
  };
  tokens.forEach((token, index) => {
    const pair = pairs.get(index);
    const node = heldNode(tokens, index);
    if (node !== undefined) {
      add(node);
      held = index + 1;
    } else if (index === held) return;
    else if (pair !== undefined) {
      if (pair.opens) active.open(pair.mark);
      else active.close(pair.mark.type);
    } else if (token.type === 'link_open') active.open(linkMark(token));
    else if (token.type === 'link_close') active.close('link');
    else if (token.nesting !== 0) {
      const type = DELIMITERS[token.type.slice(0, token.type.lastIndexOf('_'))];
      if (type === undefined) return;
      if (token.nesting > 0) active.open({ type });
      else active.close(type);
    } else add(leaf(token));
  });
  return nodes;
}

/** Converts the tokens of inline content to nodes in canonical form. */
export const readInline = (tokens: readonly Token[]): DocNode[] => normalizeInline(readTokens(tokens));
