import type { CallContext } from '@commonplace/kit/rpc';
import type { Template } from './records.js';

/** Publishes that a template was created or deleted, or that its status or fields changed. */
export function publishTemplate(
  context: Pick<CallContext, 'work' | 'event'>,
  verb: 'created' | 'updated' | 'deleted',
  { id, orgId, scope, status, version, tenant }: Template,
): void {
  const data = { templateId: id, ...(orgId !== null && { orgId }), scope, status, version };
  context.work.publish(context.event(`template.${verb}`, id, data, tenant));
}
