import { type Guard, openGuard } from '@commonplace/kit/fetch';
import type { Settings } from '../config.js';
import { MAX_CALL_MS } from './limits.js';

/** Milliseconds added to the longest call, so that the call's own time limit applies first. */
const SPARE_MS = 5_000;

/**
 * Opens the guard for calls of MCP servers. It allows a tool to send nothing for as long as the longest call may take.
 */
export function openMcpGuard({ urlAllowlist }: Pick<Settings, 'urlAllowlist'>): Guard {
  return openGuard({ allowlist: urlAllowlist, idleMs: MAX_CALL_MS + SPARE_MS });
}
