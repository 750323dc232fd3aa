import { isUuid } from '@commonplace/kit/id';
import { distinctTaints } from '../../domain/taint.js';
import type { FoundSource } from '../sources.js';
import { readingPlan, type Tool, textArgument } from './tool.js';

const search: Tool = {
  schema: {
    name: 'search',
    description: 'Finds passages of documents, tables and files by words and by meaning. Returns numbered sources.',
    parameters: {
      type: 'object',
      properties: { query: { type: 'string', description: 'What to look for.' } },
      required: ['query'],
      additionalProperties: false,
    },
  },
  async plan(args) {
    return readingPlan(`Search for ${textArgument(args, 'query')}`);
  },
  async call(args, { retrieval }) {
    const found = await retrieval.search(textArgument(args, 'query'));
    return { text: 'Nothing was found.', found, taints: taintsIn(found) };
  },
};

const read: Tool = {
  schema: {
    name: 'read',
    description: 'Reads a document, table or file from its beginning. Returns it as a numbered source.',
    parameters: {
      type: 'object',
      properties: { resource_id: { type: 'string', description: 'Id of the resource.' } },
      required: ['resource_id'],
      additionalProperties: false,
    },
  },
  async plan(args) {
    return readingPlan(`Read ${textArgument(args, 'resource_id')}`);
  },
  async call(args, { retrieval, question }) {
    const id = textArgument(args, 'resource_id').toLowerCase();
    const found = isUuid(id) ? await retrieval.read(id, question) : undefined;
    const all = found === undefined ? [] : [found];
    return { text: `There is no resource ${id}, or it has no text.`, found: all, taints: taintsIn(all) };
  },
};

const taintsIn = (found: readonly FoundSource[]) => distinctTaints(found.flatMap(({ taint }) => taint ?? []));

/** The tools that only read, by group. */
export const READING_TOOLS: ReadonlyMap<string, readonly Tool[]> = new Map([
  ['search', [search]],
  ['read', [read]],
]);
