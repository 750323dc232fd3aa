import { forEach } from '@commonplace/acceptance/dist/src/walk.js';
import type { Bench } from '../bench.js';
import { compareBeside } from '../beside.js';
import { createWorkspace, type Made } from '../fill.js';
import type { Check, Row } from '../row.js';
import { ratioOf } from '../row.js';
import { addReaders } from '../streams.js';
import { startBareKoa } from '../subjects/limit.js';

/** Number of conversations of a person who has few, compared with a person who has all of them. */
const FEW = 50;
/**
 * Number of resources in the large workspace of other rows per conversation here. With the default there are 10,000
 * conversations.
 */
const SHARE = 10;
const CREATED_AT_ONCE = 16;
/**
 * Number of connections. It is small, because a page of all conversations is far more work than other requests of the
 * benchmarks.
 */
const CONNECTIONS = 2;
const PATH = '/im/conversations?limit=50';

/**
 * Measures a page of a person's conversations with their unread messages and the total number, for a person with few
 * and one with many.
 */
export async function measureConversations(bench: Bench): Promise<Row> {
  const settings = { COMMONPLACE_SIGN_UP: 'open', COMMONPLACE_RATE_LIMITS: 'off' };
  const measured = await bench.start('conversations', { settings });
  const { client, subject } = measured;
  try {
    const many = bench.options.many / SHARE;
    const workspaceId = await createWorkspace(client, 'Conversations');
    const [few, lots] = (await addReaders(measured, workspaceId, 2)) as [Reader, Reader];
    const numbers = Array.from({ length: many }, (_, i) => i);
    await forEach(numbers, CREATED_AT_ONCE, async (i) => {
      const member_ids = (i < FEW ? [few, lots] : [lots]).map(({ user }) => user.id);
      const body = { type: 'group', name: `Group ${i}`, workspace_id: workspaceId, member_ids };
      const { id } = await client.ask<Made>('POST', '/im/conversations', body);
      await client.ask('POST', `/im/conversations/${id}/messages`, { text: `Message ${i}` });
    });
    bench.say(`${many} conversations created`);
    const answer = await lots.get<{ total_unread: number }>(PATH);
    if (answer.data.total_unread !== many) throw new Error(`${answer.data.total_unread} of ${many} are unread.`);
    const request = { method: 'GET', path: `/api/v1${PATH}` } as const;
    const by = (one: Reader) => ({
      subject: { ...subject, apiKey: undefined },
      requests: [{ ...request, headers: { cookie: one.session.cookie } }],
    });
    const figures = await compareBeside(
      { ...bench, pace: { ...bench.pace, connections: CONNECTIONS } },
      [
        { ...by(few), about: `${FEW} conversations` },
        { ...by(lots), about: `${many} conversations` },
      ],
      () => startBareKoa({ method: 'GET', path: '/api/v1/im/conversations', status: 200, answers: [answer.text] }),
    );
    const [little, , large] = figures;
    const growth: Check = {
      what: `p95 of ${many} conversations beside that of ${FEW}`,
      value: (large?.p95 ?? Number.NaN) / (little?.p95 ?? Number.NaN),
      unit: '×',
      right: 'at most',
      floor: many / FEW,
      aim: 2,
    };
    const notes = [`a page of 50 with the unread messages of each and of all; ${Buffer.byteLength(answer.text)} bytes`];
    return { figures, checks: [ratioOf(figures, 0.02), growth], notes };
  } finally {
    await subject.stop();
  }
}

type Reader = Awaited<ReturnType<typeof addReaders>>[number];
