// Measures searches in an index of 100,000 passages for a caller who may read a tenth of them: time to fill the index,
// its size, and the latency of queries from the request to the answer of the search service. Vectors have random
// directions, so that no model is needed. This is the hardest case for nearest neighbours and takes the same time.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '@commonplace/acceptance/dist/src/system.js';
import type { CallContext } from '@commonplace/kit/rpc';
import { ResourceRole } from '@commonplace/proto/resources/v1/resource.js';
import { SearchMode, SearchRequest } from '@commonplace/proto/search/v1/search_service.js';
import type { EmbeddingModel } from '@commonplace/search/dist/src/embedding/port.js';
import { createSearchHandlers } from '@commonplace/search/dist/src/handlers/search.js';
import type { SearchIndex } from '@commonplace/search/dist/src/index/port.js';
import { openSqliteIndex } from '@commonplace/search/dist/src/index/sqlite/index.js';
import { percentile } from '../quality/measures.js';
import { createRandom, createVocabulary, direction, documentOf, WORKSPACE } from './corpus.js';

interface Scale {
  readonly passages: number;
  readonly perDocument: number;
  readonly questions: number;
}

const MODEL: EmbeddingModel = { id: 'random', name: 'random', dimensions: 384, maxTokens: 256 };
const AT_ONCE = 200;
const LIMIT = 20;
/** Maximum p95 latency by mode in milliseconds. */
const FLOORS = { keyword: 50, semantic: 120, hybrid: 120 } as const;

type Mode = keyof typeof FLOORS;

const MODES: Record<Mode, SearchMode> = {
  keyword: SearchMode.KEYWORD,
  semantic: SearchMode.SEMANTIC,
  hybrid: SearchMode.HYBRID,
};

interface ScaleFigures {
  readonly mode: Mode;
  /** Median processor time of a question in milliseconds. */
  readonly cpuMs: number;
}

