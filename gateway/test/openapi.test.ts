import { ERROR_CODES } from '@commonplace/platform/error-codes';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { createOpenApi } from '../src/openapi/document.js';
import type { Schema } from '../src/openapi/values.js';
import { pathParams } from '../src/request/endpoint.js';
import { createRoutes } from '../src/routes.js';
import { fixtureContract } from './fixture.js';

interface Tree {
  [key: string]: Tree;
}

const options = { title: 'Commonplace', serverVersion: '1.2.3' };
const routes = createRoutes(fixtureContract());
const productRoutes = createRoutes();
/** The documents of the fixture and of the product. */
let document: Tree;
let product: Tree;

function parsed(schema: Schema): Tree {
  return JSON.parse(JSON.stringify(schema));
}

beforeAll(() => {
  document = parsed(createOpenApi(routes, options));
  product = parsed(createOpenApi(productRoutes, options));
});

const operation = (method: string, path: string) => document.paths?.[`/api/v1${path}`]?.[method];
const schema = (name: string) => document.components?.schemas?.[name];

describe('createOpenApi', () => {
  test('is valid OpenAPI 3.1, for the product and with every kind of field', async () => {
    for (const each of [product, document]) {
      const result = await new Validator().validate(structuredClone(each));
      expect(result).toMatchObject({ valid: true });
    }
  });

  test('resolves all its references, and describes each tag', () => {
    for (const each of [document, product]) {
      const text = JSON.stringify(each);
      for (const [, kind = '', name = ''] of text.matchAll(/"#\/components\/(\w+)\/([\w-]+)"/g)) {
        expect([kind, name, each.components?.[kind]?.[name] !== undefined]).toEqual([kind, name, true]);
      }
    }
    const { tags } = product;
    for (const tag of tags as unknown as object[]) expect(tag).toHaveProperty('description');
  });

  test('has every route once, with its scope and a unique name', () => {
    const endpoints = Object.entries(document.paths ?? {}).filter(([path]) => path.startsWith('/api/v1/'));
    const found = endpoints.flatMap(([path, item]) =>
      Object.entries(item).map(([method, each]) => [method.toUpperCase(), path, each['x-scope']]),
    );
    expect(found.map(String).sort()).toEqual(
      routes.map(({ method, path, scope }) => `${method},${path},${scope}`).sort(),
    );
    const { paths } = product;
    const all = Object.values(paths ?? {}).flatMap((item) =>
      Object.values(item).flatMap((one) => one.operationId ?? []),
    );
    expect(all.length).toBeGreaterThanOrEqual(productRoutes.length);
    expect(new Set(all).size).toBe(all.length);
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
    const unnamed = Object.entries(product.paths ?? {}).flatMap(([path, item]) =>
      Object.entries(item as Record<string, { summary?: string }>).flatMap(([method, { summary = '' }]) =>
        summary === '' ? [`${method} ${path}`] : [],
      ),
    );
    expect(unnamed).toEqual([]);
  });

  test('has the envelope, the page next to the data, and the errors', () => {
    const responses = operation('get', '/workspaces/{workspace_id}/resources')?.responses;
    expect(responses?.['200']?.content?.['application/json']?.schema).toMatchObject({
      required: ['data', 'request_id', 'page'],
      properties: {
        data: { $ref: '#/components/schemas/ListResourcesResponse' },
        page: { $ref: '#/components/schemas/Page' },
      },
    });
    expect(schema('ListResourcesResponse')?.required).toEqual(['items']);
    expect(Object.keys(responses ?? {})).toEqual(['200', '304', '400', '401', '403', '404', '429', '500', '503']);
  });

  test('has the constraints of a body, and refuses unknown fields', () => {
    expect(schema('CreateResourceRequest')).toMatchObject({
      required: ['type', 'name'],
      additionalProperties: false,
      properties: {
        name: { type: 'string', minLength: 1, maxLength: 255 },
        workspace_id: { type: ['string', 'null'], format: 'uuid' },
        content: { anyOf: [{ $ref: '#/components/schemas/ContentInput' }, { type: 'null' }] },
      },
    });
    expect(schema('UpdateResourceRequest')?.properties).toMatchObject({
      parent_id: { type: ['string', 'null'], format: 'uuid' },
      base_version: { type: ['integer', 'null'] },
    });
    expect(schema('UpdateResourceRequest')?.properties).not.toHaveProperty('update_mask');
    expect(schema('UpdateResourceRequest')?.properties).not.toHaveProperty('resource_id');
    expect(schema('NewThing')?.properties).toHaveProperty('isActive');
    expect(schema('NewThing')?.properties?.secret).toMatchObject({ format: 'password', writeOnly: true });
  });

  test('describes what `fields` selects in addition to the whole record', () => {
    const whole = operation('get', '/resources/{resource_id}')?.responses?.['200']?.content?.['application/json'];
    expect(whole?.schema?.properties?.data).toEqual({
      anyOf: [{ $ref: '#/components/schemas/Resource' }, { $ref: '#/components/schemas/ResourceFields' }],
    });
    expect(schema('ListResourcesResponse')?.properties?.items).toMatchObject({
      items: { anyOf: [{ $ref: '#/components/schemas/Resource' }, { $ref: '#/components/schemas/ResourceFields' }] },
    });
    expect(schema('ResourceFields')).not.toHaveProperty('required');
    expect(Object.keys(schema('ResourceFields')?.properties ?? {})).toEqual(
      Object.keys(schema('Resource')?.properties ?? {}),
    );
  });

  test('describes headers as the server reads them', () => {
    const pattern = (name: string) => new RegExp(String(document.components?.parameters?.[name]?.schema?.pattern));
    const id = '01a1fedc-b6b6-7463-95e9-66ce2de38ad7';
    for (const value of ['personal', id]) expect(value).toMatch(pattern('Tenant'));
    for (const value of ['', 'Personal', `${id} `, id.toUpperCase()]) expect(value).not.toMatch(pattern('Tenant'));
    for (const value of ['*', '"v12"', 'v12', 'W/"v12.a-_9"']) expect(value).toMatch(pattern('IfMatch'));
    for (const value of ['', '"12"', '"v12", "v13"', 'v']) expect(value).not.toMatch(pattern('IfMatch'));
    for (const value of ['a', 'a b', '!']) expect(value).toMatch(pattern('IdempotencyKey'));
    for (const value of ['', ' a', 'a ', 'é']) expect(value).not.toMatch(pattern('IdempotencyKey'));
  });

  test('shows which fields of a body exclude each other, and that an update changes something', () => {
    const schemas = product.components?.schemas;
    const valid = (name: string, value: unknown) => {
      const ajv = new Ajv2020({ strict: false, validateFormats: false });
      return ajv.validate({ ...schemas?.[name], components: { schemas } }, value);
    };
    const ids = ['01a1fedc-b6b6-7463-95e9-66ce2de38ad7'];
    expect(valid('UpdateNotificationsRequest', { ids, is_read: true })).toBe(true);
    expect(valid('UpdateNotificationsRequest', { ids, all: false, is_read: true })).toBe(true);
    expect(valid('UpdateNotificationsRequest', { all: true, is_read: true })).toBe(true);
    expect(valid('UpdateNotificationsRequest', { ids, all: true, is_read: true })).toBe(false);
    expect(valid('UpdateNotificationsRequest', { is_read: true })).toBe(false);
    expect(valid('UpdateResourceRequest', { name: 'Weir' })).toBe(true);
    expect(valid('UpdateResourceRequest', { name: 'Weir', base_version: 3 })).toBe(true);
    expect(valid('UpdateResourceRequest', { name: 'Weir', base_version: null })).toBe(true);
    expect(valid('UpdateResourceRequest', { icon: null, dry_run: true })).toBe(true);
    expect(valid('UpdateResourceRequest', { base_version: 3 })).toBe(false);
    expect(valid('UpdateResourceRequest', { base_version: 3, dry_run: true })).toBe(false);
    expect(valid('CreateCommentRequest', { body: 'Yes', parent_comment_id: ids[0], anchor: { quote: 'a' } })).toBe(
      false,
    );
    expect(valid('CreateCommentRequest', { body: 'Yes', parent_comment_id: ids[0] })).toBe(true);
    expect(valid('UpdateResourceRequest', {})).toBe(false);
    expect(valid('UpdateUsageSettingsRequest', { alert_thresholds: [50, 80] })).toBe(true);
    expect(valid('UpdateUsageSettingsRequest', { alert_thresholds: [50, 80, 50] })).toBe(false);
    // `url` is the former name of `source_url`.
    const url = 'https://a.example';
    expect(valid('CreateImportRequest', { source_type: 'markdown', url })).toBe(true);
    expect(valid('CreateImportRequest', { source_type: 'url', url })).toBe(true);
    expect(valid('CreateImportRequest', { source_type: 'markdown', url, content: '# Words' })).toBe(false);
    expect(valid('CreateImportRequest', { source_type: 'markdown', source_url: url, content: '# Words' })).toBe(false);
  });

  test('describes the parts of a multipart body: a file, and the fields that belong to its bytes', () => {
    const { paths, components } = product;
    const partsOf = (path: string) => paths?.[path]?.post?.requestBody?.content?.['multipart/form-data']?.schema;
    const valid = (path: string, value: unknown) => {
      const ajv = new Ajv2020({ strict: false, validateFormats: false });
      return ajv.validate({ ...partsOf(path), components }, value);
    };
    const files = '/api/v1/files';
    expect(valid(files, { file: 'words', name: 'words.txt' })).toBe(true);
    expect(valid(files, { file: 'words', replace_resource_id: 'id' })).toBe(true);
    expect(valid(files, { name: 'words.txt' })).toBe(false);
    expect(valid(files, { file: 'words', name: 'words.txt', source_url: 'https://a.example' })).toBe(false);
    expect(valid(files, { file: 'words', replace_resource_id: 'id', parent_id: 'id' })).toBe(false);
    const imports = '/api/v1/workspaces/{workspace_id}/imports';
    expect(valid(imports, { file: '# Words', source_type: 'markdown', dry_run: true })).toBe(true);
    expect(valid(imports, { file: '# Words', source_type: 'url' })).toBe(false);
    expect(valid(imports, { file: '# Words', source_type: 'markdown', size_bytes: 7 })).toBe(false);
    expect(valid(imports, { file: '# Words', source_type: 'markdown', selection: null })).toBe(false);
    expect(partsOf('/api/v1/resources')).toBeUndefined();
  });

  test('leads from the answer that creates a record to what is below the record', () => {
    const { paths } = product;
    const operations = Object.entries(paths ?? {}).flatMap(([path, item]) =>
      Object.values(item).map((operation) => ({ path, operation })),
    );
    const pathOf = (id: unknown) => operations.find(({ operation }) => operation.operationId === id)?.path ?? '';
    const links = operations.flatMap(({ path, operation }) =>
      Object.values(operation.responses ?? {}).flatMap(({ links: some = {} }) =>
        Object.entries(some).map(([name, { operationId, parameters = {} }]) => ({
          from: path,
          name,
          operationId,
          parameters,
        })),
      ),
    );
    for (const { from, name, operationId, parameters } of links) {
      const inPath = pathParams(pathOf(operationId));
      expect([from, name, Object.keys(parameters).sort()]).toEqual([from, operationId, inPath.sort()]);
    }
    expect(links).toContainEqual({
      from: '/api/v1/resources/{resource_id}/snapshots',
      name: 'getSnapshot',
      operationId: 'getSnapshot',
      parameters: { resource_id: '$request.path.resource_id', snapshot_id: '$response.body#/data/id' },
    });
    expect(links.length).toBeGreaterThan(100);
  });

  test('has a client error for every operation, and a valid example for each body of sign-in', () => {
    const { paths, components } = product;
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    const bodies: string[] = [];
    for (const [path, item] of Object.entries(paths ?? {})) {
      for (const [method, each] of Object.entries(item).filter(([name]) => name !== 'parameters')) {
        const faults = Object.keys(each.responses ?? {}).filter((status) => status.startsWith('4'));
        expect([method, path, faults.length > 0]).toEqual([method, path, true]);
        const body = each.requestBody?.content?.['application/json'];
        if (!path.startsWith('/auth/') || body === undefined) continue;
        bodies.push(path);
        const valid = ajv.validate({ ...body.schema, components }, body.example);
        expect([path, body.example === undefined, valid]).toEqual([path, false, true]);
      }
    }
    const passkeys = ['register/begin', 'register', 'rename', 'remove', 'sign-in/begin', 'sign-in'];
    expect(bodies).toEqual(expect.arrayContaining(passkeys.map((name) => `/auth/passkeys/${name}`)));
    expect(Object.keys(paths ?? {})).toEqual(expect.arrayContaining(['/auth/passkeys', '/auth/passkeys/{passkey_id}']));
  });

  test('restricts no request that needs no credential, and accepts no blank name', () => {
    const { paths, components } = product;
    const narrowing = (path: string) => JSON.stringify(paths?.[path]?.post?.parameters).includes('parameters/Tenant');
    expect([narrowing('/api/v1/hooks/forms/{webhook_token}'), narrowing('/api/v1/resources')]).toEqual([false, true]);
    const keys = (path: string) =>
      JSON.stringify(paths?.[path]?.post?.parameters).match(/"Idempotency-Key"|parameters\/IdempotencyKey/g) ?? [];
    expect(keys('/api/v1/hooks/forms/{webhook_token}')).toEqual(['"Idempotency-Key"']);
    expect(keys('/api/v1/resources')).toEqual(['parameters/IdempotencyKey']);
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    const tag = (name: string) =>
      ajv.validate({ ...components?.schemas?.AddResourceTagsRequest, components }, { name });
    expect(['a', ' a b ', '\u00a0x'].map(tag)).toEqual([true, true, true]);
    expect([' ', '\u00a0', '\u3000\ufeff', 'a\tb'].map(tag)).toEqual([false, false, false, false]);
  });

  test('shows which fields of a body need each other or a value of another', () => {
    const schemas = product.components?.schemas;
    const valid = (name: string, value: unknown) => {
      const ajv = new Ajv2020({ strict: false, validateFormats: false });
      return ajv.validate({ ...schemas?.[name], components: { schemas } }, value);
    };
    const id = '01a1fedc-b6b6-7463-95e9-66ce2de38ad7';
    const grant = (value: object) => valid('GrantPermissionRequest', value);
    expect(grant({ email: 'a@b.example', role: 'viewer' })).toBe(true);
    expect(grant({ email: 'a@b.example' })).toBe(false);
    expect(grant({ principal_type: 'link', role: 'viewer', audience: 'anyone' })).toBe(true);
    expect(grant({ principal_type: 'link', role: 'editor', audience: 'anyone' })).toBe(false);
    expect(grant({ principal_type: 'link', role: 'viewer', principal_id: id })).toBe(false);
    expect(grant({ principal_type: 'agent', role: 'viewer' })).toBe(false);
    expect(grant({ grants: [{ principal_type: 'user', principal_id: id, role: 'viewer' }] })).toBe(true);
    expect(grant({ grants: [{ principal_type: 'user', role: 'viewer' }] })).toBe(false);
    expect(valid('CreateImportRequest', { source_type: 'csv', content: 'a' })).toBe(true);
    expect(valid('CreateImportRequest', { source_type: 'csv', content: 'a', size_bytes: 1 })).toBe(false);
    expect(valid('CreateImportRequest', { source_type: 'csv', content: null })).toBe(false);
    expect(valid('UpdateOrgRequest', { settings: { allow_external_sharing: true } })).toBe(true);
    // In an update null clears, and this setting can't be cleared.
    expect(valid('UpdateOrgRequest', { settings: { allow_external_sharing: null } })).toBe(false);
    expect(valid('UpdateFormRequest', { config: null })).toBe(false);
  });

  test('lists exactly the codes that each operation returns', () => {
    const codesOf = (method: string, path: string) => {
      const responses = product.paths?.[path]?.[method]?.responses as unknown as Record<string, { $ref?: string }>;
      const errors = Object.entries(responses).filter(([, response]) => response.$ref !== undefined);
      return Object.fromEntries(
        errors.map(([status, { $ref = '' }]) => [
          status,
          product.components?.responses?.[$ref.split('/').at(-1) as string]?.['x-codes'] as unknown as string[],
        ]),
      );
    };
    const list = codesOf('get', '/api/v1/workspaces');
    expect(list[409]).toBeUndefined();
    expect(list[403]).toEqual(['insufficient_scope', 'tenant_boundary', 'second_factor_required', 'ip_not_allowed']);
    expect(list[503]).toEqual(['service_unavailable', 'timeout']);
    expect(list[400]).toContain('offset_too_deep');
    expect(list[400]).not.toContain('invalid_json');
    const update = codesOf('patch', '/api/v1/resources/{resource_id}');
    expect(update[409]).toEqual(
      expect.arrayContaining(['version_conflict', 'idempotency_key_reused', 'cycle_detected']),
    );
    expect(update[409]).not.toContain('import_active');
    expect(update[503]).toContain('storage_full');
    const hook = codesOf('post', '/api/v1/hooks/forms/{webhook_token}');
    expect(hook[401]).toBeUndefined();
    expect(hook[404]).toContain('form_not_found');
    // Each answer has its own union of codes.
    const { ConflictError } = product.components?.schemas ?? {};
    expect(ConflictError?.properties?.error?.properties?.code?.enum).toEqual(
      product.components?.responses?.Conflict?.['x-codes'],
    );
    const every = Object.values(product.components?.responses ?? {}).flatMap(
      (response) => response['x-codes'] as unknown as string[],
    );
    const catalogue = Object.values(ERROR_CODES).flatMap((codes) => Object.keys(codes));
    expect(every.filter((code) => !catalogue.includes(code))).toEqual([]);
  });

  test('has items in every array, defaults of optional fields only, and no null body', () => {
    const wrong: string[] = [];
    const walk = (node: unknown, at: string) => {
      if (typeof node !== 'object' || node === null) return;
      const { type, items, required, properties = {} } = node as Record<string, Tree & unknown[] & string>;
      if ([type].flat().includes('array') && items === undefined) wrong.push(`${at} has no items`);
      if (Array.isArray(required)) {
        for (const name of required as string[]) {
          const property = (properties as unknown as Record<string, object>)[name];
          if (property !== undefined && 'default' in property)
            wrong.push(`${at}.${name} is required and has a default`);
        }
      }
      for (const [key, inner] of Object.entries(node)) walk(inner, `${at}/${key}`);
    };
    walk(product, '');
    for (const [path, item] of Object.entries(product.paths ?? {})) {
      for (const [method, each] of Object.entries(item)) {
        const page = each.responses?.['200']?.content?.['application/json']?.schema?.properties?.page;
        if (page !== undefined && page.$ref === undefined) wrong.push(`${method} ${path} has a page that may be null`);
        const body = each.requestBody?.content?.['application/json']?.schema;
        if (body !== undefined && [body.type].flat().includes('null' as never))
          wrong.push(`${method} ${path} takes null`);
      }
    }
    expect(wrong).toEqual([]);
  });

  test('distinguishes input from output', () => {
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
