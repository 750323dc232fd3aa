// Tests a release in the cluster with `helm test`: writes, reads and searches through the HTTP API with an API key. If
// the search finds the written document, its event has passed through outbox and broker to the consumers.
// usage: COMMONPLACE_URL=http://… COMMONPLACE_API_KEY=wsk_… node smoke.mjs
import { randomUUID } from 'node:crypto';

const PATIENCE_MS = 60_000;
const ASK_MS = 500;

const { COMMONPLACE_URL: url, COMMONPLACE_API_KEY: key } = process.env;
if (!url || !key) {
  console.error('Set COMMONPLACE_URL and COMMONPLACE_API_KEY, in the chart with test.existingSecret.');
  process.exit(78);
}

await step('ready', () => until(async () => (await fetch(new URL('/health/ready', url))).ok));
const workspace = await step('workspace', async () => (await call('GET', 'workspaces')).items[0]);
if (workspace === undefined) throw new Error('the key has no workspace');

const word = `smoke${randomUUID().replaceAll('-', '')}`;
const content = `# A test\n\nWritten to be found: ${word}.`;
const request = { type: 'document', name: `Test of ${new Date().toISOString()}`, workspace_id: workspace.id, content };
const { id } = await step('write', () => call('POST', 'resources', request));
try {
  await step('read', async () => {
    const read = await call('GET', `resources/${id}/content`);
    if (read.content !== content) throw new Error(`read ${JSON.stringify(read.content)}`);
  });
  await step('event and search', () =>
    until(async () => {
      const query = { query: word, mode: 'keyword', workspace_ids: [workspace.id] };
      return (await call('POST', 'search', query)).items.some(({ resource }) => resource.id === id);
    }),
  );
} finally {
  await step('delete', () => call('DELETE', `resources/${id}`));
}
console.log('All checks passed.');

/** Calls the API. Returns the `data` of a successful answer; throws for any other answer. */
async function call(method, path, body) {
  const answer = await fetch(new URL(`/api/v1/${path}`, url), {
    method,
    headers: {
      Authorization: `Bearer ${key}`,
      ...(method !== 'GET' && { 'Idempotency-Key': randomUUID() }),
      ...(body && { 'Content-Type': 'application/json' }),
    },
    body: body && JSON.stringify(body),
    signal: AbortSignal.timeout(20_000),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return text === '' ? undefined : JSON.parse(text).data;
}

/**
 * Polls until a condition is true. An error counts as not true yet; the error thrown on timeout includes the last one.
 */
async function until(ask) {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    let reason = 'it is not so';
    try {
      if (await ask()) return;
    } catch (error) {
      reason = error.message;
    }
    if (Date.now() > end) throw new Error(`not within ${PATIENCE_MS / 1000} s: ${reason}`);
    await new Promise((resolve) => setTimeout(resolve, ASK_MS));
  }
}

async function step(name, act) {
  const started = Date.now();
  try {
    const result = await act();
    console.log(`✓ ${name} (${Date.now() - started} ms)`);
    return result;
  } catch (error) {
    console.error(`✕ ${name}: ${error.message}`);
    process.exitCode = 1;
    throw error;
  }
}
