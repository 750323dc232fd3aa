import { once } from 'node:events';
import { afterAll, describe, expect, test } from '@jest/globals';
import { enumChoices, shapesOf } from '../src/descriptors/shape.js';
import { createInProcessClient, readAll } from '../src/in-process.js';
import { type AskedPart, openAnswerReader } from '../src/mcp/answers/index.js';
import { readAnswer } from '../src/mcp/answers/read.js';
import { keyOfStep } from '../src/mcp/api/keys.js';
import { effectOf, indexOperations, requestOf } from '../src/mcp/api/operations.js';
import { describeOperation } from '../src/mcp/catalogue/describe.js';
import { resultOf } from '../src/mcp/result.js';
import { FIND } from '../src/mcp/tools/find.js';
import { WORK } from '../src/mcp/tools/work.js';
import { WRITE } from '../src/mcp/tools/write.js';
import { createOpenApi } from '../src/openapi/document.js';
import { pathParams } from '../src/request/endpoint.js';
import { routesOf } from '../src/routes.js';

const routes = routesOf();
const operations = indexOperations(routes);
const tools = [...FIND, ...WRITE, ...WORK];

describe('operations that `call` reaches', () => {
  test('are those of the contract in the OpenAPI document, and no others', () => {
    const { paths } = createOpenApi(routes, { title: 'API', serverVersion: '1' });
    const described = Object.values(paths as Record<string, Record<string, Record<string, unknown>>>)
      .flatMap((item) => Object.values(item))
      .filter((operation) => operation['x-scope'] !== undefined)
      .map(({ operationId }) => operationId);
    expect([...operations.keys()].sort()).toEqual(described.sort());
    expect(operations.size).toBe(routes.length);
  });

  test('are sent to their own endpoint, whatever an id contains', () => {
    for (const route of routes) {
      const args = Object.fromEntries(pathParams(route.path).map((name) => [name, '../a?b#c/ é']));
      const { method, path } = requestOf(route, args);
      expect(method).toBe(route.method);
      const pattern = new RegExp(`^${route.path.replace(/\{\w+\}/g, '[^/?#]+')}$`);
      expect(path).toMatch(pattern);
    }
  });

  test('are described by a schema that has the arguments of path, query and body, within its maximum length', () => {
    for (const route of routes) {
      const { schema, summary } = describeOperation(route);
      expect(summary).not.toBe('');
      expect(schema.length).toBeLessThan(40_000);
      const { properties, $defs } = JSON.parse(schema) as { properties: object; $defs: object };
      for (const name of pathParams(route.path)) expect(properties).toHaveProperty(name);
      for (const [, name] of schema.matchAll(/"\$ref":"([^"]+)"/g)) {
        expect(name).toMatch(/^#\/\$defs\/\w+$/);
        expect($defs).toHaveProperty(String(name).slice('#/$defs/'.length));
      }
    }
  }, 120_000);

  test('are refused without an id, and reads with an unknown argument', () => {
    const route = operations.get('getResource');
    if (route === undefined) throw new Error('the contract has no getResource');
    expect(() => requestOf(route, {})).toThrow(
      expect.objectContaining({ reason: 'missing_field', param: 'resource_id' }),
    );
    const wrong = { resource_id: 'a', nonsense: 1 };
    expect(() => requestOf(route, wrong)).toThrow(
      expect.objectContaining({ reason: 'unknown_parameter', param: 'nonsense' }),
    );
    const { path } = requestOf(route, { resource_id: 'a', include: ['path', 'tags'], include_trashed: true });
    expect(path).toBe('/api/v1/resources/a?include=path%2Ctags&include_trashed=true');
  });

  test('have the effect that the contract declares', () => {
    const effect = (name: string) => effectOf(routes.filter(({ descriptor }) => descriptor.localName === name));
    expect(effect('search')).toMatchObject({ readOnlyHint: true, destructiveHint: false });
    expect(effect('createResource')).toMatchObject({
      readOnlyHint: false,
      destructiveHint: false,
      idempotentHint: false,
    });
    expect(effect('sendBatch')).toMatchObject({ readOnlyHint: false, destructiveHint: true });
    expect(effect('updateResource')).toMatchObject({ readOnlyHint: false, destructiveHint: true });
    expect(effect('deleteResource')).toMatchObject({
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: true,
    });
  });
});

