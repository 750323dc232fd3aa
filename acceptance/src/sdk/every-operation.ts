import { type Api, api, credentialHeaders } from '../client.js';
import { outcomeOf, type Row, rows } from '../matrix.js';
import { type Person, signUp } from '../people.js';
import type { System } from '../system.js';
import { createWorld, type World } from '../world.js';
import type { CallOutcome, Driver, SdkCall } from './drivers.js';
import type { Operation } from './operations.js';

type Documented = Readonly<Record<string, { readonly content?: object; readonly 'x-codes'?: readonly string[] }>>;

interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>;
  readonly components: { readonly responses: Documented };
}

interface DescribedOperation {
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example?: object }>> };
  readonly responses: Readonly<Record<string, { readonly $ref?: string }>>;
}

/**
 * Calls every operation with an SDK. Operations of the matrix are called with the requests of its rows and have to
 * succeed. The others are called with the example of the document and have to get a documented answer. Returns the
 * problems, one line each, and the number of calls.
 */
export async function callEveryOperation(system: System, operations: readonly Operation[], driver: Driver) {
  const world = await createWorld(system);
  const description = JSON.parse((await api(system).get('/api/v1/openapi.json')).text) as Description;
  const problems: string[] = [];
  const called = new Set<Operation>();
  const make = async (name: string, call: SdkCall, isRight: (outcome: CallOutcome) => boolean) => {
    called.add(call.operation);
    const outcome = await driver.call(call);
    if (!isRight(outcome)) problems.push(`${name}: ${JSON.stringify(outcome)}`);
  };
  for (const row of rows) {
    const call = await callOf(row, operations, world);
    await make(`${row.endpoint} ${row.about ?? ''}`, call, ({ status, code }) => {
      const wanted = outcomeOf(row, { org: 'owner', workspace: 'owner' });
      return (status === wanted.status && code === wanted.code) || (row.orLater === true && status === 202);
    });
  }
  const person = await signUp(system, 'Somebody');
  // Signing out comes last, because nothing that needs the person's session works afterwards.
  const others = operations.filter((one) => !called.has(one));
  for (const operation of others.sort((one, other) => Number(one.id === 'signOut') - Number(other.id === 'signOut'))) {
    const described = description.paths[operation.path]?.[operation.verb.toLowerCase()];
    if (described === undefined) throw new Error(`the document has no ${operation.verb} ${operation.path}`);
    await make(`${operation.verb} ${operation.path}`, exampleOf(operation, described, person), ({ status, code }) =>
      isDocumented(description, described, status, code),
    );
  }
  const missing = operations.filter((one) => !called.has(one)).map(({ id }) => `${id} was not called`);
  return { calls: called.size, problems: [...problems, ...missing] };
}

async function callOf(row: Row, operations: readonly Operation[], { boss, closed }: World): Promise<SdkCall> {
  const caller: Api = boss;
  const { path, body } = await row.request(closed, caller);
  const [verb = '', template = ''] = row.endpoint.split(' ');
  const operation = operations.find((one) => one.verb === verb && one.path === template);
  if (operation === undefined) throw new Error(`the contract has no operation ${row.endpoint}`);
  const url = new URL(path, 'http://localhost');
  const pattern = new RegExp(`^${template.replace('/api/v1', '').replace(/\{\w+\}/g, '([^/]+)')}$`);
  const [, ...pathValues] = url.pathname.match(pattern) ?? [];
  if (pathValues.length !== operation.pathNames.length) throw new Error(`${path} does not match ${template}`);
  const query = Object.fromEntries(url.searchParams);
  const headers = credentialHeaders(boss.session, verb);
  return { operation, pathValues: pathValues.map(decodeURIComponent), input: { ...query, ...body }, headers };
}

function exampleOf(operation: Operation, described: DescribedOperation, person: Person): SdkCall {
  const example = described.requestBody?.content['application/json']?.example;
  const isBytes = operation.inputIn === 'bytes';
  return {
    operation,
    pathValues: operation.pathNames.map(() => '00000000-0000-4000-8000-000000000001'),
    input: isBytes ? new Uint8Array([1, 2, 3]) : ((example ?? {}) as Record<string, unknown>),
    headers: credentialHeaders(person.session, operation.verb),
  };
}

function isDocumented({ components }: Description, { responses }: DescribedOperation, status: number, code?: string) {
  const answer = responses[status];
  if (answer === undefined) return false;
  if (code === undefined) return status < 400;
  const name = answer.$ref?.split('/').at(-1) ?? '';
  return components.responses[name]?.['x-codes']?.includes(code) ?? false;
}
