import { correctionsOf } from '../../domain/edits.js';
import { type Field, USUAL_FIELDS } from '../../domain/narrowing.js';
import type { Vocabulary } from '../../domain/pattern.js';
import { type IndexFile, PERSONAL } from './file.js';
import { postingsOf } from './postings.js';
import type { Scope } from './scope.js';
import { statisticsOf } from './statistics.js';

const MAX_COMPLETIONS = 40;
/** Sorts after every letter. */
const LAST = '\u{10ffff}';

/**
 * Returns the numbers of the vocabularies that a search may use: that of its Org, or those of the Personal workspaces
 * that it covers.
 */
export function vocabulariesOf({ vocabularies }: IndexFile, { tenant, workspaceIds }: Scope): number[] {
  const ids = tenant.id === PERSONAL ? workspaceIds : [tenant.id];
  return ids.flatMap((id) => vocabularies.get(id) ?? []);
}

/**
 * Gives access to the words of the scope's vocabularies: words of others neither leak nor hide a typo. `comments` says
 * whether `has` looks into comments too.
 */
export function createVocabulary(file: IndexFile, scope: Scope, comments: boolean): Vocabulary {
  const numbers = JSON.stringify(vocabulariesOf(file, scope));
  const words = (condition: string, params: (string | number)[]): string[] => {
    const sql = `SELECT group_concat(word, ' ') FROM (SELECT DISTINCT word FROM words
      WHERE vocabulary IN (SELECT value FROM json_each(?)) AND ${condition})`;
    const found = file.db.get(sql, [numbers, ...params])?.[0];
    return typeof found === 'string' ? found.split(' ') : [];
  };
  const fields: readonly Field[] = comments ? [...USUAL_FIELDS, 'comments'] : USUAL_FIELDS;
  return {
    has(term) {
      const { offsets } = postingsOf(file, scope, { terms: [term], prefix: false }, fields);
      return scope.tenant.id === PERSONAL ? statisticsOf(file, scope).matching(offsets) > 0 : offsets.length > 0;
    },
    completions: (beginning) => words('word >= ? AND word < ? LIMIT ?', [beginning, beginning + LAST, MAX_COMPLETIONS]),
    corrections(word, edits) {
      const lengths = [word.length - edits, word.length + edits];
      const [first = ''] = word;
      // Most typos spare the first letter, and words that share it are adjacent.
      const near = words('word >= ? AND word < ? AND length(word) BETWEEN ? AND ?', [first, first + LAST, ...lengths]);
      const found = correctionsOf(word, near, 1);
      return found.length > 0 ? found : correctionsOf(word, words('length(word) BETWEEN ? AND ?', lengths), edits);
    },
  };
}
