import type { Client } from '../http.js';
import type { Collection } from './collection.js';
import { mean, ndcg, percentile, recall } from './measures.js';

export const MODES = ['keyword', 'semantic', 'hybrid'] as const;
export type Mode = (typeof MODES)[number];

/** How good the answers of a mode are, as means over all queries, and how fast. */
export interface Quality {
  readonly mode: Mode;
  readonly ndcg10: number;
  readonly recall50: number;
  /** Milliseconds that one client waits. */
  readonly p50: number;
  readonly p95: number;
}

interface SearchAnswer {
  readonly items: readonly { readonly resource: { readonly id: string } }[];
  readonly mode: Mode;
  readonly degraded: boolean;
}

const DEPTH = 10;
/** The most hits that a search gives. */
const HITS = 50;

/** Asks all queries in a mode, one after the other. `names` tells documents by the ids of their resources. */
export async function askAll(
  client: Client,
  mode: Mode,
  workspaceId: string,
  { queries, grades }: Collection,
  names: ReadonlyMap<string, string>,
): Promise<Quality> {
  const gains: number[] = [];
  const recalls: number[] = [];
  const times: number[] = [];
  for (const { id, text } of queries) {
    const body = { query: text, mode, workspace_ids: [workspaceId], limit: HITS };
    const began = performance.now();
    const answer = await client.ask<SearchAnswer>('POST', '/search', body);
    times.push(performance.now() - began);
    if (answer.degraded || answer.mode !== mode) throw new Error(`a ${mode} search was answered by ${answer.mode}`);
    const ranked = answer.items.map(({ resource }) => names.get(resource.id) ?? '');
    const judged = grades.get(id) ?? new Map<string, number>();
    gains.push(ndcg(ranked, judged, DEPTH));
    recalls.push(recall(ranked, judged, HITS));
  }
  const [p50, p95] = [percentile(times, 0.5), percentile(times, 0.95)];
  return { mode, ndcg10: mean(gains), recall50: mean(recalls), p50, p95 };
}
