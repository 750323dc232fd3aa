import { ERROR_TYPES, type ErrorStatus } from '@commonplace/platform/error-codes';
import type { AnsweredCodes } from './answered-codes.js';
import { ERROR_ENVELOPE, ERROR_RESPONSES, headerRefs } from './components.js';
import type { Schema } from './values.js';

/** Collects the error answers of operations. Operations with the same codes for a status share a component. */
export interface ErrorAnswers {
  readonly responses: Readonly<Record<string, Schema>>;
  readonly schemas: Readonly<Record<string, Schema>>;
  /** Returns references to the answers of one operation, by status. */
  answersOf(operationId: string, codes: AnsweredCodes): Record<string, Schema>;
}

export function createErrorAnswers(): ErrorAnswers {
  const responses: Record<string, Schema> = {};
  const schemas: Record<string, Schema> = {};
  const names = new Map<string, string>();
  const define = (operationId: string, status: ErrorStatus, codes: readonly string[]): string => {
    const key = `${status} ${codes.join()}`;
    const known = names.get(key);
    if (known !== undefined) return known;
    const usual = ERROR_RESPONSES[status];
    const own = operationId.charAt(0).toUpperCase() + operationId.slice(1);
    const name = responses[usual] === undefined ? usual : own + usual;
    names.set(key, name);
    responses[name] = response(status, `${name}Error`, codes);
    schemas[`${name}Error`] = errorSchema(status, codes);
    return name;
  };
  return {
    responses,
    schemas,
    answersOf: (operationId, codes) => {
      const answers: Record<string, Schema> = {};
      for (const [status, ofStatus] of Object.entries(codes)) {
        const name = define(operationId, Number(status) as ErrorStatus, ofStatus);
        answers[status] = { $ref: `#/components/responses/${name}` };
      }
      return answers;
    },
  };
}

function response(status: ErrorStatus, schema: string, codes: readonly string[]): Schema {
  const own = status === 401 ? ['WWW-Authenticate'] : status === 429 || status === 503 ? ['Retry-After'] : [];
  return {
    description: `\`error.code\` is one of: ${codes.map((code) => `\`${code}\``).join(', ')}.`,
    headers: headerRefs(['X-Request-Id', 'RateLimit', 'RateLimit-Policy', ...own]),
    content: {
      'application/json': { schema: { $ref: `#/components/schemas/${schema}` } },
      'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
    },
    'x-codes': codes,
  };
}

/** Returns the schema of the error envelope for one status and its codes. */
function errorSchema(status: ErrorStatus, codes: readonly string[]): Schema {
  const { properties } = ERROR_ENVELOPE;
  const facts = properties.error.properties;
  const type = { ...facts.type, enum: [ERROR_TYPES[status]] };
  const error = { ...properties.error, properties: { ...facts, type, code: { ...facts.code, enum: codes } } };
  return { ...ERROR_ENVELOPE, properties: { ...properties, error } };
}
