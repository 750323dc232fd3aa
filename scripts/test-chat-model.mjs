// `npm run test:chat-model`: runs the suite of chat models on a small real model. If the model can't be installed, it
// prints that it skips the suite and exits with 0.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from './build.mjs';
import { installTool, startChatModel } from './servers.mjs';

const SUITE = 'services/agents/test/model/real-model';
const TEST_MS = 120_000;

const program = await installTool('chat-model').catch(() => undefined);
if (program === undefined) {
  console.log('skipped: the suite of chat models on a real one (SmolLM2 and llama.cpp cannot be installed here)');
  process.exit(0);
}
const server = await startChatModel(program);
const { status } = spawnSync(
  process.execPath,
  [
    '--no-warnings',
    join(root, 'node_modules/jest/bin/jest.js'),
    // This overrides the pattern with which all other runs exclude the suite.
    ...[
      '--testPathIgnorePatterns',
      '/node_modules/',
      '--testTimeout',
      String(TEST_MS),
      '--runTestsByPath',
      `${SUITE}.test.ts`,
    ],
  ],
  {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, COMMONPLACE_TEST_CHAT_MODEL_URL: `http://127.0.0.1:${server.port}/v1` },
  },
);
await server.stop();
process.exit(status ?? 1);
