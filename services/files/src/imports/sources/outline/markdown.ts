import { dictionary } from '@commonplace/kit/dictionary';
import { withoutEdges } from '../common/text.js';

const FENCE = /^\s*(`{3,}|~{3,})/;
const KINDS: Readonly<Record<string, string>> = dictionary({
  info: 'NOTE',
  success: 'TIP',
  tip: 'TIP',
  warning: 'WARNING',
});

/** Converts Outline's inline syntax in a line, except in inline code. */
function inline(line: string): string {
  return line
    .split(/(`+[^`]*`+)/)
    .map((piece, at) => (at % 2 === 1 ? piece : rewritten(piece)))
    .join('');
}

function rewritten(text: string): string {
  return (
    text
      .replace(/@\[([^\]\n]{0,300})\]\(mention:\/\/[\w-]+\/(?:document|collection)\/([\w-]+)\)/g, '[$1](/doc/$2)')
      .replace(/@\[([^\]\n]{0,300})\]\(mention:\/\/[^)\n]{0,300}\)/g, '@$1')
      // Outline writes the size of an image in place of its title.
      .replace(
        /(!\[[^\]\n]{0,500}\]\([^)\s]{1,2000}) +"([^"\n]{0,500}?) *=\d+(?:\.\d+)?x\d+(?:\.\d+)?"\)/g,
        (_, start: string, title: string) => (title === '' ? `${start})` : `${start} "${title}")`),
      )
      .replace(/==(?=\S)([^=\n]*[^=\s])==/g, '<mark>$1</mark>')
      .replace(/(^|[^\w_])__(?=\S)([^_\n]*[^_\s])__(?![\w_])/g, '$1<u>$2</u>')
      .replace(/\$\$(?=\S)([^$\n]*[^$\s])\$\$/g, (_, tex: string) => `$${tex}$`)
  );
}

/**
 * Converts Outline's additions to Markdown (notices, toggles, formulas, marks, image sizes) to this product's syntax.
 */
export function fromOutlineMarkdown(text: string): string {
  const out: string[] = [];
  let fence: string | undefined;
  let notice = false;
  let toggle = false;
  const put = (line: string) => out.push(notice ? `> ${line}`.trimEnd() : line);
  for (const line of text.split('\n')) {
    const mark = FENCE.exec(line)?.[1];
    if (mark !== undefined && (fence === undefined || mark.startsWith(fence)))
      fence = fence === undefined ? mark : undefined;
    const opening = /^:::\s*([a-z]+)\s*$/.exec(line)?.[1];
    const unfolds = /^\+\+\+\s+(\S.*)$/.exec(line)?.[1];
    if (fence !== undefined || mark !== undefined) put(line);
    else if (opening !== undefined && !notice) {
      if (out.at(-1)?.trim()) out.push('');
      out.push(`> [!${KINDS[opening] ?? opening.toUpperCase()}]`);
      notice = true;
    } else if (notice && /^:::\s*$/.test(line)) {
      notice = false;
      out.push('');
    } else if (unfolds !== undefined && !toggle) {
      put(`:::toggle{summary=${JSON.stringify(unfolds)}}`);
      toggle = true;
    } else if (toggle && /^\+\+\+\s*$/.test(line)) {
      put(':::');
      toggle = false;
    } else if (/^\$\$\$\s*$/.test(line)) put('$$');
    // A backslash alone on a line is an empty paragraph.
    else put(/^\\\s*$/.test(line) ? '' : inline(line));
  }
  if (toggle) out.push(':::');
  return withoutEdges(out);
}
