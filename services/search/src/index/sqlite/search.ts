import { expand } from '../../domain/expand.js';
import { type Field, USUAL_FIELDS } from '../../domain/narrowing.js';
import type { Patterns } from '../../domain/pattern.js';
import { asksWithoutWords, type Group, type QueryPlan } from '../../domain/query.js';
import { type IndexAnswer, type IndexQuery, MAX_FACETED_MATCHES } from '../port.js';
import { browse } from './browse.js';
import { columnsOf, countFacets, facetColumns } from './facets.js';
import type { IndexFile } from './file.js';
import { pageOf } from './page.js';
import { type Scope, scopeOf } from './scope.js';
import { bareHits, hitOf } from './texts.js';
import { createVocabulary, vocabulariesOf } from './vocabulary.js';

/** Answers a query from an index file. */
export function search(file: IndexFile, query: IndexQuery): IndexAnswer {
  const { plan, filter, narrowing, fields = USUAL_FIELDS, facets = [] } = query;
  const scope = scopeOf(file, filter, narrowing);
  const wordless = plan.groups.length === 0;
  if (scope === undefined || (wordless && !scope.named && !asksWithoutWords(plan))) return nothing(file);
  const excluded = plan.excluded.map(literal);
  if (wordless) return browse(file, query, scope, excluded);

  const groups = plan.groups.map((group) => ({
    patterns: expansionOf(file, scope, group, fields.includes('comments')),
    times: group.times,
  }));
  const sought = { groups, boosts: plan.boosts.map(literal), excluded };
  const { ranked, rows, total, totalIsEstimate } = pageOf(file, query, scope, sought);
  const shown = shownPatterns(file, scope, plan, fields);
  const counted = (): ReturnType<typeof countFacets> =>
    countFacets(facets, columnsOf(file, rows().slice(0, MAX_FACETED_MATCHES), facetColumns(facets)));
  return {
    hits: query.bare
      ? bareHits(file, ranked)
      : ranked.map((hit) => hitOf(file, { ...hit, groups: shown, fields, highlight: query.highlight })),
    total,
    totalIsEstimate,
    more: query.offset + ranked.length < total,
    facets: facets.length === 0 ? {} : counted(),
    complete: file.complete,
  };
}

/** Returns what is marked in snippets: the forms of a query's groups, and those that raise the score. */
export function shownPatterns(file: IndexFile, scope: Scope, plan: QueryPlan, fields: readonly Field[]): Patterns[] {
  const comments = fields.includes('comments');
  return [...plan.groups.map((group) => expansionOf(file, scope, group, comments)), ...plan.boosts.map(literal)];
}

/** Completes and corrects a group; the result is cached until the tenant's entries change. */
function expansionOf(file: IndexFile, scope: Scope, group: Group, comments: boolean): Patterns {
  const { terms, surface, prefix, correctable } = group;
  const key = `${vocabulariesOf(file, scope)} ${scope.changes.length} ${comments} ${prefix} ${correctable} ${surface} ${terms.join(' ')}`;
  let patterns = file.expansions.get(key);
  if (patterns === undefined) {
    patterns = expand(group, createVocabulary(file, scope, comments));
    file.expansions.set(key, patterns);
  }
  return patterns;
}

/** Returns a group as it is, neither completed nor corrected. */
function literal({ terms, prefix }: Group): Patterns {
  return [{ terms, prefix }];
}

function nothing(file: IndexFile): IndexAnswer {
  return { hits: [], total: 0, totalIsEstimate: false, more: false, facets: {}, complete: file.complete };
}
