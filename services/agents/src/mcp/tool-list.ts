import { NotFound } from '@commonplace/kit/errors';
import type { Tool as ServerTool } from '@modelcontextprotocol/client';
import { hashJson } from '../domain/hash-json.js';
import { visible } from '../domain/passage.js';
import type { McpServerRecord, McpToolRecord } from '../stores/mcp-servers.js';
import { MAX_DESCRIPTION, MAX_SERVER_TOOL_NAME, MAX_TOOLS_BYTES } from './limits.js';
import { readSchema, SchemaRefused } from './schema.js';

/** The usable tools of a server, and the reasons why others are not used. */
interface ToolList {
  readonly tools: readonly McpToolRecord[];
  readonly refused: readonly string[];
}

/** Reads the listed tools of a server: the first of equal names, and at most `limit` tools. */
export function readTools(listed: readonly ServerTool[], limit: number): ToolList {
  const tools = new Map<string, McpToolRecord>();
  const refused: string[] = [];
  let bytes = 0;
  for (const tool of listed) {
    const name = tool.name;
    const refuse = (why: string) => refused.push(refusalOf(name, why));
    try {
      const read = readTool(tool);
      const size = Buffer.byteLength(JSON.stringify(read));
      if (tools.has(name)) refuse('its name is listed twice');
      else if (tools.size >= limit) refuse(`the server has more than ${limit} tools`);
      else if (bytes + size > MAX_TOOLS_BYTES) refuse('the tools of the server are too long together');
      else {
        tools.set(name, read);
        bytes += size;
      }
    } catch (error) {
      if (!(error instanceof SchemaRefused)) throw error;
      refuse(error.message);
    }
  }
  const sorted = [...tools.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  return { tools: sorted, refused };
}

/** Returns why a tool is not used, after the visible part of its name. */
export const refusalOf = (name: string, why: string): string =>
  `${visible(name).slice(0, MAX_SERVER_TOOL_NAME)}: ${why}`;

function readTool({ name, title, description = '', inputSchema, annotations }: ServerTool): McpToolRecord {
  if (name === '' || name.length > MAX_SERVER_TOOL_NAME || visible(name) !== name) {
    throw new SchemaRefused('its name is empty, too long, or has invisible characters');
  }
  const text = cleanText(description === '' ? (title ?? '') : description);
  return {
    name,
    description: [...text].slice(0, MAX_DESCRIPTION).join(''),
    inputSchema: readSchema(inputSchema),
    annotations: annotationsOf(annotations),
    hash: hashJson({ description, inputSchema }),
  };
}

/** Removes the parts of a text that people do not see: invisible characters and HTML comments. */
export function cleanText(text: string): string {
  return visible(withoutComments(text)).trim();
}

function withoutComments(text: string): string {
  let kept = '';
  for (let from = 0; ; ) {
    const start = text.indexOf('<!--', from);
    if (start < 0) return kept + text.slice(from);
    kept += text.slice(from, start);
    const end = text.indexOf('-->', start + 4);
    if (end < 0) return kept;
    from = end + 3;
  }
}

/** Returns the hints that the protocol defines, and drops everything else. */
function annotationsOf(given: ServerTool['annotations'] = {}): Record<string, unknown> {
  const hints = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const;
  return Object.fromEntries(hints.flatMap((hint) => (typeof given[hint] === 'boolean' ? [[hint, given[hint]]] : [])));
}

type Lists = Pick<McpServerRecord, 'tools' | 'heldTools' | 'goneTools' | 'hasAccepted'>;

/**
 * Compares a list with the accepted tools. The first list is accepted as it is. After that, new and changed tools are
 * held back, so that a server cannot replace a trusted tool by another one.
 */
export function compareTools(before: Lists, listed: readonly McpToolRecord[]): Lists {
  if (!before.hasAccepted) return { tools: listed, heldTools: [], goneTools: [], hasAccepted: true };
  const hashes = new Map(before.tools.map(({ name, hash }) => [name, hash]));
  const names = new Set(listed.map(({ name }) => name));
  return {
    tools: before.tools,
    heldTools: listed.filter(({ name, hash }) => hashes.get(name) !== hash),
    goneTools: before.tools.map(({ name }) => name).filter((name) => !names.has(name)),
    hasAccepted: true,
  };
}

/**
 * Accepts held tools and removals of tools: those with the given names, or all. Throws `NotFound` for a name that no tool
 * has. Before the first list there is nothing to accept, and it is accepted as it is.
 */
export function acceptTools(before: Lists, names: readonly string[] | 'all'): Lists {
  if (names !== 'all') requireTools(before, names);
  const isMeant = (name: string) => names === 'all' || names.includes(name);
  const accepted = before.heldTools.filter(({ name }) => isMeant(name));
  const replaced = new Set([...accepted.map(({ name }) => name), ...before.goneTools.filter(isMeant)]);
  const tools = [...before.tools.filter(({ name }) => !replaced.has(name)), ...accepted];
  return {
    tools: tools.sort((a, b) => (a.name < b.name ? -1 : 1)),
    heldTools: before.heldTools.filter(({ name }) => !isMeant(name)),
    goneTools: before.goneTools.filter((name) => !isMeant(name)),
    hasAccepted: before.hasAccepted,
  };
}

function requireTools({ tools, heldTools }: Lists, names: readonly string[]): void {
  const known = new Set([...tools, ...heldTools].map(({ name }) => name));
  const unknown = names.findIndex((name) => !known.has(name));
  if (unknown >= 0) throw NotFound({}, { param: `accept_tools[${unknown}]` });
}

/** Returns the tools that can be called: accepted, unchanged in the latest list, and allowed by the owner. */
export function usableTools(server: McpServerRecord): McpToolRecord[] {
  const { allowedTools, blockedTools } = server;
  const held = new Set([...server.heldTools.map(({ name }) => name), ...server.goneTools]);
  return server.tools.filter(
    ({ name }) =>
      !held.has(name) && !blockedTools.includes(name) && (allowedTools === undefined || allowedTools.includes(name)),
  );
}

type ToolChange = 'new' | 'changed' | 'removed';

/** Returns the changes of tools that the owner has to accept, with their differing lines. */
export function pendingTools({ tools, heldTools, goneTools }: Lists) {
  const accepted = new Map(tools.map((tool) => [tool.name, tool]));
  const held = heldTools.map((tool) => {
    const before = accepted.get(tool.name);
    const change: ToolChange = before === undefined ? 'new' : 'changed';
    return { name: tool.name, change, diff: diffOf(before, tool) };
  });
  const gone = goneTools.map((name) => ({ name, change: 'removed' as ToolChange, diff: diffOf(accepted.get(name)) }));
  return [...held, ...gone].sort((a, b) => (a.name < b.name ? -1 : 1));
}

const MAX_DIFF_LINES = 400;

/** Returns the differing lines of two descriptions, removed lines before added ones. */
function diffOf(before?: McpToolRecord, after?: McpToolRecord): string {
  const [old, now] = [linesOf(before), linesOf(after)];
  const gone = missingIn(now, old).map((line) => `- ${line}`);
  const added = missingIn(old, now).map((line) => `+ ${line}`);
  const lines = [...gone, ...added];
  if (lines.length === 0) return 'Only text that people do not see has changed.';
  const more = lines.length - MAX_DIFF_LINES;
  return [...lines.slice(0, MAX_DIFF_LINES), ...(more > 0 ? [`… ${more} more lines`] : [])].join('\n');
}

function linesOf(tool: McpToolRecord | undefined): string[] {
  if (tool === undefined) return [];
  return [...tool.description.split('\n'), ...JSON.stringify(tool.inputSchema, null, 2).split('\n')];
}

/** Returns the lines that `others` does not contain, or contains less often. */
function missingIn(others: readonly string[], lines: readonly string[]): string[] {
  const left = new Map<string, number>();
  for (const line of others) left.set(line, (left.get(line) ?? 0) + 1);
  return lines.filter((line) => {
    const count = left.get(line) ?? 0;
    left.set(line, count - 1);
    return count <= 0;
  });
}
