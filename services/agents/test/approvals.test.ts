import type { Caller } from '@commonplace/kit/auth';
import { newId } from '@commonplace/kit/id';
import type { ScriptedReply } from '@commonplace/kit/testing/chat-server';
import type { Approval } from '@commonplace/proto/agents/v1/approval.js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { OutcomeUnknown } from '../src/engine/tools/tool.js';
import { type AgentRecord, type ApprovalPolicy, DEFAULT_POLICY } from '../src/stores/agents.js';
import type { ApprovalRecord } from '../src/stores/approvals.js';
import { withheldApproval } from '../src/wire/approvals.js';
import { type AgentStage, openAgentStage } from './stage.js';

let it: AgentStage;
let by: Caller;
let agent: AgentRecord;

beforeAll(async () => {
  it = await openAgentStage({ COMMONPLACE_RUNS_PER_AGENT: '1' });
}, 60_000);
afterAll(() => it?.close());

beforeEach(async () => {
  it.model.reset();
  it.tools.clear();
  it.calls.length = 0;
  it.credits.available = Number.POSITIVE_INFINITY;
  it.credits.onReserved = async () => {};
  it.letAct(() => true);
  for (const name of Object.keys(it.org)) delete (it.org as Record<string, unknown>)[name];
  it.tools.set('erase', { plan: { action: 'delete', risk: 'medium' } });
  it.tools.set('note', {});
  it.credits.reserved.clear();
  it.members.clear();
  it.members.set(it.owner.userId, 'editor');
  by = it.person('Asker');
  agent = await it.createAgent();
});

const call = (name: string, what: string, id = `${name}-${what}`) => ({ id, name, arguments: { what } });
let questions = 0;
let question = '';
/** Scripts the replies to a question that only this test asks. */
function replies(...all: ScriptedReply[]): void {
  question = `Do task ${++questions}.`;
  it.model.script({ match: question, replies: all });
}
const says = (...calls: ReturnType<typeof call>[]) => replies({ toolCalls: calls }, { text: 'Done.' });
const start = (more: object = {}) => it.start(by, agent, { input: Buffer.from(JSON.stringify(question)), ...more });
const policy = (more: Partial<ApprovalPolicy>): { policy: ApprovalPolicy } => ({
  policy: { ...DEFAULT_POLICY, ...more },
});
const forbidding = policy({
  mode: 'custom',
  rules: [{ tool: 'erase', decision: 'deny', evenIfTainted: false }],
} as Partial<ApprovalPolicy>);
const made = () => it.calls.map(({ tool, args }) => `${tool} ${args.what}`);
/** Returns the tool results in the latest request to the model. */
const lastToolResults = () => {
  const calls = it.model.calls.filter(({ request }) => JSON.stringify(request.messages).includes(question));
  const messages = calls.at(-1)?.request.messages as { role: string; content: string; tool_call_id: string }[];
  const results = messages.filter(({ role }) => role === 'tool');
  return results.map(({ tool_call_id: id, content }) => [id, content.replace(/^Error: /, '')]);
};

/** Starts a run and waits until it asks. */
async function asking(count = 1, more: object = {}): Promise<{ runId: string; approvals: Approval[] }> {
  const { id } = await start(more);
  await it.until(by, id, 'awaiting_approval');
  const approvals = await it.approvals(by, { runId: id, status: 'APPROVAL_STATUS_PENDING' });
  expect(approvals).toHaveLength(count);
  return { runId: id, approvals: approvals.sort((a, b) => a.title.localeCompare(b.title)) };
}

async function askOne(more: object = {}): Promise<{ runId: string; approval: Approval }> {
  const { runId, approvals } = await asking(1, more);
  return { runId, approval: approvals[0] as Approval };
}

const refused = (promise: Promise<unknown>) =>
  promise.then(
    () => 'answered',
    (error: { reason: string }) => error.reason,
  );

