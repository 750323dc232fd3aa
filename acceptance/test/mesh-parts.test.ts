import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, test } from '@jest/globals';
import { eventually } from '../src/eventually.js';
import { ROOT } from '../src/system.js';

/** Tests how `npm run mesh` supervises its parts, with a small program as the only one. */
const folder = mkdtempSync(join(tmpdir(), 'mesh-parts-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const part = join(folder, 'part.mjs');
writeFileSync(part, "console.log('pid', process.pid); setInterval(() => {}, 1000);");
const parent = join(folder, 'parent.mjs');
writeFileSync(
  parent,
  `import { sayWhenGone, startPart } from ${JSON.stringify(pathToFileURL(join(ROOT, 'scripts/mesh.mjs')).href)};
   const child = startPart('files', ${JSON.stringify(relative(ROOT, part))}, process.env);
   sayWhenGone(child, console.log);
   setInterval(() => {}, 1000);`,
);

async function startParent() {
  const child = spawn(process.execPath, [parent], { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const pid = await eventually(() => {
    const [, found] = /^pid (\d+)$/m.exec(said) ?? [];
    if (found === undefined) throw new Error('the part has not started');
    return Number(found);
  });
  return { child, pid, said: () => said };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test('a part ends when the process that started it is killed', async () => {
  const { child, pid } = await startParent();
  expect(isAlive(pid)).toBe(true);
  child.kill('SIGKILL');
  await eventually(() => expect(isAlive(pid)).toBe(false));
});

test('a part that dies is reported, with how it ended', async () => {
  const { child, pid, said } = await startParent();
  process.kill(pid, 'SIGKILL');
  await eventually(() => expect(said()).toContain('files ended by SIGKILL; the other parts go on.'));
  child.kill('SIGTERM');
});
