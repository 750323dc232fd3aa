/** Keywords of JSON Schema that refer to another schema. */
export const REFERENCES: ReadonlySet<string> = new Set(['$ref', '$dynamicRef', '$recursiveRef']);

/** Keywords whose keys are names chosen by the author of the schema. */
export const NAMED: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
  'dependentRequired',
  'dependencies',
]);

/** Keywords whose values are data, even if they look like schemas. */
export const DATA: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples']);
