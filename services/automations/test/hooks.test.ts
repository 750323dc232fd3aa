import { createHmac } from 'node:crypto';
import { createEvent } from '@commonplace/kit/events';
import { newId } from '@commonplace/kit/id';
import { TriggerType, WebhookVerifyType } from '@commonplace/proto/automations/v1/automation.js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { type DefinitionStage, openDefinitionStage, tokenOf } from './definitions-stage.js';

let stage: DefinitionStage;
beforeAll(async () => {
  stage = await openDefinitionStage();
});
afterAll(() => stage.close());

const SECRET = 'a secret of the sender';
const SIGNING = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const BODY = '{"name": "Ada",  "n": 1}';
const hmac = (encoding: 'hex' | 'base64', body = BODY, secret = SECRET) =>
  createHmac('sha256', secret).update(body).digest(encoding);

const signedHeaders = (id: string, at: number, body: string, secret = SIGNING) => ({
  'webhook-id': id,
  'webhook-timestamp': String(Math.floor(at / 1000)),
  'webhook-signature': new Webhook(secret).sign(id, new Date(at), body),
});

const hookOf = async (verify?: { type: WebhookVerifyType; header?: string; secret?: string }) => {
  const ada = stage.person('Ada');
  const trigger = { type: TriggerType.WEBHOOK, config: verify === undefined ? {} : { verify } };
  const made = await stage.create(ada, { trigger });
  return { ada, made, token: tokenOf(made) };
};
const runOf = async ({ runId }: { runId: string }) => stage.records.runs.get(runId);

describe('a webhook', () => {
  test('starts a run with its body, which is untrusted', async () => {
    const { token, made } = await hookOf();
    const headers = {
      ...{ 'content-type': 'application/json', 'X-Event': 'push', 'x-forwarded-for': '10.0.0.1', 'x-hub-token': 'x' },
      ...{ 'x-hub-signature-256': 'sha256=abc', accept: '*/*' },
    };
    const run = await runOf(await stage.hook(token, BODY, headers));
    expect(run).toMatchObject({
      ...{ automationId: made.id, status: 'queued', chain: [], definitionVersion: 1 },
      trigger: { type: 'webhook', by: { type: 'system' } },
      taints: [{ type: 'webhook', id: made.id }],
    });
    expect(run?.input).toEqual({
      webhook: { body: { name: 'Ada', n: 1 }, headers: { 'content-type': 'application/json', 'x-event': 'push' } },
    });
  });

  test('that an automation calls continues its chain, and is skipped in a loop', async () => {
    const { token, made } = await hookOf();
    const other = newId();
    const chained = async (chain: string) => runOf(await stage.hook(token, BODY, { 'commonplace-chain': chain }));
    expect(await chained(other)).toMatchObject({ status: 'queued', chain: [other] });
    expect(await chained(`${other}, ${made.id}`)).toMatchObject({ status: 'skipped', skipReason: 'loop' });
    const long = Array.from({ length: 50 }, () => newId()).join(',');
    expect(await chained(long)).toMatchObject({ status: 'skipped', skipReason: 'loop' });
    expect(await chained('not, ids')).toMatchObject({ status: 'queued', chain: [] });
  });

  test('is refused for an unknown token, an inactive automation and an archived workspace', async () => {
    const { ada, made, token } = await hookOf();
    for (const wrong of ['', 'x', '__proto__', token.slice(1), `${token}x`, token.toLowerCase()]) {
      await expect(stage.hook(wrong, '{}')).rejects.toMatchObject({ reason: 'not_found' });
    }
    const before = await stage.hook(token, '{}', { 'webhook-id': 'before' });
    await stage.update(ada, made.id, { isActive: false });
    await expect(stage.hook(token, '{}')).rejects.toMatchObject({ reason: 'automation_inactive' });
    // The sender of a delivery that was accepted gets the same response.
    expect(await stage.hook(token, '{}', { 'webhook-id': 'before' })).toEqual(before);
    await stage.update(ada, made.id, { isActive: true });
    expect((await stage.hook(token, '{}')).runId).not.toBe('');
    await stage.remove(ada, made.id);
    await expect(stage.hook(token, '{}')).rejects.toMatchObject({ reason: 'not_found' });
  });

  test('does not exist while the deletion of the Org is scheduled', async () => {
    const { made, token } = await hookOf({ type: WebhookVerifyType.GITHUB, secret: SECRET });
    const changed = () =>
      stage.stage.own.bus.publish([
        createEvent({ service: 'tenancy', type: 'org.updated', subject: 'any', tenant: 'any', data: {} }),
      ]);
    stage.org.isDeleted = true;
    await changed();
    // Not even a wrong signature tells that it exists.
    await expect(stage.hook(token, BODY)).rejects.toMatchObject({ reason: 'not_found' });
    expect(await stage.records.runs.count({ automationId: made.id })).toBe(0);
    stage.org.isDeleted = false;
    await changed();
    await expect(stage.hook(token, BODY)).rejects.toMatchObject({ reason: 'invalid_signature' });
  });

  test('starts one run per delivery within 24 hours, even for concurrent deliveries', async () => {
    const { token, made } = await hookOf();
    const headers = { 'webhook-id': 'delivery-1' };
    const answers = await Promise.all([1, 2, 3, 4, 5].map(() => stage.hook(token, BODY, headers)));
    expect(new Set(answers.map(({ runId }) => runId)).size).toBe(1);
    expect(await stage.records.runs.count({ automationId: made.id })).toBe(1);
    const other = await hookOf();
    expect((await stage.hook(other.token, BODY, headers)).runId).not.toBe(answers[0]?.runId);
    const [first, second] = [await stage.hook(token, BODY), await stage.hook(token, BODY)];
    expect(first.runId).not.toBe(second.runId);
    stage.pass(25 * 3_600_000);
    const later = await stage.hook(token, BODY, headers);
    expect(later.runId).not.toBe(answers[0]?.runId);
    expect(await stage.hook(token, BODY, headers)).toEqual(later);
  });

  test('has a body of at most 1 MiB', async () => {
    const { token } = await hookOf();
    const ofBytes = (bytes: number) => JSON.stringify('x'.repeat(bytes - 2));
    expect((await stage.hook(token, ofBytes(1_048_576))).runId).not.toBe('');
    await expect(stage.hook(token, ofBytes(1_048_577))).rejects.toMatchObject({ reason: 'payload_too_large' });
  });

  test('may be longer when it is written as JSON', async () => {
    const { token, made } = await hookOf();
    const sent = `[${Array.from({ length: 200_000 }, () => '1e20').join()}]`;
    const payload = JSON.stringify(JSON.parse(sent));
    expect([sent.length < 1_048_576, payload.length > 4_000_000]).toEqual([true, true]);
    const { runId } = await stage.hook(token, sent, {}, payload);
    expect(await stage.records.runs.count({ automationId: made.id, id: runId })).toBe(1);
    const long = JSON.stringify('x'.repeat(8_388_608));
    await expect(stage.hook(token, sent, {}, long)).rejects.toMatchObject({ reason: 'payload_too_large' });
  });

  test('is refused if it is nested so deeply that parsing it would end the process', async () => {
    const { token } = await hookOf();
    for (const [open, close] of [
      ['[', ']'],
      ['{"a":', '1}'],
    ] as const) {
      const deep = open.repeat(100_000) + close.repeat(100_000);
      await expect(stage.hook(token, deep)).rejects.toMatchObject({ reason: 'invalid_value' });
    }
    expect((await stage.hook(token, JSON.stringify({ text: '[[[['.repeat(1000) }))).runId).not.toBe('');
  });
});

