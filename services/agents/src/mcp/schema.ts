import { type Schema, Validator } from '@cfworker/json-schema';
import { visible } from '../domain/passage.js';
import type { JsonSchema } from '../domain/schema-check.js';
import { costOfSchema, MAX_SCHEMA_COST } from '../domain/schema-cost.js';
import { NAMED, REFERENCES } from '../domain/schema-words.js';
import type { SchemaChecks } from '../schemas/index.js';
import { MAX_SCHEMA_BYTES, MAX_SCHEMA_DEPTH } from './limits.js';

/** Keywords that only people read. A server could hide text for the model in them. */
const DROPPED: ReadonlySet<string> = new Set(['$comment', 'examples', 'example', 'deprecated', 'markdownDescription']);
const TEXTS: ReadonlySet<string> = new Set(['title', 'description']);
/** Keywords that give a schema its own base URI, which references would be resolved against. */
const ADDRESSES: ReadonlySet<string> = new Set(['$id', 'id', '$schema']);

/** Thrown if a schema cannot be used. */
export class SchemaRefused extends Error {}

/**
 * Returns a tool's schema for models, without invisible text. Throws `SchemaRefused` if it is too long or too deep,
 * refers to other documents, or is too costly to check.
 */
export function readSchema(schema: unknown): JsonSchema {
  const text = JSON.stringify(schema) ?? '';
  if (Buffer.byteLength(text) > MAX_SCHEMA_BYTES) throw new SchemaRefused('its schema is longer than 64 KiB');
  const cleaned = clean(schema, 1) as JsonSchema;
  const written = JSON.stringify(cleaned);
  if (visible(written) !== written) throw new SchemaRefused('its schema has invisible characters');
  if (costOfSchema(cleaned) > MAX_SCHEMA_COST) throw new SchemaRefused('its schema refers to itself too often');
  if (!isUsable(cleaned)) throw new SchemaRefused('its schema is none');
  return cleaned;
}

function isUsable(schema: JsonSchema): boolean {
  try {
    new Validator(schema as Schema, '2020-12', true);
    return true;
  } catch {
    return false;
  }
}

function clean(value: unknown, depth: number, isNames = false): unknown {
  if (depth > MAX_SCHEMA_DEPTH) throw new SchemaRefused(`its schema is deeper than ${MAX_SCHEMA_DEPTH} levels`);
  if (Array.isArray(value)) return value.map((inner) => clean(inner, depth + 1));
  if (typeof value !== 'object' || value === null) return value;
  const kept: [string, unknown][] = [];
  for (const [key, inner] of Object.entries(value)) {
    // Below `properties`, keys are names of properties, even if they look like keywords.
    if (!isNames) {
      if (DROPPED.has(key) || (ADDRESSES.has(key) && typeof inner === 'string')) continue;
      if (REFERENCES.has(key) && !(typeof inner === 'string' && /^#(\/|$)/.test(inner))) {
        throw new SchemaRefused('its schema refers to another document');
      }
      if (TEXTS.has(key) && typeof inner === 'string') {
        kept.push([key, visible(inner)]);
        continue;
      }
    }
    kept.push([key, clean(inner, depth + 1, !isNames && NAMED.has(key))]);
  }
  return Object.fromEntries(kept);
}

/** Returns the faults of arguments under a schema; undefined if there are none. */
export async function faultOfArguments(
  schemas: SchemaChecks,
  tenant: string,
  schema: JsonSchema,
  args: unknown,
): Promise<string | undefined> {
  const fault = await schemas.faultIn(tenant, schema, args);
  return fault === undefined ? undefined : `The arguments do not fit the schema of the tool. ${fault}`.trim();
}
