import { createHash } from 'node:crypto';
import type { Tool as ServerTool } from '@modelcontextprotocol/client';
import { visible } from '../domain/passage.js';
import type { McpServerRecord, McpToolRecord } from '../stores/mcp-servers.js';
import { MAX_DESCRIPTION, MAX_SERVER_TOOL_NAME, MAX_TOOLS_BYTES } from './limits.js';
import { readSchema, SchemaRefused } from './schema.js';

/** The tools of a server that can be used, and why others are not. */
export interface ToolList {
  readonly tools: readonly McpToolRecord[];
  readonly refused: readonly string[];
}

/** Reads what a server lists: the first of equal names, no more than `limit` tools. */
export function readTools(listed: readonly ServerTool[], limit: number): ToolList {
  const tools = new Map<string, McpToolRecord>();
  const refused: string[] = [];
  let bytes = 0;
  for (const tool of listed) {
    const name = tool.name;
    const refuse = (why: string) => refused.push(`${visible(name).slice(0, MAX_SERVER_TOOL_NAME)}: ${why}`);
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
    hash: createHash('sha256').update(canonicalJson({ description, inputSchema })).digest('hex'),
  };
}

/** Removes what people do not see of a text: characters without a shape, and comments of HTML. */
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

/** The hints that the protocol defines; a server could write anything else beside them. */
function annotationsOf(given: ServerTool['annotations'] = {}): Record<string, unknown> {
  const hints = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const;
  return Object.fromEntries(hints.flatMap((hint) => (typeof given[hint] === 'boolean' ? [[hint, given[hint]]] : [])));
}

/** Writes a value as JSON with sorted keys, so that the order in which a server writes them does not matter. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

type Lists = Pick<McpServerRecord, 'tools' | 'heldTools' | 'goneTools' | 'hasAccepted'>;

/**
 * Compares a list with the tools that are accepted. The first list is accepted as it is. Afterwards new and changed tools
 * are held back, so that a server cannot turn a tool that somebody trusts into another one.
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

/** Accepts tools that are held back: those with the given names, or all of them. */
export function acceptTools(before: Lists, names: readonly string[] | 'all'): Lists {
  const isMeant = (name: string) => names === 'all' || names.includes(name);
  const accepted = before.heldTools.filter(({ name }) => isMeant(name));
  const replaced = new Set([...accepted.map(({ name }) => name), ...before.goneTools.filter(isMeant)]);
  const tools = [...before.tools.filter(({ name }) => !replaced.has(name)), ...accepted];
  return {
    tools: tools.sort((a, b) => (a.name < b.name ? -1 : 1)),
    heldTools: before.heldTools.filter(({ name }) => !isMeant(name)),
    goneTools: before.goneTools.filter((name) => !isMeant(name)),
    hasAccepted: true,
  };
}

/** Returns the tools that can be called now: accepted, listed without a change, and wanted by the owner. */
export function usableTools(server: McpServerRecord): McpToolRecord[] {
  const { allowedTools, blockedTools } = server;
  const held = new Set([...server.heldTools.map(({ name }) => name), ...server.goneTools]);
  return server.tools.filter(
    ({ name }) =>
      !held.has(name) && !blockedTools.includes(name) && (allowedTools === undefined || allowedTools.includes(name)),
  );
}

export type ToolChange = 'new' | 'changed' | 'removed';

/** Returns what the owner is asked to accept, with the lines that differ. */
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

/** Returns the lines of one description that the other has not, those that are gone before those that are new. */
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

/** Returns the lines of `lines` that `others` has not, or has less often. */
function missingIn(others: readonly string[], lines: readonly string[]): string[] {
  const left = new Map<string, number>();
  for (const line of others) left.set(line, (left.get(line) ?? 0) + 1);
  return lines.filter((line) => {
    const count = left.get(line) ?? 0;
    left.set(line, count - 1);
    return count <= 0;
  });
}
