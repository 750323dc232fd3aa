import { withoutEdges } from '../common/text.js';
import { calloutKind } from './names.js';

const FENCE = /^\s*(`{3,}|~{3,})/;

/** Nesting depth up to which callouts and toggles are converted; deeper ones stay as they are written. */
const MAX_OPEN = 20;

interface OpenBlock {
  readonly tag: 'aside' | 'details';
  readonly indent: string;
  readonly lines: string[];
  summary?: string;
}

const plain = (html: string): string => html.replace(/<[^>]+>/g, '').trim();

/** Converts a callout, which Notion writes as an HTML element around Markdown that begins with its icon. */
function callout({ indent, lines }: OpenBlock): string[] {
  const text = trimmed(lines);
  const icon = /^\s*(\p{Extended_Pictographic})/u.exec(text[0] ?? '')?.[1] ?? '';
  const inner = text.map((line) =>
    `${indent}> ${line.startsWith(indent) ? line.slice(indent.length) : line}`.trimEnd(),
  );
  return [`${indent}> [!${calloutKind(icon).toUpperCase()}]`, ...inner, ''];
}

function toggle({ indent, lines, summary }: OpenBlock): string[] {
  return [`${indent}:::toggle{summary=${JSON.stringify(plain(summary ?? ''))}}`, ...trimmed(lines), `${indent}:::`, ''];
}

/** Removes blank lines at both ends. */
function trimmed(lines: readonly string[]): string[] {
  const from = lines.findIndex((line) => line.trim() !== '');
  const to = lines.findLastIndex((line) => line.trim() !== '');
  return from === -1 ? [] : lines.slice(from, to + 1);
}

/** Restores an element that was never closed as it was written. */
const unclosed = ({ tag, indent, lines, summary }: OpenBlock): string[] => [
  `${indent}<${tag}>${summary === undefined ? '' : `<summary>${summary}</summary>`}`,
  ...lines,
];

/** Converts callouts and toggles, which Notion writes as HTML within Markdown, to this product's syntax. */
export function fromNotionMarkdown(text: string): string {
  const out: string[] = [];
  const open: OpenBlock[] = [];
  let fence: string | undefined;
  const put = (...lines: string[]) => putAll(lines);
  const putAll = (lines: readonly string[]) => {
    const target = open.at(-1)?.lines ?? out;
    for (const line of lines) target.push(line);
  };

  function close(tag: OpenBlock['tag'], line: string): void {
    const top = open.at(-1);
    if (top?.tag !== tag) {
      put(line);
      return;
    }
    const [, before = ''] = /^(.*?)<\/\w+>\s*$/.exec(line) ?? [];
    if (before.trim() !== '') top.lines.push(before);
    open.pop();
    // Without a blank line Markdown would continue the preceding paragraph.
    if ((open.at(-1)?.lines ?? out).at(-1)?.trim()) put('');
    putAll(tag === 'aside' ? callout(top) : toggle(top));
  }

  for (const line of text.split('\n')) {
    const mark = FENCE.exec(line)?.[1];
    if (mark !== undefined && (fence === undefined || (mark.startsWith(fence) && line.trim() === mark))) {
      fence = fence === undefined ? mark : undefined;
    }
    if (fence !== undefined || mark !== undefined) {
      put(line);
      continue;
    }
    const [, indent = '', tag, rest = ''] = /^(\s*)<(aside|details)[^>]*>(.*)$/.exec(line) ?? [];
    const summary = /^\s*<summary>(.*)<\/summary>(.*)$/.exec(tag === 'details' ? rest : line);
    const top = open.at(-1);
    if (tag !== undefined && open.length < MAX_OPEN && !/<\/(?:aside|details)>/.test(rest)) {
      open.push({ tag: tag as OpenBlock['tag'], indent, lines: [] });
      if (summary !== null) {
        Object.assign(open.at(-1) ?? {}, { summary: summary[1] });
        put(summary[2] ?? '');
      } else if (rest.trim() !== '') put(`${indent}${rest.trim()}`);
    } else if (summary !== null && top?.tag === 'details' && top.summary === undefined) {
      top.summary = summary[1];
      if (summary[2]?.trim()) put(`${top.indent}${summary[2].trim()}`);
    } else if (/<\/aside>\s*$/.test(line) && tag === undefined) close('aside', line);
    else if (/<\/details>\s*$/.test(line) && tag === undefined) close('details', line);
    else put(line);
  }
  while (open.length > 0) {
    const top = open.pop();
    if (top !== undefined) putAll(unclosed(top));
  }
  return withoutEdges(out);
}
