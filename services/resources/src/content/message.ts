import type { Actor } from '@commonplace/kit/auth';
import { actorMessage } from '@commonplace/platform/actors';
import { ArtifactType, type Content, ContentFormat } from '@commonplace/proto/resources/v1/content_service.js';
import type { Node } from '../domain/node.js';
import { TYPES } from '../wire.js';
import type { Payload } from './kind.js';

const NOTHING = Buffer.alloc(0);

/** Returns who last wrote a node's content, and when. */
export function lastWrite(node: Omit<Node, 'version'>): { updatedAt: string; updatedBy: Actor } {
  return {
    updatedAt: node.written?.at ?? node.createdAt,
    updatedBy: node.written?.by ?? node.createdBy,
  };
}

/** Returns the payload as message fields, with defaults for the fields of other kinds. */
export function payloadMessage(payload: Payload) {
  return {
    format: payload.format ?? ContentFormat.UNSPECIFIED,
    content: payload.content ?? NOTHING,
    wordCount: payload.wordCount,
    columns: payload.columns ?? NOTHING,
    rows: payload.rows ?? NOTHING,
    rowCount: payload.rowCount,
    primaryColumnId: payload.primaryColumnId,
    page: payload.page,
    artifactType: payload.artifactType ?? ArtifactType.UNSPECIFIED,
    language: payload.language,
    source: payload.source,
    title: payload.title,
    entry: payload.entry,
    assets: payload.assets ?? [],
    text: payload.text,
    textExtraction: payload.textExtraction,
  };
}

/** Returns a node's current or former content as a response message. */
export function contentMessage(node: Node, payload: Payload): Content {
  const { updatedAt, updatedBy } = lastWrite(node);
  return {
    resourceId: node.id,
    type: TYPES[node.type],
    version: node.contentVersion,
    etag: `"v${node.contentVersion}"`,
    updatedAt,
    updatedBy: actorMessage(updatedBy),
    truncated: false,
    replacedVersion: undefined,
    snapshotId: undefined,
    changed: undefined,
    ...payloadMessage(payload),
  };
}
