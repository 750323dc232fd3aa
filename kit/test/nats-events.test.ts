import { describe, test } from '@jest/globals';
import { openNatsBus } from '../src/events/nats/index.js';
import { newId } from '../src/id/index.js';
import { type EventsHarness, eventsContract } from '../src/testing/index.js';
import { deleteStreams, natsUrl as url } from './servers.js';

async function openHarness(stream: string): Promise<EventsHarness> {
  const buses = [await openNatsBus({ url, stream })];
  const close = async (): Promise<void> => {
    await Promise.all(buses.map((bus) => bus.close()));
  };
  return {
    get bus() {
      return buses[0] as (typeof buses)[0];
    },
    another: async () => {
      const bus = await openNatsBus({ url, stream });
      buses.push(bus);
      return bus;
    },
    close: async () => {
      await close();
      await deleteStreams(stream);
    },
    reopen: async () => {
      await close();
      return openHarness(stream);
    },
  };
}

if (url === '') {
  describe.skip('events on NATS: COMMONPLACE_NATS_URL is not set', () => {
    test('no server', () => {});
  });
} else {
  eventsContract('NATS', () => openHarness(`TEST_${newId().slice(-12)}`));
}
