import { LRUCache } from 'lru-cache';
import type { Node } from '../domain/node.js';
import type { FormRecord } from './records.js';

/** A form with its table. */
export interface FoundForm {
  readonly form: FormRecord;
  readonly node: Node;
}

/**
 * Caches forms by their public tokens. A cached form may be stale, so it never decides the response to a caller: a
 * submission validated against it is accepted only if its batch finds the form unchanged.
 */
export interface KnownForms {
  /** Returns the form that a token opened last. */
  get(token: string): FoundForm | undefined;
  /** Records the form that a token opens now. */
  opened(token: string, found: FoundForm): void;
  /** Updates a form and its table, if they are cached. */
  seen(found: FoundForm): void;
}

/** Number of cached forms; one may have a configuration of a hundred kilobytes. */
const MAX_CACHED_FORMS = 200;

export function createKnownForms(): KnownForms {
  const byToken = new LRUCache<string, { readonly formId: string; readonly hash: string }>({ max: MAX_CACHED_FORMS });
  const byId = new LRUCache<string, FoundForm>({ max: MAX_CACHED_FORMS });
  return {
    get(token) {
      const opened = byToken.get(token);
      const found = opened && byId.get(opened.formId);
      // After a rotation of the form's token, this token no longer opens it.
      return found?.form.tokenHash === opened?.hash ? found : undefined;
    },
    opened(token, found) {
      byToken.set(token, { formId: found.form.id, hash: found.form.tokenHash });
      byId.set(found.form.id, found);
    },
    seen(found) {
      if (byId.has(found.form.id)) byId.set(found.form.id, found);
    },
  };
}

/** Returns whether what was validated against a cached form is valid for the current one. */
export function isUnchanged(known: FoundForm, { form, node }: FoundForm): boolean {
  return (
    known.form.version === form.version &&
    known.node.workspaceId === node.workspaceId &&
    known.node.orgId === node.orgId &&
    known.node.tenant === node.tenant
  );
}
