import type { Caller } from '@commonplace/kit/auth';
import { AppError, invalidFields } from '@commonplace/kit/errors';
import { fingerprint, newId } from '@commonplace/kit/id';
import type { CallContext, CallOptions } from '@commonplace/kit/rpc';
import { CreateFileRequest } from '@commonplace/proto/files/v1/file_service.js';
import { parentId } from '../domain/node.js';
import { type FileAttempt, fileOperation } from './attempts.js';
import type { FileAnswer } from './file-answers.js';
import type { FoundForm } from './known.js';
import type { FormParts } from './parts.js';
import type { Answers } from './values.js';

/** Returns answers with an id for each file, by which a row can be checked before the files are stored. */
export function withPlaceholders(answers: Answers): Answers {
  const cells = { ...answers.cells };
  for (const { field, answers: files } of answers.files) {
    if (field.column !== undefined) cells[field.column.id] = files.map(() => newId());
  }
  return { ...answers, cells };
}

/** Throws unless the respondent can read the existing files that answers name. */
export async function requireReadableFiles(
  parts: FormParts,
  { files }: Answers,
  caller: Caller | undefined,
  context: CallContext,
): Promise<void> {
  for (const { field, answers } of files) {
    for (const file of answers) {
      if ('fileId' in file) await requireReadable(parts, file.fileId, field.id, caller, context);
    }
  }
}

/** Returns how many files `storeFiles` creates. */
export function countNewFiles({ files }: Answers): number {
  return files.flatMap(({ answers }) => answers).filter((file) => 'bytes' in file).length;
}

/**
 * Stores the files of a submission as siblings of the table, on behalf of the form's creator, so that the respondent
 * needs no access to the workspace.
 */
export async function storeFiles(
  parts: FormParts,
  found: FoundForm,
  answers: Answers,
  attempt: FileAttempt,
  context: CallContext,
): Promise<Answers> {
  const values = { ...answers.values };
  const cells = { ...answers.cells };
  let options: CallOptions | undefined;
  let created = 0;
  for (const { field, answers: files } of answers.files) {
    const ids: string[] = [];
    for (const file of files) {
      if ('fileId' in file) ids.push(file.fileId);
      else {
        options ??= await asOwner(parts, found, context);
        ids.push(await store(parts, found, file, fileOperation(attempt.id, created++), options));
      }
    }
    values[field.id] = ids;
    if (field.column !== undefined) cells[field.column.id] = ids;
  }
  return { ...answers, values, cells };
}

async function requireReadable(
  { policy }: FormParts,
  id: string,
  fieldId: string,
  caller: Caller | undefined,
  context: CallContext,
): Promise<void> {
  const unknown = () =>
    invalidFields([{ param: `values.${fieldId}`, code: 'invalid_value', message: `There is no file ${id}.` }]);
  if (caller === undefined || caller.userId === '') throw unknown();
  const seen = await policy.see(id, await policy.subject(context)).catch((error) => {
    throw error instanceof AppError ? unknown() : error;
  });
  if (seen.node.type !== 'file') throw unknown();
}

/** Returns the options for calls made as the person who created the form. */
async function asOwner({ peers }: FormParts, { form, node }: FoundForm, context: CallContext): Promise<CallOptions> {
  const { onward } = context;
  const scopes = ['file:write', 'resource:write'];
  const request = {
    userId: form.createdById,
    orgId: node.orgId ?? '',
    scopes,
    agent: undefined,
    workspaceIds: [],
    automation: undefined,
    chain: [],
  };
  const { token } = await peers.users.actAs(request, onward);
  const { requestId, traceparent } = onward.metadata;
  return { metadata: { requestId, traceparent, token }, deadline: onward.deadline, signal: onward.signal };
}

async function store(
  { peers }: FormParts,
  { node }: FoundForm,
  { name, bytes }: Extract<FileAnswer, { bytes: Buffer }>,
  operation: string,
  options: CallOptions,
): Promise<string> {
  const parent = parentId(node);
  const request = CreateFileRequest.fromPartial({
    name,
    ...(parent === undefined ? { workspaceId: node.workspaceId } : { parentId: parent }),
    contentBase64: bytes.toString('base64'),
  });
  const idempotency = { id: operation, fingerprint: fingerprint(name, bytes) };
  const { resource } = await peers.files.createFile(request, {
    ...options,
    metadata: { ...options.metadata, idempotency },
  });
  if (resource === undefined) throw new Error('a created file is a resource');
  return resource.id;
}
