import { randomUUID } from 'node:crypto';
import { expect } from '@jest/globals';
import type { Duties } from '../suite/duties.js';
import { eventually } from '../suite/eventually.js';
import type { Bench } from './harness.js';

export function broadcastDuties(duty: Duties, use: () => Bench): void {
  duty('a broadcast reaches all listeners of its topic in order, and no others', () =>
    use().scene(async ({ bus }) => {
      const there = await use().harness.another();
      const [topic, other] = [`topic ${randomUUID()}`, `topic.${randomUUID()}.>`];
      const received: [string[], string[], string[]] = [[], [], []];
      const listeners = [
        await bus.listen(topic, (text) => received[0].push(text)),
        await there.listen(topic, (text) => received[1].push(text)),
        await there.listen(other, (text) => received[2].push(text)),
      ];
      const texts = Array.from({ length: 100 }, (_, at) => `${at} é\n漢`);
      for (const text of texts) bus.broadcast(topic, text);
      bus.broadcast(other, 'last');
      await eventually(() => expect(received).toEqual([texts, texts, ['last']]));
      await Promise.all(listeners.map((listener) => listener.close()));
    }),
  );

  duty('a listener that is closed or throws does not affect others, and nothing is stored for later', () =>
    use().scene(async ({ bus }) => {
      const topic = randomUUID();
      const received: string[] = [];
      const closed: string[] = [];
      bus.broadcast(topic, 'before');
      const throwing = await bus.listen(topic, () => {
        throw new Error('a listener fails');
      });
      const gone = await bus.listen(topic, (text) => closed.push(text));
      const listener = await bus.listen(topic, (text) => received.push(text));
      await gone.close();
      bus.broadcast(topic, 'after');
      await eventually(() => expect(received).toEqual(['after']));
      expect(closed).toEqual([]);
      await Promise.all([throwing.close(), listener.close()]);
    }),
  );
}
