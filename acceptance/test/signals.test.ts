import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Api, api } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import { newFile } from '../src/files.js';
import { newKey } from '../src/people.js';
import type { Resource, Workspace } from '../src/records.js';
import { freePort, mode, type OwnSystem, ROOT, startSystem } from '../src/system.js';

const CHART = join(ROOT, 'charts/commonplace');
/** Metrics that exist in only one way of running. */
const ABSENT =
  mode === 'mesh' ? /^(?:backup_age|storage_|store_damaged|tls_)/ : /^(?:rpc_client_|db_client_connection_|tls_)/;
/** Metrics of Prometheus and Kubernetes themselves. */
const FOREIGN = /^(?:up$|kubelet_)/;

let system: OwnSystem;
let by: Api;
let port: number;
let site: Server;

/** Returns the metrics of all processes: the gateway's page, and those of the services of a mesh. */
async function scrape(): Promise<string> {
  const ports = Array.from({ length: mode === 'mesh' ? PROCESSES : 1 }, (_, i) => port + i);
  const pages = ports.map(async (one) => (await fetch(`http://127.0.0.1:${one}/metrics`)).text());
  return (await Promise.all(pages)).join('\n');
}

/** Returns the names of all series on a page. */
function namesIn(page: string): Set<string> {
  const lines = page.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Set(lines.map((line) => (/^[a-z_:][a-z0-9_:]*/i.exec(line) ?? [''])[0]));
}

/** Words of expressions that are neither metrics nor labels. */
const WORDS = new Set([
  'sum',
  'rate',
  'increase',
  'by',
  'max',
  'min',
  'or',
  'on',
  'le',
  'topk',
  'histogram_quantile',
  'label_values',
  'absent',
  'count',
  'last_over_time',
  'resets',
  'time',
  'and',
  'unless',
]);

/** Returns the metrics that a PromQL expression reads, except recorded ones. */
function metricsIn(expr: string): string[] {
  const bare = expr
    .replace(/\{[^}]*\}/g, '')
    .replace(/\[[^\]]*\]/g, '')
    .replace(/\b(?:by|on) \([^)]*\)/g, '')
    .replace(/label_values\((\w+),.*\)/, '$1');
  return (bare.match(/(?<![\w:.])[a-z_][a-z0-9_:]*/gi) ?? []).filter((word) => !WORDS.has(word) && !word.includes(':'));
}

/** Those of a mesh; each has a port for its metrics. */
const PROCESSES = 9;

/** Returns the expressions of rules and dashboards of the chart, those of recorded series in place of their names. */
function expressions(): string[] {
  const rules = readFileSync(join(CHART, 'rules/commonplace.yaml'), 'utf8');
  const blocks = [...rules.matchAll(/(?:record|alert): (\S+)\n( +)expr: (?:\|\n((?:\2 +.*\n)+)|(.*)\n)/g)].map(
    ([, name = '', , block, line]) => ({ name, expr: block ?? line ?? '' }),
  );
  const boards = readdirSync(join(CHART, 'dashboards')).flatMap((file) => {
    const text = readFileSync(join(CHART, 'dashboards', file), 'utf8');
    const { panels, templating } = JSON.parse(text) as {
      panels: { targets?: { expr: string }[] }[];
      templating: { list: { type: string; query: string }[] };
    };
    const choices = templating.list.filter(({ type }) => type === 'query').map(({ query }) => query);
    return [...panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)), ...choices];
  });
  const recorded = new Map(blocks.map(({ name, expr }) => [name, expr]));
  return [...blocks.map(({ expr }) => expr), ...boards].map((expr) =>
    expr.replace(/commonplace:[\w:]+/g, (name) => `(${recorded.get(name)})`),
  );
}

/** Labels that Prometheus, Kubernetes and the ServiceMonitor give, and the bounds of buckets. */
const LABELS_OF_TARGETS = new Set([
  ...['namespace', 'release', 'service', 'pod', 'instance', 'job', 'le', 'persistentvolumeclaim'],
]);