describe('a call that requires approval', () => {
  test('waits without holding a worker, and is made once it is approved', async () => {
    says(call('erase', 'it'));
    const { runId, approval } = await askOne();
    expect(approval).toMatchObject({
      ...{ kind: 'APPROVAL_KIND_DELETE', title: 'erase it', risk: 'APPROVAL_RISK_MEDIUM', canDecide: true },
      ...{ tool: { name: 'erase' }, preview: { text: 'It does it.' }, tainted: false },
    });
    expect(made()).toEqual([]);
    const waiting = await it.run(by, runId);
    expect(waiting.pendingApprovalIds).toEqual([approval.id]);
    expect(waiting.steps.at(-1)).toMatchObject({ status: 'STEP_STATUS_PLANNED', approvalId: approval.id });
    expect(it.credits.reserved.size).toBe(0);
    expect(await it.records.runs.get(runId)).toMatchObject({ status: 'awaiting_approval', lease: { holder: '' } });
    expect((await it.records.runs.get(runId))?.dueAt).toBeUndefined();
    // The only slot of the agent is free.
    it.model.script({ match: 'Another', replies: [{ text: 'Here.' }] });
    const other = await it.start(by, agent, { input: Buffer.from('"Another."') });
    await it.until(by, other.id, 'completed');
    const decided = await it.decide(by, approval.id, { decision: 'approve', comment: 'Go on.' });
    expect(decided).toMatchObject({ status: 'APPROVAL_STATUS_APPROVED', comment: 'Go on.', canDecide: false });
    const run = await it.until(by, runId, 'completed');
    expect(made()).toEqual(['erase it']);
    expect(lastToolResults()).toEqual([['erase-it', 'erase did it']]);
    expect(run).toMatchObject({ attempt: 1, pendingApprovalIds: [], output: { text: 'Done.' } });
    const [after] = await it.approvals(by, { runId });
    expect(after?.executedInputHash).toBe(approval.inputHash);
    expect(it.credits.reserved.size).toBe(0);
  });

  test('is reported to the model as denied, with the comment, and the run continues', async () => {
    says(call('erase', 'it'));
    const { runId, approval } = await askOne();
    await it.decide(by, approval.id, { status: 'denied', comment: 'Keep it.' });
    const run = await it.until(by, runId, 'completed');
    expect(made()).toEqual([]);
    expect(lastToolResults()).toEqual([['erase-it', 'A person has denied this call. Keep it.']]);
    expect(run.steps.at(-2)).toMatchObject({ status: 'STEP_STATUS_DENIED', error: { code: 'approval_denied' } });
  });

  test('is decided once: the first decision wins', async () => {
    says(call('erase', 'it'));
    const { runId, approval } = await askOne();
    const outcomes = await Promise.all(
      ['approve', 'deny', 'approve', 'deny'].map((decision) => refused(it.decide(by, approval.id, { decision }))),
    );
    expect(outcomes.sort()).toEqual(['answered', ...Array(3).fill('approval_not_pending')]);
    await it.until(by, runId, 'completed');
    expect(await refused(it.decide(by, approval.id))).toBe('approval_not_pending');
  });

  test('among others: calls without approval are made at once, the rest in order after all decisions', async () => {
    says(call('erase', 'b'), call('note', 'x'), call('erase', 'a'), call('erase', 'c'));
    const { runId, approvals } = await asking(3);
    expect(made()).toEqual(['note x']);
    const [a, b, c] = approvals as [Approval, Approval, Approval];
    await it.decide(by, c.id);
    await it.decide(by, a.id, { decision: 'deny' });
    expect((await it.run(by, runId)).status).toBe('RUN_STATUS_AWAITING_APPROVAL');
    expect(made()).toEqual(['note x']);
    await it.decide(by, b.id);
    await it.until(by, runId, 'completed');
    expect(made()).toEqual(['note x', 'erase b', 'erase c']);
    expect(lastToolResults().map(([id]) => id)).toEqual(['erase-b', 'note-x', 'erase-a', 'erase-c']);
  });

  test('is made with the input that a person has edited, if it follows the schema', async () => {
    says(call('erase', 'it'));
    const { runId, approval } = await askOne();
    const edit = (editedInput: object, more: object = {}) =>
      it.decide(by, approval.id, { decision: 'approve', editedInput, ...more });
    expect(await refused(edit({ what: 'far too long for the schema' }))).toBe('approval_input_invalid');
    expect(await refused(edit({}))).toBe('approval_input_invalid');
    expect(await refused(edit({ what: 'x' }, { decision: 'deny' }))).toBe('ambiguous_target');
    expect(await refused(it.decide(by, approval.id, { decision: 'approve', status: 'denied' }))).toBe(
      'conflicting_alias',
    );
    expect(await refused(it.decide(by, approval.id, { remember: 'APPROVAL_REMEMBER_RUN', decision: 'approve' }))).toBe(
      'invalid_value',
    );
    await edit({ what: 'less' });
    const run = await it.until(by, runId, 'completed');
    expect(made()).toEqual(['erase less']);
    expect(JSON.parse(String(run.steps.at(-2)?.input))).toEqual({ what: 'less' });
    const [after] = await it.approvals(by, { runId });
    expect([String(after?.input), String(after?.editedInput)]).toEqual(['{"what":"it"}', '{"what":"less"}']);
    expect(after?.executedInputHash).not.toBe(approval.inputHash);
  });

  test('needs no second approval in the same run if a person has chosen so', async () => {
    await it.change(agent, policy({ mode: 'always' }));
    replies({ toolCalls: [call('note', 'a')] }, { toolCalls: [call('note', 'b')] }, { text: 'Done.' });
    const { runId, approval } = await askOne();
    await it.decide(by, approval.id, { decision: 'approve', remember: 'APPROVAL_REMEMBER_RUN' });
    await it.until(by, runId, 'completed');
    expect(made()).toEqual(['note a', 'note b']);
    expect(await it.approvals(by, { runId })).toHaveLength(1);
  });

  test('is canceled with its run, and can no longer be decided', async () => {
    says(call('erase', 'it'));
    const { runId, approval } = await askOne();
    await it.clients.runs.cancelRun({ runId, reason: 'enough' }, await it.stage.as(by));
    const run = await it.until(by, runId, 'canceled');
    expect(run.pendingApprovalIds).toEqual([]);
    expect(run.steps.at(-1)?.status).toBe('STEP_STATUS_CANCELED');
    const [after] = await it.approvals(by, { runId });
    expect(after).toMatchObject({ status: 'APPROVAL_STATUS_CANCELED', reason: 'run_ended', canDecide: false });
    expect(await refused(it.decide(by, approval.id))).toBe('approval_not_pending');
    expect(made()).toEqual([]);
  });
});

