import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SEPARATOR, scriptOf, stepsOf } from '../src/steps.js';
import { ENTRY, type OwnSystem, ROOT, startSystem } from '../src/system.js';

const run = promisify(execFile);

let system: OwnSystem;
beforeAll(async () => {
  system = await startSystem();
}, 180_000);
afterAll(() => system?.stop());

/** Replaces the README's examples by actual values. */
function withValues(script: string, values: Readonly<Record<string, string>>): string {
  return Object.entries(values).reduce((text, [name, value]) => {
    const line = new RegExp(`^${name}=.*$`, 'm');
    expect(text).toMatch(line);
    return text.replace(line, () => `${name}='${value}'`);
  }, script);
}

/** The output of a first start in the README. */
function startOf(markdown: string): string[] {
  return /^```\n(Sign in {6}http[\s\S]*?)^```$/m.exec(markdown)?.[1]?.trimEnd().split('\n') ?? [];
}

test('a start prints what the README shows, except for the secrets if there is no terminal', () => {
  const lines = startOf(readFileSync(join(ROOT, 'README.md'), 'utf8'));
  expect(lines).toHaveLength(5);
  const shown = lines.map((line) => line.replaceAll('http://127.0.0.1:8080', system.baseUrl));
  const [signIn] = shown;
  const said = system.stdout().trimEnd().split('\n');
  expect(said.slice(-2)).toEqual(shown.slice(-2));
  // The password follows the address, only on a terminal.
  const [, before, password] = /^(Sign in .* owner@localhost) {3}(\S+)$/.exec(signIn ?? '') ?? [];
  expect(password).toMatch(/^[\w-]{24}$/);
  expect(said).toContain(before?.replace('owner@localhost', system.owner.email));
});

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const CHANGING: readonly (readonly [RegExp, string])[] = [
  [UUID, 'an id'],
  [/^req_[a-z2-7]{26}$/, 'a request id'],
  [/^\d{4}-\d\d-\d\dT[\d:.]+Z$/, 'a time'],
];
const MEASURED = new Set(['took_ms', 'score', 'keyword']);

/** Replaces values that differ between runs: ids, times, tokens and measurements. */
function settled(text: string): unknown {
  if (text === '') return '';
  return JSON.parse(text, (key, value: unknown) => {
    if (MEASURED.has(key) && typeof value === 'number') return 'a number';
    if (key === 'csrf_token') return 'a token';
    if (key === 'block_id' && typeof value === 'string') return 'the id of a block';
    if (typeof value !== 'string') return value;
    return CHANGING.find(([pattern]) => pattern.test(value))?.[1] ?? value;
  });
}

test('the commands of the README return what it shows', async () => {
  const steps = stepsOf(readFileSync(join(ROOT, 'README.md'), 'utf8'));
  expect(steps.filter(({ answer }) => answer !== '').length).toBeGreaterThanOrEqual(5);
  const { email, password, apiKey } = system.owner;
  const script = withValues(scriptOf(steps), {
    HOST: system.baseUrl,
    KEY: apiKey,
    EMAIL: email,
    PASSWORD: password,
  });
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', script], { timeout: 60_000 });
  const said = stdout.split(SEPARATOR).slice(0, -1);
  expect(said).toHaveLength(steps.length);
  for (const [index, { command, answer }] of steps.entries()) {
    expect({ command, answer: settled((said[index] ?? '').trim()) }).toEqual({ command, answer: settled(answer) });
  }
}, 120_000);

test('the lines for a mesh and for a cluster are those that the suites run', async () => {
  const markdown = readFileSync(join(ROOT, 'README.md'), 'utf8');
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };

  // `npm run test:servers` runs its suites behind the same script, on the mesh that this file starts.
  const [, servers, script = ''] = /^node (scripts\/\S+) npm run (\S+)$/m.exec(markdown) ?? [];
  expect(scripts['test:servers']).toContain(`node ${servers} `);
  expect(scripts[script]).toBe(`node ${ENTRY.mesh}`);

  // `npm run test:kubernetes` installs this release from this chart, with these values among others.
  const chart = (await import(pathToFileURL(join(ROOT, 'scripts/chart/tools.mjs')).href)) as Record<string, string>;
  const [, release, folder = ''] = /`helm install (\S+) (\S+)`/.exec(markdown) ?? [];
  expect([release, join(ROOT, folder)]).toEqual([chart.RELEASE, chart.CHART]);
  const values = [...markdown.matchAll(/`(values\/\S+\.yaml)`/g)].map(([, file = '']) => file);
  expect(values.length).toBeGreaterThan(0);
  for (const file of values) expect([file, existsSync(join(ROOT, folder, file))]).toEqual([file, true]);
});
