import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { withinCall } from '@commonplace/kit/deadline';
import { AppError } from '@commonplace/kit/errors';
import { Client, Errors } from 'typesense';
import type { CollectionCreateSchema } from 'typesense/lib/Typesense/Collections.js';
import type { MultiSearchRequestSchema } from 'typesense/lib/Typesense/Types.js';
import { IndexFailure, IndexUnavailable } from '../port.js';

export interface ServerOptions {
  /** Nodes of one cluster. */
  readonly urls: readonly string[];
  readonly apiKey: string;
  /** Milliseconds until a search times out, 5,000 by default; writes have six times as long. */
  readonly timeoutMs?: number;
}

export type Document = Record<string, unknown> & { readonly id: string };
/** One search of several, with Typesense's own parameters. */
export type Search = Readonly<Record<string, string | number | boolean>> & { readonly collection: string };

export interface SearchResult {
  readonly found: number;
  readonly hits: readonly { readonly document: Document; readonly distance: number | undefined }[];
  readonly facets: ReadonlyMap<string, readonly (readonly [string, number])[]>;
}

/** Result of one line of an import. */
type Line = 'ok' | 'exists' | 'missing';
export type Action = 'create' | 'update' | 'upsert';

/** Sends requests to Typesense by its own client. Each has a deadline; failures reject with `IndexFailure`. */
export interface Server {
  search(searches: readonly Search[]): Promise<readonly SearchResult[]>;
  /**
   * Writes documents and returns a result for each, in order. Rejects when a line fails for a reason other than
   * `exists` or `missing`.
   */
  write(collection: string, action: Action, documents: readonly Document[]): Promise<readonly Line[]>;
  /** Returns the number of deleted documents. */
  deleteWhere(collection: string, filter: string): Promise<number>;
  create(schema: CollectionCreateSchema): Promise<void>;
  /** Returns all collections with their numbers of documents. */
  collections(): Promise<ReadonlyMap<string, number>>;
  drop(collection: string): Promise<void>;
  /** Returns the collection that each alias names. */
  aliases(): Promise<ReadonlyMap<string, string>>;
  point(alias: string, collection: string): Promise<void>;
  unpoint(alias: string): Promise<void>;
  /** Returns the total bytes of memory that the server uses. */
  memory(): Promise<number>;
  /** Resolves if the server accepts the API key, and writes: it is ready and has memory and disk space for them. */
  check(): Promise<void>;
  close(): void;
}

/** Reports that a collection does not exist. */
export class MissingCollection extends IndexFailure {}

const MAX_SEARCHES_PER_REQUEST = 40;
const WRITE_DEADLINE_FACTOR = 6;
const RETRY_SECONDS = 0.1;

export function openServer({ urls, apiKey, timeoutMs = 5000 }: ServerOptions): Server {
  const httpAgent = new HttpAgent({ keepAlive: true });
  const httpsAgent = new HttpsAgent({ keepAlive: true });
  const client = new Client({
    nodes: urls.map((url) => nodeOf(url)),
    apiKey,
    connectionTimeoutSeconds: (timeoutMs * WRITE_DEADLINE_FACTOR) / 1000,
    // Another node is tried when one does not answer; all writes are safe to repeat.
    numRetries: urls.length,
    retryIntervalSeconds: RETRY_SECONDS,
    logLevel: 'silent',
    httpAgent,
    httpsAgent,
    // Compression would take both sides longer than the transfer within a cluster.
    additionalHeaders: { 'Accept-Encoding': 'identity' },
  });
  const read = <T>(work: () => Promise<T>): Promise<T> => withDeadline(work, timeoutMs);
  const change = <T>(work: () => Promise<T>): Promise<T> => withDeadline(work, timeoutMs * WRITE_DEADLINE_FACTOR);
  const unlessMissing = async (work: () => Promise<unknown>): Promise<void> => {
    await change(work).catch((error) => {
      if (!(error instanceof MissingCollection)) throw error;
    });
  };

  return {
    async search(searches) {
      const found: SearchResult[] = [];
      for (let at = 0; at < searches.length; at += MAX_SEARCHES_PER_REQUEST) {
        const some = searches.slice(at, at + MAX_SEARCHES_PER_REQUEST) as unknown as MultiSearchRequestSchema<
          Document,
          string
        >[];
        const { results } = (await read(() => client.multiSearch.perform({ searches: some }))) as {
          results: readonly Result[];
        };
        found.push(...results.map(foundIn));
      }
      return found;
    },
    async write(collection, action, documents) {
      if (documents.length === 0) return [];
      const body = documents.map((document) => JSON.stringify(document)).join('\n');
      // This option of the client applies to arrays only; the server does not know it.
      const options = { action, throwOnFail: undefined };
      const answer = await change(() => client.collections(collection).documents().import(body, options));
      const lines = answer.split('\n').filter((line) => line !== '');
      if (lines.length !== documents.length)
        throw new IndexFailure(`an import of ${documents.length} documents returned ${lines.length} results`);
      return lines.map(lineOf);
    },
    async deleteWhere(collection, filter) {
      const deleted = await change(() => client.collections(collection).documents().delete({ filter_by: filter }));
      return deleted.num_deleted;
    },
    async create(schema) {
      await change(() => client.collections().create(schema));
    },
    async collections() {
      const list = await read(() => client.collections().retrieve());
      return new Map(list.map(({ name, num_documents: count }) => [name, count]));
    },
    drop: (collection) => unlessMissing(() => client.collections(collection).delete()),
    async aliases() {
      const { aliases } = await read(() => client.aliases().retrieve());
      return new Map(aliases.map(({ name, collection_name: collection }) => [name, collection]));
    },
    async point(alias, collection) {
      await change(() => client.aliases().upsert(alias, { collection_name: collection }));
    },
    unpoint: (alias) => unlessMissing(() => client.aliases(alias).delete()),
    async memory() {
      const metrics = await read(() => client.metrics.retrieve());
      return Number(metrics.typesense_memory_active_bytes);
    },
    async check() {
      await read(() => client.health.retrieve());
      await read(() => client.aliases().retrieve());
    },
    close() {
      httpAgent.destroy();
      httpsAgent.destroy();
    },
  };
}

