import { LRUCache } from 'lru-cache';
import type { FormRecord } from '../stores/forms.js';
import type { Node } from '../stores/nodes.js';

/** A form with its table. */
export interface FoundForm {
  readonly form: FormRecord;
  readonly node: Node;
}

/**
 * Forms as they were seen last, by their public tokens. They may be others by now, so that nobody is refused or
 * answered by them: what is checked against one goes on only where the batch that it joins finds it unchanged.
 */
export interface KnownForms {
  /** The form that a token opened last. */
  get(token: string): FoundForm | undefined;
  /** Notes what a token opens now. */
  opened(token: string, found: FoundForm): void;
  /** Notes how a form and its table are now, where they are known. */
  seen(found: FoundForm): void;
}

/** A form may have a hundred kilobytes of configuration. */
const KNOWN_FORMS = 200;

export function createKnownForms(): KnownForms {
  const byToken = new LRUCache<string, { readonly formId: string; readonly hash: string }>({ max: KNOWN_FORMS });
  const byId = new LRUCache<string, FoundForm>({ max: KNOWN_FORMS });
  return {
    get(token) {
      const opened = byToken.get(token);
      const found = opened && byId.get(opened.formId);
      // Where its token has been rotated, this one opens it no more.
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

/** Whether what was checked against a form as it was known holds for it as it is. */
export function isUnchanged(known: FoundForm, { form, node }: FoundForm): boolean {
  return (
    known.form.version === form.version &&
    known.node.workspaceId === node.workspaceId &&
    known.node.orgId === node.orgId &&
    known.node.tenant === node.tenant
  );
}
