import { invalidField } from '@commonplace/kit/errors';
import { requireKind } from '../content/kinds.js';
import type { Parts } from '../parts.js';
import type { Node } from '../stores/nodes.js';

/** A node's text, of a document its Markdown; empty where there is none. Nothing of it is hidden from anybody. */
export function readText(parts: Pick<Parts, 'kinds'>, node: Node): Promise<string> {
  return requireKind(parts.kinds, node.type).text(node);
}

/** JSON text of a resource's metadata within its limit; undefined where there is none. */
export function parseMetadata(json: Buffer, limit: number): string | undefined {
  if (json.length === 0) return undefined;
  if (json.length > limit) {
    throw invalidField('metadata', 'invalid_value', `metadata has ${limit} bytes at the most.`);
  }
  return json.toString();
}
