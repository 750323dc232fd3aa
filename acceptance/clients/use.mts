// Uses the types that openapi-typescript generates: `node use.mjs BASE_URL API_KEY`.
import type { paths } from './api.js';

type Json<T> = T extends { content: { 'application/json': infer Body } } ? Body : never;
type Created = paths['/api/v1/resources']['post'];
type CreateBody = Json<NonNullable<Created['requestBody']>>;
type Answer = Json<Created['responses'][201]>;
type Conflict = Json<Created['responses'][409]>;
type Workspaces = Json<paths['/api/v1/workspaces']['get']['responses'][200]>;
type MadeWorkspace = Json<paths['/api/v1/workspaces']['post']['responses'][201]>;

declare const process: { argv: string[] };
const [, , baseUrl = '', key = ''] = process.argv;

async function call<T>(method: string, path: keyof paths, body?: unknown): Promise<{ status: number; body: T }> {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const response = await fetch(baseUrl + path, {
    method,
    headers,
    body: body === undefined ? null : JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as T };
}

/** The codes are a union: a code that this endpoint does not answer is an error of the compiler. */
function explain({ error }: Conflict): string {
  switch (error.code) {
    case 'external_id_taken':
      return 'taken';
    case 'workspace_archived':
      return 'archived';
    // @ts-expect-error: no creation answers that it found an import running
    case 'import_active':
      return 'never';
    default:
      return error.message;
  }
}

function assert(condition: boolean, said: unknown): asserts condition {
  if (!condition) throw new Error(JSON.stringify(said));
}

const made = await call<MadeWorkspace>('POST', '/api/v1/workspaces', { name: 'Generated types' });
const listed = await call<Workspaces>('GET', '/api/v1/workspaces');
// Where `fields` can be asked for, every field but those may be absent.
const ids: (string | undefined)[] = listed.body.data.items.map(({ id }) => id);
const limit: number = listed.body.page.limit;
assert(ids.includes(made.body.data.id) && limit === 50, listed);

const draft: CreateBody = {
  type: 'document',
  name: 'Weir',
  workspace_id: made.body.data.id,
  content: '# Weir',
  external_id: 'weir',
};
const created = await call<Answer>('POST', '/api/v1/resources', draft);
assert(created.status === 201 && created.body.data.name === 'Weir', created);

const refused = await call<Conflict>('POST', '/api/v1/resources', draft);
assert(refused.status === 409 && explain(refused.body) === 'taken', refused);
