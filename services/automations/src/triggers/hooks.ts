import { NotFound, WorkspaceArchived } from '@commonplace/kit/errors';
import { fingerprint, newId } from '@commonplace/kit/id';
import type { CallContext, Handlers } from '@commonplace/kit/rpc';
import type { Collection } from '@commonplace/kit/store';
import { contracts } from '@commonplace/platform/contracts';
import { implement, type StartedModule } from '@commonplace/platform/runtime';
import type { AutomationHookService } from '@commonplace/proto/automations/v1/automation_service.js';
import { AutomationInactive, PayloadTooLarge } from '../definitions/errors.js';
import { hashHookToken, isHookToken } from '../definitions/hook-token.js';
import { type AutomationRecord, automationCollection } from '../definitions/records.js';
import { hookSecretOwner } from '../definitions/secrets.js';
import { CHAIN_HEADER, isLoop, readChain } from '../domain/chain.js';
import { isHidden } from '../hidden-workspaces.js';
import type { Shared } from '../parts.js';
import { laneCollection, runCollection } from '../runs/records.js';
import { type RunRecords, startRun } from '../runs/start.js';
import { DELIVERY_KEPT_MS, type HookDeliveryRecord, hookDeliveryCollection } from './hook-records.js';
import { deliveryOf, type HookRequest, readHookRequest, shownHeaders, verifyHook } from './hook-request.js';

/**
 * Maximum bytes of a body once it is written as JSON, which is up to six times as long: `1e9` becomes `1000000000`, and a
 * form writes its field names and control characters differently. No body of the default size reaches it.
 */
const MAX_PAYLOAD_BYTES = 8_388_608;

interface HookParts extends Pick<Shared, 'envelope' | 'memberships' | 'now' | 'peers' | 'systemCall' | 'settings'> {
  readonly automations: Collection<AutomationRecord>;
  readonly deliveries: Collection<HookDeliveryRecord>;
  readonly records: RunRecords;
}

/** Opens the endpoint through which other systems start automations. */
export async function openHooks(shared: Shared): Promise<StartedModule> {
  const { store, envelope, memberships, now, peers, systemCall, settings } = shared;
  const runs = await store.collection(runCollection);
  const parts: HookParts = {
    ...{ envelope, memberships, now, peers, systemCall, settings },
    automations: await store.collection(automationCollection),
    deliveries: await store.collection(hookDeliveryCollection),
    records: { runs, lanes: await store.collection(laneCollection), settings },
  };
  return { implementations: [implement(contracts.automationHooks, createHookHandlers(parts))] };
}

/**
 * Creates the handlers. Requests have no caller: the token in the path is the credential, and the signature proves the
 * sender.
 */
function createHookHandlers(parts: HookParts): Handlers<AutomationHookService> {
  return {
    async triggerAutomation(request, context) {
      const automation = await findByToken(parts, request.token);
      const archived = await isArchived(parts, automation);
      const limit = parts.settings.automationHookBytes;
      if (Buffer.byteLength(request.body) > limit) throw PayloadTooLarge({ limit });
      if (request.payload.length > MAX_PAYLOAD_BYTES) throw PayloadTooLarge({ limit: MAX_PAYLOAD_BYTES });
      const hook = readHookRequest(request);
      const verify = automation.definition.trigger.verify ?? { type: 'none' };
      verifyHook({ ...verify, secret: secretOf(parts, automation) }, hook);
      const delivery = { hook, id: deliveryOf(hook, verify.type), archived };
      return { runId: await startOnce(parts, automation, delivery, context) };
    },
  };
}

async function findByToken({ automations }: HookParts, token: string): Promise<AutomationRecord> {
  if (!isHookToken(token)) throw NotFound();
  const where = { hookTokenHash: hashHookToken(token) };
  const [automation] = await automations.find({ where, limit: 1 });
  if (automation === undefined || automation.triggerType !== 'webhook') throw NotFound();
  return automation;
}

function secretOf({ envelope }: HookParts, automation: AutomationRecord): string | undefined {
  const { hookSecretSealed } = automation;
  return hookSecretSealed === undefined ? undefined : envelope.open(hookSecretSealed, hookSecretOwner(automation));
}

/**
 * Returns whether the workspace is archived. Throws `NotFound` while the deletion of its Org is scheduled. The run checks
 * when it begins whether the person may still act.
 */
async function isArchived(parts: HookParts, { workspaceId, definition }: AutomationRecord): Promise<boolean> {
  const { workspaces } = await parts.memberships.of(definition.actsAs.userId, parts.systemCall());
  const place = workspaces.get(workspaceId);
  if (place === undefined && (await isHidden(parts, workspaceId))) throw NotFound();
  return place?.archived === true;
}

/** A verified request. */
interface Delivery {
  readonly hook: HookRequest;
  /** Empty if the sender has named none. */
  readonly id: string;
  /** Whether the workspace of the automation is archived. */
  readonly archived: boolean;
}

/**
 * Starts a run, or returns the run that the same delivery started within the last 24 hours, also if the automation has
 * been switched off since.
 */
async function startOnce(
  parts: HookParts,
  automation: AutomationRecord,
  { hook, id: delivery, archived }: Delivery,
  context: CallContext,
): Promise<string> {
  const { automations, deliveries, records, now } = parts;
  await context.inTurn(laneCollection.name, automation.id);
  const { work } = context;
  const { verify } = automation.definition.trigger;
  const key = fingerprint('automation delivery', automation.id, delivery);
  const known = delivery === '' ? undefined : await work.get(deliveries, key);
  const at = now();
  if (known !== undefined && Date.parse(known.deleteAt) > at) return known.runId;
  if (!automation.isActive) throw AutomationInactive();
  if (archived) throw WorkspaceArchived();
  const runId = newId();
  const chain = readChain(hook.headers[CHAIN_HEADER]);
  const by = { type: 'system', id: automation.id, name: 'Webhook' } as const;
  const request = {
    id: runId,
    trigger: { type: 'webhook', by, ...(delivery !== '' && { eventId: delivery }) },
    input: { webhook: { body: hook.payload, headers: shownHeaders(hook.headers, verify?.header) } },
    taints: [{ type: 'webhook', id: automation.id, name: automation.name }],
    chain,
    ...(isLoop(chain, automation.id) && { skipReason: 'loop' as const }),
  } as const;
  await startRun(records, automation, request, work, at);
  // Makes the handler run again if the automation is switched off, deleted or given another token at the same time.
  work.expect(automations, automation);
  if (delivery !== '') {
    const { tenant } = automation;
    const deleteAt = new Date(at + DELIVERY_KEPT_MS).toISOString();
    const record = { id: key, tenant, automationId: automation.id, runId, deleteAt };
    if (known === undefined) work.insert(deliveries, record);
    else work.replace(deliveries, known, record);
  }
  return runId;
}
