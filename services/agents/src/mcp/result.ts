import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client';
import { isTextTooDeep, isTooDeep, MAX_NESTING } from '../domain/nesting.js';
import type { TaintSource } from '../domain/taint.js';
import { firstBytes } from '../domain/utf8.js';
import type { McpServerRecord } from '../stores/mcp-servers.js';
import { MAX_RESULT_IMAGES } from './limits.js';
import { cleanText } from './tool-list.js';

/** Returns the taint of everything that a server sends, which no person of the tenant has written. */
export const taintOf = ({ name, url }: Pick<McpServerRecord, 'name' | 'url'>): TaintSource => ({
  type: 'mcp',
  id: url,
  name,
});

/** Returns the text of a result for the model, without invisible characters, cut to `maxBytes`. */
export function resultText({ content, structuredContent }: CallToolResult, maxBytes: number): string {
  const blocks = content.map(blockText).filter((text) => text !== '');
  // Servers repeat structured content as text for clients that do not support it.
  const isRepeated = content.some((block) => block.type === 'text' && isJson(block.text));
  if (structuredContent !== undefined && !isRepeated) blocks.push(structuredText(structuredContent));
  const text = cleanText(blocks.join('\n\n'));
  return text === '' ? 'The tool has returned nothing.' : cut(text, maxBytes);
}

function structuredText(content: unknown): string {
  if (isTooDeep(content)) return `[structured content that is nested more than ${MAX_NESTING} levels deep]`;
  return JSON.stringify(content, null, 2);
}

/** An image of a result. */
export interface McpImage {
  /** The name of the stored file. */
  readonly name: string;
  readonly mimeType: string;
  /** Base64. */
  readonly data: string;
}

/** The image types that are stored, with their file extensions. None of them can contain scripts. */
const IMAGE_TYPES: ReadonlyMap<string, string> = new Map([
  ['image/png', 'png'],
  ['image/jpeg', 'jpg'],
  ['image/gif', 'gif'],
  ['image/webp', 'webp'],
]);

/** Returns the images of a result that can be stored, at most `MAX_RESULT_IMAGES`; the text mentions the others. */
export function resultImages({ content }: CallToolResult, toolName: string): McpImage[] {
  const stem = toolName.replaceAll(/[^A-Za-z0-9_-]+/g, '-');
  const images = content.flatMap((block) => {
    const ending = block.type === 'image' ? IMAGE_TYPES.get(block.mimeType.toLowerCase()) : undefined;
    return block.type === 'image' && ending !== undefined ? [{ block, ending }] : [];
  });
  return images.slice(0, MAX_RESULT_IMAGES).map(({ block: { mimeType, data }, ending }, at) => ({
    ...{ name: `${stem}-${at + 1}.${ending}`, mimeType: mimeType.toLowerCase(), data },
  }));
}

function blockText(block: ContentBlock): string {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'image':
    case 'audio':
      return `[${block.type} of the type ${block.mimeType}, ${kilobytes(block.data)} KB]`;
    case 'resource_link':
      return `[${block.title ?? block.name}](${block.uri})${block.description ? `: ${block.description}` : ''}`;
    case 'resource': {
      const { resource } = block;
      if ('text' in resource) return `${resource.uri}:\n${resource.text}`;
      return `[${resource.uri} of the type ${resource.mimeType ?? 'unknown'}, which is not passed on]`;
    }
    default:
      return '';
  }
}

const kilobytes = (base64: string): number => Math.ceil((base64.length * 3) / 4 / 1000);

function isJson(text: string): boolean {
  if (!/^\s*[[{]/.test(text) || isTextTooDeep(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Cuts a text to `maxBytes` bytes of UTF-8, and appends a note. */
function cut(text: string, maxBytes: number): string {
  const first = firstBytes(text, maxBytes);
  if (first === text) return text;
  const [all, shown] = [Buffer.byteLength(text), Buffer.byteLength(first)];
  return `${first}\n\n[cut: the result has ${all} bytes, of which ${shown} are shown]`;
}
