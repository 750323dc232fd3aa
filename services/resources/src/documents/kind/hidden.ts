import type { CallContext } from '@commonplace/kit/rpc';
import type { Tree } from '../../nodes/tree.js';
import type { AccessSubject, Policy } from '../../policy.js';
import { resolveEscapes } from '../escapes.js';
import { idsIn } from '../ids-in.js';

/** Finds the resources named in a text that must not be disclosed to its reader. */
export interface Hidden {
  /**
   * Returns ids of existing resources that the caller cannot access. Most texts name no resource, which costs nothing.
   */
  from(subject: AccessSubject, text: string): Promise<string[]>;
  /** Does the same as `from` for the caller of a request. */
  in(context: CallContext, text: string): Promise<string[]>;
}

/** Ids that are looked up in one query. */
const BATCH = 1000;

export function createHidden({ tree, policy }: { readonly tree: Tree; readonly policy: Policy }): Hidden {
  /** Looks up every id of a text: parsing the text to find the real references would cost far more. */
  async function hiddenAmong(ids: readonly string[], subject: AccessSubject): Promise<string[]> {
    const hidden: string[] = [];
    for (let at = 0; at < ids.length; at += BATCH) {
      const nodes = await tree.getMany(ids.slice(at, at + BATCH));
      const access = await policy.accessToAll(nodes, subject);
      hidden.push(...nodes.filter((_, i) => access[i] === undefined).map(({ id }) => id));
    }
    return hidden;
  }

  return {
    from: (subject, text) => hiddenAmong(namedIn(text), subject),
    async in(context, text) {
      const ids = namedIn(text);
      return ids.length === 0 ? [] : hiddenAmong(ids, await policy.subject(context));
    },
  };
}

/** Returns the ids that a text may refer to, as they are and with escapes resolved. */
export function namedIn(text: string): string[] {
  const resolved = resolveEscapes(text);
  const readings = resolved === text ? [text] : [text, resolved];
  return [...new Set(readings.flatMap((reading) => (reading.includes('resource') ? idsIn(reading) : [])))];
}
