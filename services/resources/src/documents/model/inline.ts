import { type DocNode, MARKS, type Mark } from './model.js';

const rank = new Map<string, number>(MARKS.map((type, index) => [type, index]));
const rankOf = (mark: Mark): number => rank.get(mark.type) ?? -1;

/** Returns a key that is equal for equal marks, whatever the order of their attributes. */
export function markKey(mark: Mark): string {
  if (mark.attrs === undefined) return mark.type;
  const names = Object.keys(mark.attrs).sort();
  return names.length === 0
    ? mark.type
    : `${mark.type} ${JSON.stringify(names.map((name) => [name, mark.attrs?.[name]]))}`;
}

export const hasMark = (node: DocNode, type: string): boolean =>
  node.marks?.some((mark) => mark.type === type) ?? false;

const withoutMark = (node: DocNode, type: string): DocNode =>
  withMarks(node, node.marks?.filter((m) => m.type !== type) ?? []);

/** Copies a node with the given marks; an empty list removes the property. */
export function withMarks(node: DocNode, marks: readonly Mark[]): DocNode {
  const { marks: _, ...rest } = node;
  return marks.length === 0 ? rest : { ...rest, marks };
}

/** Sorts marks into their canonical order, with each type once. */
export function sortMarks(marks: readonly Mark[]): readonly Mark[] {
  if (marks.length < 2) return marks;
  const types = new Map(marks.map((mark) => [mark.type, mark]));
  return [...types.values()].sort((a, b) => rankOf(a) - rankOf(b) || (a.type < b.type ? -1 : 1));
}

const sameMarks = (a: DocNode, b: DocNode): boolean => {
  const [left = [], right = []] = [a.marks, b.marks];
  return left.length === right.length && left.every((mark, i) => markKey(mark) === markKey(right[i] as Mark));
};

function mergeTexts(nodes: readonly DocNode[]): DocNode[] {
  const merged: DocNode[] = [];
  let texts: string[] = [];
  const flush = () => {
    const last = merged.at(-1);
    if (last !== undefined && texts.length > 1) merged[merged.length - 1] = { ...last, text: texts.join('') };
    texts = [];
  };
  for (const node of nodes) {
    if (node.type === 'text' && !node.text) continue;
    const last = merged.at(-1);
    if (texts.length > 0 && node.type === 'text' && last !== undefined && sameMarks(last, node)) {
      texts.push(node.text ?? '');
      continue;
    }
    flush();
    merged.push(node);
    if (node.type === 'text') texts.push(node.text ?? '');
  }
  flush();
  return merged;
}

const blankEdge = /^[ \t\n]+/;
const uneven = /[\r\n\0]/;

/** Removes blanks that are not content: at both ends, around newlines and around hard breaks. */
function trimLines(nodes: readonly DocNode[]): DocNode[] {
  const out: DocNode[] = [];
  let lineStart = true;
  for (const node of nodes) {
    if (node.type !== 'text' || hasMark(node, 'code')) {
      if (node.type === 'hard_break') trimEnd(out);
      out.push(node);
      lineStart = node.type === 'hard_break';
      continue;
    }
    let text = node.text ?? '';
    // Most texts need no change, and these replacements took most of the time.
    if (uneven.test(text)) {
      text = text.replace(/\r\n?/g, '\n').replaceAll('\0', '\uFFFD');
      text = text.replace(/[ \t]*\n[ \t\n]*/g, '\n');
    }
    if (lineStart) text = text.replace(blankEdge, '');
    if (text.startsWith('\n')) trimEnd(out);
    if (text === '') continue;
    out.push(text === node.text ? node : { ...node, text });
    lineStart = text.endsWith('\n');
  }
  trimEnd(out);
  // A hard break at the end has no effect.
  while (out.at(-1)?.type === 'hard_break') {
    out.pop();
    trimEnd(out);
  }
  return out;
}

function trimEnd(nodes: DocNode[]): void {
  for (;;) {
    const last = nodes.at(-1);
    if (last?.type !== 'text' || hasMark(last, 'code')) return;
    const text = trimBlankEnd(last.text ?? '');
    if (text !== '') {
      if (text !== last.text) nodes[nodes.length - 1] = { ...last, text };
      return;
    }
    nodes.pop();
  }
}

/** Removes trailing blanks. Uses a loop, as a regular expression is quadratic on long runs of blanks. */
function trimBlankEnd(text: string): string {
  let end = text.length;
  while (end > 0 && ' \t\n'.includes(text[end - 1] as string)) end -= 1;
  return text.slice(0, end);
}

/** Divides a text into the blanks at one of its ends, and the rest. */
type SplitBlanks = (text: string) => { readonly blanks: string; readonly rest: string };

const splitStart: SplitBlanks = (text) => {
  const rest = text.replace(blankEdge, '');
  return { blanks: text.slice(0, text.length - rest.length), rest };
};

const splitEnd: SplitBlanks = (text) => {
  const rest = trimBlankEnd(text);
  return { blanks: text.slice(rest.length), rest };
};

