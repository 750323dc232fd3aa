import { type Guard, openGuard } from '@commonplace/kit/fetch';
import type { Settings } from '../config.js';
import { MAX_CALL_MS } from './limits.js';

/** Milliseconds beyond the longest call, so that its own time limit ends it. */
const SPARE_MS = 5_000;

/** Opens the guard for calls of MCP servers: a tool may work for as long as its owner allows before it says a word. */
export function openMcpGuard({ urlAllowlist }: Pick<Settings, 'urlAllowlist'>): Guard {
  return openGuard({ allowlist: urlAllowlist, idleMs: MAX_CALL_MS + SPARE_MS });
}
