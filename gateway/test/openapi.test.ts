import { beforeAll, describe, expect, test } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import { createOpenApi } from '../src/openapi/document.js';
import { ERROR_CODES } from '../src/openapi/error-codes.js';
import type { Schema } from '../src/openapi/values.js';
import { createRoutes } from '../src/routes.js';
import { fixtureContract } from './fixture.js';

interface Tree {
  [key: string]: Tree;
}

const options = { title: 'Commonplace', serverVersion: '1.2.3' };
const routes = createRoutes(fixtureContract());
let document: Tree;

function parsed(schema: Schema): Tree {
  return JSON.parse(JSON.stringify(schema));
}

beforeAll(() => {
  document = parsed(createOpenApi(routes, options));
});

const operation = (method: string, path: string) => document.paths?.[`/api/v1${path}`]?.[method];
const schema = (name: string) => document.components?.schemas?.[name];

describe('createOpenApi', () => {
  test('is valid OpenAPI 3.1, for the product and with every kind of field', async () => {
    for (const each of [createRoutes(), routes]) {
      const result = await new Validator().validate(parsed(createOpenApi(each, options)));
      expect(result).toMatchObject({ valid: true });
    }
  });

  test('resolves all its references', () => {
    const text = JSON.stringify(document);
    for (const [, kind = '', name = ''] of text.matchAll(/"#\/components\/(\w+)\/([\w-]+)"/g)) {
      expect([kind, name, document.components?.[kind]?.[name] !== undefined]).toEqual([kind, name, true]);
    }
  });

  test('has every route once, with scope and a name of its own', () => {
    const found = Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
      Object.entries(item).map(([method, each]) => [method.toUpperCase(), path, each['x-scope']]),
    );
    expect(found.map(String).sort()).toEqual(
      routes.map(({ method, path, scope }) => `${method},${path},${scope}`).sort(),
    );
    const ids = [...JSON.stringify(document).matchAll(/"operationId":"(\w+)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(routes.length);
  });

  test('describes an endpoint by its comment', () => {
    expect(operation('get', '/resources/{resource_id}')).toMatchObject({
      operationId: 'getResource',
      tags: ['Resource'],
      summary: 'Reads one resource that the caller may see',
      'x-preview': false,
      security: [{ bearer: ['resource:read'] }, { session: ['resource:read'] }],
    });
    expect(operation('post', '/resources')).toMatchObject({
      security: [{ bearer: ['resource:write'] }, { session: ['resource:write'], csrf: [] }],
      responses: { 201: { description: 'Created.' } },
    });
  });

  test('has the envelope, the page beside the data, and the errors', () => {
    const responses = operation('get', '/workspaces/{workspace_id}/resources')?.responses;
    expect(responses?.['200']?.content?.['application/json']?.schema).toMatchObject({
      required: ['data', 'request_id', 'page'],
      properties: {
        data: { $ref: '#/components/schemas/ListResourcesResponse' },
        page: { anyOf: [{ $ref: '#/components/schemas/Page' }, { type: 'null' }] },
      },
    });
    expect(schema('ListResourcesResponse')?.required).toEqual(['items']);
    expect(Object.keys(responses ?? {})).toEqual(['200', '304', '400', '401', '403', '404', '429', '500', '503']);
    expect(document.components?.responses?.InvalidRequest?.['x-codes']).toEqual(Object.keys(ERROR_CODES[400]));
  });

  test('has the constraints of a body, and refuses unknown fields', () => {
    expect(schema('CreateResourceRequest')).toMatchObject({
      required: ['type', 'name'],
      additionalProperties: false,
      properties: {
        name: { type: 'string', minLength: 1, maxLength: 255 },
        workspace_id: { type: 'string', format: 'uuid' },
        content: { type: ['string', 'object'] },
      },
    });
    expect(schema('UpdateResourceRequest')?.properties).toMatchObject({
      parent_id: { type: ['string', 'null'], format: 'uuid' },
      base_version: { type: 'integer' },
    });
    expect(schema('UpdateResourceRequest')?.properties).not.toHaveProperty('update_mask');
    expect(schema('UpdateResourceRequest')?.properties).not.toHaveProperty('resource_id');
    expect(schema('NewThing')?.properties).toHaveProperty('isActive');
    expect(schema('NewThing')?.properties?.secret).toMatchObject({ format: 'password', writeOnly: true });
  });

  test('tells input from output', () => {
    expect(schema('PartInput')).toMatchObject({ required: ['title'], additionalProperties: false });
    expect(schema('Part')?.required).toEqual(['title', 'note', 'part']);
    expect(schema('Part')?.properties?.part).toEqual({
      anyOf: [{ $ref: '#/components/schemas/Part' }, { type: 'null' }],
    });
    expect(schema('Thing')?.required).not.toContain('secret');
  });

  test('has the parameters of a list and of a DELETE', () => {
    const names = (method: string, path: string) => {
      const parameters = operation(method, path)?.parameters as unknown as Record<string, string>[];
      return parameters.map(({ name, $ref }) => name ?? $ref?.split('/').at(-1));
    };
    expect(names('get', '/things')).toEqual(
      expect.arrayContaining(['limit', 'Offset', 'Cursor', 'colours', 'filter', 'fields', 'IfNoneMatch']),
    );
    expect(names('delete', '/things/{thing_id}/pins')).toEqual(
      expect.arrayContaining(['thing_id', 'pin_id', 'ids', 'base_version', 'IdempotencyKey', 'IfMatch']),
    );
  });
});