/** Removes a mark from the blanks where every range that has it begins, in the order of `nodes`. */
function shrinkMark(nodes: readonly DocNode[], type: string, split: SplitBlanks): DocNode[] {
  const out: DocNode[] = [];
  let inside = false;
  for (const node of nodes) {
    if (!hasMark(node, type)) inside = false;
    else if (!inside && node.type === 'hard_break') {
      out.push(withoutMark(node, type));
      continue;
    } else if (!inside && node.type === 'text' && !hasMark(node, 'code')) {
      const { blanks, rest } = split(node.text ?? '');
      if (blanks !== '') out.push({ ...withoutMark(node, type), text: blanks });
      if (rest === '') continue;
      inside = true;
      out.push(blanks === '' ? node : { ...node, text: rest });
      continue;
    } else inside = true;
    out.push(node);
  }
  return out;
}

/** Marks whose Markdown delimiters cannot enclose a blank at their edge. */
const DELIMITED = ['bold', 'italic', 'strike'] as const;

function shrinkMarks(nodes: readonly DocNode[]): DocNode[] {
  let result = nodes;
  for (const type of DELIMITED) {
    if (!result.some((node) => hasMark(node, type))) continue;
    result = shrinkMark(result, type, splitStart);
    result = shrinkMark(result.toReversed(), type, splitEnd).reverse();
  }
  return [...result];
}

/**
 * Returns the canonical form of inline content: marks sorted, neighbours with equal marks merged, and blanks removed at
 * the edges of lines and of delimited marks. Contents with the same meaning have equal canonical forms.
 */
export function normalizeInline(nodes: readonly DocNode[]): DocNode[] {
  const sorted = nodes.map((node) => {
    if (node.marks === undefined) return node;
    let marks = sortMarks(node.marks);
    if (node.type !== 'text' || hasMark(node, 'code'))
      marks = marks.filter((m) => m.type !== 'code' || node.type === 'text');
    return marks === node.marks ? node : withMarks(node, marks);
  });
  return mergeTexts(shrinkMarks(trimLines(mergeTexts(sorted))));
}

/** One step of writing inline content: opens a mark, closes a mark, or writes a node. */
type InlineStep =
  | { readonly open: Mark }
  | { readonly close: Mark }
  | { readonly node: DocNode; readonly next: DocNode | undefined };

/** Returns the steps that open and close marks so that they nest: the mark that lasts longest is opened first. */
export function inlineSteps(nodes: readonly DocNode[]): InlineStep[] {
  const steps: InlineStep[] = [];
  const open: { mark: Mark; key: string }[] = [];
  const lasting = markEnds(nodes);
  nodes.forEach((node, index) => {
    const marks = (node.marks ?? [])
      .filter((mark) => mark.type !== 'code')
      .map((mark) => ({ mark, key: markKey(mark) }));
    const keys = new Set(marks.map(({ key }) => key));
    const keep = open.findIndex(({ key }) => !keys.has(key));
    if (keep >= 0) {
      for (const { mark } of open.splice(keep).reverse()) steps.push({ close: mark });
    }
    const fresh = marks.filter(({ key }) => !open.some((entry) => entry.key === key));
    const ends = (key: string) => lasting[index]?.get(key) ?? index;
    fresh.sort((a, b) => ends(b.key) - ends(a.key) || rankOf(a.mark) - rankOf(b.mark));
    for (const entry of fresh) {
      open.push(entry);
      steps.push({ open: entry.mark });
    }
    steps.push({ node, next: nodes[index + 1] });
  });
  for (const { mark } of open.reverse()) steps.push({ close: mark });
  return steps;
}

/** Returns, for every node and each of its marks, the index of the last consecutive node with that mark. */
function markEnds(nodes: readonly DocNode[]): Map<string, number>[] {
  const ends: Map<string, number>[] = new Array(nodes.length);
  let next = new Map<string, number>();
  for (let index = nodes.length - 1; index >= 0; index -= 1) {
    const here = new Map<string, number>();
    for (const mark of nodes[index]?.marks ?? []) {
      const key = markKey(mark);
      here.set(key, next.get(key) ?? index);
    }
    ends[index] = here;
    next = here;
  }
  return ends;
}

/** Returns the plain text of inline content; hard breaks become newlines. */
export function inlineText(nodes: readonly DocNode[]): string {
  return nodes.map(nodeText).join('');
}

function nodeText(node: DocNode): string {
  const attrs = node.attrs ?? {};
  const word = (name: string) => (typeof attrs[name] === 'string' ? (attrs[name] as string) : '');
  switch (node.type) {
    case 'text':
      return node.text ?? '';
    case 'hard_break':
      return '\n';
    case 'mention':
      return `@${word('name')}`;
    case 'emoji':
      return word('emoji') || (word('name') && `:${word('name')}:`);
    case 'math_inline':
      return word('tex');
    case 'image':
      return word('alt');
    case 'wiki_link':
      return word('label') || word('target');
    default:
      return '';
  }
}
