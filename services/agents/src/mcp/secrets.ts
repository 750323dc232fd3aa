import type { Log } from '@commonplace/kit/log';
import { type Envelope, SecretUnreadable } from '@commonplace/kit/secrets';
import { type Collection, keyset, LostRace, type Store, type StoredRecord } from '@commonplace/kit/store';
import {
  type McpSecrets,
  type McpServerRecord,
  mcpAuthorizationCollection,
  mcpClientCollection,
  mcpGrantCollection,
  mcpServerCollection,
} from '../stores/mcp-servers.js';

type Owner = { readonly id: string; readonly tenant: string };

/** Encrypts a value and binds it to one record. */
export function seal(envelope: Envelope, { id, tenant }: Owner, value: object): string {
  return envelope.seal(JSON.stringify(value), { tenant, record: id });
}

/** Decrypts a value that was encrypted for a record. Throws `SecretUnreadable`. */
export function unseal<T>(envelope: Envelope, { id, tenant }: Owner, sealed: string): T {
  return JSON.parse(envelope.open(sealed, { tenant, record: id })) as T;
}

export function secretsOf(envelope: Envelope, server: McpServerRecord): McpSecrets {
  return server.sealed === undefined ? {} : unseal<McpSecrets>(envelope, server, server.sealed);
}

/** Returns the headers for a server with its credentials, except OAuth tokens. */
export function headersOf(server: McpServerRecord, { token, headers = {} }: McpSecrets): Record<string, string> {
  const { type, headerName } = server.auth;
  if (token === undefined) return { ...headers };
  if (type === 'bearer') return { ...headers, authorization: `Bearer ${token}` };
  if (type === 'header' && headerName !== undefined) return { ...headers, [headerName]: token };
  return { ...headers };
}

/** The result of re-encrypting the stored secrets. */
export interface Rewrapped {
  readonly rewrapped: number;
  readonly current: number;
  /** Ids of records whose secret cannot be decrypted; they are left unchanged. */
  readonly unreadable: readonly string[];
}

interface SecretRecord extends StoredRecord {
  readonly tenant: string;
  readonly sealed?: string | undefined;
}

const CHUNK = 100;

/**
 * Re-encrypts every secret of MCP servers with the current master key, so that older keys can be removed from the
 * settings. It commits record by record, so that an interrupted run keeps its progress. Calls `each` after every
 * record.
 */
export async function rewrapMcpSecrets(
  { store, envelope, log }: { readonly store: Store; readonly envelope: Envelope; readonly log: Log },
  each: () => void = () => {},
): Promise<Rewrapped> {
  const sum = { rewrapped: 0, current: 0, unreadable: [] as string[] };
  for (const spec of [mcpServerCollection, mcpGrantCollection, mcpAuthorizationCollection, mcpClientCollection]) {
    const collection = (await store.collection<SecretRecord>(spec as never)) as Collection<SecretRecord>;
    for await (const record of withSecret(collection)) {
      const { id, tenant, sealed } = record;
      try {
        if (envelope.isCurrent(sealed)) sum.current++;
        else {
          const work = store.begin();
          work.replace(collection, record, { ...record, sealed: envelope.rewrap(sealed, { tenant, record: id }) });
          await work.commit();
          sum.rewrapped++;
        }
      } catch (error) {
        // The record was written concurrently, with the current key.
        if (error instanceof LostRace) sum.current++;
        else if (error instanceof SecretUnreadable) {
          log.error('secret.unreadable', { record: id, error });
          sum.unreadable.push(id);
        } else throw error;
      }
      each();
    }
  }
  return sum;
}

async function* withSecret(collection: Collection<SecretRecord>): AsyncIterable<SecretRecord & { sealed: string }> {
  let after: ReturnType<typeof keyset> | undefined;
  for (;;) {
    const chunk = await collection.find({ where: {}, limit: CHUNK, ...(after && { after }) });
    for (const record of chunk) if (record.sealed !== undefined) yield { ...record, sealed: record.sealed };
    const last = chunk.at(-1);
    if (last === undefined || chunk.length < CHUNK) return;
    after = keyset(last);
  }
}