describe('the approver', () => {
  test('is the person who started the run, by default', async () => {
    says(call('erase', 'it'));
    const { approval } = await askOne();
    const other = it.person('Other', 'admin');
    expect(await refused(it.decide(other, approval.id))).toBe('not_found');
    expect(await it.approvals(other)).toEqual([]);
    it.members.delete(by.userId);
    expect(await refused(it.decide(by, approval.id))).toBe('not_found');
    it.members.set(by.userId, 'editor');
  });

  test.each([
    ['owner', 'Owner'],
    ['workspace_admins', 'Admin'],
  ] as const)('is chosen by the policy: %s', async (approvers, name) => {
    const admin = it.person('Admin', 'admin');
    await it.change(agent, policy({ approvers }));
    says(call('erase', 'it'));
    const { runId, approval } = await askOne();
    expect(approval.canDecide).toBe(false);
    expect(await refused(it.decide(by, approval.id))).toBe('insufficient_role');
    const decider = name === 'Owner' ? it.owner : admin;
    expect(await it.approvals(decider, { runId })).toMatchObject([{ id: approval.id, canDecide: true }]);
    await it.decide(decider, approval.id);
    await it.until(by, runId, 'completed');
    it.members.delete(admin.userId);
  });

  test('is another person under four eyes, and the call fails if there is none', async () => {
    await it.change(agent, policy({ fourEyes: true }));
    says(call('erase', 'it'));
    const { runId, approval } = await askOne();
    expect(await refused(it.decide(by, approval.id))).toBe('insufficient_role');
    expect(await it.decide(it.owner, approval.id)).toMatchObject({ decidedBy: { id: it.owner.userId } });
    await it.until(by, runId, 'completed');
    by = it.owner;
    says(call('erase', 'it'));
    const { id } = await start();
    const run = await it.until(by, id, 'completed');
    const [ended] = await it.approvals(by, { runId: run.id });
    expect(ended).toMatchObject({ status: 'APPROVAL_STATUS_EXPIRED', reason: 'no_approver' });
    expect(lastToolResults()).toEqual([['erase-it', 'No person may decide about this call.']]);
  });

  test.each([
    ['a guest of the workspace', 'workspace_member.updated', (userId: string) => it.members.set(userId, 'guest')],
    ['suspended in the Org', 'org_member.updated', (userId: string) => it.members.delete(userId)],
    ['no member of the workspace', 'workspace_member.removed', (userId: string) => it.members.delete(userId)],
  ] as const)('is replaced by the owner once they are %s', async (_, type, change) => {
    const named = it.person('Named');
    await it.change(agent, policy({ approvers: [named.userId] }));
    says(call('erase', 'it'));
    const { runId, approval } = await askOne();
    expect(await it.approvals(it.owner, { runId })).toEqual([]);
    change(named.userId);
    const data = { workspaceId: it.workspaceId, orgId: it.orgId, userId: named.userId };
    await it.publish(type, data);
    await retry(async () =>
      expect(await it.approvals(it.owner, { runId })).toMatchObject([{ id: approval.id, canDecide: true }]),
    );
    await it.decide(it.owner, approval.id, { decision: 'deny' });
  });

  test('is replaced once the operator has disabled their account, and the call fails if there is no other', async () => {
    const named = it.person('Named');
    await it.change(agent, policy({ approvers: [named.userId] }));
    says(call('erase', 'it'));
    const { runId, approval } = await askOne();
    const disable = async ({ userId }: Caller) => {
      it.disabled.add(userId);
      await it.publish('user.disabled', { userId }, 'identity');
    };
    await disable(named);
    await retry(async () =>
      expect(await it.approvals(it.owner, { runId })).toMatchObject([{ id: approval.id, canDecide: true }]),
    );
    await disable(it.owner);
    await it.until(by, runId, 'completed');
    expect(await it.approvals(by, { runId })).toMatchObject([
      { status: 'APPROVAL_STATUS_EXPIRED', reason: 'no_approver' },
    ]);
    expect(made()).toEqual([]);
    it.disabled.clear();
  });

  test('is a person: never an agent, and a key only if the Org allows it and not for its own runs', async () => {
    says(call('erase', 'it'));
    const { runId, approval } = await askOne();
    const credential = (type: 'internal' | 'api_key', id: string): Caller => ({
      ...by,
      credential: { ...by.credential, type, id },
    });
    expect(await refused(it.decide(credential('internal', 'act'), approval.id))).toBe('agents_cannot_approve');
    expect(await refused(it.decide(credential('api_key', 'key'), approval.id))).toBe('approval_needs_person');
    it.org.approvalsByKey = true;
    // Memberships are cached for two seconds.
    const sure = async (type: 'api_key', id: string) => it.decide(credential(type, id), approval.id);
    expect(await refused(it.decide(credential('api_key', by.credential.id), approval.id))).toBe(
      'approval_needs_person',
    );
    await expect(retry(() => sure('api_key', 'key'))).resolves.toMatchObject({ status: 'APPROVAL_STATUS_APPROVED' });
    await it.until(by, runId, 'completed');
  });
});

