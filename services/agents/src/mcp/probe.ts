import { type HeldJob, openQueue, type Queue } from '@commonplace/kit/jobs';
import { SecretUnreadable } from '@commonplace/kit/secrets';
import { type McpServerRecord, mcpProbeQueue } from '../stores/mcp-servers.js';
import { accessFor } from './access.js';
import { type Listing, listTools } from './client.js';
import { McpFailure } from './failure.js';
import { LIST_MS, MAX_ERROR, MAX_LIST_TTL_MS, MIN_LIST_TTL_MS } from './limits.js';
import { failed } from './outcome.js';
import type { McpParts } from './parts.js';
import { compareTools, readTools } from './tool-list.js';

const CONCURRENCY = 4;
const RETRY_MS = 30_000;
const MAX_RETRY_MS = 3_600_000;

/** Opens the queue that lists the tools of MCP servers. */
export function openProbeQueue(parts: McpParts): Promise<Queue<McpServerRecord>> {
  const { store, log } = parts;
  return openQueue<McpServerRecord>({
    ...{ store, log, spec: mcpProbeQueue, concurrency: CONCURRENCY },
    group: { of: ({ tenant }) => tenant, concurrency: 2 },
    run: (job) => probe(parts, job),
  });
}

async function probe(parts: McpParts, job: HeldJob<McpServerRecord>): Promise<void> {
  const server = job.record;
  if (!server.isActive) return job.finish();
  const outcome = await tryToList(parts, server, job.signal);
  if (job.signal.aborted) return;
  await job.endIn(async (work, record) => {
    // The settings have changed during the probe, so the server is probed again.
    if (record.revision !== server.revision || !record.isActive) {
      const probeAt = record.isActive ? new Date().toISOString() : undefined;
      work.replace(parts.mcpServers, record, { ...record, probeAt });
    } else if (!(outcome instanceof McpFailure)) {
      work.replace(parts.mcpServers, record, { ...record, ...listed(parts, record, outcome), probeAt: undefined });
    } else if (outcome.kind === 'auth') {
      const asks = { status: 'auth_required', lastError: outcome.message, probeAt: undefined } as const;
      work.replace(parts.mcpServers, record, { ...record, ...asks });
    } else {
      const waitMs = Math.min(RETRY_MS * 2 ** record.failureCount, MAX_RETRY_MS);
      await failed(parts, work, record, outcome, { probeAt: new Date(Date.now() + waitMs).toISOString() });
    }
  });
}

async function tryToList(parts: McpParts, server: McpServerRecord, stop: AbortSignal): Promise<Listing | McpFailure> {
  try {
    const signal = AbortSignal.any([stop, AbortSignal.timeout(LIST_MS)]);
    const agent = await parts.agents.get(server.agentId);
    const access = agent === undefined ? undefined : await accessFor(parts, server, agent.ownerId, signal);
    if (access === undefined) return new McpFailure('auth', 'The owner of the agent has to authorize.');
    return await listTools(server, access, signal);
  } catch (error) {
    if (error instanceof McpFailure) return error;
    if (error instanceof SecretUnreadable) return new McpFailure('auth', 'The stored credentials cannot be decrypted.');
    if (stop.aborted) return new McpFailure('unreachable', 'The server has not answered in time.');
    throw error;
  }
}

/** Returns the changes of the server's record after its tools were listed. */
function listed(
  { settings }: McpParts,
  record: McpServerRecord,
  { tools, malformed, verdict, protocolVersion, ttlMs }: Listing,
): Partial<McpServerRecord> {
  const { tools: usable, refused } = readTools(tools, settings.mcpTools);
  const unused = [...malformed, ...refused];
  const now = Date.now();
  const freshMs = Math.min(Math.max(ttlMs ?? MAX_LIST_TTL_MS, MIN_LIST_TTL_MS), MAX_LIST_TTL_MS);
  return {
    ...compareTools(record, usable),
    ...{ verdict, protocolVersion, status: 'connected', failureCount: 0 },
    lastError: unused.length === 0 ? undefined : `Tools that are not used: ${unused.join('; ')}`.slice(0, MAX_ERROR),
    toolsUpdatedAt: new Date(now).toISOString(),
    listStaleAt: new Date(now + freshMs).toISOString(),
  };
}
