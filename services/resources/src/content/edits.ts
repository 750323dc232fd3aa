import type { Fault } from '@commonplace/kit/errors';
import type { TextEdit } from '@commonplace/proto/resources/v1/content_service.js';

/** Applies edits one after another, each to what the ones before it have left; none where one does not apply. */
export function applyEdits(text: string, edits: readonly TextEdit[]): { text: string } | { faults: Fault[] } {
  const faults: Fault[] = [];
  let now = text;
  for (const [i, { oldText, newText, replaceAll }] of edits.entries()) {
    const pieces = now.split(oldText);
    const found = pieces.length - 1;
    if (found === 0 || (found > 1 && !replaceAll)) {
      const message = found === 0 ? 'The text is not there.' : `The text is there ${found} times: say more of it.`;
      faults.push({ param: `edits[${i}].old_text`, code: 'edit_not_applicable', message });
    } else {
      now = pieces.join(newText);
    }
  }
  return faults.length > 0 ? { faults } : { text: now };
}

/** Markdown with more Markdown behind it, as blocks of its own; what is there stays as it is. */
export function appendMarkdown(text: string, more: string): string {
  return text === '' || more === '' ? text + more : text + gapAfter(text) + more;
}

/** Markdown with more Markdown before it. */
export function prependMarkdown(text: string, more: string): string {
  return text === '' || more === '' ? more + text : more + gapAfter(more) + text;
}

/** Line breaks that end the last block of a text. */
function gapAfter(text: string): string {
  if (/\n[ \t]*\r?\n$/.test(text)) return '';
  return text.endsWith('\n') ? '\n' : '\n\n';
}
