// Reads the OpenAPI document of the gateway as a list of operations with the names that users of an SDK see, and as
// the named schemas of what the operations take and return.

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

/** Groups whose name is not the plural of their tag, and the noun that their methods leave out. */
const GROUPS = {
  Account: { group: 'account', noun: 'Account' },
  'Automation Hook': { group: 'hooks', noun: 'Hook' },
  Content: { group: 'content', noun: 'Content' },
  Copy: { group: 'resources', noun: 'Resource' },
  'Event Stream': { group: 'events', noun: 'Event' },
  'Form Hook': { group: 'hooks', noun: 'Hook' },
  Health: { group: 'health', noun: 'Health' },
  Mcp: { group: 'mcp_servers', noun: 'McpServer' },
  Search: { group: 'search', noun: 'Search' },
  'Sign-in': { group: 'sign_in', noun: 'SignIn' },
  'Signed URLs': { group: 'signed_urls', noun: 'SignedUrl' },
  Storage: { group: 'storage', noun: 'Storage' },
  Trash: { group: 'trash', noun: 'Resource' },
};

/** Methods whose name the rules make no verb of. */
const NAMES = { search: 'query', signIn: 'signIn', emptyTrash: 'empty', listTrash: 'list' };

export const snake = (name) => name.replace(/(?<=[a-z0-9])(?=[A-Z])/g, '_').toLowerCase();
export const camel = (name) => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
export const pascal = (name) => name[0].toUpperCase() + camel(name).slice(1);
const plural = (name) =>
  /[^aeiou]y$/.test(name) ? `${name.slice(0, -1)}ies` : /(?:[sx]|ch|sh)$/.test(name) ? `${name}es` : `${name}s`;

/**
 * Returns the operations of an OpenAPI document, and the schemas that they use by name:
 * `{id, group, method, verb, path, pathNames, summary, input, inputIn, required, output, kind, streams, key}`. `input`
 * and `output` are names of schemas; `kind` is `record`, `list` (pages with a cursor), `bytes` or `bare` (no envelope).
 */
export function readOperations(document) {
  const schemas = {};
  const used = (schema) => useSchema(document, schemas, schema);
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    METHODS.filter((verb) => item[verb] !== undefined).map((verb) => {
      const operation = {
        ...item[verb],
        parameters: (item[verb].parameters ?? []).map((one) => resolve(document, one)),
      };
      return {
        id: operation.operationId,
        ...namesOf(operation),
        verb: verb.toUpperCase(),
        path,
        pathNames: [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name),
        summary: operation.summary,
        key: operation.parameters.some(({ name }) => name === 'Idempotency-Key'),
        ...inputOf(document, schemas, used, operation),
        ...outputOf(document, schemas, used, operation),
      };
    }),
  );
  const seen = new Set();
  for (const { id, group, method } of operations) {
    if (seen.has(`${group}.${method}`)) throw new Error(`${id}: another operation is called ${group}.${method}`);
    seen.add(`${group}.${method}`);
  }
  used({ $ref: '#/components/schemas/Page' });
  used({ $ref: '#/components/schemas/Fault' });
  used({ $ref: '#/components/schemas/Warning' });
  schemas.ErrorCode = errorCodes(document);
  return { operations, schemas };
}

/** Returns the schema of all codes of errors. */
function errorCodes({ components }) {
  const codes = new Set();
  JSON.stringify(components, (_name, value) => {
    for (const code of value?.properties?.error?.properties?.code?.enum ?? []) codes.add(code);
    return value;
  });
  if (codes.size === 0) throw new Error('the document has no codes of errors');
  return { type: 'string', enum: [...codes].sort(), description: 'Code of an error. A later version may answer more.' };
}

/** `createResource` of the tag Resource is `resources.create`, `listOrgMembers` of the tag Org is `orgs.listMembers`. */
function namesOf({ operationId, tags: [tag] }) {
  const { group, noun } = GROUPS[tag] ?? {
    group: plural(tag).toLowerCase().replaceAll(' ', '_'),
    noun: tag.replaceAll(' ', ''),
  };
  if (NAMES[operationId] !== undefined) return { group, method: NAMES[operationId] };
  const [, verb, rest] = operationId.match(/^([a-z]+)(.*)$/);
  const without = [plural(noun), noun].find((name) => rest === name) ?? (rest.startsWith(noun) ? noun : '');
  return { group, method: verb + rest.slice(without.length) };
}