describe('a person who has lost access', () => {
  test('to what the call is about sees only that there is an approval, and cannot decide', async () => {
    const resourceId = newId();
    it.readable.add(resourceId);
    it.tools.set('edit', { plan: { action: 'delete', title: 'Edit “Plan”', resourceIds: [resourceId] } });
    says(call('edit', 'it'));
    const { runId, approval } = await askOne();
    expect(approval).toMatchObject({ title: 'Edit “Plan”', canDecide: true, withheld: false });
    it.readable.delete(resourceId);
    const withheld = { title: 'edit', preview: undefined, input: Buffer.alloc(0), canDecide: false, withheld: true };
    const get = async () => it.clients.approvals.getApproval({ approvalId: approval.id }, await it.stage.as(by));
    expect(await get()).toMatchObject(withheld);
    expect(await it.approvals(by, { runId })).toMatchObject([withheld]);
    const record = (await it.records.approvals.get(approval.id)) as ApprovalRecord;
    const tainted = { ...record, taintSources: [{ type: 'web', id: 'https://a.example', name: 'A' } as const] };
    expect(withheldApproval(tainted)).toMatchObject({ tainted: true, taintSources: [] });
    expect(await refused(it.decide(by, approval.id))).toBe('insufficient_role');
    it.readable.add(resourceId);
    await it.decide(by, approval.id);
    await it.until(by, runId, 'completed');
    expect(made()).toEqual(['edit it']);
  });

  test('cannot turn a call on what they cannot read', async () => {
    const [open, hidden] = [newId(), newId()];
    it.readable.add(open);
    it.tools.set('edit', { plan: { action: 'delete', resourceIds: [open] } });
    says(call('edit', 'it'));
    const { runId, approval } = await askOne();
    const edit = (more: object) =>
      it.decide(by, approval.id, { decision: 'approve', editedInput: { what: 'it', ...more } });
    for (const name of ['resource_id', 'parent_id']) {
      await expect(edit({ [name]: hidden })).rejects.toMatchObject({
        ...{ reason: 'not_found', param: `edited_input.${name}` },
      });
    }
    await edit({ resource_id: open, parent_id: open.toUpperCase() });
    await it.until(by, runId, 'completed');
    expect(made()).toEqual(['edit it']);
  });

  test('cannot turn a call on conversations, work items, agents or memories that they do not see', async () => {
    const [open, kept, hidden] = [newId(), newId(), newId()];
    it.readableWork.add(open);
    it.talks.add(`${by.userId}:${open}`);
    const turn = async (tool: string, input: object, edited: object) => {
      it.tools.set(tool, { plan: { action: 'delete' } });
      replies({ toolCalls: [{ id: tool, name: tool, arguments: { what: 'it', ...input } }] }, { text: 'Done.' });
      const { runId, approval } = await askOne();
      const editedInput = { what: 'it', ...input, ...edited };
      const outcome = await refused(it.decide(by, approval.id, { decision: 'approve', editedInput }));
      if (outcome !== 'answered') await it.decide(by, approval.id, { decision: 'deny' });
      await it.until(by, runId, 'completed');
      return outcome;
    };
    const others = { conversation_id: hidden, work_item_id: hidden, assignee_agent_id: hidden, memory_id: hidden };
    for (const [field, id] of Object.entries(others)) {
      expect([field, await turn('edit_work_item', {}, { [field]: id })]).toEqual([field, 'not_found']);
    }
    expect(await turn('edit_work_item', {}, { parent_id: hidden })).toBe('not_found');
    const seen = { conversation_id: open, work_item_id: open, parent_id: open, assignee_agent_id: agent.id };
    expect(await turn('edit_work_item', {}, seen)).toBe('answered');
    // What the call itself names stays, whoever sees it.
    expect(await turn('edit_work_item', { conversation_id: kept, parent_id: kept }, { what: 'other' })).toBe(
      'answered',
    );
  });

  test("to the workspace sees nothing, even in the same Org, and the agent's owner decides instead", async () => {
    says(call('erase', 'it'));
    const { runId, approval } = await askOne();
    expect(await it.approvals(it.owner, { runId })).toEqual([]);
    it.members.delete(by.userId);
    it.orgPeople.add(by.userId);
    expect(await refused(it.decide(by, approval.id))).toBe('not_found');
    const get = async () => it.clients.approvals.getApproval({ approvalId: approval.id }, await it.stage.as(by));
    expect(await refused(get())).toBe('not_found');
    expect(await it.approvals(by, { runId })).toEqual([]);
    const seen = await it.clients.approvals.getApproval({ approvalId: approval.id }, await it.stage.as(it.owner));
    expect(seen.canDecide).toBe(true);
    await it.decide(it.owner, approval.id, { decision: 'deny' });
  });
});