describe('a signature', () => {
  const refuses = async (token: string, body: string, headers: Record<string, string>, count = 0) => {
    await expect(stage.hook(token, body, headers)).rejects.toMatchObject({ reason: 'invalid_signature' });
    return count;
  };

  test('of GitHub covers the body as it was sent', async () => {
    const { token, made } = await hookOf({ type: WebhookVerifyType.GITHUB, secret: SECRET });
    const header = 'x-hub-signature-256';
    const signed = { [header]: `sha256=${hmac('hex')}`, 'x-github-delivery': 'g1' };
    const first = await stage.hook(token, BODY, signed);
    expect(await stage.hook(token, BODY, signed)).toEqual(first);
    await refuses(token, BODY, {});
    await refuses(token, BODY.replace('  ', ' '), signed);
    await refuses(token, BODY, { [header]: hmac('hex') });
    await refuses(token, BODY, { [header]: `sha256=${hmac('hex', BODY, 'another secret')}` });
    for (const wrong of ['sha256=', 'sha256=00', `sha256=${'0'.repeat(64)}`, `sha1=${hmac('hex')}`, '__proto__']) {
      await refuses(token, BODY, { [header]: wrong });
    }
    expect(await stage.records.runs.count({ automationId: made.id })).toBe(1);
    expect(made.trigger?.config?.verify).toEqual({ type: WebhookVerifyType.GITHUB });
    expect(JSON.stringify(await stage.records.automations.get(made.id))).not.toContain(SECRET);
  });

  test.each([
    ['hexadecimal', hmac('hex')],
    ['hexadecimal with a prefix', `sha256=${hmac('hex').toUpperCase()}`],
    ['base64', hmac('base64')],
    ['base64 with a prefix', `sha256=${hmac('base64')}`],
    ['base64url', hmac('base64').replaceAll('+', '-').replaceAll('/', '_').replace('=', '')],
  ])('by HMAC may be %s', async (_, signature) => {
    const verify = { type: WebhookVerifyType.HMAC_SHA256, header: 'X-Signature', secret: SECRET };
    const { token } = await hookOf(verify);
    expect((await stage.hook(token, BODY, { 'x-signature': signature })).runId).not.toBe('');
    await refuses(token, `${BODY} `, { 'x-signature': signature });
    await refuses(token, BODY, { 'x-other': signature });
  });

  test('is not among the headers that the run receives, whatever its header is called', async () => {
    const verify = { type: WebhookVerifyType.HMAC_SHA256, header: 'X-Digest', secret: SECRET };
    const { token } = await hookOf(verify);
    const run = await runOf(await stage.hook(token, BODY, { 'x-digest': hmac('hex'), 'x-event': 'push' }));
    expect(run?.input).toMatchObject({ webhook: { headers: { 'x-event': 'push' } } });
    expect(JSON.stringify(run?.input)).not.toContain(hmac('hex'));
  });

  test('of Standard Webhooks expires after five minutes, and covers its id', async () => {
    const { token } = await hookOf({ type: WebhookVerifyType.STANDARD_WEBHOOKS, secret: SIGNING });
    const signed = (at: number, id = 'm1') => signedHeaders(id, at, BODY);
    const now = Date.now();
    expect((await stage.hook(token, BODY, signed(now))).runId).not.toBe('');
    expect((await stage.hook(token, BODY, signed(now - 200_000, 'm2'))).runId).not.toBe('');
    await refuses(token, BODY, signed(now - 400_000, 'm3'));
    await refuses(token, BODY, signed(now + 400_000, 'm4'));
    await refuses(token, BODY, { ...signed(now), 'webhook-id': 'm5' });
    await refuses(token, BODY, signedHeaders('m6', now, BODY, `whsec_${Buffer.alloc(32, 8).toString('base64')}`));
    await refuses(token, BODY, {});
    const form = 'a=1&b=2';
    expect((await stage.hook(token, BODY, signedHeaders('m7', now, BODY))).runId).not.toBe('');
    await refuses(token, BODY, signedHeaders('m8', now, form));
  });

  test('is checked before anything about the automation is revealed', async () => {
    const { ada, made, token } = await hookOf({ type: WebhookVerifyType.GITHUB, secret: SECRET });
    await stage.update(ada, made.id, { isActive: false });
    await refuses(token, BODY, {});
    await expect(stage.hook(token, BODY, { 'x-hub-signature-256': `sha256=${hmac('hex')}` })).rejects.toMatchObject({
      reason: 'automation_inactive',
    });
  });

  test('requires a secret, which is kept as long as the type does not change', async () => {
    const ada = stage.person('Ada');
    const config = (verify: object) => ({ trigger: { type: TriggerType.WEBHOOK, config: { verify } } });
    const refused: [object, string][] = [
      [{ type: WebhookVerifyType.GITHUB }, 'secret'],
      [{ type: WebhookVerifyType.STANDARD_WEBHOOKS, secret: 'too short and no base64' }, 'secret'],
      [{ type: WebhookVerifyType.HMAC_SHA256, secret: SECRET }, 'header'],
      [{ type: WebhookVerifyType.HMAC_SHA256, secret: SECRET, header: 'Authorization' }, 'header'],
      [{ type: WebhookVerifyType.NONE, secret: SECRET }, 'secret'],
      [{ type: WebhookVerifyType.GITHUB, secret: SECRET, header: 'x-a' }, 'header'],
    ];
    for (const [verify, field] of refused) {
      await expect(stage.create(ada, config(verify))).rejects.toMatchObject({
        param: `trigger.config.verify.${field}`,
      });
    }
    const { token, made, ada: owner } = await hookOf({ type: WebhookVerifyType.GITHUB, secret: SECRET });
    const same = { type: TriggerType.WEBHOOK, config: { verify: { type: WebhookVerifyType.GITHUB } } };
    await stage.update(owner, made.id, { trigger: same as never });
    const signed = { 'x-hub-signature-256': `sha256=${hmac('hex')}` };
    expect((await stage.hook(token, BODY, signed)).runId).not.toBe('');
    const open = { type: TriggerType.WEBHOOK, config: undefined };
    await stage.update(owner, made.id, { trigger: open as never });
    expect((await stage.hook(token, BODY)).runId).not.toBe('');
    await expect(stage.update(owner, made.id, { trigger: same as never })).rejects.toMatchObject({
      param: 'trigger.config.verify.secret',
    });
  });
});
