import type { DomainEvent } from '@commonplace/kit/events';
import { DEAD_INDEX, type JobRecord, type QueueSpec } from '@commonplace/kit/jobs';
import type { CollectionSpec } from '@commonplace/kit/store';

/**
 * Milliseconds between two starts by changes of one resource's content; later changes wait for the end of the interval.
 */
export const CONTENT_GAP_MS = 10_000;
/** Milliseconds that a resource's state is kept after its last change, so that a late delivery starts nothing again. */
export const CONTENT_KEEP_MS = 3_600_000;

/** The throttle state of a resource whose content has changed. Its id is the resource's. */
export interface ContentTurnRecord extends JobRecord {
  readonly tenant: string;
  readonly workspaceId: string;
  /** The pending change, with the changed fields of the changes merged into it. */
  readonly waiting?: DomainEvent | undefined;
  /** The latest change that is pending or was handled. */
  readonly lastId: string;
  readonly lastVersion: number;
  /** When the next change is handled; absent after an interval without changes. */
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
