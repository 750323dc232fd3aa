import { AppError } from '@commonplace/kit/errors';
import { fingerprint } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import type { HostKind, Revision } from '@commonplace/proto/resources/v1/reader_service.js';
import type { SharingTerms } from '@commonplace/proto/tenancy/v1/directory_service.js';
import type { KnownHost } from './hosts.js';
import type { Outline } from './outline.js';
import type { PublicationParts } from './parts.js';
import type { PublicationRecord } from './records.js';

/** A publication that a reader may see, on the host of the request. */
export interface OpenedPublication {
  readonly host: KnownHost;
  readonly publication: PublicationRecord;
  readonly terms: SharingTerms;
  readonly outline: Outline;
  readonly revision: Revision;
  /** The active domains of the publication, the preferred one first. */
  readonly domains: readonly string[];
  readonly now: string;
  /** Set if a share link was opened instead of a publication. */
  readonly shared?: true;
}

export type Opening =
  | { readonly kind: 'open'; readonly opened: OpenedPublication; readonly revision: Revision }
  | { readonly kind: 'password'; readonly opened: OpenedPublication; readonly revision: Revision }
  /** The slug was changed: `location` is the new address, without the path below it. */
  | { readonly kind: 'moved'; readonly location: string; readonly revision: Revision }
  | { readonly kind: 'missing'; readonly gone: boolean; readonly signIn?: true; readonly revision: Revision };

/** Returns the sharing terms; undefined if the workspace or its Org no longer exists. */
export async function termsOf(
  parts: Pick<PublicationParts, 'terms' | 'tree'>,
  { kind, itemId, workspaceId }: Pick<PublicationRecord, 'kind' | 'itemId' | 'workspaceId'>,
  context: Pick<CallContext, 'onward'>,
): Promise<SharingTerms | undefined> {
  const head = kind === 'resource' ? await parts.tree.get(itemId) : undefined;
  try {
    return await parts.terms.of(head?.workspaceId ?? workspaceId, context.onward);
  } catch (error) {
    if (error instanceof AppError && error.code === 'NOT_FOUND') return undefined;
    throw error;
  }
}

/** Returns the outcome for an address with nothing to show. */
export function missing(hostKind: HostKind, gone: boolean, what: string): Extract<Opening, { kind: 'missing' }> {
  const revision = fingerprint('missing', String(hostKind), what).slice(0, 22);
  return {
    kind: 'missing',
    gone,
    revision: { hostKind, publicationId: '', revision, validUntil: undefined, private: false },
  };
}
