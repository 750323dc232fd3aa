import { editsBetween } from '../../domain/edits.js';
import type { Vocabulary } from '../../domain/pattern.js';
import type { IndexFile } from './file.js';
import { matchTerm } from './match.js';
import type { Scope } from './scope.js';

const MOST_COMPLETIONS = 40;
const MOST_CORRECTIONS = 5;
/** Sorts behind every letter. */
const LAST = '\u{10ffff}';

/** The words of one tenant's texts, with those of comments where these are searched, so that another's do not tell, nor keep a typo from being seen. */
export function createVocabulary({ db }: IndexFile, scope: Scope, comments: boolean): Vocabulary {
  const words = (condition: string, params: (string | number)[]): string[] => {
    const sql = `SELECT group_concat(word, ' ') FROM (SELECT word FROM words WHERE tenant = ? AND ${condition})`;
    const found = db.get(sql, [scope.tenant.number, ...params])?.[0];
    return typeof found === 'string' ? found.split(' ') : [];
  };
  return {
    has(term) {
      const stands = (table: string): boolean => {
        const sql = `SELECT 1 FROM ${table} WHERE ${table} MATCH ? AND rowid BETWEEN ? AND ? LIMIT 1`;
        return db.get(sql, [matchTerm(term), scope.firstRow, scope.lastRow]) !== undefined;
      };
      return stands('terms') || (comments && stands('comment_terms'));
    },
    completions: (beginning) =>
      words('word >= ? AND word < ? LIMIT ?', [beginning, beginning + LAST, MOST_COMPLETIONS]),
    corrections(word, edits) {
      const lengths = [word.length - edits, word.length + edits];
      const [first = ''] = word;
      // Most typos spare the first letter, and words that share it lie together.
      const near = words('word >= ? AND word < ? AND length(word) BETWEEN ? AND ?', [first, first + LAST, ...lengths]);
      const found = nearest(word, near, edits);
      return found.length > 0 ? found : nearest(word, words('length(word) BETWEEN ? AND ?', lengths), edits);
    },
  };
}

/** Those with the fewest edits, within the limit. */
function nearest(word: string, candidates: readonly string[], limit: number): string[] {
  let least = limit;
  let found: string[] = [];
  for (const candidate of candidates) {
    // The word itself is known of texts that are gone, or that are not searched.
    if (candidate === word) continue;
    const edits = editsBetween(word, candidate, least);
    if (edits > least) continue;
    if (edits < least) found = [];
    least = edits;
    found.push(candidate);
  }
  return found.slice(0, MOST_CORRECTIONS);
}
