import type { Actor } from '@commonplace/kit/auth';
import type { CallContext } from '@commonplace/kit/rpc';
import type { Parts } from '../parts.js';

/** Who changed a record, and when. */
interface Change {
  readonly updatedBy: Actor;
  readonly updatedAt: string;
}

/** Returns the fields of a record that the caller changes now. */
export function changedNow({ now }: Pick<Parts, 'now'>, { actor }: Pick<CallContext, 'actor'>): Change {
  return { updatedBy: actor, updatedAt: now() };
}
