import { createHash, randomUUID } from 'node:crypto';
import type { Caller } from '@commonplace/kit/auth';
import { contracts } from '@commonplace/platform/contracts';
import { fake, openStage, personCalled, type Stage } from '@commonplace/platform/testing';
import { type FormPage, FormPageState } from '@commonplace/proto/resources/v1/form_page_service.js';
import type { ResourceForm } from '@commonplace/proto/resources/v1/form_service.js';
import { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { CreateResourceRequest } from '@commonplace/proto/resources/v1/resource_service.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { resources } from '../../src/service.js';

const WORKSPACE = randomUUID();
const boss = personCalled('Boss', ['form:write', 'form:read', 'resource:write', 'content:read']);
/** Credentials that were issued, with the forms that they open. */
const issued = new Map<string, string>();
let stage: Stage;

beforeAll(async () => {
  const member = {
    workspaceId: WORKSPACE,
    orgId: '',
    role: WorkspaceRole.OWNER,
    archived: false,
    editorsCanShare: false,
    trashRetentionDays: 30,
    name: 'W',
  };
  const directory = fake(contracts.directory, {
    getMemberships: async ({ userId }) => ({
      userId,
      orgs: [],
      groups: [],
      workspaces: userId === boss.userId ? [member] : [],
    }),
    getSharingTerms: async ({ workspaceId }) => ({
      workspaceId,
      orgId: '',
      archived: false,
      editorsCanShare: false,
      workspaceName: 'W',
      orgName: '',
      trashRetentionDays: 30,
      allowExternalSharing: true,
      allowPublicPublishing: true,
      locale: 'en',
      allowAccessRequests: true,
      allowExternalAccessRequests: true,
    }),
  });
  const auth = fake(contracts.auth, {
    async issueSubmissionCredential({ formId }) {
      const credential = `wsf_${randomUUID()}`;
      issued.set(credential, formId);
      return { credential, expiresAt: new Date(Date.now() + 7_200_000).toISOString() };
    },
    async authenticate({ credential }) {
      const { metadata } = await stage.as(respondent(issued.get(credential) ?? 'none'));
      return { token: metadata.token ?? '', csrfToken: '', credentialId: 'sub_1', expiresAt: undefined };
    },
  });
  stage = await openStage(resources, [directory, auth]);
});

afterAll(() => stage.close());

function respondent(formId: string): Caller {
  const credential = { type: 'submission', id: 'sub_1', scopes: ['form:submit'], formId } as const;
  return { userId: '', userName: '', userEmail: '', tenant: { orgId: null }, credential };
}

async function newForm(config: object): Promise<ResourceForm & { readonly token: string }> {
  const { host } = stage;
  const made = await host
    .client(contracts.resources)
    .createResource(
      CreateResourceRequest.fromPartial({ type: ResourceType.TABLE, name: 'T', workspaceId: WORKSPACE }),
      await stage.as(boss),
    );
  const form = await host.client(contracts.forms).createForm(
    {
      resourceId: made.id,
      config: Buffer.from(JSON.stringify(config)),
      isActive: undefined,
      rotateWebhookToken: undefined,
    },
    await stage.as(boss),
  );
  return { ...form, token: form.form?.token ?? '' };
}

const pages = () => stage.host.client(contracts.formPages);
const nobody = () => stage.as(undefined);

function received(
  token: string,
  credential: string,
  values: object,
  more: { submissionId?: string; captchaToken?: string } = {},
) {
  const { submissionId = randomUUID(), captchaToken = '' } = more;
  const clientIp = '192.0.2.7';
  return {
    token,
    credential,
    values: Buffer.from(JSON.stringify(values)),
    submissionId,
    metadata: undefined,
    captchaToken,
    clientIp,
  };
}

const FIELDS = [
  { id: 'name', type: 'short_text', label: 'Name', required: true },
  {
    id: 'pick',
    type: 'single_choice',
    label: 'Pick',
    options: ['A', 'B'],
    visible_if: { field_id: 'name', op: 'not_empty' },
  },
  { id: 'said', type: 'statement', label: 'Hello' },
];

test('the page of an open form has its content, and a credential for this form only', async () => {
  const { token, form } = await newForm({ title: 'Ask', description: '*Hi*', fields: FIELDS, submit_label: 'Send' });
  const other = await newForm({ title: 'Other', fields: FIELDS });
  const page = await pages().getFormPage({ token }, await nobody());
  expect(page).toMatchObject({
    formId: form?.id,
    state: FormPageState.OPEN,
    title: 'Ask',
    description: '*Hi*',
    submitLabel: 'Send',
    captchaBits: 0,
  });
  expect(page.fields).toMatchObject([
    { id: 'name', type: 'short_text', required: true },
    {
      id: 'pick',
      options: [{ label: 'A', value: 'A' }, { label: 'B' }],
      visibleIf: { fieldId: 'name', op: 'not_empty' },
    },
    { id: 'said', type: 'statement' },
  ]);
  expect(issued.get(page.credential)).toBe(form?.id);
  const request = received(token, page.credential, { name: 'Ada', pick: 'B' });
  const first = await pages().submitFormPage(request, await nobody());
  expect(await pages().submitFormPage(request, await nobody())).toEqual(first);
  const wrong = received(other.token, page.credential, { name: 'Ada' });
  await expect(pages().submitFormPage(wrong, await nobody())).rejects.toMatchObject({ reason: 'tenant_boundary' });
  const missing = pages().submitFormPage(received(token, page.credential, { name: '' }), await nobody());
  await expect(missing).rejects.toMatchObject({
    reason: 'missing_field',
    param: 'values.name',
    faults: [{ param: 'values.name', code: 'missing_field' }],
  });
  await expect(pages().getFormPage({ token: 'x'.repeat(32) }, await nobody())).rejects.toMatchObject({
    reason: 'form_not_found',
  });
});

test('the same credential submits by the public rpc, and to no other form', async () => {
  const { token, form } = await newForm({ title: 'Ask', fields: FIELDS });
  const request = {
    token,
    values: Buffer.from('{"name":"Ada"}'),
    submissionId: '',
    metadata: undefined,
    captchaToken: '',
    clientIp: '192.0.2.7',
  };
  const forms = stage.host.client(contracts.forms);
  expect(await forms.submitForm(request, await stage.as(respondent(form?.id ?? '')))).toMatchObject({
    rowId: expect.any(String),
  });
  const other = forms.submitForm(request, await stage.as(respondent(randomUUID())));
  await expect(other).rejects.toMatchObject({ reason: 'tenant_boundary' });
});

test('the page of a closed form reports that, and has no credential', async () => {
  const closed = await newForm({ title: 'Late', fields: FIELDS, close_at: '2020-01-01T00:00:00Z' });
  const page = await pages().getFormPage({ token: closed.token }, await nobody());
  expect(page).toMatchObject({ state: FormPageState.CLOSED, fields: [], credential: '' });
  const one = await newForm({ title: 'One', fields: FIELDS, max_submissions: 1, one_response_per: 'client' });
  const open = await pages().getFormPage({ token: one.token }, await nobody());
  await pages().submitFormPage(received(one.token, open.credential, { name: 'Ada' }), await nobody());
  expect(await pages().getFormPage({ token: one.token }, await nobody())).toMatchObject({ state: FormPageState.FULL });
});

test('one response per client is counted by address', async () => {
  const { token } = await newForm({ title: 'Once', fields: FIELDS, one_response_per: 'client' });
  const { credential } = await pages().getFormPage({ token }, await nobody());
  await pages().submitFormPage(received(token, credential, { name: 'Ada' }), await nobody());
  const again = received(token, credential, { name: 'Bob' });
  await expect(pages().submitFormPage(again, await nobody())).rejects.toMatchObject({
    reason: 'submission_limit_reached',
  });
  expect(await pages().submitFormPage({ ...again, clientIp: '192.0.2.8' }, await nobody())).toMatchObject({
    rowId: expect.any(String),
  });
});

/** Solves a challenge as a client does. */
function solve(form: string, submissionId: string, challenge: string, bits: number): string {
  for (let n = 0; ; n++) {
    const text = `${challenge}.${n.toString(36)}`;
    const hash = createHash('sha256').update(`${form}:${submissionId}:${text}`).digest();
    if (hash.readUInt32BE(0) >>> (32 - bits) === 0) return text;
  }
}

interface CaptchaFault {
  readonly code: string;
  readonly captcha: { readonly challenge: string; readonly bits: number };
}

describe('a captcha', () => {
  let token: string;
  let page: FormPage;
  const submit = async (more: { submissionId?: string; captchaToken?: string }) =>
    pages().submitFormPage(received(token, page.credential, { name: 'Ada' }, more), await nobody());
  const faultOf = (more: Parameters<typeof submit>[0]): Promise<CaptchaFault> =>
    submit(more).then(
      () => Promise.reject(new Error('it was taken')),
      ({ faults: [fault] }) => ({ param: fault.param, ...fault }),
    );

  beforeEach(async () => {
    ({ token } = await newForm({ title: 'Work', fields: FIELDS, require_captcha: true }));
    page = await pages().getFormPage({ token }, await nobody());
  });

  test('is a challenge from the server, and its solution is valid for one submission', async () => {
    expect(page.captchaBits).toBe(18);
    const submissionId = randomUUID();
    const captchaToken = solve(token, submissionId, page.captchaChallenge, page.captchaBits);
    expect(await faultOf({ submissionId })).toMatchObject({ code: 'missing_field', param: 'captcha_token' });
    expect(await faultOf({ captchaToken })).toMatchObject({ code: 'invalid_value', param: 'captcha_token' });
    const first = await submit({ submissionId, captchaToken });
    expect(first).toMatchObject({ submissionId });
    // The same submission sent again is not a second one.
    expect(await submit({ submissionId, captchaToken })).toEqual(first);
    const other = randomUUID();
    const reused = solve(token, other, page.captchaChallenge, page.captchaBits);
    expect(await faultOf({ submissionId: other, captchaToken: reused })).toMatchObject({ code: 'invalid_value' });
  });

  test('is spent once by clients without a submission_id, and the refusal has a new challenge', async () => {
    const captchaToken = solve(token, '', page.captchaChallenge, page.captchaBits);
    const outcomes = await Promise.allSettled(
      Array.from({ length: 30 }, () => submit({ submissionId: '', captchaToken })),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const { captcha } = await faultOf({ submissionId: '', captchaToken });
    const fresh = solve(token, '', captcha.challenge, captcha.bits);
    expect(await submit({ submissionId: '', captchaToken: fresh })).toMatchObject({ rowId: expect.any(String) });
  });

  test('is bound to its form and to this server, and a proof without a challenge is refused', async () => {
    const other = await newForm({ title: 'Other', fields: FIELDS, require_captcha: true });
    const { captchaChallenge } = await pages().getFormPage({ token: other.token }, await nobody());
    const changed = page.captchaChallenge.replace(/^\d+\.18\./, '9999999999.1.');
    for (const challenge of [captchaChallenge, changed, 'x', `${page.captchaChallenge}x`]) {
      const captchaToken = solve(token, '', challenge, 12);
      expect(await faultOf({ submissionId: '', captchaToken })).toMatchObject({ code: 'invalid_value' });
    }
  });
});
