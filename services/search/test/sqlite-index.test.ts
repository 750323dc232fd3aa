import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from '@jest/globals';
import { indexContract } from '../src/index/contract/suite.js';
import { DEFAULT_LIMITS } from '../src/index/sqlite/file.js';
import { openSqliteIndex } from '../src/index/sqlite/index.js';

const folder = mkdtempSync(join(tmpdir(), 'search-index-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

indexContract('sqlite', () => openSqliteIndex({ path: join(folder, 'usual.db') }));
indexContract('sqlite, answering anew each time', () =>
  openSqliteIndex({ path: join(folder, 'anew.db'), keepAnswers: false }),
);
indexContract('sqlite, keeping nothing in memory', () =>
  openSqliteIndex({
    path: join(folder, 'nothing.db'),
    keepAnswers: false,
    limits: { ...DEFAULT_LIMITS, listed: 0, scope: -1, vectors: 0 },
  }),
);
indexContract('sqlite, looking at each match', () =>
  openSqliteIndex({
    path: join(folder, 'match.db'),
    keepAnswers: false,
    limits: { ...DEFAULT_LIMITS, listed: 100, scope: -1, vectors: 100_000 },
  }),
);
