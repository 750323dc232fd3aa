import type { Fault } from '@commonplace/kit/errors';

interface Edit {
  readonly old_text: string;
  readonly new_text: string;
  readonly replace_all?: boolean;
}

/** Counts the occurrences of a text, up to two. */
function occurrences(text: string, part: string): number {
  const first = text.indexOf(part);
  if (first < 0) return 0;
  return text.indexOf(part, first + 1) < 0 ? 1 : 2;
}

/** The text that edits result in, why some do not apply, or that the text would be too long. */
export type EditOutcome = { readonly text: string } | { readonly faults: readonly Fault[] } | 'too_long';

/** Returns by how many characters a text grows when all occurrences of a part are replaced. */
function growth(text: string, from: string, to: string): number {
  const more = to.length - from.length;
  if (more <= 0) return 0;
  let sum = 0;
  for (let at = text.indexOf(from); at >= 0; at = text.indexOf(from, at + from.length)) sum += more;
  return sum;
}

/**
 * Replaces texts in sequence, each in the result of the edits before it. If a text is missing, or occurs more than once
 * without `replace_all`, no edit is applied and the faults name each such edit and its reason. Stops before a result of
 * more than `maxLength` characters is made: a few edits that replace each letter by ten would fill the memory.
 */
export function applyEdits(text: string, edits: readonly Edit[], maxLength: number): EditOutcome {
  const faults: Fault[] = [];
  let result = text;
  for (const [index, { old_text: from, new_text: to, replace_all: all }] of edits.entries()) {
    const fault = (code: string, message: string) => faults.push({ param: `edits[${index}].old_text`, code, message });
    if (from === '') fault('missing_field', 'old_text must not be empty.');
    else {
      const found = occurrences(result, from);
      if (found === 0) fault('text_not_found', 'old_text is not in the document.');
      else if (found > 1 && all !== true) {
        fault(
          'text_ambiguous',
          'old_text occurs more than once in the document: include more of the text around it, or set replace_all.',
        );
      } else if (all === true) {
        if (growth(result, from, to) > Math.max(0, maxLength - result.length)) return 'too_long';
        result = result.split(from).join(to);
      } else result = result.slice(0, result.indexOf(from)) + to + result.slice(result.indexOf(from) + from.length);
    }
  }
  return faults.length > 0 ? { faults } : { text: result };
}

/** Returns the line breaks that keep two parts of a page separate blocks. */
function separator(before: string): string {
  if (before.trim() === '' || /\n[ \t]*\r?\n[ \t]*$/.test(before.slice(-200))) return '';
  return before.endsWith('\n') ? '\n' : '\n\n';
}

/** Appends Markdown; the existing text stays byte for byte. */
export const appendMarkdown = (text: string, more: string): string =>
  more === '' ? text : text + separator(text) + more;

/** Prepends Markdown after any front matter; the existing text stays byte for byte. */
export function prependMarkdown(text: string, more: string): string {
  if (more === '') return text;
  const matter = /^---[ \t]*\r?\n[A-Za-z_][\w -]*:[\s\S]*?\n---[ \t]*(?:\r?\n|$)/.exec(text)?.[0] ?? '';
  const rest = text.slice(matter.length);
  const head = matter === '' ? '' : matter + separator(matter);
  return head + more + (rest.trim() === '' ? '' : separator(more)) + rest;
}
