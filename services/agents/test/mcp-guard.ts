import type { Settings } from '../src/config.js';
import { openMcpGuard } from '../src/mcp/guard.js';

/** Opens the guard of MCP servers for Orgs without a list, outside of the service. */
export function testMcpGuard(settings: Settings) {
  return openMcpGuard({
    settings,
    directory: { getUrlAllowlist: async () => ({ entries: [] }) },
    bus: { watch: async () => ({ close: async () => {} }) },
    systemCall: () => ({ metadata: { requestId: 'test' }, deadline: Date.now() + 10_000 }),
  });
}
