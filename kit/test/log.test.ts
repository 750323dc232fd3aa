import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const HOSTILE = 'first\n{"level":"error","event":"forged"}\r\u2028\u2029\u001b[31m red \u0000 "quoted"';

/** Returns the output of a process that logs hostile text in every field. */
function linesOf(): string[] {
  const script = `
    const { createLog } = await import(${JSON.stringify(new URL('../src/log/index.js', import.meta.url).href)});
    const hostile = ${JSON.stringify(HOSTILE)};
    const log = createLog('debug', { service: hostile });
    for (const level of ['debug', 'info', 'warn', 'error']) log[level](hostile, { name: hostile, [hostile]: 1 });
    log.child({ tenant: hostile }).error('failed', { error: new Error(hostile) });
    log.flush();
  `;
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    cwd: fileURLToPath(new URL('.', import.meta.url)),
    encoding: 'utf8',
  });
  expect([status, stdout]).toEqual([0, '']);
  return stderr.split('\n').filter((line) => line !== '');
}

test('each entry is one line of JSON with its time in UTC, whatever is logged', () => {
  const lines = linesOf();
  expect(lines).toHaveLength(5);
  const entries = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(entries.map(({ level }) => level)).toEqual(['debug', 'info', 'warn', 'error', 'error']);
  for (const { time, service } of entries) {
    expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(service).toBe(HOSTILE);
  }
});

test('logged text can neither begin a new line nor control a terminal', () => {
  for (const line of linesOf()) {
    expect(line.startsWith('{"level":')).toBe(true);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
    expect(line).not.toMatch(/[\u0000-\u001f]/);
    expect(JSON.parse(line).event).not.toBe('forged');
  }
});

test('a line has the fields of the request in which it is written', () => {
  const script = `
    const { createLog } = await import(${JSON.stringify(new URL('../src/log/index.js', import.meta.url).href)});
    let request = 1;
    const log = createLog('info', { service: 'test' }, () => ({ request: request++ }));
    log.info('one');
    log.child({ tenant: 't' }).warn('two');
    log.flush();
  `;
  const { stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
  const lines = stderr.trim().split('\n');
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { service: 'test', request: 1, event: 'one' },
    { service: 'test', request: 2, tenant: 't', event: 'two' },
  ]);
});
