import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openTestDatabase, type TestDatabase } from '@commonplace/adapters/testing';
import { openTenantGuard, type TenantGuard } from '@commonplace/kit/fetch';
import { silentLog } from '@commonplace/kit/log';
import { eventually } from '@commonplace/kit/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import {
  DELAYS_MS,
  type DisabledReason,
  isWebhookSecret,
  KEPT,
  mintWebhookSecret,
  openWebhooks,
  type Webhooks,
} from '../src/webhooks/index.js';

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

const HOUR = 3_600_000;
const message = (n: number | string) => ({
  tenant: 'org',
  ownerId: 'form',
  eventId: `evt_${n}`,
  type: 'form.submitted',
  body: JSON.stringify({ id: `evt_${n}`, type: 'form.submitted', data: { values: { name: 'Zoë' } } }),
});

let receiver: Server;
let url: string;
let answer: (response: ServerResponse) => void;
let received: Received[];
let guard: TenantGuard;
let database: TestDatabase;
let webhooks: Webhooks;
let clock: number;
let secrets: string[];
let disabled: DisabledReason[];
/** URL of the target `moved`. */
let elsewhere: string | undefined;

beforeAll(async () => {
  receiver = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    received.push({ headers: request.headers, body });
    answer(response);
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
  guard = openTenantGuard({ allowlist: ['127.0.0.1'], listOf: async () => [] });
});
afterAll(async () => {
  await guard.close();
  receiver.close();
});

beforeEach(async () => {
  received = [];
  disabled = [];
  elsewhere = undefined;
  secrets = [mintWebhookSecret()];
  clock = Date.parse('2026-03-01T00:00:00Z');
  database = await openTestDatabase();
  webhooks = await openWebhooks({
    service: 'forms',
    store: database.store('forms'),
    log: silentLog,
    guard,
    now: () => clock,
    random: () => 0.5,
    target: async (_, id) => {
      if (id === 'moved') return elsewhere === undefined ? undefined : { url: elsewhere, secrets };
      return { url, secrets };
    },
    disabled: async (_, __, reason) => void disabled.push(reason),
  });
});
afterEach(async () => {
  await webhooks.close();
  await database.close();
});

async function inUnit<T>(
  act: (work: ReturnType<ReturnType<TestDatabase['store']>['begin']>) => Promise<T>,
): Promise<T> {
  const work = database.store('forms').begin();
  const result = await act(work);
  await work.commit();
  return result;
}

const send = (n: number | string, targets = ['t']) => inUnit((work) => webhooks.send(work, message(n), targets));
const says = (status: number, headers = {}, body = '') => {
  answer = (response) => response.writeHead(status, headers).end(body);
};

/** Verifies a delivery as a receiver does; the standard requires a current timestamp. */
function verify({ headers, body }: Received, secret: string): unknown {
  const now = Date.now;
  Date.now = () => clock;
  try {
    return new Webhook(secret).verify(body, headers as Record<string, string>);
  } finally {
    Date.now = now;
  }
}

