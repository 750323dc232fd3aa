import { ApprovalRemember, ApprovalRisk, ApprovalStatus } from '@commonplace/proto/agents/v1/approval.js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { addApproval, HOSTILE, INPUT, QUESTION } from './approvals.js';
import { type AuthStage, openAuthStage, signedIn } from './auth-stage.js';

let stage: AuthStage;
let by: Awaited<ReturnType<typeof signedIn>>;
beforeAll(async () => {
  stage = await openAuthStage('http://127.0.0.1:8080');
  by = await signedIn(stage);
});
afterAll(() => stage.close());
beforeEach(() => {
  stage.approvals.clear();
  stage.decisions.length = 0;
});

const ORIGIN = { origin: 'http://127.0.0.1:8080' };
const read = async (path: string) => {
  const answer = await stage.get(path, { cookie: by.cookie });
  return { status: answer.status, html: await answer.text(), headers: answer.headers };
};
const decide = (path: string, fields: Record<string, string>, headers: Record<string, string> = ORIGIN) =>
  stage.form(path, { csrf: by.csrf, ...fields }, { cookie: by.cookie, ...headers });

describe('the page of an approval', () => {
  test('requires signing in, and returns there', async () => {
    const path = addApproval(stage);
    const answer = await stage.get(path);
    expect([answer.status, answer.headers.get('location')]).toEqual([
      303,
      `/auth/sign-in?next=${encodeURIComponent(path)}`,
    ]);
    expect((await stage.get('/approvals')).status).toBe(303);
  });

  test('shows what will happen, without any script', async () => {
    const { status, html, headers } = await read(addApproval(stage));
    expect(status).toBe(200);
    expect(headers.get('content-security-policy')).not.toMatch(/script|unsafe/);
    for (const part of [
      'Change the document Plans',
      'Medium',
      '<del>-Old words',
      '<ins>+New words',
      'Grace',
      'mcp.example',
    ])
      expect(html).toContain(part);
  });

  test('escapes the content of the call, the title and the sources', async () => {
    const path = addApproval(stage, {
      title: HOSTILE,
      tool: { name: HOSTILE },
      input: Buffer.from(JSON.stringify({ text: HOSTILE })),
      preview: { text: `+${HOSTILE}`, targets: [HOSTILE], recipients: [HOSTILE], hosts: [HOSTILE] },
      tainted: true,
      taintSources: [{ type: 'web', id: HOSTILE, name: HOSTILE }],
      comment: HOSTILE,
    });
    const { html } = await read(path);
    expect(html).toContain('no member has written');
    expect(html).not.toMatch(/<script|<img/);
  });

  test('is not found if it does not exist, or the person may not see it', async () => {
    expect((await read('/approvals/00000000-0000-4000-8000-000000000009')).status).toBe(404);
  });

  test('has no form if another person decides, or after the decision', async () => {
    expect((await read(addApproval(stage, { canDecide: false }))).html).not.toContain('name="decision"');
    const ended = await read(addApproval(stage, { status: ApprovalStatus.EXPIRED }));
    expect(ended.html).toContain('Nobody decided in time.');
    expect(ended.html).not.toContain('name="decision"');
  });

  test('offers to remember a decision only if that is allowed', async () => {
    expect((await read(addApproval(stage))).html).toContain('name="remember"');
    expect((await read(addApproval(stage, { risk: ApprovalRisk.HIGH }))).html).not.toContain('name="remember"');
  });
});

describe('a decision', () => {
  test('approves the input unchanged, and confirms it', async () => {
    const path = addApproval(stage);
    const input = JSON.stringify(INPUT, undefined, 2).replace(/\n/g, '\r\n');
    const answer = await decide(path, { decision: 'approve', input, comment: ' Go on. ', remember: 'on' });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, path]);
    expect(stage.decisions).toEqual([
      {
        approvalId: path.split('/')[2],
        status: ApprovalStatus.APPROVED,
        decision: '',
        comment: 'Go on.',
        editedInput: Buffer.alloc(0),
        remember: ApprovalRemember.RUN,
        answer: Buffer.alloc(0),
      },
    ]);
    expect((await read(path)).html).toContain('This was approved by Ada &lt;3 on 2026-11-23 14:05 UTC.');
  });

  test('sends an edited input', async () => {
    await decide(addApproval(stage), { decision: 'approve', input: '{"resource_id": "b"}' });
    expect(stage.decisions[0]?.editedInput.toString()).toBe('{"resource_id":"b"}');
  });

  test('to deny omits an edited input', async () => {
    await decide(addApproval(stage), { decision: 'deny', input: 'no JSON', comment: 'Not now.' });
    expect(stage.decisions[0]).toMatchObject({ status: ApprovalStatus.DENIED, comment: 'Not now.' });
    expect(stage.decisions[0]?.editedInput).toHaveLength(0);
  });

  test.each([
    ['no JSON', 'is no JSON'],
    ['{}', 'does not follow the schema'],
  ])('shows the form again with the entered values for the input %s', async (input, message) => {
    const answer = await decide(addApproval(stage), { decision: 'approve', input, comment: 'Kept words' });
    const html = await answer.text();
    expect(answer.status).toBe(400);
    expect(html).toContain(message);
    expect(html).toContain('Kept words');
    expect(html).toContain('id="input-fault"');
    expect(html).toContain('<details open');
    expect(stage.decisions).toEqual([]);
  });

  test('answers a question with values of the requested types', async () => {
    const path = addApproval(stage, QUESTION);
    const { html } = await read(path);
    for (const part of ['Number of the ticket', 'Where it is filed.', '<option value="wishes">'])
      expect(html).toContain(part);
    const fields = { 'answer:number': '12', 'answer:queue': 'bugs', 'answer:urgent': 'on' };
    await decide(path, { decision: 'approve', ...fields });
    const { answer } = stage.decisions[0] ?? {};
    expect(JSON.parse(answer?.toString() ?? '{}')).toEqual({ number: 12, queue: 'bugs', urgent: true });
  });

  test('that came second shows the first decision', async () => {
    const path = addApproval(stage);
    await decide(path, { decision: 'approve' });
    const answer = await decide(path, { decision: 'deny' });
    expect(answer.status).toBe(409);
    expect(await answer.text()).toContain('decided already');
  });

  test.each([
    ['without the token', { csrf: '' }, ORIGIN],
    ['with a token of another session', { csrf: 'csrf-of-00000000' }, ORIGIN],
    ['from a page of another site', {}, { origin: 'https://evil.example' }],
  ])('%s is refused', async (_, fields, headers) => {
    const answer = await decide(addApproval(stage), { decision: 'approve', ...fields }, headers);
    expect(answer.status).toBe(403);
    expect(stage.decisions).toEqual([]);
  });

  test('needs a session', async () => {
    const path = addApproval(stage);
    const answer = await stage.form(path, { csrf: by.csrf, decision: 'approve' }, ORIGIN);
    expect([answer.status, stage.decisions.length]).toEqual([401, 0]);
  });
});

test('the list shows pending approvals', async () => {
  expect((await read('/approvals')).html).toContain('Nothing waits for you.');
  const path = addApproval(stage, { title: 'Delete Plans' });
  addApproval(stage, { title: 'Decided', status: ApprovalStatus.DENIED });
  const { html } = await read('/approvals');
  expect(html).toContain(`<a href="${path}">Delete Plans</a>`);
  expect(html).not.toContain('Decided');
});
