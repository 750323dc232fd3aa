import type { RecordedExample, RecordedExamples, Schema } from '@commonplace/platform/api-document';
import { type ApiDocument, type ApiParameter, type Chapter, type Operation, parametersOf } from './model.js';
import { cell, fieldsOf, fieldTable, resolved, SCHEMAS_PATH, textOf, typeOf } from './types.js';

export const REFERENCE_PATH = '/docs/api';
export const EXPLORER_PATH = '/docs/explorer';

/** Renders the table of contents of the reference as Markdown. */
export function contentsMarkdown(chapters: readonly Chapter[]): string {
  const sections = chapters.map(
    ({ name, slug, description, operations }) =>
      `## [${name}](${REFERENCE_PATH}/${slug})\n\n${description}\n\n${operationTable(operations, `${REFERENCE_PATH}/${slug}`)}`,
  );
  const intro =
    'Every operation of the API, by subject. Each has an example that was really sent, with the answer that came back. ' +
    `All types are on the page of [schemas](${SCHEMAS_PATH}); [try the API](${EXPLORER_PATH}) in the browser, or get ` +
    'the [OpenAPI document](/api/v1/openapi.json) and the [Postman collection](/docs/api/postman.json).';
  return ['# API reference', intro, ...sections].join('\n\n');
}

/** Renders one chapter of the reference as Markdown. */
export function chapterMarkdown(document: ApiDocument, chapter: Chapter, examples: RecordedExamples): string {
  const { name, description, operations } = chapter;
  const described = operations.map((one) => operationMarkdown(document, name, one, examples[one.operationId]));
  return [`# ${name}`, description, operationTable(operations, ''), ...described].filter(Boolean).join('\n\n');
}

function operationTable(operations: readonly Operation[], page: string): string {
  const rows = operations.map(
    ({ operationId, summary, method, path }) =>
      `| \`${method} ${path}\` | [${cell(summary)}](${page}#${operationId}) |`,
  );
  return ['| Request | What it does |', '| --- | --- |', ...rows].join('\n');
}

function operationMarkdown(
  document: ApiDocument,
  tag: string,
  operation: Operation,
  example: RecordedExample | undefined,
): string {
  const { operationId, summary, description, method, path } = operation;
  const preview = operation['x-preview'] === true ? 'In preview: it may change without notice.' : '';
  const tryIt = `[Try it](${EXPLORER_PATH}#/${encodeURIComponent(tag)}/${operationId})`;
  return [
    `## ${summary} {#${operationId}}`,
    `\`${method} ${path}\` · ${tryIt}`,
    withoutSummary(description, summary),
    preview,
    ...parametersMarkdown(parametersOf(document, operation)),
    ...bodyMarkdown(document, operation),
    ...answersMarkdown(operation),
    errorsMarkdown(document, operation),
    ...exampleMarkdown(operation, example),
  ]
    .filter(Boolean)
    .join('\n\n');
}

/** Removes the first sentence of a description if the heading repeats it. */
function withoutSummary(description: string, summary: string): string {
  return description.startsWith(`${summary}.`) ? description.slice(summary.length + 1).trimStart() : description;
}

function parametersMarkdown(parameters: readonly ApiParameter[]): string[] {
  const own = parameters.filter((one) => one.in !== 'header');
  const headers = parameters.filter((one) => one.in === 'header').map(({ name }) => `\`${name}\``);
  const fields = own.map(({ name, required = false, schema, content, description }) => {
    const type = schema ?? content?.['application/json']?.schema ?? {};
    return { name, type: typeOf(type), required, text: textOf({ ...type, ...(description && { description }) }) };
  });
  return [
    ...(fields.length > 0 ? ['### Parameters', fieldTable(fields)] : []),
    ...(headers.length > 0 ? [`Headers: ${headers.join(', ')}; see [the introduction](/docs#headers).`] : []),
  ];
}

function bodyMarkdown(document: ApiDocument, { requestBody }: Operation): string[] {
  const schema = requestBody?.content['application/json']?.schema;
  if (schema === undefined) return [];
  const object = resolved(document, schema);
  const table = fieldTable(fieldsOf(object));
  const multipart = requestBody?.content['multipart/form-data'] === undefined ? [] : [MULTIPART];
  return ['### Body', table === '' ? `${capitalized(typeOf(object))}.` : table, ...multipart];
}

const MULTIPART =
  'The same as `multipart/form-data`: the part `file` holds the bytes of the file, other parts are fields.';

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

function answersMarkdown({ responses }: Operation): string[] {
  const successes = Object.entries(responses).filter(([status]) => status.startsWith('2'));
  const lines = successes.map(([status, { description = '', content }]) => {
    const schema = content?.['application/json']?.schema;
    const data = (schema?.properties as Record<string, Schema> | undefined)?.data;
    const stream = content?.['text/event-stream'];
    const streamed = stream === undefined ? '' : ` As a stream: ${textOf(stream.schema)}`;
    return `- \`${status}\`: ${description}${data === undefined ? '' : ` \`data\` is ${typeOf(data)}.`}${streamed}`;
  });
  return ['### Answers', lines.join('\n')];
}

/** Lists the codes that the operation can answer by status. Codes specific to the operation come first. */
function errorsMarkdown({ components }: ApiDocument, operation: Operation): string {
  const own = new Set((operation['x-errors'] ?? []).map((code) => code.replace(/^\d+:/, '')));
  const lines = Object.entries(operation.responses).flatMap(([status, response]) => {
    const codes = components.responses[response.$ref?.split('/').at(-1) ?? '']?.['x-codes'] ?? [];
    const sorted = [...codes].sort((a, b) => Number(own.has(b)) - Number(own.has(a)));
    return codes.length === 0 ? [] : [`- \`${status}\`: ${sorted.map(linkToCode).join(', ')}`];
  });
  return lines.length === 0 ? '' : `### Errors\n\n${lines.join('\n')}`;
}

const linkToCode = (code: string): string => `[\`${code}\`](/docs/errors#${code})`;

const FENCES: Readonly<Record<string, string>> = { curl: 'sh', TypeScript: 'ts fold', Python: 'python fold' };

function exampleMarkdown(operation: Operation, example: RecordedExample | undefined): string[] {
  if (example === undefined) return [];
  const samples = (operation['x-codeSamples'] ?? []).map(
    ({ label, source }) => `${FENCE}${FENCES[label] ?? 'text'}\n${source}\n${FENCE}`,
  );
  const { status, body } = example.response;
  const text = typeof body === 'string' ? body : JSON.stringify(body, null, 2);
  const answer = body === undefined ? [] : [`${FENCE}json\n${text}\n${FENCE}`];
  return ['### Example', ...samples, `The answer, with the status ${status}:`, ...answer];
}

/** Fence of examples, longer than any fence within an example. */
const FENCE = '`````';
