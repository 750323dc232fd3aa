import { fold } from '@commonplace/kit/analysis';
import type { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { type Snippet, snippetOf } from '../../domain/highlight.js';
import { findMatches, readMatches } from '../../domain/match.js';
import type { Field } from '../../domain/narrowing.js';
import { isMarkdown } from '../../domain/passage.js';
import type { Patterns } from '../../domain/pattern.js';
import type { Hit } from '../port.js';
import type { IndexFile, StoredText } from './file.js';
import { identitiesOf } from './identities.js';

/** Returns the stored texts of a row, from the cache or the file. */
function storedText({ db, texts: kept }: IndexFile, row: number): StoredText {
  let stored = kept.get(row);
  if (stored === undefined) {
    const sql =
      'SELECT e.id, e.type, t.name, t.text, t.comments FROM entries e JOIN texts t ON t.row = e.row WHERE e.row = ?';
    const cells = (db.get(sql, [row]) ?? []).map(String);
    const [id = '', type = '', name = '', text = '', comments = ''] = cells;
    const texts = { name, text, comments };
    stored = { id, type, texts, folded: { name: fold(name), text: fold(text), comments: fold(comments) } };
    kept.set(row, stored);
  }
  return stored;
}

interface HitParts {
  readonly row: number;
  readonly score: number;
  readonly groups: readonly Patterns[];
  readonly fields: readonly Field[];
  readonly highlight: boolean;
}

/** Returns a hit with the fields that matched and their snippets. */
export function hitOf(file: IndexFile, { row, score, groups, fields, highlight }: HitParts): Hit {
  const stored = storedText(file, row);
  const { id, texts, folded } = stored;
  const type = stored.type as ResourceType;
  const found = (search: typeof findMatches) =>
    fields.map((which) => [which, search(folded[which].text, groups)] as const).filter(([, m]) => m.length > 0);
  let matches = found(findMatches);
  if (matches.length === 0 && groups.length > 0) matches = found(readMatches);
  const snippets: Partial<Record<Field, Snippet>> = {};
  for (const [which, where] of highlight ? matches : []) {
    snippets[which] = snippetOf(texts[which], folded[which], where, { isMarkdown: isMarkdown(which, type) });
  }
  return { id, type, score, matchedIn: matches.map(([which]) => which), snippets };
}

/** Returns the text of a row. It is not cached, as its place in the cache is for texts with matches. */
export function textOf({ db, texts }: IndexFile, row: number): string {
  return texts.peek(row)?.texts.text ?? String(db.get('SELECT text FROM texts WHERE row = ?', [row])?.[0] ?? '');
}

/** Returns hits with only id, type and score. */
export function bareHits(file: IndexFile, ranked: readonly { readonly row: number; readonly score: number }[]): Hit[] {
  const entries = identitiesOf(
    file,
    ranked.map(({ row }) => row),
  );
  return ranked.flatMap(({ score }, i) => {
    const entry = entries[i];
    return entry === undefined ? [] : [{ id: entry.id, type: entry.type, score, matchedIn: [], snippets: {} }];
  });
}