describe('before an approved call is made', () => {
  test('tool and policy are compared: after a change, another approval is required', async () => {
    says(call('erase', 'it'));
    const { runId, approval } = await askOne();
    await it.change(agent, policy({ mode: 'always' }));
    await it.decide(by, approval.id);
    const second = await pendingOther(runId, approval.id);
    expect(made()).toEqual([]);
    const before = (await it.approvals(by, { runId })).find(({ id }) => id === approval.id);
    expect(before).toMatchObject({ status: 'APPROVAL_STATUS_SUPERSEDED', supersededBy: second.id });
    it.tools.set('erase', { plan: { action: 'delete', risk: 'medium', toolHash: 'another' } });
    await it.decide(by, second.id);
    const third = await pendingOther(runId, second.id);
    await it.decide(by, third.id);
    await it.until(by, runId, 'completed');
    expect(made()).toEqual(['erase it']);
  });

  test.each<[string, () => Promise<unknown>, string]>([
    ['the policy forbids the call', () => it.change(agent, forbidding), 'STEP_STATUS_DENIED'],
    ['the tool is gone', async () => it.tools.delete('erase'), 'STEP_STATUS_FAILED'],
  ])('its approval is superseded if %s by now', async (_, change, status) => {
    says(call('erase', 'it'));
    const { runId, approval } = await askOne();
    await change();
    await it.decide(by, approval.id);
    const run = await it.until(by, runId, 'completed');
    expect(made()).toEqual([]);
    expect(run.steps.at(-2)?.status).toBe(status);
    const [after] = await it.approvals(by, { runId });
    expect(after).toMatchObject({ status: 'APPROVAL_STATUS_SUPERSEDED', supersededBy: undefined });
  });

  test('the agent is checked again: a paused one makes no call, and its run fails', async () => {
    says(call('erase', 'it'));
    const { runId, approval } = await askOne();
    await it.change(agent, { status: 'paused' });
    await it.decide(by, approval.id);
    const run = await it.until(by, runId, 'failed');
    expect(run.error?.code).toBe('permission_lost');
    expect(made()).toEqual([]);
  });

  test('keeps no credits of a decided approval when its run is canceled', async () => {
    says(call('erase', 'a'), call('erase', 'b'));
    const { runId, approvals } = await asking(2);
    await it.decide(by, approvals[0]?.id ?? '');
    expect(it.credits.reserved.size).toBe(1);
    await it.clients.runs.cancelRun({ runId, reason: undefined }, await it.stage.as(by));
    await retry(async () => expect(it.credits.reserved.size).toBe(0));
  });

  test('keeps no credits for a decision that came second', async () => {
    says(call('erase', 'a'), call('erase', 'b'));
    const { runId, approvals } = await asking(2);
    const id = approvals[0]?.id ?? '';
    it.credits.onReserved = async () => {
      it.credits.onReserved = async () => {};
      await it.decide(by, id, { decision: 'deny' });
    };
    expect(await refused(it.decide(by, id))).toBe('approval_not_pending');
    expect(it.credits.reserved.size).toBe(0);
    await it.clients.runs.cancelRun({ runId, reason: undefined }, await it.stage.as(by));
  });

  test('credits are reserved for the step after it, or the approval stays pending', async () => {
    says(call('erase', 'it'));
    const { runId, approval } = await askOne();
    it.credits.available = 0;
    expect(await refused(it.decide(by, approval.id))).toBe('insufficient_credits');
    expect(await it.approvals(by, { runId })).toMatchObject([{ status: 'APPROVAL_STATUS_PENDING', canDecide: true }]);
    it.credits.available = 1000;
    await it.decide(by, approval.id);
    await it.until(by, runId, 'completed');
    expect(it.credits.reserved.size).toBe(0);
  });
});