describe('the hand-picked tools', () => {
  /** Arguments that the tool itself reads, and that no operation has. */
  const OWN = new Set(['read.offset', 'add_file.text']);

  test.each(tools.map((tool) => [tool.name, tool] as const))(
    '%s has only arguments and choices of the contract',
    (_, tool) => {
      const shapes = tool.operations.flatMap((name) => {
        const route = operations.get(name);
        if (route === undefined) throw new Error(`there is no operation ${name}`);
        return shapesOf(route.contract, route.descriptor.input);
      });
      const known = new Map(shapes.map((shape) => [shape.name, shape]));
      const paged = shapes.some(({ element }) => element.kind === 'page-request');
      for (const [name, schema] of Object.entries(tool.properties)) {
        if (OWN.has(`${tool.name}.${name}`) || (paged && ['limit', 'cursor'].includes(name)) || name === 'base_version')
          continue;
        const shape = known.get(name);
        expect([name, shape?.name]).toEqual([name, name]);
        const { enum: choices = (schema.items as { enum?: string[] } | undefined)?.enum ?? [] } = schema as {
          enum?: string[];
        };
        const element = shape?.element;
        const values = element?.kind === 'enum' ? [...enumChoices(element.type).values()] : shape?.rules.in;
        expect(values === undefined ? [] : choices.filter((choice) => !values.includes(choice))).toEqual([]);
      }
      expect(tool.required.every((name) => Object.hasOwn(tool.properties, name))).toBe(true);
    },
  );

  test('read long documents in parts that add up to the whole, between characters', async () => {
    const whole = `${'a'.repeat(999)}${'😀'.repeat(1_500)}`;
    const read = FIND.find(({ name }) => name === 'read');
    const data = { id: 'one', type: 'document', content: whole };
    const bytes = Buffer.from(JSON.stringify({ data, request_id: 'req_1' }));
    const send = async (_operation: string, _args: object, part?: AskedPart) =>
      readAnswer(bytes, { maxChars: 8_000, part }).answer;
    const context = { send, publicUrl: '', resultChars: 2_000 };
    let text = '';
    for (let offset: number | undefined = 0; offset !== undefined; ) {
      const part: string = (await read?.run({ resource_id: 'one', offset }, context as never))?.text ?? '';
      const [, shown = ''] = /([a😀]{2,})(\n\n\[.*)?$/su.exec(part) ?? [];
      expect(part).not.toMatch(/\p{Surrogate}/u);
      text += shown;
      const next: string | undefined = /Go on with `offset`: (\d+)/.exec(part)?.[1];
      offset = next === undefined ? undefined : Number(next);
    }
    expect(text).toBe(whole);
  });

  test('have names of their own', () => {
    expect(new Set(tools.map(({ name }) => name)).size).toBe(tools.length);
    for (const { name } of tools) expect(name).toMatch(/^[a-z_]{2,32}$/);
  });
});

describe('the key of a tool call', () => {
  const call = { meta: {}, header: undefined, id: 1, tool: 'comment', args: { body: 'x' } };
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

  test("is the client's key, differs by step, and can be sent as a header whatever it contains", () => {
    const meta = { 'commonplace.dev/idempotency-key': 'é\r\n'.repeat(1000) };
    expect(keyOfStep({ ...call, meta }, 1)).toMatch(/^mcp-[\w-]{43}$/);
    expect(keyOfStep({ ...call, meta, id: 2, args: {} }, 1)).toBe(keyOfStep({ ...call, meta }, 1));
    expect(keyOfStep({ ...call, meta }, 2)).not.toBe(keyOfStep({ ...call, meta }, 1));
    expect(keyOfStep({ ...call, header: 'a' }, 1)).toBe(keyOfStep({ ...call, id: 9, header: 'a' }, 1));
  });

  test('is derived from a well-formed trace and the call, and absent without one', () => {
    expect(keyOfStep(call, 1)).toBeUndefined();
    expect(keyOfStep({ ...call, meta: { traceparent: 'x' } }, 1)).toBeUndefined();
    const traced = { ...call, meta: { traceparent } };
    expect(keyOfStep(traced, 1)).toBe(keyOfStep({ ...traced }, 1));
    expect(keyOfStep({ ...traced, args: { body: 'y' } }, 1)).not.toBe(keyOfStep(traced, 1));
  });
});

describe('an answer of the API', () => {
  const rows = Array.from({ length: 500 }, (_, i) => ({ id: `r${i}`, cells: { a: 'x'.repeat(400) } }));
  const bytesOf = (data: object) => Buffer.from(JSON.stringify({ data, page: { total: 500 }, request_id: 'req_1' }));

  test('is read whole if a result may show it', () => {
    const data = { rows: rows.slice(0, 3), row_count: 3 };
    const whole = readAnswer(bytesOf(data), { maxChars: 10_000, part: undefined });
    expect(whole).toEqual({ answer: { data, page: { total: 500 }, request_id: 'req_1' }, isShortened: false });
  });

  test('is shortened where a result ends, and keeps its facts', () => {
    const { answer, isShortened } = readAnswer(bytesOf({ rows, row_count: 500 }), {
      maxChars: 10_000,
      part: undefined,
    });
    expect(isShortened).toBe(true);
    expect(answer).toMatchObject({ page: { total: 500 }, request_id: 'req_1', data: { row_count: 500 } });
    const shown = answer.data.rows as typeof rows;
    expect(shown.slice(0, -1)).toEqual(rows.slice(0, shown.length - 1));
    expect(JSON.stringify(shown).length).toBeLessThan(15_000);
  });

  test('has the part of the content that was asked for, in characters', () => {
    const content = `${'é'.repeat(99_999)}😀${'z'.repeat(100_000)}`;
    const shape = { maxChars: 1_000, part: { from: 99_990, chars: 10 } };
    const { answer, isShortened } = readAnswer(bytesOf({ content, version: 3 }), shape);
    expect(answer).toMatchObject({ data: { version: 3 }, part: { text: 'é'.repeat(9), end: 99_999, total: 200_001 } });
    expect(answer.data).not.toHaveProperty('content');
    expect(isShortened).toBe(false);
  });

  test('is read by a thread if it is large', async () => {
    const reader = openAnswerReader({ bodiesWaiting: 8 });
    const bytes = bytesOf({ rows });
    const { answer, isShortened } = await reader.read('tenant', bytes, { maxChars: 10_000, part: undefined });
    expect({ length: bytes.length, isShortened }).toEqual({ length: 0, isShortened: true });
    expect((answer.data.rows as typeof rows)[0]).toEqual(rows[0]);
    await reader.close();
  });
});

describe('a result', () => {
  test('is cut at its limit between characters, reports it, and omits longer structured content', () => {
    const structured = { data: { text: 'x'.repeat(3_000) }, request_id: 'req_1' };
    const { content, structuredContent } = resultOf({ text: `${'x'.repeat(1_999)}😀`.repeat(2), structured }, 2_000);
    const [part] = content as { text: string }[];
    expect(part?.text.slice(0, 2_000)).toBe(`${'x'.repeat(1_999)}\n`);
    expect(part?.text).toMatch(/\[Cut: 1999 of 4002 characters are shown/);
    expect(structuredContent).toEqual({ truncated: true, request_id: 'req_1' });
  });

  test('reports what was left out of the answer, also if its text is short', () => {
    const structured = { data: { rows: [] }, request_id: 'req_1' };
    expect(resultOf({ text: 'one row', structured }, 2_000, true)).toEqual({
      content: [
        { type: 'text', text: expect.stringMatching(/^one row\n\n\[Cut: only the first 7 characters are shown/) },
      ],
      structuredContent: { truncated: true, request_id: 'req_1' },
    });
  });

  test('is complete within its limit', () => {
    const answer = { text: 'x', structured: { data: {}, request_id: 'req_1' } };
    expect(resultOf(answer, 2_000)).toEqual({
      content: [{ type: 'text', text: 'x' }],
      structuredContent: answer.structured,
    });
  });
});

describe('a request within the process', () => {
  const never = new AbortController();
  afterAll(() => never.abort());
  const request = {
    method: 'POST',
    path: '/a?b=c',
    headers: { 'x-a': 'b' },
    body: 'é',
    remoteAddress: '10.1.2.3',
    signal: never.signal,
  };

  test('reaches the listener as one from the network does', async () => {
    const send = createInProcessClient(async (incoming, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of incoming) chunks.push(chunk as Buffer);
      const { method, url, headers, socket } = incoming;
      response.statusCode = 201;
      response.setHeader('X-Answer', 'yes');
      const body = Buffer.concat(chunks).toString();
      response.end(
        JSON.stringify([
          method,
          url,
          headers['x-a'],
          headers['content-length'],
          body,
          socket.remoteAddress,
          incoming.complete,
        ]),
      );
    });
    const response = await send(request);
    expect([response.statusCode, response.headers['x-answer']]).toEqual([201, 'yes']);
    expect(JSON.parse(String(await readAll(response)))).toEqual(['POST', '/a?b=c', 'b', '2', 'é', '10.1.2.3', true]);
  });

  test('that is aborted closes the connection of its answer', async () => {
    const leaves = new AbortController();
    let closed: Promise<unknown> | undefined;
    const send = createInProcessClient((_, response) => {
      closed = once(response, 'close');
      leaves.abort();
    });
    await expect(send({ ...request, signal: leaves.signal })).rejects.toThrow();
    await closed;
  });
});
