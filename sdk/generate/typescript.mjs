// Writes the methods of the TypeScript SDK: one class per group of operations.
import { camel, pascal } from './operations.mjs';

/** Returns the text of `operations.ts`. */
export function writeTypeScript(operations, header) {
  const groups = groupBy(operations);
  const classes = [...groups].map(([group, own]) => `${classOf(group, own)}\n`);
  const fields = [...groups.keys()].map((group) => `  readonly ${camel(group)}: ${pascal(group)};`);
  const made = [...groups.keys()].map((group) => `    this.${camel(group)} = new ${pascal(group)}(http);`);
  return `${header}
import { at, type Bytes, Group, type Pages, type RequestOptions, type ServerEvent, type StreamOptions } from '../group.js';
import type { Http } from '../http.js';
import type * as T from './types.js';

${classes.join('\n')}
/** All operations of the API, by group. */
export class Operations {
${fields.join('\n')}

  constructor(http: Http) {
${made.join('\n')}
  }
}
`;
}

function groupBy(operations) {
  const groups = new Map();
  for (const each of operations) groups.set(each.group, [...(groups.get(each.group) ?? []), each]);
  return groups;
}

function classOf(group, operations) {
  const methods = operations.flatMap((each) => (each.streams ? [methodOf(each), streamOf(each)] : [methodOf(each)]));
  return `export class ${pascal(group)} extends Group {\n${methods.join('\n\n')}\n}`;
}

function methodOf({ method, summary, verb, output, kind, key, ...operation }) {
  const call = `'${verb}', ${pathOf(operation)}, ${given(operation)}, options${!key && verb !== 'GET' ? ', false' : ''}`;
  const [answer, body] = {
    record: [`Promise<T.${output}>`, `this.record<T.${output}>(${call})`],
    bare: [`Promise<T.${output}>`, `this.bare<T.${output}>(${call})`],
    bytes: ['Promise<Response>', `this.bytes(${call})`],
    list: [`Pages<T.${output}>`, `this.pages<T.${output}>(${call})`],
  }[kind];
  return `  /** ${summary}. */\n  ${method}(${parametersOf(operation, 'RequestOptions')}): ${answer} {\n    return ${body};\n  }`;
}

/** \`get\` of a record that can be followed has \`stream\` beside it. */
function streamOf({ method, summary, ...operation }) {
  const name = method.replace(/^(get|list)/, 'stream');
  return `  /** ${summary}: as server-sent events, continued where the connection breaks. */
  ${name}(${parametersOf(operation, 'StreamOptions')}): AsyncGenerator<ServerEvent, void, undefined> {
    return this.events(${pathOf(operation)}, ${given(operation)}, options);
  }`;
}

function pathOf({ path, pathNames }) {
  return pathNames.length === 0
    ? `'${path}'`
    : `at\`${path.replace(/\{(\w+)\}/g, (_, name) => `\${${camel(name)}}`)}\``;
}

function given({ input, inputIn }) {
  return input === undefined ? '{}' : `{ ${inputIn} }`;
}

function parametersOf({ pathNames, input, inputIn, required }, options) {
  const type = { Record: 'Record<string, unknown>', Bytes: 'Bytes' }[input] ?? `T.${input}`;
  const own = input === undefined ? [] : [`${inputIn}${required ? '' : '?'}: ${type}`];
  return [...pathNames.map((name) => `${camel(name)}: string`), ...own, `options?: ${options}`].join(', ');
}
