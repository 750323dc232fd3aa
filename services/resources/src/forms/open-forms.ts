import type { TenantGuard } from '@commonplace/kit/fetch';
import type { Log } from '@commonplace/kit/log';
import { createEnvelope, type Envelope } from '@commonplace/kit/secrets';
import { openCollections, type Store } from '@commonplace/kit/store';
import type { Webhooks } from '@commonplace/platform/webhooks';
import type { Settings } from '../config.js';
import type { Deriver } from '../documents/kind/deriver.js';
import type { Tree } from '../nodes/tree.js';
import type { TableKind } from '../tables/kind.js';
import { type Batches, createBatches } from './batches.js';
import { type Bindings, createBindings } from './bindings.js';
import { type Captcha, createCaptcha } from './captcha.js';
import { openDeliveries } from './deliveries.js';
import { createKnownForms, type KnownForms } from './known.js';
import { createFindMismatches, type FindMismatches } from './patterns.js';
import { createFormFinder, type FindForm, FORM_RECORDS, type FormStores } from './records.js';
import { createFormTokens, type FormTokens } from './tokens.js';

/** The dependencies of the handlers of forms. */
export interface Forms extends FormStores {
  readonly tokens: FormTokens;
  readonly byToken: FindForm;
  readonly known: KnownForms;
  readonly captcha: Captcha;
  readonly envelope: Envelope;
  /** Decides which URLs may be called. */
  readonly guard: TenantGuard;
  readonly bindings: Bindings;
  readonly batches: Batches;
  readonly deliveries: Webhooks;
  readonly findMismatches: FindMismatches;
  /** Checks patterns. */
  readonly deriver: Pick<Deriver, 'findPatternFaults'>;
}

interface FormSurroundings {
  readonly store: Store;
  readonly log: Log;
  readonly tree: Tree;
  readonly table: TableKind;
  readonly deriver: Deriver;
  readonly guard: TenantGuard;
  readonly attempts: FormStores['attempts'];
  readonly settings: Pick<Settings, 'secretsKey' | 'captchaBits' | 'captchaMinutes'>;
}

export async function openForms({
  store,
  log,
  tree,
  table,
  settings,
  deriver,
  guard,
  attempts,
}: FormSurroundings): Promise<Forms> {
  const { secretsKey: keys, captchaBits: bits, captchaMinutes } = settings;
  const envelope = createEnvelope(keys);
  const bindings = createBindings(table);
  const stores: FormStores = { ...(await openCollections(store, FORM_RECORDS)), attempts };
  const known = createKnownForms();
  const captcha = createCaptcha({ masterKeys: keys, bits, validMs: captchaMinutes * 60_000, now: Date.now });
  const deliveries = await openDeliveries({ store, log, guard, envelope, forms: stores.forms, tree, now: Date.now });
  const findMismatches = createFindMismatches(deriver);
  return {
    ...stores,
    tokens: createFormTokens(keys, envelope),
    byToken: createFormFinder(stores),
    known,
    captcha,
    envelope,
    guard,
    deliveries,
    bindings,
    batches: createBatches({ store, forms: stores, known, captcha, tree, table, bindings, deliveries, findMismatches }),
    findMismatches,
    deriver,
  };
}
