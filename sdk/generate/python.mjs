// Writes the methods of the Python SDK: two classes per group of operations, one that waits and one for asyncio.
import { pascal, snake } from './operations.mjs';

/** Returns the text of `operations.py`. */
export function writePython(operations, header) {
  const groups = new Map();
  for (const each of operations) groups.set(each.group, [...(groups.get(each.group) ?? []), each]);
  const kinds = [
    { prefix: '', base: 'Group', transport: 'Transport', name: 'Operations' },
    { prefix: 'Async', base: 'AsyncGroup', transport: 'AsyncTransport', name: 'AsyncOperations' },
  ];
  const parts = kinds.flatMap(({ prefix, base, transport, name }) => [
    ...[...groups].map(([group, own]) => classOf(`${prefix}${pascal(group)}`, base, own, prefix !== '')),
    `class ${name}:
    """All operations of the API, by group."""

    def __init__(self, transport: ${transport}) -> None:
${[...groups.keys()].map((group) => `        self.${group} = ${prefix}${pascal(group)}(transport)`).join('\n')}
`,
  ]);
  return `${header}
from __future__ import annotations

from typing import Any, AsyncIterator, Dict, Iterator, Mapping, Optional

from typing_extensions import Unpack

from .._group import AsyncGroup, AsyncPages, Body, Group, Pages, path
from .._events import ServerEvent
from .._options import RequestOptions
from .._transport import AsyncTransport, Transport
from . import types as T


${parts.join('\n\n')}`;
}

function classOf(name, base, operations, isAsync) {
  const methods = operations.flatMap((each) =>
    each.streams ? [methodOf(each, isAsync), streamOf(each, isAsync)] : [methodOf(each, isAsync)],
  );
  return `class ${name}(${base}):\n${methods.join('\n')}`;
}

function methodOf({ method, summary, verb, output, kind, key, ...operation }, isAsync) {
  const call = `"${verb}", ${pathOf(operation)}, ${given(operation)}, request_options${!key && verb !== 'GET' ? ', keyed=False' : ''}`;
  const prefix = isAsync ? 'Async' : '';
  const waits = isAsync && kind !== 'list';
  const [answer, body] = {
    record: [`T.${output}`, `self._record(${call})`],
    bare: [`T.${output}`, `self._bare(${call})`],
    bytes: ['bytes', `self._bytes(${call})`],
    list: [`${prefix}Pages[${itemOf(output)}, T.${output}]`, `self._pages(${call})`],
  }[kind];
  return `    ${waits ? 'async ' : ''}def ${snake(method)}(${parametersOf(operation)}) -> ${answer}:
        """${summary}."""
        return ${waits ? 'await ' : ''}${body}
`;
}

/** \`get\` of a record that can be followed has \`stream\` beside it. */
function streamOf({ method, summary, ...operation }, isAsync) {
  const name = snake(method).replace(/^(get|list)/, 'stream');
  return `    def ${name}(${parametersOf(operation)}) -> ${isAsync ? 'AsyncIterator' : 'Iterator'}[ServerEvent]:
        """${summary}: as server-sent events, continued where the connection breaks."""
        return self._events(${pathOf(operation)}, ${given(operation)}, request_options)
`;
}

const items = new Map();

/** Tells the type of the items of lists, by the name of the list's schema. */
export function setItemTypes(schemas) {
  for (const [name, { properties }] of Object.entries(schemas)) {
    const reference = properties?.items?.items?.$ref;
    if (reference !== undefined) items.set(name, `T.${reference.split('/').at(-1)}`);
  }
}

/**
 * Returns the schemas with `page` in the answers of lists, where `await` finds it beside `items`. Answers of other
 * operations that share a schema with a list have none.
 */
export function withPages(schemas, operations) {
  const outputs = (ofList) => operations.filter(({ kind }) => (kind === 'list') === ofList).map(({ output }) => output);
  const others = new Set(outputs(false));
  const paged = { ...schemas };
  for (const name of new Set(outputs(true))) {
    const { properties, required = [] } = schemas[name];
    paged[name] = {
      ...schemas[name],
      properties: { ...properties, page: { $ref: '#/components/schemas/Page' } },
      required: others.has(name) ? required : [...required, 'page'],
    };
  }
  return paged;
}

const itemOf = (output) => items.get(output) ?? 'Dict[str, Any]';

function pathOf({ path, pathNames }) {
  if (pathNames.length === 0) return `"${path}"`;
  return `path("${path}", ${pathNames.map((name) => `${name}=${name}`).join(', ')})`;
}

function given({ input, inputIn }) {
  return input === undefined ? '{}' : `{"${inputIn}": ${inputIn}}`;
}

function parametersOf({ pathNames, input, inputIn }) {
  const places = ['self', ...pathNames.map((name) => `${name}: str`)];
  if (input === 'Record') places.push('body: Mapping[str, Any]');
  if (input === 'Bytes') places.push('bytes: Body');
  const fields = input === undefined || ['Record', 'Bytes'].includes(input) ? [] : [`**${inputIn}: Unpack[T.${input}]`];
  return [...places, '*', 'request_options: Optional[RequestOptions] = None', ...fields].join(', ');
}
