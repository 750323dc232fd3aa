import type { DescMethod } from '@bufbuild/protobuf';
import type { Contract } from '../descriptors/contract.js';
import { type FieldShape, shapesOf } from '../descriptors/shape.js';
import { answeredCodes } from './answered-codes.js';
import { headerRefs } from './components.js';
import type { ErrorAnswers } from './error-answers.js';
import { HAND_WRITTEN, type HandWritten } from './hand-written-table.js';
import type { Schemas } from './schemas.js';
import type { Schema } from './values.js';

/** An operation outside the contract, with its path in the notation of OpenAPI. */
interface DescribedOperation {
  readonly method: string;
  readonly path: string;
  readonly operation: Schema;
}

export const HAND_WRITTEN_TAGS: readonly Schema[] = [
  { name: 'Sign-in', description: 'Accounts and browser sessions. Any person with an account uses these by JSON.' },
  { name: 'Signed URLs', description: 'Uploads and downloads by URLs whose token is the right to them.' },
  { name: 'Health', description: 'What probes ask.' },
];

/** Describes the routes outside the contract. Returns an empty list for a contract without accounts. */
export function describeHandWritten(schemas: Schemas, errors: ErrorAnswers, contract: Contract): DescribedOperation[] {
  const services = contract.services.filter(({ typeName }) => SERVICES.includes(typeName));
  if (services.length === 0) return [];
  const methods = new Map(services.flatMap((service) => service.methods).map((method) => [method.name, method]));
  return HAND_WRITTEN.map((row) => ({
    method: row.method,
    path: row.path,
    operation: operationOf(schemas, errors, contract, row, row.rpc === undefined ? undefined : found(methods, row.rpc)),
  }));
}

const BYTES: Schema = { type: 'string', format: 'binary' };
const SERVICES = ['commonplace.identity.v1.AuthService', 'commonplace.identity.v1.AccountSecurityService'];

function found(methods: ReadonlyMap<string, DescMethod>, rpc: string): DescMethod {
  const method = methods.get(rpc);
  if (method === undefined) throw new Error(`the contract has no ${rpc}`);
  return method;
}

function operationOf(
  schemas: Schemas,
  errors: ErrorAnswers,
  contract: Contract,
  row: HandWritten,
  rpc: DescMethod | undefined,
): Schema {
  const { method, operationId, tag, summary, description = '', session = false } = row;
  const parameters = [...row.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  const write = method !== 'get';
  return {
    operationId,
    tags: [tag],
    summary,
    description: [`${summary}.`, description].filter(Boolean).join(' '),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...bodyOf(schemas, contract, row, rpc),
    responses: { ...successOf(schemas, contract, row, rpc), ...errorsOf(errors, row) },
    security: session ? [write ? { session: [], csrf: [] } : { session: [] }] : [],
  };
}

function bodyOf(schemas: Schemas, contract: Contract, row: HandWritten, rpc: DescMethod | undefined): Schema {
  if (row.bytes !== undefined && row.method === 'put') {
    return { requestBody: { required: true, content: { [row.bytes]: { schema: BYTES } } } };
  }
  if (row.method !== 'post') return {};
  const names = row.fields ?? {};
  const shapes = rpc === undefined ? [] : shapesOf(contract, rpc.input);
  const required: string[] = [];
  const properties: Schema = {};
  for (const [name, field] of Object.entries(names)) {
    const shape = shapes.find((one) => one.name === field);
    if (shape === undefined) throw new Error(`${row.operationId} has no field ${field}`);
    properties[name] = row.schemas?.[name] ?? schemas.field(shape, 'input');
    if (shape.rules.required || row.required?.includes(name)) required.push(name);
  }
  const schema = {
    type: 'object',
    properties,
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
  };
  const content = { 'application/json': { schema, example: row.example ?? {} } };
  return { requestBody: { required: true, content } };
}

function successOf(schemas: Schemas, contract: Contract, row: HandWritten, rpc: DescMethod | undefined): Schema {
  const headers = headerRefs(['X-Request-Id']);
  if (row.bytes !== undefined && row.method === 'get') {
    // Client generators use the first type; the header of the answer names the actual type of the file.
    const content = { 'application/octet-stream': { schema: BYTES }, [row.bytes]: { schema: BYTES } };
    return {
      200: { description: 'The bytes.', headers, content },
      206: { description: 'The bytes that `Range` asks for.', headers, content },
    };
  }
  const { bare } = row;
  const schema = bare ?? {
    type: 'object',
    required: ['data', 'request_id'],
    properties: {
      data: row.data ?? dataOf(schemas, contract, row, rpc),
      request_id: { $ref: '#/components/schemas/RequestId' },
      warnings: { type: 'array', items: { $ref: '#/components/schemas/Warning' } },
    },
  };
  const success = { description: 'Done.', headers, content: { 'application/json': { schema } } };
  const notReady = { description: 'Not ready.', headers, content: { 'application/json': { schema } } };
  return { [row.success ?? 200]: success, ...(row.notReady ? { 503: notReady } : {}) };
}

function dataOf(schemas: Schemas, contract: Contract, row: HandWritten, rpc: DescMethod | undefined): Schema {
  if (rpc === undefined) throw new Error(`${row.operationId} has no answer`);
  const { output } = rpc;
  const { shown } = row;
  const isShown = ({ name }: FieldShape) => shown === undefined || shown.fields.has(name);
  const shapes = shapesOf(contract, output).filter(isShown);
  return schemas.define(output, shown?.name ?? output.name, () => schemas.object(output, shapes, 'output'));
}

/** Codes for input that is not a readable HTTP request. They are answered before routing. */
const UNREADABLE = { 400: ['invalid_value', 'payload_too_large'] };

/**
 * Returns the error answers of a route: those of its gates, its body and its own. Health probes have no gates and read
 * no input.
 */
function errorsOf(errors: ErrorAnswers, row: HandWritten): Schema {
  if (row.bare !== undefined) return errors.answersOf(row.operationId, UNREADABLE);
  const { method, operationId, session = false, errors: declared = [] } = row;
  const writes = method !== 'get';
  const codes = answeredCodes({
    writes,
    hasBody: method === 'post',
    needsCredential: false,
    needsScope: false,
    idempotent: false,
    conditional: false,
    hasIds: false,
    paged: false,
    hasRequired: method === 'post',
    hasLimitedLists: false,
    hasAliases: false,
    updates: false,
    declared: [...declared, ...(session ? SESSION_ERRORS : []), ...(session && writes ? ['csrf_failed'] : [])],
  });
  return errors.answersOf(operationId, codes);
}

/** Codes for a request with a missing, invalid or expired session. */
const SESSION_ERRORS = ['missing_credentials', 'invalid_credentials', 'expired_credentials'];
