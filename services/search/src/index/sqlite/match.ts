import type { Pattern, Patterns } from '../../domain/pattern.js';
import { type Field, USUAL_FIELDS } from '../port.js';

/** What is sought: groups to meet, groups that raise, groups to be without. */
export interface Sought {
  readonly groups: readonly Patterns[];
  readonly boosts: readonly Patterns[];
  readonly excluded: readonly Patterns[];
}

/** What is asked of the full-text table. Built from analysed terms alone: letters and digits in quotes. */
export interface Match {
  /** Entries that have everything. */
  readonly all: string;
  /** Entries that have something. */
  readonly any: string;
}

/** Fields of the table of names and texts; undefined where both are meant. */
export type TermField = Exclude<Field, 'comments'> | undefined;

/** The one field of names and texts that is searched, undefined where it is both; `none` where only comments are. */
export function termField(fields: readonly Field[] = USUAL_FIELDS): TermField | 'none' {
  const [first, second] = fields.filter((field) => field !== 'comments');
  if (first === undefined) return 'none';
  return second === undefined ? first : undefined;
}

/** `groups` is not empty. */
export function matchOf({ groups, boosts, excluded }: Sought, field: TermField): Match {
  const each = groups.map(oneOf);
  const raise = boosts.map(oneOf);
  const all = each.length === 1 ? (each[0] as string) : `(${each.join(' AND ')})`;
  return {
    all: within(field, without(`(${[all, ...raise].join(' OR ')})`, excluded)),
    any: within(field, without(`(${[...each, ...raise].join(' OR ')})`, excluded)),
  };
}

/** Entries that have one of the groups. */
export function matchAny(groups: readonly Patterns[], field?: TermField): string {
  return within(field, groups.map(oneOf).join(' OR '));
}

/** One term as a query. */
export function matchTerm(term: string): string {
  return quoted({ terms: [term], prefix: false });
}

function oneOf(patterns: Patterns): string {
  return patterns.length === 1 ? quoted(patterns[0] as Pattern) : `(${patterns.map(quoted).join(' OR ')})`;
}

function quoted({ terms, prefix }: Pattern): string {
  return `"${terms.join(' ')}"${prefix ? ' *' : ''}`;
}

function without(match: string, excluded: readonly Patterns[]): string {
  return excluded.length === 0 ? match : `(${match} NOT (${excluded.map(oneOf).join(' OR ')}))`;
}

function within(field: TermField, match: string): string {
  return field === undefined ? match : `{${field}} : (${match})`;
}
