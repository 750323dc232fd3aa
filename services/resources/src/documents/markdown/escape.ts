/**
 * How much of a text is escaped: characters that are likely to have a meaning, or all punctuation and unusual blanks.
 */
export type Care = 'light' | 'all';

const ENTITY = /^&(#\d{1,7}|#[xX][\da-fA-F]{1,6}|[A-Za-z][A-Za-z\d]{1,31});/;
const WORD = /[\p{L}\p{N}]/u;

/** Escapes one character if the characters around it give it a meaning. */
function lightly(text: string, index: number): string {
  const char = text[index] as string;
  const next = text[index + 1] ?? '';
  const last = index === text.length - 1;
  switch (char) {
    case '_':
      return WORD.test(text[index - 1] ?? '') && WORD.test(next) ? char : '\\_';
    case '<':
      return last || /[A-Za-z/!?]/.test(next) ? '\\<' : char;
    case '&':
      return last || ENTITY.test(text.slice(index, index + 40)) ? '\\&' : char;
    case '~':
      return last || next === '~' || text[index - 1] === '~' ? '\\~' : char;
    case '!':
    case '@':
      return last ? `\\${char}` : char;
    case '$':
      return last || opensMath(text, index) ? '\\$' : char;
    default:
      return `\\${char}`;
  }
}

/** Returns whether the dollar sign at `index` and the next one would enclose a formula. */
function opensMath(text: string, index: number): boolean {
  const end = text.indexOf('$', index + 1);
  if (end === index + 1) return true;
  return (
    end > 0 && !/\s/.test(text[index + 1] ?? ' ') && !/\s/.test(text[end - 1] ?? ' ') && !/\d/.test(text[end + 1] ?? '')
  );
}

const LIGHT = /[\\`*_[\]<&~!@$]/g;
const ALL = /[!-/:-@[-`{-~]|[^\S \n]/g;

/** Escapes a text so that inline Markdown parses back to it. */
export function escapeText(text: string, care: Care): string {
  if (care === 'light') return text.replace(LIGHT, (_, index: number) => lightly(text, index));
  return text.replace(ALL, (char) =>
    /\s/.test(char) ? `&#x${(char.codePointAt(0) ?? 0).toString(16).toUpperCase()};` : `\\${char}`,
  );
}

/** Escapes characters that would begin a block at the start of a line. */
export function escapeLineStart(line: string): string {
  const sign = /^(?:#{1,6}(?=\s|$)|[-+](?=\s|$)|-{2,}[ \t-]*$|>|=+[ \t]*$|~{3}|:{3}|\||\$\$)/.exec(line);
  if (sign !== null) return `\\${line}`;
  return line.replace(/^(\d{1,9})([.)])(?=\s|$)/, '$1\\$2');
}

/** Returns whether a text without marks certainly needs no escaping. */
export const isPlain = (text: string): boolean =>
  !/[\\`*_[\]<&~$@|]|[^\S \n]|!$|[#=]$|\/\/|mailto:/i.test(text) && !/(?:^|\n)[#>+\-=:\d]/.test(text);

const CONTROL = /\p{Cc}/gu;

/** Formats the address of a link or image, in angle brackets if needed. */
export function formatAddress(address: string): string {
  const escaped = address
    .replace(/[\\<>]/g, (char) => `\\${char}`)
    .replace(/&/g, (_, at: number) => (ENTITY.test(address.slice(at, at + 40)) ? '&amp;' : '&'))
    .replace(CONTROL, (char) => `&#x${char.charCodeAt(0).toString(16).toUpperCase()};`);
  if (address === '' || /[\s()<>]/.test(address) || /^[ \t]|\s/.test(address)) return balanced(escaped);
  return escaped;
}

function balanced(escaped: string): string {
  return /^[^\s()<>]*\([^\s()<>]*\)[^\s()<>]*$/.test(escaped) ? escaped : `<${escaped}>`;
}

/** Formats a link's title with a blank before it; empty if there is no title. */
export function formatTitle(title: string): string {
  if (title === '') return '';
  const escaped = title
    .replace(/[\\"]/g, (char) => `\\${char}`)
    .replace(/&/g, (_, at: number) => (ENTITY.test(title.slice(at, at + 40)) ? '&amp;' : '&'))
    .replace(/\n(?=[ \t]*\n)/g, '&#xA;');
  return ` "${escaped}"`;
}

/** Formats inline code with as many backticks as it needs. */
export function formatCode(text: string): string {
  const runs = new Set(text.match(/`+/g)?.map((run) => run.length) ?? []);
  let length = 1;
  while (runs.has(length)) length += 1;
  const ticks = '`'.repeat(length);
  const pad = /^`|`$/.test(text) || (/^ .* $/s.test(text) && text.trim() !== '') ? ' ' : '';
  return ticks + pad + text + pad + ticks;
}
