import type { DomainEvent } from '@commonplace/kit/events';
import { DEAD_INDEX, type JobRecord, type QueueSpec } from '@commonplace/kit/jobs';
import type { CollectionSpec } from '@commonplace/kit/store';

/** Milliseconds between two events about the content of one resource; the latest change waits for its turn. */
export const CONTENT_GAP_MS = 10_000;
/** Milliseconds that a resource is remembered after its last change, so that a late delivery starts nothing again. */
export const CONTENT_KEEP_MS = 3_600_000;

/** The turn of a resource whose content has changed; its id is the resource's. */
export interface ContentTurnRecord extends JobRecord {
  readonly tenant: string;
  readonly workspaceId: string;
  /** The change that waits, with the changed fields of those that it stands for. */
  readonly waiting?: DomainEvent | undefined;
  /** The latest change that waits or has had its turn. */
  readonly lastId: string;
  readonly lastVersion: number;
  /** When the next turn is. Absent while nothing has changed for a whole gap. */
  readonly dueAt?: string | undefined;
  readonly expiresAt?: string | undefined;
}

export const contentTurnCollection: CollectionSpec<ContentTurnRecord> = {
  name: 'automation_contents',
  indexes: [
    { fields: ['dueAt'], sparse: true },
    { fields: ['tenant'] },
    { fields: ['workspaceId'] },
    { fields: ['expiresAt'] },
    DEAD_INDEX,
  ],
  expires: 'expiresAt',
};

export const contentTurnQueue: QueueSpec<ContentTurnRecord> = {
  name: 'automations.contents',
  collection: contentTurnCollection,
  due: 'dueAt',
  describe: ({ id, tenant }) => `automations that a change of the resource ${id} in ${tenant} starts`,
};
