// Adds the column of allowed values to the table in the chart's README. They come from the schema that refuses all
// others.

/** Returns the README in which each value of the last table has its allowed values. */
export function withAllowed(readme, schema) {
  return readme
    .split('\n')
    .map((line, i, lines) => rowWithAllowed(line, lines.slice(0, i), schema))
    .join('\n');
}

const HEAD = '| Key | Type | Default | Description |';

function rowWithAllowed(line, before, schema) {
  if (line === HEAD) return '| Key | Type | Allowed | Default | Description |';
  const at = before.lastIndexOf(HEAD);
  if (at < 0) return line;
  if (at === before.length - 1) return '|-----|------|---------|---------|-------------|';
  const [, key, type, rest] = /^\| (\S+) \| (\S+) \| (.*)$/.exec(line) ?? [];
  if (key === undefined) return line;
  return `| ${key} | ${type} | ${allowed(find(schema, key.split('.')))} | ${rest}`;
}

/** Returns the schema of a key. Keys may contain dots. */
function find(schema, path) {
  if (path.length === 0 || schema === undefined) return schema;
  for (let length = path.length; length > 0; length--) {
    const inner = schema.properties?.[path.slice(0, length).join('.').replaceAll('"', '')];
    if (inner !== undefined) return find(inner, path.slice(length));
  }
  return schema.properties === undefined && schema.type === 'object' ? {} : undefined;
}

/** Maximum length of a pattern in the table. Longer ones are explained in the description of their values. */
const MAX_PATTERN = 48;

function allowed(schema) {
  if (schema === undefined) throw new Error('a value in the README is missing from the schema');
  const { enum: choices, minimum, maximum, exclusiveMinimum, pattern, minLength, items, properties } = schema;
  if (choices !== undefined) return choices.map((one) => `\`${JSON.stringify(one)}\``).join(', ');
  if (minimum !== undefined || maximum !== undefined) return `${minimum ?? ''} to ${maximum ?? 'any'}`;
  if (exclusiveMinimum !== undefined) return 'above 0: `0.5`, `500m`';
  if (items !== undefined) {
    const inner =
      items.properties === undefined
        ? allowed(items)
        : Object.keys(items.properties)
            .map((one) => `\`${one}\``)
            .join(', ');
    return inner === '' ? 'a list' : `list of ${inner}`;
  }
  if (properties !== undefined)
    return Object.keys(properties).length > 8
      ? ''
      : Object.keys(properties)
          .map((one) => `\`${one}\``)
          .join(', ');
  if (pattern !== undefined && pattern.length <= MAX_PATTERN) return `\`${pattern.replaceAll('|', '\\|')}\``;
  return minLength === 1 ? 'not empty' : '';
}
