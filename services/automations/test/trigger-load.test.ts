import { newId } from '@commonplace/kit/id';
import type { MembershipCache } from '@commonplace/platform/memberships';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ActiveTriggers } from '../src/triggers/active.js';
import { handleEvents } from '../src/triggers/consumer.js';
import { eventBy, openTriggerStage, type TriggerStage } from './trigger-stage.js';

let stage: TriggerStage;
beforeAll(async () => {
  stage = await openTriggerStage();
}, 60_000);
afterAll(() => stage.close());

const AUTOMATIONS = 200;
const EVENTS = 20_000;
const BATCH = 100;
/** Every so many events one is of the workspace with automations, and starts one of them. */
const STARTS_EVERY = 100;

test(`${EVENTS} events are matched with ${AUTOMATIONS} automations, and other events cause no query`, async () => {
  const { store, bus, records } = stage;
  const [busy, ada] = [newId(), stage.person('Ada')];
  stage.join(ada, busy);
  const tables = Array.from({ length: AUTOMATIONS }, () => stage.resource(busy));
  for (const tableId of tables) await stage.automation(busy, ada, { type: 'row_updated', tableId });
  const quiet = Array.from({ length: 50 }, newId);
  const events = Array.from({ length: EVENTS }, (_, i) => {
    const workspaceId = i % STARTS_EVERY === 0 || i % 2 === 0 ? busy : (quiet[i % quiet.length] as string);
    const tableId = i % STARTS_EVERY === 0 ? (tables[(i / STARTS_EVERY) % AUTOMATIONS] as string) : newId();
    const data = { tableId, resourceId: tableId, rowIds: ['r'], changedFields: ['a'], version: i };
    return eventBy(ada, 'resources.row.updated', data, { workspaceId });
  });
  let asked = 0;
  const memberships: MembershipCache = await stage.memberships();
  const active = new ActiveTriggers({ store, bus, automations: records.automations });
  const parts = {
    ...{ store, active, automations: records.automations, turns: records.turns, now: Date.now },
    peers: stage.peers() as never,
    memberships: {
      ...memberships,
      of: (...given: Parameters<MembershipCache['of']>) => {
        asked++;
        return memberships.of(...given);
      },
    },
    records: { runs: records.runs, lanes: records.lanes, settings: { automationQueue: 1_000, automationRunDays: 30 } },
    systemCall: stage.stage.own.systemCall,
  };
  const begin = performance.now();
  for (let from = 0; from < EVENTS; from += BATCH) await handleEvents(parts, events.slice(from, from + BATCH));
  const ms = performance.now() - begin;
  console.info(`${EVENTS} events, ${AUTOMATIONS} automations: ${ms.toFixed(0)} ms, ${active.queries} queries`);
  expect(await records.runs.count({ tenant: busy })).toBe(EVENTS / STARTS_EVERY);
  // At most one for each batch in which a workspace comes first.
  expect(active.queries).toBeLessThanOrEqual(quiet.length + 1);
  expect(asked).toBeLessThanOrEqual(EVENTS / STARTS_EVERY);
});
