import type { Actor } from '@commonplace/kit/auth';
import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';

export interface AgentPinEntry {
  readonly id: string;
  readonly resourceId: string;
  readonly addedBy: Actor;
  readonly createdAt: string;
}

/** The pins of an agent; `id` is the agent's. They are one record, so that order, limit and items change together. */
export interface AgentPinList extends StoredRecord {
  readonly tenant: string;
  readonly pins: readonly AgentPinEntry[];
  /** The ids of the pinned resources, for queries. */
  readonly resourceIds: readonly string[];
  /** Who has changed it last, and when; absent in records of earlier versions. */
  readonly updatedBy?: Actor | undefined;
  readonly updatedAt?: string | undefined;
}

export const agentPinCollection: CollectionSpec<AgentPinList> = {
  name: 'agent_pins',
  indexes: [{ fields: ['resourceIds'], many: true }, { fields: ['tenant'] }],
};
