import type { Resource } from '@commonplace/proto/resources/v1/resource.js';
import type { Node } from '../domain/node.js';
import type { Seen } from '../policy.js';
import { resourceMessage, type Surroundings } from '../wire.js';

/** The last message of each node that was listed, as long as the node is in memory. A changed node is another object. */
const listed = new WeakMap<Node, Resource>();

/**
 * Returns the message of a node in a list. A node that has not changed since a caller with the same access has listed it
 * gets the same message, which is frozen, so the gateway need not write its JSON again.
 */
export function listedMessage(seen: Seen, around: Surroundings): Resource {
  const message = resourceMessage(seen, around);
  if (around.path ?? around.content ?? around.parent ?? around.tagRecords) return message;
  const known = listed.get(seen.node);
  if (known !== undefined && looksLike(known, message)) return known;
  listed.set(seen.node, Object.freeze(message));
  return message;
}

/** Compares what the messages of one node can differ in: the caller's access, and what is stored beside the node. */
function looksLike(one: Resource, other: Resource): boolean {
  return (
    one.childCount === other.childCount &&
    haveSameValues(one.access, other.access) &&
    haveSameValues(one.publication, other.publication) &&
    haveSameValues(one.tags, other.tags)
  );
}

function haveSameValues<T extends object>(one: T | undefined, other: T | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  const fields = Object.keys(one) as (keyof T)[];
  return fields.length === Object.keys(other).length && fields.every((field) => one[field] === other[field]);
}
