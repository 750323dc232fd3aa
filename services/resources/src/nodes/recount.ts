import type { CallContext } from '@commonplace/kit/rpc';
import type { Node } from '../domain/node.js';
import type { CountedNode } from './counters.js';
import type { NodeParts } from './parts.js';

/** Moves a live node to the counters of its new boundary, workspace and tags. */
export function recount(parts: NodeParts, context: Pick<CallContext, 'work'>, before: Node, after: CountedNode): void {
  if (before.state === 'active') parts.counters.move(context.work, before, after);
}
