import { KNOWN_SCOPES } from '@commonplace/kit/auth';
import { Json, type Rules } from '@commonplace/proto/api/v1/access.js';
import { SCHEMAS } from '@commonplace/proto/schemas.js';
import type { Schema } from './values.js';

/** Schemas that a field can refer to by the rule `schema`. */
const NAMED: Readonly<Record<string, Schema>> = {
  ...SCHEMAS,
  Scope: { type: 'string', enum: [...KNOWN_SCOPES], description: 'What a credential may do: an area and an action.' },
};

/** Adds a named schema and everything that it references to the components. Returns a reference to it. */
function nameSchema(components: Record<string, Schema>, name: string): Schema {
  const schema = NAMED[name];
  if (schema === undefined) throw new Error(`there is no schema ${name}`);
  if (components[name] === undefined) {
    components[name] = schema;
    for (const [, other = ''] of JSON.stringify(schema).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      nameSchema(components, other);
    }
  }
  // A message of the contract already has this name.
  if (components[name] !== schema) throw new Error(`two schemas have the name ${name}`);
  return { $ref: `#/components/schemas/${name}` };
}

/**
 * Returns the schema of a value whose rules name a schema. It describes the items of a list, and the content of JSON
 * text.
 */
export function namedValue(components: Record<string, Schema>, rules: Rules, isText: boolean, value: Schema): Schema {
  const named = nameSchema(components, rules.schema);
  if (rules.json === Json.ARRAY) return { ...value, items: named };
  if (!isText || NAMED[rules.schema]?.type === 'string') return named;
  return { ...value, contentMediaType: 'application/json', contentSchema: named };
}
