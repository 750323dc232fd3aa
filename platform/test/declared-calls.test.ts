import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { contracts } from '../src/contracts/index.js';
import type { Host, ServiceModule } from '../src/runtime/module.js';
import { run } from '../src/runtime/run.js';

test('a service gets clients of the contracts that it declares, and an error for any other one', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'commonplace-declared-'));
  const hosts = new Map<string, Host>();
  const moduleOf = (name: string): ServiceModule => ({
    name,
    config: {},
    stores: true,
    calls: name === 'reports' ? [contracts.auth] : [],
    start: async (host) => {
      hosts.set(name, host);
      return { implementations: [] };
    },
  });
  const owners = new Set(Object.values(contracts).map(({ owner }) => owner));
  const env = { COMMONPLACE_DATA_DIR: dataDir, COMMONPLACE_LOG_LEVEL: 'error' };
  const running = await run([...owners, 'reports'].map(moduleOf), env);
  try {
    const host = hosts.get('reports');
    expect(host?.client(contracts.auth)).toHaveProperty('authenticate');
    expect(() => host?.client(contracts.resources)).toThrow(
      'reports does not declare that it calls commonplace.resources.v1.ResourceService',
    );
  } finally {
    await running.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
});
