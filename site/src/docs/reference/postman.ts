import type { RecordedExample, RecordedExamples } from '@commonplace/platform/api-document';
import type { Chapter, Operation } from './model.js';

const SCHEMA = 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json';

/**
 * Writes the operations as a Postman collection (format 2.1) with a folder for each chapter. Requests are those that
 * were recorded; the server's URL and the API key are variables.
 */
export function postmanCollection(chapters: readonly Chapter[], examples: RecordedExamples): string {
  const item = chapters.map(({ name, description, operations }) => ({
    name,
    description,
    item: operations.map((operation) => itemOf(operation, examples[operation.operationId])),
  }));
  return JSON.stringify({
    info: { name: 'Commonplace', schema: SCHEMA },
    auth: { type: 'bearer', bearer: [{ key: 'token', value: '{{api_key}}', type: 'string' }] },
    variable: [
      { key: 'base_url', value: 'http://127.0.0.1:8080' },
      { key: 'api_key', value: '' },
    ],
    item,
  });
}

function itemOf({ summary, description, method, path }: Operation, example: RecordedExample | undefined): object {
  const { body } = example?.request ?? {};
  const [pathname = '', query = ''] = (example?.request.path ?? path).split('?');
  const names = path.split('/').slice(1);
  const values = pathname.split('/').slice(1);
  const parameters = names.flatMap((name, index) =>
    name.startsWith('{') ? [{ key: name.slice(1, -1), value: values[index] ?? '' }] : [],
  );
  const url = {
    raw: `{{base_url}}${path.replaceAll(/\{(\w+)\}/g, ':$1')}${query === '' ? '' : `?${query}`}`,
    host: ['{{base_url}}'],
    path: names.map((name) => name.replace(/^\{(\w+)\}$/, ':$1')),
    query: [...new URLSearchParams(query)].map(([key, value]) => ({ key, value })),
    variable: parameters,
  };
  const json = { mode: 'raw', raw: JSON.stringify(body, null, 2), options: { raw: { language: 'json' } } };
  return {
    name: summary,
    request: { method, description, url, ...(body === undefined || typeof body === 'string' ? {} : { body: json }) },
  };
}
