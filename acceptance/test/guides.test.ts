import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PATIENCE } from '@commonplace/kit/testing/patience';
import { beforeAll, expect, test } from '@jest/globals';
import { standingSystem } from '../src/standing.js';
import { SEPARATOR, scriptOf, stepsOf } from '../src/steps.js';
import { ROOT, type System } from '../src/system.js';

/** Tests that the commands of the guides work unchanged, one after another in one shell, with the documented output. */

const run = promisify(execFile);
const FOLDER = join(ROOT, 'docs/guides');

let system: System;
beforeAll(async () => {
  system = await standingSystem();
}, 120_000);

test.each(readdirSync(FOLDER))(
  '%s',
  async (file) => {
    const steps = stepsOf(readFileSync(join(FOLDER, file), 'utf8'));
    expect(steps.some(({ answer }) => answer !== '')).toBe(true);
    const { email, password, apiKey } = system.owner;
    const cwd = mkdtempSync(join(tmpdir(), 'commonplace-guide-'));
    const env = {
      ...process.env,
      COMMONPLACE_URL: system.baseUrl,
      COMMONPLACE_KEY: apiKey,
      EMAIL: email,
      PASSWORD: password,
    };
    try {
      const options = { cwd, env, timeout: 120_000 * PATIENCE };
      const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', scriptOf(steps)], options);
      const said = stdout.split(SEPARATOR).slice(0, -1);
      const answers = steps.map(({ command }, index) => ({ command, answer: (said[index] ?? '').trim() }));
      expect(answers).toEqual(steps);
    } finally {
      rmSync(cwd, { recursive: true, force: true });
    }
  },
  130_000 * PATIENCE,
);
