/** Keywords of JSON Schema that refer to another schema. */
export const REFERENCES: ReadonlySet<string> = new Set(['$ref', '$dynamicRef', '$recursiveRef']);

/** Keywords whose keys are names that the schema's author has chosen. */
export const NAMED: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
  'dependentRequired',
  'dependencies',
]);

/** Keywords whose values are data, whatever they look like. */
export const DATA: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples']);
