import { type Guard, openGuard } from '@commonplace/kit/fetch';
import type { Log } from '@commonplace/kit/log';
import { createEnvelope, type Envelope } from '@commonplace/kit/secrets';
import type { Store } from '@commonplace/kit/store';
import type { Webhooks } from '@commonplace/kit/webhooks';
import type { Settings } from '../config.js';
import {
  createFormFinder,
  type FindForm,
  type FormStores,
  formCollection,
  formTallyCollection,
  responseClaimCollection,
  submissionCollection,
} from '../stores/forms.js';
import type { Tree } from '../stores/tree.js';
import type { TableKind } from '../tables/kind.js';
import { type Batches, createBatches } from './batches.js';
import { type Bindings, createBindings } from './bindings.js';
import { openDeliveries } from './deliveries.js';
import { createKnownForms, type KnownForms } from './known.js';
import { createFormTokens, type FormTokens } from './tokens.js';

/** What forms stand on. */
export interface FormParts extends FormStores {
  readonly tokens: FormTokens;
  readonly byToken: FindForm;
  readonly known: KnownForms;
  readonly envelope: Envelope;
  /** Says which URLs may be called. */
  readonly guard: Guard;
  readonly bindings: Bindings;
  readonly batches: Batches;
  readonly deliveries: Webhooks;
}

export interface FormSurroundings {
  readonly store: Store;
  readonly log: Log;
  readonly tree: Tree;
  readonly table: TableKind;
  readonly settings: Pick<Settings, 'secretsKey' | 'urlAllowlist'>;
}

export async function openForms({ store, log, tree, table, settings }: FormSurroundings): Promise<FormParts> {
  const { secretsKey: keys, urlAllowlist: allowlist } = settings;
  const envelope = createEnvelope(keys);
  const bindings = createBindings(table);
  const stores: FormStores = {
    forms: await store.collection(formCollection),
    tallies: await store.collection(formTallyCollection),
    submissions: await store.collection(submissionCollection),
    claims: await store.collection(responseClaimCollection),
  };
  const known = createKnownForms();
  const guard = openGuard({ allowlist });
  const deliveries = await openDeliveries({ store, log, guard, envelope, forms: stores.forms, tree, now: Date.now });
  return {
    ...stores,
    tokens: createFormTokens(keys, envelope),
    byToken: createFormFinder(stores),
    known,
    envelope,
    guard,
    deliveries,
    bindings,
    batches: createBatches({ store, forms: stores, known, tree, table, bindings, deliveries }),
  };
}