describe('an approval without a decision', () => {
  test.each([
    ['deny', 'completed', undefined],
    ['fail_run', 'failed', 'approval_denied'],
  ] as const)('ends when it times out: %s', async (onTimeout, status, code) => {
    await it.change(agent, policy({ timeoutSeconds: 1, onTimeout }));
    const pinned = await it.createAgent(policy({ timeoutSeconds: 1, onTimeout }));
    agent = pinned;
    says(call('erase', 'it'));
    const { id } = await start();
    const run = await it.until(by, id, status);
    expect(run.error?.code).toBe(code);
    expect(await it.approvals(by, { runId: id })).toMatchObject([
      { status: 'APPROVAL_STATUS_EXPIRED', reason: 'timeout' },
    ]);
    if (status === 'completed')
      expect(lastToolResults()).toEqual([['erase-it', 'Nobody has decided about this call in time.']]);
    expect(made()).toEqual([]);
  });
});

describe('untrusted content', () => {
  test('requires approval for each later sink, whatever the policy allows', async () => {
    agent = await it.createAgent(policy({ mode: 'never' }));
    const page = { type: 'web', id: 'https://evil.example/', name: 'evil.example' } as const;
    it.tools.set('fetch', { plan: { action: 'read', effect: 'none' }, act: () => ({ taints: [page] }) });
    it.tools.set('post', { plan: { action: 'send', isSink: true } });
    replies(
      { toolCalls: [call('post', 'before')] },
      { toolCalls: [call('fetch', 'page'), call('note', 'x')] },
      { toolCalls: [call('post', 'after'), call('note', 'y')] },
      { text: 'Done.' },
    );
    const { runId, approval } = await askOne();
    expect(made()).toEqual(['post before', 'fetch page', 'note x', 'note y']);
    expect(approval).toMatchObject({ title: 'post after', tainted: true, taintSources: [page] });
    expect(await it.run(by, runId)).toMatchObject({ tainted: true, taintSources: [page] });
    await it.decide(by, approval.id, { decision: 'deny' });
    await it.until(by, runId, 'completed');
    expect(made()).not.toContain('post after');
  });
});

