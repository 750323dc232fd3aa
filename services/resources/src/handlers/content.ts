import { invalidField } from '@commonplace/kit/errors';
import { type Handlers, requireVersion } from '@commonplace/kit/rpc';
import {
  ArtifactType,
  type Content,
  ContentFormat,
  type ContentService,
  type ReplaceContentRequest,
} from '@commonplace/proto/resources/v1/content_service.js';
import { parseMarkdown, readText, requireDocument } from '../acts/content.js';
import { writeText } from '../acts/update.js';
import { UnsupportedFormat } from '../errors.js';
import type { Parts } from '../parts.js';
import { requireCapability, requireWritable } from '../policy.js';
import { countWords } from '../stores/contents.js';
import type { Node } from '../stores/nodes.js';
import { actorMessage, TYPES } from './present.js';

export function createContentHandlers(parts: Parts): Handlers<ContentService> {
  const { policy } = parts;
  return {
    async getContent(request, context) {
      const standing = await policy.standing(context);
      const { node } = await policy.see(request.resourceId, standing);
      requireDocument(node.type);
      requireFormat(request.format);
      return contentMessage(node, await readText(parts, node));
    },

    async replaceContent(request, context) {
      const standing = await policy.standing(context);
      const seen = await policy.see(request.resourceId, standing);
      requireCapability(seen, 'write');
      requireDocument(seen.node.type);
      requireFormat(request.format);
      const text = textOf(request);
      requireWritable(seen);
      requireVersion(context, seen.node.contentVersion, seen.node);
      const { node, changed } = await writeText(parts, seen.node, text, context);
      return { ...contentMessage(node, text), replacedVersion: seen.node.contentVersion, changed };
    },
  };
}

function requireFormat(format: ContentFormat): void {
  if (format !== ContentFormat.UNSPECIFIED && format !== ContentFormat.MARKDOWN) {
    throw UnsupportedFormat({ formats: 'markdown' });
  }
}

/** The Markdown that a write brings, under one of its names. */
function textOf(request: ReplaceContentRequest): string {
  const text = parseMarkdown(request.content);
  if (text !== undefined && request.markdown !== undefined) {
    throw invalidField('markdown', 'conflicting_alias', 'content and markdown mean the same: send one of them.');
  }
  const given = text ?? request.markdown;
  if (given === undefined) throw invalidField('content', 'missing_field', 'content is required.');
  return given;
}

function contentMessage(node: Node, text: string): Content {
  return {
    resourceId: node.id,
    type: TYPES[node.type],
    format: ContentFormat.MARKDOWN,
    version: node.contentVersion,
    etag: `"v${node.contentVersion}"`,
    updatedAt: node.updatedAt,
    updatedBy: actorMessage(node.updatedBy),
    content: Buffer.from(JSON.stringify(text)),
    wordCount: countWords(text),
    truncated: false,
    replacedVersion: undefined,
    snapshotId: undefined,
    changed: undefined,
    columns: Buffer.alloc(0),
    rows: Buffer.alloc(0),
    page: undefined,
    artifactType: ArtifactType.UNSPECIFIED,
    assets: [],
  };
}
