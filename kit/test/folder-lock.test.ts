import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { ConfigError } from '../src/config/index.js';
import { lockFolder } from '../src/folder-lock/index.js';

test('a folder belongs to one process, which the error names, until that process is killed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'commonplace-lock-'));
  const holder = fileURLToPath(new URL('./folder-lock-holder.js', import.meta.url));
  const child = spawn(process.execPath, [holder, folder], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    await once(child.stdout, 'data');
    expect(() => lockFolder(folder)).toThrow(ConfigError);
    expect(() => lockFolder(folder)).toThrow(
      new RegExp(`in use by another process: process ${child.pid} on .+, since `),
    );
    child.kill('SIGKILL');
    await once(child, 'exit');
    lockFolder(folder).release();
  } finally {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true });
  }
});

test('the parts of one process share a folder', () => {
  const folder = mkdtempSync(join(tmpdir(), 'commonplace-lock-'));
  const [first, second] = [lockFolder(folder), lockFolder(folder)];
  first.release();
  first.release();
  second.release();
  lockFolder(folder).release();
  rmSync(folder, { recursive: true });
});
