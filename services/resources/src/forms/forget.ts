import { newId } from '@commonplace/kit/id';
import type { UnitOfWork } from '@commonplace/kit/store';
import type { Node } from '../domain/node.js';
import type { FormParts } from './parts.js';
import { type FormRecord, formOf } from './records.js';

/** Maximum number of submissions, and of claims, that one unit of work deletes. */
const MAX_PER_UNIT_OF_WORK = 500;

/** Deletes a form with its submission records and deliveries, by a job if there are many; the rows of the table remain. */
export async function removeForm(
  parts: FormParts,
  work: UnitOfWork,
  form: FormRecord,
  workspaceId: string,
): Promise<void> {
  work.remove(parts.forms.forms, form);
  const tally = await parts.forms.tallies.get(form.id);
  if (tally !== undefined) work.remove(parts.forms.tallies, tally);
  if (await removeTraces(parts, work, form.id)) return;
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

/** Deletes the forms of those purged nodes that are tables. */
export async function forgetForms(parts: FormParts, work: UnitOfWork, nodes: readonly Node[]): Promise<void> {
  for (const { id, workspaceId } of nodes.filter(({ form }) => form !== undefined)) {
    const form = await formOf(parts.forms, id);
    if (form !== undefined) await removeForm(parts, work, form, workspaceId);
  }
}

/** Adds the deletion of some submissions and deliveries to a unit of work. Returns whether none are left. */
export async function removeTraces({ forms }: FormParts, work: UnitOfWork, formId: string): Promise<boolean> {
  const isForgotten = await forms.deliveries.forget(work, formId);
  const submissions = await forms.submissions.find({
    where: { formId },
    sort: ['number'],
    limit: MAX_PER_UNIT_OF_WORK,
  });
  for (const submission of submissions) work.remove(forms.submissions, submission);
  const claims = await forms.claims.find({ where: { formId }, limit: MAX_PER_UNIT_OF_WORK });
  for (const claim of claims) work.remove(forms.claims, claim);
  return isForgotten && submissions.length < MAX_PER_UNIT_OF_WORK && claims.length < MAX_PER_UNIT_OF_WORK;
}
