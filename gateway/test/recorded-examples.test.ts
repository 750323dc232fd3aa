import { readRecordedExamples } from '@commonplace/platform/api-document';
import { expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { codeSamples } from '../src/openapi/code-samples.js';
import { createOpenApi } from '../src/openapi/document.js';
import type { Schema } from '../src/openapi/values.js';
import { createRoutes } from '../src/routes.js';

/** The requests and answers that the documentation shows fit the contract; `npm run examples` records them anew. */

interface Operation {
  readonly operationId: string;
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
  readonly responses: Readonly<
    Record<string, { readonly $ref?: string; readonly content?: Readonly<Record<string, { readonly schema: Schema }>> }>
  >;
  readonly 'x-codeSamples'?: readonly unknown[];
}

interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly responses: Operation['responses'] };
}

const examples = readRecordedExamples();
const options = { title: 'API', serverVersion: '1', examples };
const description = JSON.parse(JSON.stringify(createOpenApi(createRoutes(), options))) as Description;
const ajv = new Ajv2020({ strict: false, validateFormats: false }).addSchema(description, 'api');
const operations = Object.entries(description.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ ...operation, method, path })),
);

/** Returns what is wrong with a value by a schema of the document; undefined if nothing is. */
function faultOf(schema: Schema, value: unknown): string | undefined {
  const text = JSON.stringify(schema).replaceAll('"#/components', '"api#/components');
  return ajv.validate(JSON.parse(text), value) ? undefined : ajv.errorsText();
}

test('every operation has an example, and no example is of a removed operation', () => {
  expect(Object.keys(examples).sort()).toEqual(operations.map(({ operationId }) => operationId).sort());
});

test('every example is a success', () => {
  expect(Object.entries(examples).flatMap(([id, { response }]) => (response.status >= 400 ? [id] : []))).toEqual([]);
});

test('every example is a request of its operation, and a response as described', () => {
  const wrong: string[] = [];
  for (const { operationId, path, requestBody, responses } of operations) {
    const { request, response } = examples[operationId] ?? { request: { path: '' }, response: { status: 0 } };
    const pattern = new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/?]+')}(\\?.*)?$`);
    if (!pattern.test(request.path)) wrong.push(`${operationId}: ${request.path} is not ${path}`);
    const sent = requestBody?.content['application/json']?.schema;
    const fault = sent === undefined ? undefined : faultOf(sent, request.body);
    if (fault !== undefined) wrong.push(`${operationId}, request: ${fault}`);
    const described = responses[response.status];
    if (described === undefined) wrong.push(`${operationId}: ${response.status} is not described`);
    const shared = described?.$ref?.split('/').at(-1);
    const { content } = shared === undefined ? (described ?? {}) : (description.components.responses[shared] ?? {});
    const answer = content?.['application/json']?.schema;
    if (answer === undefined || typeof response.body !== 'object') continue;
    const problem = faultOf(answer, response.body);
    if (problem !== undefined) wrong.push(`${operationId}, answer: ${problem}`);
  }
  expect(wrong).toEqual([]);
});

test('examples contain no secret and no address of the recorded server', () => {
  const text = JSON.stringify(examples);
  expect(text.match(/127\.0\.0\.1|localhost:/)).toBeNull();
  for (const [key] of text.matchAll(/wsk_\w+/g)) expect(key).toMatch(/^wsk_[a-z]_Rx4mPle7oKen/);
});

test('writes a request in three languages', () => {
  const example = { request: { path: '/api/v1/x', body: { a: "it's", b: [true, null] } }, response: { status: 200 } };
  const [curl, typeScript, python] = codeSamples(example, { method: 'POST', credential: 'key' });
  expect(curl?.source).toContain(`--json '{"a":"it'\\''s","b":[true,null]}'`);
  expect(typeScript?.source).toContain("method: 'POST'");
  expect(python?.source).toContain('"a": "it\'s"');
  expect(python?.source).toMatch(/\[\s*True,\s*None\s*\]/);
  expect(operations.every((one) => one['x-codeSamples']?.length === 3)).toBe(true);
});
