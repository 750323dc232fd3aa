import { afterAll, beforeAll, describe } from '@jest/globals';
import { broadcastDuties } from './events/broadcast.js';
import { deliveryDuties } from './events/delivery.js';
import { durableDuties } from './events/durable.js';
import { type Bench, createBench, type EventsHarness } from './events/harness.js';
import { orderDuties } from './events/order.js';
import { parkingDuties } from './events/parking.js';
import { watchDuties } from './events/watch.js';
import { createDuties, type OptOuts } from './suite/duties.js';

export type { EventsHarness } from './events/harness.js';

/** Tests an adapter of the event bus for each duty of `events/port.ts`. */
export function eventsContract(name: string, open: () => Promise<EventsHarness>, optOuts: OptOuts = {}): void {
  describe(`events on ${name}`, () => {
    let bench: Bench | undefined;
    beforeAll(async () => {
      bench = createBench(await open());
    });
    afterAll(async () => {
      await bench?.close();
    });
    const duty = createDuties(optOuts);
    const use = (): Bench => {
      if (bench === undefined) throw new Error('the bus did not open');
      return bench;
    };
    describe('delivery', () => deliveryDuties(duty, use));
    describe('order', () => orderDuties(duty, use));
    describe('failures', () => parkingDuties(duty, use));
    describe('durable consumers', () => durableDuties(duty, use));
    describe('watch', () => watchDuties(duty, use));
    describe('broadcasts', () => broadcastDuties(duty, use));
    duty.finish();
  });
}
