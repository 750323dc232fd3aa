import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from '@jest/globals';
import { indexContract } from '../src/index/contract.js';
import { DEFAULT_LIMITS } from '../src/index/sqlite/file.js';
import { openSqliteIndex } from '../src/index/sqlite/index.js';

const folder = mkdtempSync(join(tmpdir(), 'search-index-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

indexContract('sqlite', () => openSqliteIndex({ path: join(folder, 'usual.db') }));
indexContract('sqlite, answering anew each time', () =>
  openSqliteIndex({ path: join(folder, 'anew.db'), keepAnswers: false }),
);
indexContract('sqlite, ranking by the engine alone', () =>
  openSqliteIndex({
    path: join(folder, 'engine.db'),
    keepAnswers: false,
    limits: { ...DEFAULT_LIMITS, list: -1, scope: -1, vectors: 0 },
  }),
);
indexContract('sqlite, looking at each match', () =>
  openSqliteIndex({
    path: join(folder, 'match.db'),
    keepAnswers: false,
    limits: { ...DEFAULT_LIMITS, list: 20_000, scope: -1, vectors: 100_000 },
  }),
);
