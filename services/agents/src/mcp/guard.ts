import type { TenantGuard } from '@commonplace/kit/fetch';
import { type OutgoingParts, openOutgoingGuard } from '@commonplace/platform/outgoing';
import { MAX_CALL_MS } from './limits.js';

/** Milliseconds added to the longest call, so that the call's own time limit applies first. */
const SPARE_MS = 5_000;

/**
 * Opens the guard for calls of MCP servers. It allows a tool to send nothing for as long as the longest call may take.
 */
export function openMcpGuard(parts: Omit<OutgoingParts, 'idleMs'>): Promise<TenantGuard> {
  return openOutgoingGuard({ ...parts, idleMs: MAX_CALL_MS + SPARE_MS });
}
