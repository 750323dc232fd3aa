import { AppError, invalidField } from '@commonplace/kit/errors';
import { ApprovalRemember, ApprovalStatus } from '@commonplace/proto/agents/v1/approval.js';
import type { DecideApprovalRequest } from '@commonplace/proto/agents/v1/approval_service.js';
import type { JsonSchema } from '../domain/schema-check.js';
import { ApprovalInputInvalid } from '../errors.js';
import type { SchemaChecks } from '../schemas/index.js';
import type { ApprovalRecord } from '../stores/approvals.js';
import { canBeRemembered } from './policy.js';

type Json = Readonly<Record<string, unknown>>;

/** A person's decision about an approval. */
export interface GivenDecision {
  readonly approves: boolean;
  readonly comment?: string | undefined;
  readonly editedInput?: Json | undefined;
  readonly answer?: Json | undefined;
  /** Whether later calls of the tool in this run need no approval. */
  readonly remembers: boolean;
}

/** Reads a decision. Throws unless it fits the kind of the approval and the schema of its tool. */
export async function readDecision(
  schemas: SchemaChecks,
  request: DecideApprovalRequest,
  approval: ApprovalRecord,
): Promise<GivenDecision> {
  const approves = readApproves(request);
  const comment = request.comment === undefined || request.comment === '' ? undefined : request.comment;
  const remembers = request.remember === ApprovalRemember.RUN;
  const editedInput = readObject(request.editedInput);
  const answer = readObject(request.answer);
  if (editedInput !== undefined) await requireEditable(schemas, approval, approves, editedInput);
  if (answer !== undefined && (approval.kind !== 'question' || !approves)) {
    throw ambiguous('answer', 'can only be sent with the approval of a question.');
  }
  if (approves && approval.kind === 'question') await requireAnswer(schemas, approval, answer);
  if (remembers && (!approves || !canBeRemembered(approval))) {
    throw invalidField(
      'remember',
      'invalid_value',
      'can only be sent with the approval of a call with low or medium risk that neither shares, publishes, deletes, spends nor repeats.',
    );
  }
  return { approves, comment, editedInput, answer, remembers };
}

function readApproves({ status, decision }: DecideApprovalRequest): boolean {
  const approves = [
    ...(status === ApprovalStatus.UNSPECIFIED ? [] : [status === ApprovalStatus.APPROVED]),
    ...(decision === '' ? [] : [decision === 'approve']),
  ];
  const [first, second = first] = approves;
  if (first === undefined) throw invalidField('status', 'missing_field', 'must be approved or denied.');
  if (first !== second) throw invalidField('decision', 'conflicting_alias', 'decision contradicts status.');
  return first;
}

async function requireEditable(
  schemas: SchemaChecks,
  approval: ApprovalRecord,
  approves: boolean,
  input: Json,
): Promise<void> {
  const isCall = approval.kind !== 'question' && approval.kind !== 'retry';
  if (!approves || !isCall) throw ambiguous('edited_input', 'can only be sent with the approval of a call.');
  const { tenant, inputSchema } = approval;
  if (inputSchema !== undefined) await requireFit(schemas, tenant, 'edited_input', input, inputSchema);
}

async function requireAnswer(
  schemas: SchemaChecks,
  { tenant, requestedSchema }: ApprovalRecord,
  answer: Json | undefined,
): Promise<void> {
  if (requestedSchema === undefined) return;
  if (answer === undefined) throw invalidField('answer', 'missing_field', 'must answer the question.');
  await requireFit(schemas, tenant, 'answer', answer, requestedSchema);
}

async function requireFit(
  schemas: SchemaChecks,
  tenant: string,
  param: string,
  value: Json,
  schema: JsonSchema,
): Promise<void> {
  const fault = await schemas.faultIn(tenant, schema, value);
  if (fault !== undefined) throw ApprovalInputInvalid({ fault }, { param });
}

function readObject(bytes: Buffer): Json | undefined {
  return bytes.length === 0 ? undefined : (JSON.parse(bytes.toString()) as Json);
}

function ambiguous(param: string, message: string): AppError {
  return new AppError('INVALID_ARGUMENT', 'ambiguous_target', `${param} ${message}`, { param });
}
