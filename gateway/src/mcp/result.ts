import type { CallToolResult } from '@modelcontextprotocol/server';
import { cutBefore } from './answers/index.js';
import type { OperationFailed } from './api/errors.js';
import type { ToolAnswer } from './tools/tool.js';

/**
 * Converts a tool's answer to an MCP result. Text longer than `maxChars` is truncated, with a note that says so; the note
 * is there too if the text is not about all that the API has answered.
 */
export function resultOf({ text, structured }: ToolAnswer, maxChars: number, hasLeftOut = false): CallToolResult {
  const content = [{ type: 'text' as const, text: cutText(text, maxChars, hasLeftOut) }];
  if (structured === undefined) return { content };
  const isTooLong = hasLeftOut || JSON.stringify(structured).length > maxChars;
  return { content, structuredContent: isTooLong ? { truncated: true, ...idOf(structured) } : { ...structured } };
}

/** Converts an error to an MCP result, so that the model can read it and correct its call. */
export function errorResultOf({ error, requestId, retryAfter }: OperationFailed): CallToolResult {
  const faults = Array.isArray(error.details) ? (error.details as { param: string; message: string }[]) : [];
  const lines = [
    `Error \`${error.code}\`: ${error.message}`,
    ...(faults.length > 1 ? faults.map(({ param, message }) => `- \`${param}\`: ${message}`) : []),
    ...(retryAfter === undefined ? [] : [`Try again after ${retryAfter} s.`]),
    `Request id: ${requestId}`,
  ];
  const structuredContent = { error: { ...error }, request_id: requestId };
  return { content: [{ type: 'text', text: lines.join('\n') }], structuredContent, isError: true };
}

function idOf(structured: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { request_id: id, page } = structured;
  return { ...(id === undefined ? {} : { request_id: id }), ...(page === undefined ? {} : { page }) };
}

function cutText(text: string, maxChars: number, hasLeftOut: boolean): string {
  if (text.length <= maxChars && !hasLeftOut) return text;
  const end = cutBefore(text, Math.min(maxChars, text.length));
  const shown = hasLeftOut ? `only the first ${end}` : `${end} of ${text.length}`;
  const note = `[Cut: ${shown} characters are shown. Ask for less: a smaller \`limit\`, fewer \`fields\`, or the next part.]`;
  return `${text.slice(0, end)}\n\n${note}`;
}