function inputOf(document, schemas, used, { operationId, parameters, requestBody }) {
  const body = requestBody?.content['application/json']?.schema;
  const query = parameters.filter((one) => one.in === 'query');
  if (body !== undefined) {
    const schema = resolve(document, body);
    if (schema.properties === undefined) return { input: 'Record', inputIn: 'body', required: true };
    if (Object.keys(schema.properties).length === 0) return {};
    return {
      input: named(schemas, used, `${pascal(operationId)}Request`, body),
      inputIn: 'body',
      required: requestBody.required,
    };
  }
  if (requestBody !== undefined) return { input: 'Bytes', inputIn: 'bytes', required: true };
  if (query.length === 0) return {};
  const schema = {
    type: 'object',
    properties: Object.fromEntries(
      query.map(({ name, description, schema: given, content }) => [
        name,
        { ...(description === undefined ? {} : { description }), ...(given ?? content['application/json'].schema) },
      ]),
    ),
    required: query.filter(({ required }) => required).map(({ name }) => name),
  };
  const input = named(schemas, used, `${pascal(operationId)}Query`, schema);
  return { input, inputIn: 'query', required: schema.required.length > 0 };
}

function outputOf(document, schemas, used, { operationId, responses, parameters, requestBody }) {
  const [, success] = Object.entries(responses).find(([status]) => status.startsWith('2'));
  const streams = success.content['text/event-stream'] !== undefined;
  const envelope = success.content['application/json']?.schema;
  if (envelope === undefined) return { output: 'Bytes', kind: 'bytes', streams };
  const name = `${pascal(operationId)}Result`;
  if (envelope.properties.data === undefined)
    return { output: named(schemas, used, name, envelope), kind: 'bare', streams };
  const output = named(schemas, used, name, whole(envelope.properties.data));
  const body = resolve(document, requestBody?.content['application/json']?.schema ?? {});
  const cursor = parameters.some((one) => one.name === 'cursor') || body.properties?.cursor !== undefined;
  const paged = cursor && envelope.properties.page !== undefined;
  if (paged && /^(list|search)/.test(operationId)) return { output, kind: 'list', streams };
  // The page of a record's list, such as the rows of a table, is a field of the record.
  if (paged) schemas[output].properties.page ??= { $ref: '#/components/schemas/Page' };
  return { output, kind: 'record', streams };
}

/** The type of a record is that of the whole one. With `fields` an answer has less. */
function whole(schema) {
  if (Array.isArray(schema)) return schema.map(whole);
  if (schema === null || typeof schema !== 'object') return schema;
  const [first, second, ...others] = schema.anyOf ?? [];
  if (others.length === 0 && first?.$ref !== undefined && second?.$ref === `${first.$ref}Fields`) {
    const { anyOf: _, ...rest } = schema;
    return { ...rest, ...first };
  }
  return Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, whole(value)]));
}

/** Names a schema that has no name yet. Returns the name. */
function named(schemas, used, name, schema) {
  const reference = schema.$ref?.split('/').at(-1);
  if (reference !== undefined) {
    used(schema);
    return reference;
  }
  if (schemas[name] !== undefined) throw new Error(`two schemas have the name ${name}`);
  schemas[name] = typed(schema);
  used(schema);
  return name;
}

/** Adds all schemas that a schema refers to. */
function useSchema(document, schemas, schema) {
  for (const [, name] of JSON.stringify(whole(schema)).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
    if (schemas[name] !== undefined) continue;
    const found = document.components.schemas[name];
    if (found === undefined) throw new Error(`there is no schema ${name}`);
    schemas[name] = typed(found);
    useSchema(document, schemas, found);
  }
}

const RULES = new Set([
  'pattern',
  'format',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'minItems',
  'maxItems',
  'uniqueItems',
  'not',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'maxProperties',
  'minProperties',
  'propertyNames',
  'dependentRequired',
  'if',
  'then',
  'else',
  'multipleOf',
  'default',
  'example',
  'examples',
  'contentSchema',
  'contentMediaType',
  'dependentSchemas',
]);

/**
 * Removes what types can not express, such as lengths and rules between fields. The server checks these. Rules are
 * written as keywords of a schema, fields are the names inside `properties`.
 */
function typed(schema) {
  if (Array.isArray(schema)) return schema.map(typed);
  if (schema === null || typeof schema !== 'object') return schema;
  const { properties, ...rest } = withoutRuleChoices(whole(schema));
  if (rest.additionalProperties === false) delete rest.additionalProperties;
  const kept = Object.entries(rest).filter(([name]) => !RULES.has(name));
  const fields = Object.entries(properties ?? {}).map(([name, value]) => [name, typed(value)]);
  return {
    ...Object.fromEntries(
      kept.map(([name, value]) => [name, ['enum', 'const', 'required'].includes(name) ? value : typed(value)]),
    ),
    ...(properties === undefined ? {} : { properties: Object.fromEntries(fields) }),
  };
}

/** An object with fields whose choices have no type of their own has rules between its fields. */
function withoutRuleChoices(schema) {
  if (schema.properties === undefined) return schema;
  const { anyOf, oneOf, allOf, ...rest } = schema;
  return rest;
}

function resolve(document, value) {
  if (value.$ref === undefined) return value;
  const [, , kind, name] = value.$ref.split('/');
  return document.components[kind][name];
}
