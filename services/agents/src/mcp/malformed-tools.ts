import type { Tool as ServerTool, Transport } from '@modelcontextprotocol/client';
import { loadLibrary } from './library.js';
import { refusalOf } from './tool-list.js';

/**
 * Takes malformed tools out of the lists that a connected transport delivers from now on, because the library refuses a
 * whole list for one of them. Returns the reasons, which grow as lists arrive.
 */
export async function withoutMalformedTools(transport: Transport): Promise<readonly string[]> {
  const { isSpecType } = await loadLibrary();
  const malformed: string[] = [];
  const deliver = transport.onmessage;
  transport.onmessage = (message, extra) => {
    const { result } = message as { readonly result?: { readonly tools?: unknown } };
    if (!Array.isArray(result?.tools)) return deliver?.(message, extra);
    const tools = result.tools.map(usedPart).filter((tool, i): tool is ServerTool => {
      if (isSpecType.Tool(tool) && isNameOrNone(tool.inputSchema.$schema)) return true;
      malformed.push(refusalOf(nameOf(tool, i), 'its definition does not follow the protocol'));
      return false;
    });
    return deliver?.({ ...message, result: { ...result, tools } } as typeof message, extra);
  };
  return malformed;
}

/** Returns what is used of a tool. Faults elsewhere, for instance in its icons, do not matter. */
function usedPart(tool: unknown): unknown {
  if (typeof tool !== 'object' || tool === null) return tool;
  const { name, title, description, inputSchema, annotations } = tool as Partial<Record<keyof ServerTool, unknown>>;
  return Object.fromEntries(
    Object.entries({ name, title, description, inputSchema, annotations }).filter(([, value]) => value !== undefined),
  );
}

/** The revision of 2026-07-28 demands that `$schema` is a text, which the check of all revisions leaves open. */
const isNameOrNone = (value: unknown): boolean => value === undefined || typeof value === 'string';

function nameOf(tool: unknown, index: number): string {
  const { name } = (tool ?? {}) as { readonly name?: unknown };
  return typeof name === 'string' && name !== '' ? name : `tool ${index + 1} of the list`;
}
