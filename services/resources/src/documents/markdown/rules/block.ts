import type { StateBlock } from 'markdown-it';
import { parseAttributes } from './attributes.js';

/** A rule of the block parser. With `silent`, it only returns whether a block could begin here. */
export type BlockRule = (state: StateBlock, startLine: number, endLine: number, silent: boolean) => boolean;

/** Returns the text of a line without its indentation; undefined if it is indented like code. */
function lineOf(state: StateBlock, line: number): string | undefined {
  const indent = (state.sCount[line] ?? 0) - state.blkIndent;
  if (indent >= 4) return undefined;
  return state.src.slice((state.bMarks[line] ?? 0) + (state.tShift[line] ?? 0), state.eMarks[line]);
}

/** Parses front matter at the very beginning: `---`, lines of which the first is `name: …`, `---`. */
export const frontMatter: BlockRule = (state, startLine, endLine, silent) => {
  if (startLine !== 0 || state.level !== 0 || state.src.slice(0, 3) !== '---') return false;
  const line = (at: number) => state.src.slice(state.bMarks[at], state.eMarks[at]);
  if (line(0).trimEnd() !== '---' || !/^[A-Za-z_][\w -]*:(\s|$)/.test(line(1))) return false;
  for (let at = 2; at < endLine; at += 1) {
    if (line(at).trimEnd() !== '---') continue;
    if (silent) return true;
    const token = state.push('front_matter', '', 0);
    token.content = state.src.slice(state.bMarks[1], state.eMarks[at - 1]);
    state.line = at + 1;
    token.map = [0, state.line];
    return true;
  }
  return false;
};

/** Parses a block formula: `$$` on a line of its own, TeX, `$$`; or `$$ TeX $$` on one line. */
export const math: BlockRule = (state, startLine, endLine, silent) => {
  const first = lineOf(state, startLine)?.trimEnd();
  if (first === undefined || !first.startsWith('$$')) return false;
  const single = /^\$\$[ \t]*([^$]*[^$\s])[ \t]*\$\$$/.exec(first);
  if (single === null && first !== '$$') return false;
  let at = startLine;
  if (single === null) {
    at += 1;
    while (at < endLine && lineOf(state, at)?.trim() !== '$$') {
      if ((state.sCount[at] ?? 0) < state.blkIndent && !state.isEmpty(at)) return false;
      at += 1;
    }
    if (at >= endLine) return false;
  }
  if (silent) return true;
  const token = state.push('math_block', '', 0);
  const indent = state.sCount[startLine] ?? 0;
  token.content = single?.[1] ?? state.getLines(startLine + 1, at, indent, false);
  state.line = at + 1;
  token.map = [startLine, state.line];
  return true;
};

const OPENING = /^:{3,}[ \t]*([A-Za-z][\w-]*)[ \t]*(\{.*\})?[ \t]*$/s;
const CLOSING = /^:{3,}[ \t]*$/;

/** The state of the directives around the current line. */
interface Directives {
  open: number;
  /** The line that has just closed the innermost directive. */
  closedAt: number | undefined;
}

function directivesOf(env: object): Directives {
  const holder = env as { directives?: Directives };
  holder.directives ??= { open: 0, closedAt: undefined };
  return holder.directives;
}

const DIRECTIVE = 'directive' as StateBlock['parentType'];

/** Parses a directive: `:::type{name=value …}`, blocks, `:::`. The end of the enclosing block closes it as well. */
export const directive: BlockRule = (state, startLine, endLine, silent) => {
  const first = lineOf(state, startLine);
  if (first === undefined || !first.startsWith(':::')) return false;
  const [, name, source] = OPENING.exec(first) ?? [];
  const attrs = name === undefined ? undefined : parseAttributes(source ?? '');
  if (name === undefined || attrs === undefined) return false;
  if (silent) return true;
  const directives = directivesOf(state.env);
  const { parentType } = state;
  state.parentType = DIRECTIVE;
  directives.open += 1;
  const open = state.push('directive_open', '', 1);
  open.info = name;
  open.meta = attrs;
  state.line = startLine + 1;
  state.md.block.tokenize(state, startLine + 1, endLine);
  state.push('directive_close', '', -1);
  directives.open -= 1;
  state.parentType = parentType;
  if (directives.closedAt !== undefined) state.line = directives.closedAt + 1;
  open.map = [startLine, state.line];
  directives.closedAt = undefined;
  return true;
};

/** Parses a bare `:::`, which closes the innermost directive if it is directly within it. */
export const directiveClose: BlockRule = (state, startLine, endLine, silent) => {
  const directives = directivesOf(state.env);
  if (directives.open === 0 || !CLOSING.test(lineOf(state, startLine) ?? '')) return false;
  if (silent) return true;
  if (state.parentType !== DIRECTIVE) return false;
  directives.closedAt = startLine;
  // Moving to the last line makes the parser end the enclosing block.
  state.line = endLine;
  return true;
};

const FOOTNOTE = /^\[\^([^\]\s^[]{1,200})\]:[ \t]*/;

/** Parses a footnote: `[^label]: blocks`, with following lines indented by four columns. */
export const footnote: BlockRule = (state, startLine, endLine, silent) => {
  const first = lineOf(state, startLine);
  const match = first === undefined ? null : FOOTNOTE.exec(first);
  if (match?.[1] === undefined) return false;
  if (silent) return true;
  labelsOf(state.env).add(match[1]);
  const { parentType, blkIndent } = state;
  const begin = (state.bMarks[startLine] ?? 0) + (state.tShift[startLine] ?? 0) + match[0].length;
  const saved = [state.bMarks[startLine], state.tShift[startLine], state.sCount[startLine]] as const;
  const open = state.push('footnote_open', '', 1);
  open.info = match[1];
  state.bMarks[startLine] = begin;
  state.tShift[startLine] = 0;
  state.sCount[startLine] = blkIndent + 4;
  state.blkIndent = blkIndent + 4;
  state.parentType = 'footnote' as typeof parentType;
  state.md.block.tokenize(state, startLine, endLine);
  state.push('footnote_close', '', -1);
  state.parentType = parentType;
  state.blkIndent = blkIndent;
  [state.bMarks[startLine], state.tShift[startLine], state.sCount[startLine]] = saved as [number, number, number];
  if (state.line === startLine) state.line = startLine + 1;
  open.map = [startLine, state.line];
  return true;
};

/** Returns the labels of the footnotes that a page defines. */
export function labelsOf(env: object): Set<string> {
  const holder = env as { footnotes?: Set<string> };
  holder.footnotes ??= new Set();
  return holder.footnotes;
}