/** Returns the labels that an expression groups or selects by, except those of targets. */
function labelsIn(expr: string): string[] {
  const grouped = [...expr.matchAll(/\b(?:by|on) \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/, */));
  const selected = [...expr.matchAll(/(\w+)(?:=~|!~|!=|=)"/g)].map(([, label = '']) => label);
  return [...new Set([...grouped, ...selected])].filter((label) => !LABELS_OF_TARGETS.has(label));
}

/** Returns the labels of each metric on a page. */
function labelsByMetric(page: string): Map<string, Set<string>> {
  const labels = new Map<string, Set<string>>();
  for (const [, name = '', list = ''] of page.matchAll(/^([a-z_:][a-z0-9_:]*)(?:\{(.*)\})? /gim)) {
    const known = labels.get(name) ?? new Set();
    for (const [, label = ''] of list.matchAll(/(\w+)="/g)) known.add(label);
    labels.set(name, known);
  }
  return labels;
}

beforeAll(async () => {
  site = createServer((_, response) => response.end('text'));
  await new Promise<void>((resolve) => site.listen(0, 'localhost', resolve));
  port = await freePort(PROCESSES);
  system = await startSystem({
    COMMONPLACE_METRICS_PORT: String(port),
    COMMONPLACE_URL_ALLOWLIST: 'localhost',
    COMMONPLACE_RATE_LIMITS: 'default=off,write=off,search=1',
  });
  by = api(system, system.owner.apiKey);
}, 200_000);
afterAll(async () => {
  await system?.stop();
  site?.close();
});

/** Causes a value for everything that is measured. */
async function live(): Promise<Workspace> {
  const workspace = (await by.post<Workspace>('/workspaces', { name: 'Measured' })).data;
  const headers = { 'Idempotency-Key': 'once' };
  const body = { type: 'document', name: 'Measured', workspace_id: workspace.id };
  for (let i = 0; i < 2; i++) await by.post<Resource>('/resources', body, { headers });
  for (let i = 0; i < 2; i++) await by.post('/search', { query: 'measured', mode: 'keyword' });
  const { key } = await newKey(by, ['workspace:read']);
  expect((await api(system, key).patch(`/workspaces/${workspace.id}`, { name: 'No' })).status).toBe(403);
  const { port: at } = site.address() as AddressInfo;
  const from = { name: 'there.txt', source_url: `http://localhost:${at}/x`, workspace_id: workspace.id };
  expect((await newFile(by, from)).status).toBeLessThan(300);
  return workspace;
}

describe('metrics', () => {
  test('every metric in a dashboard or an alert is exported by the running system', async () => {
    await live();
    const named = new Set(expressions().flatMap(metricsIn));
    expect(named.size).toBeGreaterThan(20);
    const wanted = [...named].filter((name) => !ABSENT.test(name) && !FOREIGN.test(name));
    await eventually(async () => {
      const exported = namesIn(await scrape());
      expect(wanted.filter((name) => !exported.has(name))).toEqual([]);
    });
  });

  test('every label that a dashboard or an alert uses is exported with one of its metrics', async () => {
    await live();
    const read = expressions()
      .map((expr) => ({ expr, metrics: metricsIn(expr), labels: labelsIn(expr) }))
      .filter(({ metrics }) => !metrics.some((name) => ABSENT.test(name)));
    expect(read.flatMap(({ labels }) => labels).length).toBeGreaterThan(40);
    await eventually(async () => {
      const exported = labelsByMetric(await scrape());
      const unknown = read.flatMap(({ expr, metrics, labels }) =>
        labels
          .filter((label) => !metrics.some((name) => exported.get(name)?.has(label)))
          .map((label) => `${label} in ${expr}`),
      );
      expect(unknown).toEqual([]);
    });
  });

  test('no series has the id of a record or of a person as a label', async () => {
    const { id } = await live();
    const page = await scrape();
    expect(page).not.toContain(id);
    const labels = page.replace(/^#.*$/gm, '').replace(/^target_info.*$/gm, '');
    expect(labels.match(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}/g)).toBeNull();
    expect(page).toContain('http_route="/api/v1/resources"');
  });

  test('are not available on the port of the API', async () => {
    const { status } = await by.get('/health/metrics');
    expect(status).toBe(404);
    expect((await fetch(`${system.baseUrl}/metrics`)).status).toBe(404);
  });
});
