/**
 * What a parser of a setting accepts, for tools that check values without running it, such as the schema of the chart's
 * values. Patterns are written in the syntax that JavaScript and RE2 share, and match the whole text.
 */
type Shape =
  | { readonly kind: 'text'; readonly pattern?: string }
  | { readonly kind: 'integer'; readonly min: number; readonly max: number }
  | { readonly kind: 'flag' }
  | { readonly kind: 'choice'; readonly choices: readonly string[] }
  | {
      readonly kind: 'url';
      readonly schemes: readonly string[];
      /** Words that are accepted in place of a URL. */
      readonly words?: readonly string[];
      /** Whether http is accepted on loopback addresses only. */
      readonly plainOnLoopback?: boolean;
    };

type Parse<T> = (value: string) => T;

const shapes = new WeakMap<Parse<unknown>, Shape>();

/** Returns the parser after noting what it accepts. A parser without a note is taken to accept any text. */
export function shaped<T>(shape: Shape, parse: Parse<T>): Parse<T> {
  shapes.set(parse, shape);
  return parse;
}

/** Returns what a parser accepts; undefined if it has not been noted. */
export function shapeOf(parse: Parse<unknown>): Shape | undefined {
  return shapes.get(parse);
}