describe('a delivery', () => {
  test('is signed according to the standard, is sent once, and is then done', async () => {
    says(204);
    await send(1);
    await inUnit(async (work) => {
      await webhooks.send(work, message(2), ['t']);
      await webhooks.send(work, message(2), ['t']);
    });
    await webhooks.runDue();
    await webhooks.runDue();
    expect(received.map(({ headers }) => headers['webhook-id']).sort()).toEqual(['evt_1', 'evt_2']);
    for (const one of received) expect(verify(one, secrets[0] as string)).toEqual(JSON.parse(one.body));
    expect(() => verify(received[0] as Received, mintWebhookSecret())).toThrow('No matching signature');
    const [last] = await webhooks.latest('form', 10);
    expect(last).toMatchObject({ status: 'delivered', attempts: 1, last: { status: 204 } });
  });

  test('that is requested again after a restart is known', async () => {
    says(200);
    await send(1);
    await webhooks.runDue();
    const work = database.store('forms').begin();
    await webhooks.send(work, message(1), ['t']);
    expect(work.dirty).toBe(false);
  });

  test('has the signature of the former secret next to that of the current one', async () => {
    const former = mintWebhookSecret();
    secrets = [secrets[0] as string, former];
    says(200);
    await send(1);
    await webhooks.runDue();
    const [one] = received;
    for (const secret of secrets) expect(verify(one as Received, secret)).toMatchObject({ id: 'evt_1' });
    expect(one?.headers['webhook-signature']).toMatch(/^v1,\S+ v1,\S+$/);
  });

  test.each([500, 404, 301, 429])(
    'answered %s is retried by the schedule, with the same id and fresh timestamps',
    async (status) => {
      says(status, { location: `${url}/elsewhere` });
      await send(1);
      const times: number[] = [];
      for (let attempt = 0; ; attempt++) {
        await webhooks.runDue();
        times.push(clock);
        expect(received).toHaveLength(attempt + 1);
        expect(received[attempt]?.headers).toMatchObject({
          'webhook-id': 'evt_1',
          'webhook-timestamp': String(clock / 1000),
        });
        verify(received[attempt] as Received, secrets[0] as string);
        const [delivery] = await webhooks.latest('form', 1);
        if (delivery?.dueAt === undefined) break;
        clock = Date.parse(delivery.dueAt) - 1;
        await webhooks.runDue();
        expect(received).toHaveLength(attempt + 1);
        clock++;
      }
      expect(times.slice(1).map((time, i) => time - (times[i] as number))).toEqual(DELAYS_MS);
      const [delivery] = await webhooks.latest('form', 1);
      expect(delivery).toMatchObject({ status: 'failed', attempts: 10, last: { status } });
      expect(disabled).toEqual([]);
    },
  );

  test('that fails and then arrives is done', async () => {
    says(503);
    await send(1);
    await webhooks.runDue();
    says(200, {}, 'thanks');
    clock += 6_000;
    await webhooks.runDue();
    const [delivery] = await webhooks.latest('form', 1);
    expect(delivery).toMatchObject({ status: 'delivered', attempts: 2, last: { status: 200, head: 'thanks' } });
  });

  test('waits as long as the target asks for, in seconds or by a date, but not endlessly', async () => {
    for (const [header, ms] of [
      ['120', 120_000],
      [new Date(clock + HOUR).toUTCString(), HOUR],
      ['999999', 24 * HOUR],
      ['soon', 5_000],
      ['1', 5_000],
    ] as const) {
      says(429, { 'retry-after': header });
      await send(header);
      await webhooks.runDue();
      const [delivery] = (await webhooks.latest('form', 10)).filter(({ eventId }) => eventId === `evt_${header}`);
      expect([header, Date.parse(delivery?.dueAt ?? '') - clock]).toEqual([header, ms]);
    }
  });

  test('stays pending if there is no answer in time, or the connection breaks', async () => {
    answer = (response) => response.destroy();
    await send(1);
    await webhooks.runDue();
    expect((await webhooks.latest('form', 1))[0]).toMatchObject({
      status: 'pending',
      attempts: 1,
      last: { error: expect.any(String) },
    });
  });

  test('reads only the beginning of an endless answer', async () => {
    answer = (response) => {
      const more = () => {
        while (response.write('x'.repeat(4096)));
      };
      response.writeHead(200).on('drain', more);
      more();
    };
    await send(1);
    await webhooks.runDue();
    const [delivery] = await webhooks.latest('form', 1);
    expect(delivery).toMatchObject({ status: 'delivered' });
    expect(delivery?.last?.head).toBe('x'.repeat(1024));
  });

  test('is not sent if its target is gone, or its URL leads into the own network', async () => {
    await send(1, ['moved']);
    await webhooks.runDue();
    expect((await webhooks.latest('form', 1))[0]).toMatchObject({ status: 'canceled', attempts: 0 });
    elsewhere = `https://localhost:${new URL(url).port}/`;
    await send(2, ['moved']);
    await webhooks.runDue();
    const refused = (await webhooks.latest('form', 5)).find(({ eventId }) => eventId === 'evt_2');
    expect(refused).toMatchObject({ status: 'pending', last: { error: expect.stringContaining('url_not_allowed') } });
    expect(received).toEqual([]);
  });

  test('that has ended can be sent again under its id', async () => {
    says(200);
    await send(1);
    await webhooks.runDue();
    const [delivery] = await webhooks.latest('form', 1);
    const id = delivery?.id ?? '';
    expect(await inUnit((work) => webhooks.resend(work, 'other', id))).toBe(false);
    expect(await inUnit((work) => webhooks.resend(work, 'form', id))).toBe(true);
    expect(await inUnit((work) => webhooks.resend(work, 'form', id))).toBe(false);
    await webhooks.runDue();
    expect(received.map(({ headers }) => headers['webhook-id'])).toEqual(['evt_1', 'evt_1']);
  });
});

