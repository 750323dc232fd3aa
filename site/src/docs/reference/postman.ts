import { STATUS_CODES } from 'node:http';
import type { RecordedExample, RecordedExamples } from '@commonplace/platform/api-document';
import type { Chapter, Operation } from './model.js';

const SCHEMA = 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json';

/**
 * Ids in recorded requests that represent a workspace of the caller and a document in it, with the variables that
 * replace them.
 */
const PLACEHOLDERS: readonly (readonly [id: string, variable: string])[] = [
  ['00000000-0000-4000-8000-000000000001', '{{workspace_id}}'],
  ['00000000-0000-4000-8000-000000000002', '{{document_id}}'],
];

/**
 * Script that sets the variables to the first workspace and document that the key can access, unless they are already
 * set.
 */
const FILL_VARIABLES = `
const first = (path, then) => pm.sendRequest({
  url: pm.variables.get('base_url') + '/api/v1' + path,
  header: { Authorization: 'Bearer ' + pm.variables.get('api_key') },
}, (error, answer) => {
  const record = error || answer.code !== 200 ? undefined : answer.json().data.items[0];
  if (record) then(record.id);
});
const findDocument = (workspace) => {
  if (pm.variables.get('document_id')) return;
  first('/workspaces/' + workspace + '/resources?recursive=true&type=document&limit=1', (id) => {
    pm.collectionVariables.set('document_id', id);
  });
};
const workspace = pm.variables.get('workspace_id');
if (workspace) findDocument(workspace);
else if (pm.variables.get('api_key')) first('/workspaces?limit=1', (id) => {
  pm.collectionVariables.set('workspace_id', id);
  findDocument(id);
});`;

/**
 * Renders the operations as a Postman collection (format 2.1) with a folder for each chapter. It contains the recorded
 * requests and answers; the server's URL, the API key, a workspace and a document are variables.
 */
export function postmanCollection(chapters: readonly Chapter[], examples: RecordedExamples, publicUrl: string): string {
  const item = chapters.map(({ name, description, operations }) => ({
    name,
    description,
    item: operations.map((operation) => itemOf(operation, examples[operation.operationId])),
  }));
  return JSON.stringify({
    info: { name: 'Commonplace', description: 'Set `api_key` to a key of yours.', schema: SCHEMA },
    auth: { type: 'bearer', bearer: [{ key: 'token', value: '{{api_key}}', type: 'string' }] },
    event: [{ listen: 'prerequest', script: { type: 'text/javascript', exec: FILL_VARIABLES.trim().split('\n') } }],
    variable: [
      { key: 'base_url', value: publicUrl },
      { key: 'api_key', value: '' },
      { key: 'workspace_id', value: '' },
      { key: 'document_id', value: '' },
    ],
    item,
  });
}

function itemOf(operation: Operation, example: RecordedExample | undefined): object {
  const request = requestOf(operation, example);
  return { name: operation.summary, request, response: example === undefined ? [] : [answerOf(request, example)] };
}

function requestOf({ description, method, path, security }: Operation, example: RecordedExample | undefined): object {
  const { body } = example?.request ?? {};
  const [pathname = '', query = ''] = (example?.request.path ?? path).split('?');
  const names = path.split('/').slice(1);
  const values = pathname.split('/').slice(1);
  // Variables are used only in the URLs of GET and POST. Other methods keep the recorded ids, which
  // belong to no reader, so that running the whole collection changes or deletes nothing of the person's.
  const inPath = ['GET', 'POST'].includes(method) ? withVariables : (text: string) => text;
  const parameters = names.flatMap((name, index) =>
    name.startsWith('{') ? [{ key: name.slice(1, -1), value: inPath(values[index] ?? '') }] : [],
  );
  const url = {
    raw: inPath(`{{base_url}}${path.replaceAll(/\{(\w+)\}/g, ':$1')}${query === '' ? '' : `?${query}`}`),
    host: ['{{base_url}}'],
    path: names.map((name) => name.replace(/^\{(\w+)\}$/, ':$1')),
    query: [...new URLSearchParams(query)].map(([key, value]) => ({ key, value: inPath(value) })),
    variable: parameters,
  };
  const isJson = body !== undefined && typeof body !== 'string';
  return {
    method,
    description,
    url,
    header: isJson ? [JSON_TYPE] : [],
    ...(security?.length === 0 ? { auth: { type: 'noauth' } } : {}),
    ...(isJson
      ? {
          body: {
            mode: 'raw',
            raw: withVariables(JSON.stringify(body, null, 2)),
            options: { raw: { language: 'json' } },
          },
        }
      : {}),
  };
}

const JSON_TYPE = { key: 'Content-Type', value: 'application/json' };

function answerOf(originalRequest: object, { response: { status, body } }: RecordedExample): object {
  const isJson = typeof body !== 'string';
  return {
    name: STATUS_CODES[status] ?? String(status),
    originalRequest,
    code: status,
    status: STATUS_CODES[status] ?? '',
    header: isJson ? [JSON_TYPE] : [],
    body: body === undefined ? '' : isJson ? JSON.stringify(body, null, 2) : body,
    _postman_previewlanguage: isJson ? 'json' : 'text',
  };
}

function withVariables(text: string): string {
  return PLACEHOLDERS.reduce((all, [id, variable]) => all.replaceAll(id, variable), text);
}
