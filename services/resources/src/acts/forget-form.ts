import { newId } from '@commonplace/kit/id';
import type { UnitOfWork } from '@commonplace/kit/store';
import type { Parts } from '../parts.js';
import { type FormRecord, formOf } from '../stores/forms.js';
import type { Node } from '../stores/nodes.js';

/** Submissions and claims that go in one unit of work. */
const MOST_AT_ONCE = 500;

/** Takes a form away with what was noted of its submissions, by a job where that is much; the rows stay. */
export async function removeForm(parts: Parts, work: UnitOfWork, form: FormRecord, workspaceId: string): Promise<void> {
  work.remove(parts.forms.forms, form);
  await parts.forms.deliveries.forget(work, form.id);
  const tally = await parts.forms.tallies.get(form.id);
  if (tally === undefined) return;
  work.remove(parts.forms.tallies, tally);
  if (await removeSubmissions(parts, work, form.id)) return;
  const now = new Date().toISOString();
  work.insert(parts.jobs, {
    id: newId(),
    tenant: form.tenant,
    headId: form.id,
    workspaceIds: [workspaceId],
    kind: 'unform',
    sweep: true,
    actor: { type: 'system', id: 'resources', name: 'Forms' },
    createdAt: now,
    leaseUntil: now,
  });
}

/** The same for the tables among nodes that are purged. */
export async function forgetForms(parts: Parts, work: UnitOfWork, nodes: readonly Node[]): Promise<void> {
  for (const { id, workspaceId } of nodes.filter(({ form }) => form !== undefined)) {
    const form = await formOf(parts.forms, id);
    if (form !== undefined) await removeForm(parts, work, form, workspaceId);
  }
}

/** Adds the removal of some submissions to a unit of work. Gives whether that is all. */
export async function removeSubmissions({ forms }: Parts, work: UnitOfWork, formId: string): Promise<boolean> {
  const submissions = await forms.submissions.find({ where: { formId }, sort: ['number'], limit: MOST_AT_ONCE });
  for (const submission of submissions) work.remove(forms.submissions, submission);
  const claims = await forms.claims.find({ where: { formId }, limit: MOST_AT_ONCE });
  for (const claim of claims) work.remove(forms.claims, claim);
  return submissions.length < MOST_AT_ONCE && claims.length < MOST_AT_ONCE;
}