function nodeOf(url: string): { host: string; port: number; protocol: string; path: string } {
  const { hostname, port, protocol, pathname } = new URL(url);
  const scheme = protocol.slice(0, -1);
  const usual = scheme === 'https' ? 443 : 8108;
  return { host: hostname, port: Number(port) || usual, protocol: scheme, path: pathname.replace(/\/$/, '') };
}

/** Adds a deadline, which the client lacks for imports, and converts the client's errors. */
async function withDeadline<T>(work: () => Promise<T>, deadlineMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new IndexUnavailable(`Typesense did not answer in ${deadlineMs} ms`)), deadlineMs);
  });
  try {
    return await withinCall(Promise.race([work(), late]));
  } catch (error) {
    if (error instanceof AppError) throw error;
    if (error instanceof IndexFailure) throw error;
    if (error instanceof Errors.ObjectNotFound) throw new MissingCollection('Typesense: not found', { cause: error });
    const Failure = isAway(error) ? IndexUnavailable : IndexFailure;
    throw new Failure(`Typesense: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

/** Statuses of a server that refuses the API key, as after a rotation, or has too many requests. */
const REFUSES_ALL: ReadonlySet<number | undefined> = new Set([401, 403, 429]);
/** Message of a server that has too little memory or disk space for any write. */
const NO_ROOM = /running out of resource/i;

/**
 * Returns whether no node has answered, or the last one was not ready, failed itself or refuses all requests: the same
 * request can succeed later.
 */
function isAway(error: unknown): boolean {
  if (!(error instanceof Errors.TypesenseError) || error instanceof Errors.ServerError) return true;
  return REFUSES_ALL.has(error.httpStatus) || NO_ROOM.test(error.message);
}

interface Result {
  readonly found?: number;
  readonly hits?: readonly { readonly document: Document; readonly vector_distance?: number }[];
  readonly facet_counts?: readonly {
    readonly field_name: string;
    readonly counts: readonly { readonly value: string; readonly count: number }[];
  }[];
  readonly code?: number;
  readonly error?: string;
}

function foundIn({ found, hits = [], facet_counts: counted = [], code, error }: Result): SearchResult {
  if (found === undefined) {
    if (code === 404) throw new MissingCollection(`Typesense: ${error}`);
    if (REFUSES_ALL.has(code)) throw new IndexUnavailable(`Typesense: ${error}`);
    throw new IndexFailure(`Typesense: ${error ?? 'a search has no result'}`);
  }
  const facets = counted.map(({ field_name: field, counts }) => {
    return [field, counts.map(({ value, count }) => [value, count] as const)] as const;
  });
  return {
    found,
    hits: hits.map(({ document, vector_distance: distance }) => ({ document, distance })),
    facets: new Map(facets),
  };
}

function lineOf(line: string): Line {
  const { success, code, error } = JSON.parse(line) as { success: boolean; code?: number; error?: string };
  if (success) return 'ok';
  if (code === 409) return 'exists';
  if (code === 404) return 'missing';
  const Failure = NO_ROOM.test(error ?? '') ? IndexUnavailable : IndexFailure;
  throw new Failure(`Typesense refuses an entry: ${error}`);
}
