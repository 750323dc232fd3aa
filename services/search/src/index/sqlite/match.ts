import type { Pattern, Patterns } from '../../domain/pattern.js';

// Queries for the full-text tables. They contain only analysed terms, which are letters and digits, in quotes.

/** Builds a query for entries that match any of the groups, in all columns of a table or in one. */
export function matchAny(groups: readonly Patterns[], column?: string): string {
  const match = groups.map(oneOf).join(' OR ');
  return column === undefined ? match : `{${column}} : (${match})`;
}

function oneOf(patterns: Patterns): string {
  return patterns.length === 1 ? quoted(patterns[0] as Pattern) : `(${patterns.map(quoted).join(' OR ')})`;
}

function quoted({ terms, prefix }: Pattern): string {
  return `"${terms.join(' ')}"${prefix ? ' *' : ''}`;
}
