import type { CallContext } from '@commonplace/kit/rpc';
import { createBreathe } from '@commonplace/kit/slices';
import type { ContentKind, Diff, Payload, State } from '../content/kind.js';
import { WHOLE_CONTENT } from '../content/kind.js';
import type { Deriver } from '../documents/kind/deriver.js';
import type { Node } from '../domain/node.js';

/** Compares two states of a node's content: by the kind's own `diff`, or line by line if the kind has none. */
export async function diffStates(
  deriver: Deriver,
  kind: ContentKind,
  node: Node,
  from: State,
  to: State,
  context: CallContext,
): Promise<Diff> {
  if (kind.diff !== undefined) return kind.diff(node, from, to, context);
  const before = await textOf(kind, node, from, context);
  const after = await textOf(kind, node, to, context);
  return deriver.run(node.tenant, before.length + after.length, 'diff', before, after);
}

function read(kind: ContentKind, node: Node, state: State, context: CallContext): Promise<Payload> {
  return state === 'current'
    ? kind.read(node, WHOLE_CONTENT, context)
    : kind.readKept(node, state.snapshotId, WHOLE_CONTENT, context);
}

/** Returns the text that a state is compared by. Reading that of a large document and parsing it are turns of their own. */
async function textOf(kind: ContentKind, node: Node, state: State, context: CallContext): Promise<string> {
  const breathe = createBreathe(context.signal);
  const payload = await read(kind, node, state, context);
  await breathe();
  const text = linesOf(payload);
  await breathe();
  return text;
}

function linesOf({ content, source }: Payload): string {
  if (source !== undefined) return source;
  if (content === undefined || content.length === 0) return '';
  const value: unknown = JSON.parse(content.toString());
  return typeof value === 'string' ? value : JSON.stringify(value, undefined, 2);
}
