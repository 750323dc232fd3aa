import { invalidField } from '@commonplace/kit/errors';
import { type Arguments, effectOf, type Operations } from '../api/operations.js';
import type { Catalogue, Described } from '../catalogue/index.js';
import { text } from './fields.js';
import { paragraphs, tableOf } from './markdown.js';
import type { Tool } from './tool.js';

/** Maximum number of characters of the words that are looked for, as each is compared with those of each operation. */
const MAX_Q_CHARS = 200;

/** Creates the two tools by which a model can find and call all operations of the API. */
export function createRest(operations: Operations, catalogue: () => Promise<Catalogue>): readonly Tool[] {
  const find: Tool = {
    name: 'operations',
    title: 'Find operations',
    description:
      'Lists the operations of the whole API that you may `call`, for what no other tool does (members, tags, snapshots, ' +
      'forms, publications, automations, schedules, imports, exports …). With `operation`: its arguments as JSON Schema.',
    operations: [],
    properties: {
      q: {
        ...text('Words of the name, the path or the summary, such as `tag` or `snapshot create`.'),
        maxLength: MAX_Q_CHARS,
      },
      operation: text('Name of one operation, such as `createTag`, whose arguments you need.'),
    },
    required: [],
    async run({ q = '', operation }, { mayUse }) {
      const described = await catalogue();
      if (operation !== undefined) return describe(found(described, String(operation)), operations);
      const words = String(q).toLowerCase().split(/\s+/).filter(Boolean);
      const matching = [...described.values()].filter(
        (one) => mayUse(one.operation) && isAbout(one, operations, words),
      );
      const rows = matching.map(({ operation: name, summary }) => {
        const { method, path, scope } = operations.get(name) ?? {};
        return [name, summary, `${method} ${path}`, scope];
      });
      const table =
        rows.length === 0 ? 'No operation matches.' : tableOf(['operation', 'what it does', 'endpoint', 'scope'], rows);
      return { text: table };
    },
  };
  const call: Tool = {
    name: 'call',
    title: 'Call an operation',
    description:
      'Calls any operation of the API by its name, with the rights of your credential. Find the name and the arguments ' +
      'with `operations` first. Prefer the other tools where one fits.',
    operations: [],
    isOpenWorld: true,
    properties: {
      operation: text('Name of the operation, such as `createTag`.'),
      arguments: { type: 'object', description: 'Its arguments: those of path, query and body in one object.' },
    },
    required: ['operation'],
    async run({ operation, arguments: args = {} }, { send }) {
      const name = found(operations, String(operation)).descriptor.localName;
      const answer = await send(name, args as Arguments);
      return { text: ['```json', JSON.stringify(answer, null, 1), '```'].join('\n'), structured: { ...answer } };
    },
  };
  return [find, call];
}

/** Returns the operation with a name. Throws `invalid_value` if it does not exist. */
function found<T>(known: ReadonlyMap<string, T>, name: string): T {
  const one = known.get(name);
  if (one === undefined) {
    throw invalidField('operation', 'invalid_value', 'There is no such operation; `operations` lists them.');
  }
  return one;
}

/** Returns whether each word is a prefix of a word in the operation's name, path or summary. */
function isAbout({ operation, summary }: Described, operations: Operations, words: readonly string[]): boolean {
  const name = operation.replace(/[A-Z]/g, ' $&');
  const known = `${name} ${summary} ${operations.get(operation)?.path}`.toLowerCase().split(/[^\p{L}\p{N}]+/u);
  return words.every((word) => known.some((one) => one.startsWith(word)));
}

function describe({ operation, description, schema }: Described, operations: Operations) {
  const route = operations.get(operation);
  const effect = route === undefined ? undefined : effectOf([route]);
  const kind = effect?.readOnlyHint
    ? 'Reads only.'
    : effect?.destructiveHint
      ? 'Changes or deletes what is there.'
      : 'Adds.';
  const head = `# ${operation}\n\n\`${route?.method} ${route?.path}\``;
  return {
    text: paragraphs(head, description, kind, `Arguments:\n\n\`\`\`json\n${schema}\n\`\`\``),
    structured: {
      operation,
      method: route?.method,
      path: route?.path,
      scope: route?.scope,
      arguments: JSON.parse(schema),
    },
  };
}
