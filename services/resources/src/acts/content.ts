import { AppError, invalidField } from '@commonplace/kit/errors';
import { ContentNotSupported, UnsupportedFormat } from '../errors.js';
import type { Parts } from '../parts.js';
import type { StoredContent } from '../stores/contents.js';
import type { Node, NodeType } from '../stores/nodes.js';

/** Reads the Markdown that a request gives as free-form JSON; undefined where it gives none. */
export function parseMarkdown(json: Buffer): string | undefined {
  if (json.length === 0) return undefined;
  const value: unknown = JSON.parse(json.toString());
  if (typeof value !== 'string') throw UnsupportedFormat({ formats: 'markdown' });
  return value;
}

/** Refuses a document that is too large. */
export function requireSize(text: string, limit: number, param: string): number {
  const bytes = Buffer.byteLength(text);
  if (bytes > limit) {
    throw new AppError('INVALID_ARGUMENT', 'payload_too_large', `A document has ${limit} bytes at the most.`, {
      param,
      details: { limit, bytes, setting: 'COMMONPLACE_DOCUMENT_BYTES' },
    });
  }
  return bytes;
}

/** Refuses content for what holds none of this kind. */
export function requireDocument(type: NodeType): void {
  if (type !== 'document') throw ContentNotSupported({ type });
}

/** A document's text; empty until something is written. */
export async function readText(parts: Parts, node: Node): Promise<string> {
  return (await parts.contents.get(node.id))?.text ?? '';
}

/** The record of a document's text. */
export function contentRecord(node: Omit<Node, 'version'>, text: string): Omit<StoredContent, 'version'> {
  return {
    id: node.id,
    tenant: node.tenant,
    format: 'markdown',
    text,
    updatedAt: node.updatedAt,
    updatedBy: node.updatedBy,
  };
}

/** JSON text of a resource's metadata within its limit; undefined where there is none. */
export function parseMetadata(json: Buffer, limit: number): string | undefined {
  if (json.length === 0) return undefined;
  if (json.length > limit) {
    throw invalidField('metadata', 'invalid_value', `metadata has ${limit} bytes at the most.`);
  }
  return json.toString();
}
