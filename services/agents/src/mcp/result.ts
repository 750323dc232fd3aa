import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client';
import type { TaintSource } from '../domain/taint.js';
import type { McpServerRecord } from '../stores/mcp-servers.js';
import { MAX_RESULT_IMAGES } from './limits.js';
import { cleanText } from './tool-list.js';

/** Returns the source of what a server has sent: no person of the tenant has written it. */
export const taintOf = ({ name, url }: Pick<McpServerRecord, 'name' | 'url'>): TaintSource => ({
  type: 'mcp',
  id: url,
  name,
});

/** Returns what a model is told of a result: its text, without what people do not see of it, cut to `maxBytes`. */
export function resultText({ content, structuredContent }: CallToolResult, maxBytes: number): string {
  const blocks = content.map(blockText).filter((text) => text !== '');
  // Servers send structured content as text as well, for clients that do not know it.
  const isRepeated = content.some((block) => block.type === 'text' && isJson(block.text));
  if (structuredContent !== undefined && !isRepeated) blocks.push(JSON.stringify(structuredContent, null, 2));
  const text = cleanText(blocks.join('\n\n'));
  return text === '' ? 'The tool has returned nothing.' : cut(text, maxBytes);
}

/** An image of a result. */
export interface McpImage {
  /** Name of the file that it becomes. */
  readonly name: string;
  readonly mimeType: string;
  /** Base64. */
  readonly data: string;
}

/** The types of images that are stored, with the endings of their files: none of them can run scripts. */
const IMAGE_TYPES: ReadonlyMap<string, string> = new Map([
  ['image/png', 'png'],
  ['image/jpeg', 'jpg'],
  ['image/gif', 'gif'],
  ['image/webp', 'webp'],
]);

/** Returns the images of a result that can be stored, at most `MAX_RESULT_IMAGES`; the rest is only named. */
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
  if (!/^\s*[[{]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Cuts a text to so many bytes of UTF-8, at the end of a character, and says so. */
function cut(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  let end = maxBytes;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return `${bytes.toString('utf8', 0, end)}\n\n[cut: the result has ${bytes.length} bytes, of which ${end} are shown]`;
}
