import { monitorEventLoopDelay } from 'node:perf_hooks';
import { api } from '../client.js';
import type { Resource, Workspace } from '../records.js';
import type { LinkedMesh } from './mesh.js';

/** A kind of request and the service that handles it. */
export interface Probe {
  readonly owner: string;
  readonly name: string;
  send(): Promise<Response>;
}

export interface Outcome {
  readonly probe: Probe;
  /** HTTP status; 0 if no answer arrived. */
  readonly status: number;
  readonly retryAfter: string | null;
  readonly code: string;
  readonly tookMs: number;
  /** Milliseconds by which the measuring process itself was delayed meanwhile. */
  readonly lagMs: number;
}

/** Milliseconds by which an answer may exceed the deadline. */
const SPARE_MS = 500;
/** Milliseconds after which a request without an answer is aborted, long after the deadline. */
const GIVE_UP_MS = 30_000;

/** Creates requests to every service. Together they use every link. */
export async function createProbes({ baseUrl, owner }: Pick<LinkedMesh, 'baseUrl' | 'owner'>): Promise<Probe[]> {
  const by = api({ baseUrl }, owner.apiKey);
  const { id: workspaceId } = (await by.post<Workspace>('/workspaces', { name: 'Links' })).data;
  const made = await by.post<Resource>('/resources', {
    type: 'document',
    name: 'Probe',
    workspace_id: workspaceId,
    content: 'Words.',
  });
  const documentId = made.data.id;
  let number = 0;
  const send = (method: string, path: string, body?: object) =>
    fetch(`${baseUrl}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${owner.apiKey}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(GIVE_UP_MS),
    });
  const get = (service: string, path: string): Probe => ({
    owner: service,
    name: `GET ${path.replace(/[0-9a-z-]{20,}/g, '{id}')}`,
    send: () => send('GET', path),
  });
  const post = (service: string, path: string, body: () => object): Probe => ({
    owner: service,
    name: `POST ${path}`,
    send: () => send('POST', path, body()),
  });
  return [
    get('identity', '/me'),
    get('identity', '/api-keys'),
    get('tenancy', '/orgs'),
    get('tenancy', `/workspaces/${workspaceId}`),
    get('resources', `/resources/${documentId}`),
    get('resources', `/resources/${documentId}/content`),
    get('resources', `/resources/${documentId}/permissions`),
    post('resources', '/resources', () => ({
      type: 'document',
      name: `Probe ${number++}`,
      workspace_id: workspaceId,
      content: 'More words.',
    })),
    get('files', `/storage/usage?workspace_id=${workspaceId}`),
    post('files', '/files', () => ({
      name: `probe-${number++}.txt`,
      workspace_id: workspaceId,
      content_base64: Buffer.from('Bytes.').toString('base64'),
    })),
    post('search', '/search', () => ({ query: 'words', workspace_ids: [workspaceId] })),
    get('messaging', '/notifications'),
    get('agents', '/models'),
    get('automations', `/work-items?workspace_id=${workspaceId}`),
  ];
}

/** Sends all requests concurrently. Returns their outcomes. */
export async function ask(probes: readonly Probe[]): Promise<Outcome[]> {
  const lag = monitorEventLoopDelay({ resolution: 10 });
  lag.enable();
  const outcomes = await Promise.all(probes.map(askOne));
  lag.disable();
  const lagMs = Math.max(0, lag.max / 1e6 - 10);
  return outcomes.map((outcome) => ({ ...outcome, lagMs }));
}

async function askOne(probe: Probe): Promise<Omit<Outcome, 'lagMs'>> {
  const began = performance.now();
  try {
    const answer = await probe.send();
    const text = await answer.text();
    const tookMs = performance.now() - began;
    const code = answer.ok ? '' : ((JSON.parse(text) as { error?: { code: string } }).error?.code ?? '');
    return { probe, status: answer.status, retryAfter: answer.headers.get('retry-after'), code, tookMs };
  } catch (error) {
    return { probe, status: 0, retryAfter: null, code: String(error), tookMs: performance.now() - began };
  }
}

export function isGood({ status }: Outcome): boolean {
  return status >= 200 && status < 300;
}

/** Returns the faults in answers, which must arrive in time and be a success or 503 with `Retry-After`. */
export function faultsIn(outcomes: readonly Outcome[], deadlineMs: number): string[] {
  return outcomes.flatMap((outcome) => {
    const { probe, status, retryAfter, code, tookMs, lagMs } = outcome;
    const faults: string[] = [];
    const what = `${probe.name} (${probe.owner})`;
    const said = status === 503 && Number(retryAfter) > 0;
    if (!isGood(outcome) && !said) faults.push(`${what} answers ${status} ${code}, Retry-After ${retryAfter}`);
    const most = deadlineMs + SPARE_MS + lagMs;
    if (tookMs > most) faults.push(`${what} took ${Math.round(tookMs)} ms of ${Math.round(most)}: ${status} ${code}`);
    return faults;
  });
}