describe('a call whose outcome is unknown', () => {
  const committed = () => {
    throw new OutcomeUnknown('The answer was lost.');
  };

  test('opens an approval for repeating it, and reports to the model if it is denied', async () => {
    it.tools.set('pay', { plan: { effect: 'once' }, act: committed });
    says(call('pay', 'it'));
    const { runId, approval } = await askOne();
    expect(approval).toMatchObject({
      kind: 'APPROVAL_KIND_RETRY',
      title: 'Repeat: pay it',
      risk: 'APPROVAL_RISK_MEDIUM',
    });
    expect((await it.run(by, runId)).steps.at(-1)?.status).toBe('STEP_STATUS_UNKNOWN');
    await it.decide(by, approval.id, { decision: 'deny' });
    const run = await it.until(by, runId, 'completed');
    expect(made()).toEqual(['pay it']);
    expect(run.steps.at(-2)).toMatchObject({ status: 'STEP_STATUS_UNKNOWN', error: { code: 'unknown_outcome' } });
    expect(lastToolResults()[0]?.[1]).toMatch(/not known/);
  });

  test('is repeated with the same key if a person approves', async () => {
    let times = 0;
    it.tools.set('pay', { plan: { effect: 'once' }, act: () => (times++ === 0 ? committed() : {}) });
    says(call('pay', 'it'));
    const { runId, approval } = await askOne();
    await it.decide(by, approval.id);
    const run = await it.until(by, runId, 'completed');
    expect(made()).toEqual(['pay it', 'pay it']);
    expect(new Set(it.calls.map(({ key }) => key)).size).toBe(1);
    expect(run.steps.at(-2)).toMatchObject({ status: 'STEP_STATUS_COMPLETED', attempt: 2 });
  });

  test.each([
    ['continue', 'completed', undefined],
    ['fail', 'failed', 'unknown_outcome'],
  ] as const)("is handled by the agent's setting: %s", async (onUnknown, status, code) => {
    agent = await it.createAgent({ onUnknown });
    it.tools.set('pay', { plan: { effect: 'once' }, act: committed });
    says(call('pay', 'it'));
    const { id } = await start();
    expect((await it.until(by, id, status)).error?.code).toBe(code);
    expect(made()).toEqual(['pay it']);
  });
});

describe('a call in progress when its worker has lost the run', () => {
  test('is not repeated by the next worker without approval, and its late result is only recorded', async () => {
    let answer: (result: object) => void = () => {};
    const act = () =>
      new Promise<object>((resolve) => {
        answer = resolve;
      });
    it.tools.set('pay', { plan: { effect: 'once' }, act });
    says(call('pay', 'it'));
    const { id } = await start();
    await retry(async () => expect(made()).toEqual(['pay it']));
    await loseRun(id);
    await it.until(by, id, 'awaiting_approval');
    const [approval] = await it.approvals(by, { runId: id });
    expect(approval).toMatchObject({ kind: 'APPROVAL_KIND_RETRY', status: 'APPROVAL_STATUS_PENDING' });
    answer({ text: 'paid' });
    await retry(async () => expect((await it.run(by, id)).steps.at(-1)?.late).toBe(true));
    await it.decide(by, approval?.id ?? '', { decision: 'deny' });
    await it.until(by, id, 'completed');
    expect(made()).toEqual(['pay it']);
    expect(lastToolResults()[0]?.[1]).toMatch(/not known/);
  }, 30_000);

  test('is repeated with the same key if that has no further effect', async () => {
    let times = 0;
    it.tools.set('note', { act: () => (times++ === 0 ? new Promise(() => {}) : {}) });
    says(call('note', 'it'));
    const { id } = await start();
    await retry(async () => expect(made()).toEqual(['note it']));
    await loseRun(id);
    const run = await it.until(by, id, 'completed');
    expect(made()).toEqual(['note it', 'note it']);
    expect(new Set(it.calls.map(({ key }) => key)).size).toBe(1);
    expect(run.steps.at(-2)).toMatchObject({ status: 'STEP_STATUS_COMPLETED', attempt: 2 });
  }, 30_000);
});