describe('a target', () => {
  test('that answers 410 is disabled at once, until it is enabled again', async () => {
    says(410);
    await send(1);
    await webhooks.runDue();
    expect(disabled).toEqual(['gone']);
    expect(await webhooks.disabledOf('form')).toEqual(new Map([['t', 'gone']]));
    says(200);
    await send(2);
    await webhooks.runDue();
    expect(received).toHaveLength(1);
    expect((await webhooks.latest('form', 5)).map(({ status }) => status).sort()).toEqual(['canceled', 'failed']);
    await inUnit((work) => webhooks.enable(work, 'form', 't'));
    await send(3);
    await webhooks.runDue();
    expect(received).toHaveLength(2);
  });

  test('is disabled after five days of failures only', async () => {
    says(500);
    for (let hour = 0; disabled.length === 0 && hour < 24 * 7; hour++) {
      if (hour % 24 === 0) await send(hour);
      await webhooks.runDue();
      clock += HOUR;
    }
    expect(disabled).toEqual(['failing']);
    const days = (clock - HOUR - Date.parse('2026-03-01T00:00:00Z')) / (24 * HOUR);
    expect(days).toBeGreaterThanOrEqual(5);
    expect(days).toBeLessThan(6);
  });

  test('that has answered successfully in between stays enabled', async () => {
    for (let hour = 0; hour < 24 * 7; hour++) {
      says(hour === 24 * 4 ? 200 : 500);
      if (hour % 24 === 0) await send(hour);
      await webhooks.runDue();
      clock += HOUR;
    }
    expect(disabled).toEqual([]);
  });

  test('that is slow does not delay others', async () => {
    const held: ServerResponse[] = [];
    answer = (response) => void held.push(response);
    for (let i = 0; i < 40; i++) await send(i, ['slow']);
    await inUnit((work) => webhooks.send(work, { ...message('x'), ownerId: 'other' }, ['fast']));
    const looking = webhooks.runDue();
    await eventually(async () => expect(received.map(({ headers }) => headers['webhook-id'])).toContain('evt_x'));
    expect(held).toHaveLength(5);
    answer = (response) => response.end();
    for (const response of held) response.end();
    await looking;
  });
});

test('an owner sees a limited number of the latest deliveries', async () => {
  says(200);
  for (let i = 0; i < KEPT + 20; i++) {
    clock++;
    await send(i);
  }
  for (let i = 0; i < (KEPT + 20) / 4; i++) await webhooks.runDue();
  await send('last');
  await webhooks.runDue();
  const kept = await webhooks.latest('form', 1000);
  expect(kept).toHaveLength(KEPT);
  await inUnit((work) => webhooks.forget(work, 'form'));
  expect(await webhooks.latest('form', 10)).toEqual([]);
});

test('an owner with many deliveries is deleted in several units of work, the latest deliveries first', async () => {
  await inUnit(async (work) => {
    for (let i = 0; i < 2_150; i++) await webhooks.send(work, { ...message(i), ownerId: 'large' }, ['hook']);
  });
  const left: unknown[] = [];
  for (let done = false; !done; ) {
    const first = (await webhooks.latest('large', 1))[0]?.id;
    await inUnit(async (work) => {
      done = await webhooks.forget(work, 'large');
    });
    const ids = (await webhooks.latest('large', KEPT)).map(({ id }) => id);
    expect(ids).not.toContain(first);
    left.push(ids.length > 0);
  }
  expect(left).toEqual([true, true, true, true, false]);
});

test('a secret is distinguished from other texts', () => {
  expect(isWebhookSecret(mintWebhookSecret())).toBe(true);
  const bytes = (n: number) => `whsec_${Buffer.alloc(n, 7).toString('base64')}`;
  expect([24, 64].map((n) => isWebhookSecret(bytes(n)))).toEqual([true, true]);
  for (const text of ['', 'whsec_', bytes(23), bytes(65), bytes(32).slice(6), `${bytes(32)}!`, `${bytes(32)} `]) {
    expect([text, isWebhookSecret(text)]).toEqual([text, false]);
  }
});
