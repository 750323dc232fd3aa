/** Reports that a pattern cannot be matched in linear time; the message is the end of a sentence about the pattern. */
export class InexpressiblePattern extends Error {}

/** Character sets of `\s` and `\S` in JavaScript; those of RE2 cover ASCII only. */
const SPACE = String.raw`\t\n\v\f\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`;
const NOT_SPACE = String.raw`\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff}`;
const ANY = String.raw`[\x{0}-\x{10ffff}]`;
const NONE = String.raw`[^\x{0}-\x{10ffff}]`;
const NOT_NEWLINE = String.raw`[^\n\r\x{2028}\x{2029}]`;

const code = (point: number): string => `\\x{${point.toString(16)}}`;

/** Escapes that denote a character; alternatives are tried in order. */
const ESCAPE =
  /\\(?:u([dD][89abAB][\da-fA-F]{2})\\u([dD][c-fC-F][\da-fA-F]{2})|u\{([\da-fA-F]+)\}|u([\da-fA-F]{4})|x([\da-fA-F]{2})|c([a-zA-Z])|([pP])\{(?:(?:Script|sc|General_Category|gc)=)?(\w+)\}|([\s\S]))/uy;

/**
 * Translates a regular expression of JavaScript (valid with the flag `u`) to RE2 syntax with the same meaning. Throws
 * InexpressiblePattern for backreferences and lookarounds, which no engine matches in linear time.
 */
export function translatePattern(source: string): string {
  let out = '';
  let isInClass = false;
  for (let at = 0; at < source.length; ) {
    const rest = source.slice(at, at + 4);
    if (rest.startsWith('\\')) {
      ESCAPE.lastIndex = at;
      const found = ESCAPE.exec(source) as RegExpExecArray;
      out += translateEscape(found, isInClass);
      at = ESCAPE.lastIndex;
    } else if (isInClass) {
      if (rest.startsWith(']')) isInClass = false;
      out += rest.startsWith('[') ? '\\[' : (source[at] as string);
      at += 1;
    } else {
      const { text, length } = translateOutside(rest);
      isInClass = text === '[' || text === '[^';
      out += text;
      at += length;
      // Matching does not need the group's name, so it is dropped.
      if (rest.startsWith('(?<')) at = source.indexOf('>', at) + 1;
    }
  }
  return out;
}

/** Translates a construct that begins outside of a character class and is not an escape. */
function translateOutside(rest: string): { text: string; length: number } {
  if (/^\(\?<?[=!]/.test(rest)) throw new InexpressiblePattern('looks ahead or behind, such as (?=…) or (?<!…)');
  if (rest.startsWith('(?<')) return { text: '(', length: 3 };
  if (rest.startsWith('[^]')) return { text: ANY, length: 3 };
  if (rest.startsWith('[^')) return { text: '[^', length: 2 };
  if (rest.startsWith('[]')) return { text: NONE, length: 2 };
  if (rest.startsWith('.')) return { text: NOT_NEWLINE, length: 1 };
  return { text: rest[0] as string, length: 1 };
}

function translateEscape(found: RegExpExecArray, isInClass: boolean): string {
  const [, high, low, braced, four, two, control, property, name, plain = ''] = found;
  if (high !== undefined)
    return code(Number.parseInt(high, 16) * 1024 + Number.parseInt(low as string, 16) - 56_613_888);
  const hex = braced ?? four ?? two;
  if (hex !== undefined) return code(Number.parseInt(hex, 16));
  if (control !== undefined) return code(control.charCodeAt(0) % 32);
  if (property !== undefined) return `\\${property}{${name}}`;
  if (/[1-9k]/.test(plain)) throw new InexpressiblePattern('refers back to what a group has matched, such as \\1');
  if (/[pP]/.test(plain)) throw new InexpressiblePattern('has a property of characters that is not supported');
  if (plain === '0') return code(0);
  if (plain === 'b' && isInClass) return code(8);
  if (plain === 's') return isInClass ? SPACE : `[${SPACE}]`;
  if (plain === 'S') return isInClass ? NOT_SPACE : `[^${SPACE}]`;
  return `\\${plain}`;
}