/** Runs the measurements, reports each result to `say`, and returns the figures that a plot shows. */
export async function measureScale(
  { passages, perDocument, questions }: Scale,
  say: (line: string) => void = console.log,
): Promise<ScaleFigures[]> {
  const data = join(ROOT, 'bench/data');
  mkdirSync(data, { recursive: true });
  const folder = mkdtempSync(join(data, 'scale-'));
  const index = await openSqliteIndex({ path: join(folder, 'search.db'), keepAnswers: false });
  try {
    const documents = Math.ceil(passages / perDocument);
    const random = createRandom(7);
    const vocabulary = createVocabulary(30_000);
    say(`${documents} documents of ${perDocument} passages of 150 words, ${MODEL.dimensions} dimensions`);
    const seconds = await timed(() => fill(index, documents, (i) => documentOf(i, perDocument, vocabulary, random)));
    say(`filled in ${seconds.toFixed(1)} s`);
    const vectorSeconds = await timed(() => embed(index, perDocument, random));
    const { bytes } = await index.stats();
    say(`vectors put in ${vectorSeconds.toFixed(1)} s; index ${(bytes / 2 ** 20).toFixed(0)} MB`);
    const figures: ScaleFigures[] = [];
    for (const mode of Object.keys(FLOORS) as Mode[]) figures.push(await measure(index, mode, questions, say));
    say(`memory of the process ${(process.memoryUsage.rss() / 2 ** 20).toFixed(0)} MB`);
    return figures;
  } finally {
    await index.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function timed(work: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await work();
  return (performance.now() - began) / 1000;
}

async function fill(
  index: SearchIndex,
  documents: number,
  documentAt: (i: number) => Parameters<SearchIndex['upsert']>[0][number],
): Promise<void> {
  const rebuild = await index.rebuild();
  for (let from = 0; from < documents; from += AT_ONCE) {
    const length = Math.min(AT_ONCE, documents - from);
    await rebuild.add(Array.from({ length }, (_, i) => documentAt(from + i)));
  }
  await rebuild.commit();
}

async function embed(index: SearchIndex, perDocument: number, random: () => number): Promise<void> {
  for (;;) {
    const needy = await index.unembedded(MODEL.id, AT_ONCE);
    if (needy.length === 0) return;
    const vectors = needy.map(({ id, textHash, text }) => {
      const length = Math.ceil(text.length / perDocument);
      const chunks = Array.from({ length: perDocument }, (_, i) => ({
        start: i * length,
        end: Math.min(text.length, (i + 1) * length),
        vector: direction(MODEL.dimensions, random),
      }));
      return { id, textHash, chunks };
    });
    await index.putVectors(MODEL, vectors);
  }
}

async function measure(
  index: SearchIndex,
  mode: Mode,
  questions: number,
  say: (line: string) => void,
): Promise<ScaleFigures> {
  const random = createRandom(11);
  const vocabulary = createVocabulary(30_000);
  const handlers = createSearchHandlers({
    index,
    resources: createFakeResources(),
    embedQuery: async () => ({ model: MODEL.id, vector: direction(MODEL.dimensions, random), complete: true }),
  });
  const context = { onward: { metadata: {}, deadline: 0 }, reply: {} } as unknown as CallContext;
  const times: number[] = [];
  const processor: number[] = [];
  let short = 0;
  for (let i = 0; i < questions; i++) {
    const query = queryOf(i, vocabulary, random);
    const began = performance.now();
    const before = process.cpuUsage();
    const { items, page } = await handlers.search(SearchRequest.fromPartial({ query, mode: MODES[mode] }), context);
    times.push(performance.now() - began);
    const { user, system } = process.cpuUsage(before);
    processor.push((user + system) / 1000);
    if (items.length < Math.min(LIMIT, page?.total ?? 0)) short++;
  }
  const p95 = percentile(times, 0.95);
  const cpuMs = percentile(processor, 0.5);
  const met = p95 <= FLOORS[mode] ? 'met' : 'MISSED';
  say(
    `${mode.padEnd(9)} p50 ${percentile(times, 0.5).toFixed(1)} ms, p95 ${p95.toFixed(1)} ms, ` +
      `at most ${FLOORS[mode]} ms ${met}; processor time p50 ${cpuMs.toFixed(1)} ms, ` +
      `p95 ${percentile(processor, 0.95).toFixed(1)} ms; ${short} pages of ${questions} not full`,
  );
  return { mode, cpuMs };
}

/** Returns a query: a frequent word, medium and frequent words, a rare word, a prefix, a phrase, or an exclusion. */
function queryOf(i: number, vocabulary: ReturnType<typeof createVocabulary>, random: () => number): string {
  const frequent = vocabulary.between(random, 5, 100);
  const middle = vocabulary.between(random, 100, 3000);
  const rare = vocabulary.between(random, 3000, 30_000);
  return [
    `${frequent} `,
    `${middle} ${frequent} `,
    `${middle} ${rare} `,
    rare.slice(0, -1),
    `"${frequent} ${middle}"`,
    `${middle} ${rare} -${frequent}`,
  ][i % 6] as string;
}

/**
 * Creates a fake of the resources service for a caller who may read one of ten boundaries and every hit of the index.
 */
function createFakeResources(): Parameters<typeof createSearchHandlers>[0]['resources'] {
  const filter = {
    workspaceIds: [WORKSPACE],
    openWorkspaceIds: [],
    boundaryIds: ['boundary-3'],
    principals: [],
    granted: [],
    lost: [],
    tagIds: [],
    tagTerms: [],
  };
  return {
    getSearchFilter: async () => filter,
    checkAccess: async ({ ids }) => ({
      resources: ids.map((id) => ({
        id,
        workspaceId: WORKSPACE,
        type: 'RESOURCE_TYPE_DOCUMENT' as never,
        name: id,
        icon: undefined,
        path: [],
        updatedAt: undefined,
        tags: [],
        role: ResourceRole.VIEWER,
        contentVersion: 1,
        boundaryId: WORKSPACE,
        isShared: false,
        untrusted: [],
      })),
    }),
    getShownTexts: async () => ({ texts: [] }),
    locatePlaces: async ({ places }) => ({ parts: places.map(() => ({ blockId: undefined, rowId: undefined })) }),
  };
}
