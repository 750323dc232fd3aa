import { createEvent, type DomainEvent, type SubscribeOptions } from '@commonplace/kit/events';
import { describe, expect, test } from '@jest/globals';
import { consume, consumeBatches, readEvent } from '../src/events/index.js';

type Deliver = (events: readonly DomainEvent[]) => Promise<void>;

/** Returns a bus that keeps its one subscription, and a function that delivers events to it. */
function playBus() {
  const subscribed: { options: SubscribeOptions; deliver: Deliver }[] = [];
  const bus = {
    subscribe: async (options: SubscribeOptions, deliver: Deliver) => {
      subscribed.push({ options, deliver });
      return { close: async () => {} };
    },
  };
  return { bus, subscribed };
}

const left = (data: object) =>
  createEvent({ service: 'tenancy', type: 'org_member.removed', subject: 'org', tenant: 'org', data });

describe('a consumer', () => {
  test('is called with one event at a time, in order, with the payload of the contract', async () => {
    const { bus, subscribed } = playBus();
    const seen: string[] = [];
    await consume(bus, { consumer: 'test.leavers', events: ['tenancy.org_member.removed'] }, async (event) => {
      await new Promise((resolve) => setImmediate(resolve));
      seen.push(`${event.name} ${event.subject} ${event.data.userId} ${event.data.transferToUserId || 'nobody'}`);
    });
    const [{ options, deliver } = { options: undefined, deliver: undefined }] = subscribed;
    expect(options).toEqual({ consumer: 'test.leavers', types: ['commonplace.tenancy.org_member.removed'] });
    await deliver?.([left({ userId: 'ada' }), left({ userId: 'bob', transferToUserId: 'eve' })]);
    expect(seen).toEqual(['tenancy.org_member.removed org ada nobody', 'tenancy.org_member.removed org bob eve']);
  });

  test('of batches gets them whole, and its failure reaches the bus, which delivers them again', async () => {
    const { bus, subscribed } = playBus();
    const spec = { consumer: 'test.leavers', events: ['tenancy.org_member.removed'], batch: 50 } as const;
    await consumeBatches(bus, spec, async (events) => {
      throw new Error(`${events.length} events`);
    });
    expect(subscribed[0]?.options).toMatchObject({ batch: 50 });
    await expect(subscribed[0]?.deliver([left({}), left({})])).rejects.toThrow('2 events');
  });

  test.each(['leavers', 'test.', 'test.two_words', 'Test.leavers', 'test-leavers'])(
    'is refused if its name is %s',
    (consumer) => {
      const { bus } = playBus();
      const subscribe = () => consume(bus, { consumer, events: ['tenancy.org.purged'] }, async () => {});
      expect(subscribe).toThrow(`${consumer} is not a valid consumer name`);
    },
  );
});

test('an event without a payload in the contract is not read', () => {
  const event = createEvent({ service: 'tenancy', type: 'nobody.knows', subject: 'x', data: {} });
  expect(() => readEvent(event)).toThrow('commonplace.tenancy.nobody.knows has no payload in the contract');
});