/** Takes a run from its worker, as if its lease had ended. */
async function loseRun(id: string): Promise<void> {
  const { store } = it.stage.own;
  await retry(async () => {
    const work = store.begin();
    const run = await work.get(it.records.runs, id);
    if (run === undefined) throw new Error('there is no run');
    const lease = { holder: '', epoch: (run.lease?.epoch ?? 0) + 1 };
    work.replace(it.records.runs, run, { ...run, lease, dueAt: new Date().toISOString() });
    await work.commit();
  });
}

describe('a question of a tool', () => {
  test('is answered by a person according to its schema, for the tool only', async () => {
    const schema = {
      type: 'object',
      properties: { colour: { type: 'string', enum: ['red', 'blue'] } },
      required: ['colour'],
    };
    const question = { title: 'Which colour?', schema, state: 'kept' };
    it.tools.set('paint', { act: ({ answer }) => (answer === undefined ? { question } : { text: 'painted' }) });
    says(call('paint', 'it'));
    const { runId, approval } = await askOne();
    expect(approval).toMatchObject({ kind: 'APPROVAL_KIND_QUESTION', title: 'Which colour?' });
    expect(await refused(it.decide(by, approval.id))).toBe('missing_field');
    expect(await refused(it.decide(by, approval.id, { decision: 'approve', answer: { colour: 'green' } }))).toBe(
      'approval_input_invalid',
    );
    await it.decide(by, approval.id, { decision: 'approve', answer: { colour: 'blue' } });
    await it.until(by, runId, 'completed');
    expect(it.calls.at(-1)).toMatchObject({ answer: { colour: 'blue' }, state: 'kept' });
    expect(JSON.stringify(it.model.calls.map(({ request }) => request))).not.toContain('blue');
    expect(lastToolResults()).toEqual([['paint-it', 'painted']]);
  });

  test.each([
    ['the owner', { approvers: 'owner' }],
    ['another person', { fourEyes: true }],
  ] as const)('is answered by the person who has started the run, also if %s decides about calls', async (_, terms) => {
    await it.change(agent, policy({ mode: 'never', ...terms }));
    const question = { title: 'Open the page.', url: 'https://example.com/authorize', state: 'kept' };
    it.tools.set('paint', { act: ({ answer }) => (answer === undefined ? { question } : { text: 'painted' }) });
    says(call('paint', 'it'));
    const { runId, approval } = await askOne();
    expect(approval.canDecide).toBe(true);
    expect(await it.approvals(it.owner, { runId })).toEqual([]);
    expect(await refused(it.decide(it.owner, approval.id))).toBe('not_found');
    await it.decide(by, approval.id);
    await it.until(by, runId, 'completed');
    expect(lastToolResults()).toEqual([['paint-it', 'painted']]);
  });
});

/** Returns the pending approval of a run that is not the given one, once there is one. */
async function pendingOther(runId: string, id: string): Promise<Approval> {
  return retry(async () => {
    const pending = await it.approvals(by, { runId, status: 'APPROVAL_STATUS_PENDING' });
    const other = pending.find((one) => one.id !== id);
    if (other === undefined) throw new Error('there is no other approval yet');
    await it.until(by, runId, 'awaiting_approval');
    return other;
  });
}

async function retry<T>(act: () => Promise<T>): Promise<T> {
  const { eventually } = await import('@commonplace/kit/testing');
  return eventually(act, 10_000);
}
