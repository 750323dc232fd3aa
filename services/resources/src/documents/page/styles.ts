/** The declarations of a style by property, in lower case. */
export type Style = ReadonlyMap<string, string>;

/** Maximum number of characters of one style that are evaluated. */
const MAX_STYLE = 2_000;

export function parseStyle(text: string): Style {
  const declarations = text.slice(0, MAX_STYLE).toLowerCase().split(';');
  return new Map(
    declarations.flatMap((declaration): [string, string][] => {
      const colon = declaration.indexOf(':');
      if (colon < 0) return [];
      const value = declaration
        .slice(colon + 1)
        .replace('!important', '')
        .trim();
      return [[declaration.slice(0, colon).trim(), value]];
    }),
  );
}

/** Returns whether a style hides an element with everything in it, whatever its colours. */
export function hides(style: Style): boolean {
  const is = (property: string, pattern: RegExp) => pattern.test(style.get(property) ?? '');
  const clips = is('overflow', /^(?:hidden|clip)/) || is('overflow-x', /^hidden/) || is('overflow-y', /^hidden/);
  return (
    is('display', /^none\b/) ||
    is('visibility', /^(?:hidden|collapse)/) ||
    is('content-visibility', /^hidden/) ||
    is('opacity', /^(?:0?\.0\d*|0+(?:\.0+)?%?)$/) ||
    is('font-size', TINY) ||
    is('clip', /^rect\(\s*(?:0|1px)/) ||
    is('clip-path', /^(?:inset\((?:50|100)%|circle\(0)/) ||
    is('transform', /scale[xy]?\(\s*0(?:\.0\d*)?\s*[,)]/) ||
    ['left', 'right', 'top', 'bottom', 'text-indent', 'margin-left', 'margin-top'].some((side) => is(side, FAR_AWAY)) ||
    (clips && ['width', 'height', 'max-width', 'max-height'].some((side) => is(side, TINY)))
  );
}

/** Font sizes that are too small to read. */
const TINY = /^0*(?:[01](?:\.\d+)?|\.\d+)(?:px|pt)?$|^0*(?:0(?:\.[0-2]\d*)?|\.[0-2]\d*)(?:r?em|%|vw|vh)$/;
const FAR_AWAY = /^-\s*\d{3,}/;

/** Returns the colour of a style's text and of its background, as far as it sets them. */
export function coloursOf(style: Style): {
  readonly text: string | undefined;
  readonly background: string | undefined;
} {
  const background = style.get('background-color') ?? style.get('background');
  return { text: colourIn(style.get('color')), background: colourIn(background) };
}

/** Returns a colour in a comparable form; undefined if there is none, and `other` for a form that is not supported. */
export function colourIn(value: string | undefined): string | undefined {
  const text = value?.trim().toLowerCase() ?? '';
  if (text === '' || /^(?:inherit|initial|unset|currentcolor|none)$/.test(text)) return undefined;
  if (/^transparent\b/.test(text)) return CLEAR;
  const named = text.split(/\s/, 1)[0] as string;
  if (NAMES[named] !== undefined) return NAMES[named];
  const hex = /^#([0-9a-f]{3,8})\b/.exec(text)?.[1];
  if (hex !== undefined) return ofHex(hex);
  const parts = /^rgba?\(([^)]*)\)/
    .exec(text)?.[1]
    ?.split(/[\s,/]+/)
    .filter(Boolean)
    .map((part) => (part.endsWith('%') ? Number.parseFloat(part) * 2.55 : Number(part)));
  if (parts === undefined || parts.length < 3 || parts.some(Number.isNaN)) return 'other';
  if (parts[3] !== undefined && parts[3] < 0.1) return CLEAR;
  return nearWhite(parts.slice(0, 3)) ? WHITE : parts.slice(0, 3).map(Math.round).join(',');
}

export const WHITE = 'white';
/** Transparent: text of this colour is invisible on any background. */
export const CLEAR = 'clear';

const NAMES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(['white', 'snow', 'ivory', 'ghostwhite', 'whitesmoke', 'floralwhite'].map((n) => [n, WHITE])),
  black: '0,0,0',
};

function ofHex(hex: string): string {
  const width = hex.length < 6 ? 1 : 2;
  const parts = Array.from({ length: Math.floor(hex.length / width) }, (_, i) => {
    const part = hex.slice(i * width, (i + 1) * width);
    return Number.parseInt(width === 1 ? part + part : part, 16);
  });
  if (parts[3] !== undefined && parts[3] < 26) return CLEAR;
  return nearWhite(parts.slice(0, 3)) ? WHITE : parts.slice(0, 3).join(',');
}

const nearWhite = (parts: readonly number[]): boolean => parts.every((part) => part >= 240);
