import type { CallContext } from '@commonplace/kit/rpc';
import { createBreathe } from '@commonplace/kit/slices';
import type { Collection } from '@commonplace/kit/store';
import type { Keeper } from '../../content/kept.js';
import type { ContentKind, Holder, Payload, Renaming } from '../../content/kind.js';
import type { Node } from '../../domain/node.js';
import type { AccessSubject } from '../../policy.js';
import type { Anchor, Place, PublicLinks, PublishedHtml } from '../index.js';
import type { Deriver, Requester } from './deriver.js';
import { type Body, bare } from './document-body.js';
import type { Limits } from './document-input.js';
import type { Hidden } from './hidden.js';
import type { DocumentFormat, StoredContent } from './records.js';

/** What the kind of documents depends on. */
export interface DocumentParts {
  readonly contents: Collection<StoredContent>;
  readonly keeper: Keeper;
  readonly settings: Limits;
  readonly hidden: Hidden;
  readonly deriver: Deriver;
}

export interface DocumentKind extends ContentKind {
  /**
   * Returns the places of passages in a document to a caller that will refer to their blocks, whose ids are stored from
   * then on.
   */
  places(
    node: Pick<Node, 'id'>,
    anchors: readonly Anchor[],
    context: Pick<CallContext, 'work'>,
  ): Promise<(Place | 'orphaned')[]>;
  /** Returns the words of the references in a document that name one of these resources. */
  hiddenWords(node: Pick<Node, 'id'>, hidden: ReadonlySet<string>): Promise<string[]>;
  /** Returns the body as the given caller may read it, in the format that it was written in. */
  shownBody(node: Pick<Node, 'id'>, subject: AccessSubject): Promise<Body>;
  /** Converts a body's text to another format. */
  textIn(tenant: string, body: Body, format: DocumentFormat): Promise<string> | string;
  /** Returns the body with references to renamed resources changed to the new ids. */
  redirected(tenant: string, body: Body, renamed: Renaming): Promise<Body>;
  /** Stores block ids from elsewhere for a new document, provided there are as many ids as blocks. */
  takeIds(node: Pick<Node, 'id'>, ids: readonly string[], context: Pick<CallContext, 'work'>): Promise<void>;
  /**
   * Returns the document as readers of a publication see it: its current state, or the one stored under `keptId`.
   * References become links only if `linksOf` returns an address. Returns HTML or Markdown, as `format` asks for.
   */
  published(
    of: { readonly node: Pick<Node, 'id' | 'tenant'>; readonly keptId?: string },
    linksOf: (ids: readonly string[]) => PublicLinks,
    format: 'html' | 'markdown',
    context: CallContext,
  ): Promise<Partial<PublishedHtml> & { readonly markdown?: string }>;
  /** Returns the document's Markdown as the given caller may read it. */
  shownText(node: Pick<Node, 'id'>, subject: AccessSubject): Promise<string>;
}

/** Reads documents for the parts of their kind. */
export interface DocumentReader {
  /** Returns the body that is stored for a snapshot. Throws if there is none. */
  kept(snapshotId: string, context: CallContext): Promise<Body>;
  /** Returns a body as an API payload that the caller may read. */
  shown(tenant: string, body: Body, format: DocumentFormat, context: CallContext): Promise<Payload>;
}

export function createDocumentReader({ keeper, hidden, deriver }: DocumentParts): DocumentReader {
  return {
    async kept(snapshotId: string, { work }: CallContext): Promise<Body> {
      const body = await keeper.read(snapshotId, work);
      if (body === undefined) throw new Error(`no content is stored for snapshot ${snapshotId}`);
      return bare(body as Body);
    },
    async shown(tenant: string, body: Body, format: DocumentFormat, context: CallContext): Promise<Payload> {
      const breathe = createBreathe(context.signal);
      const unknown = await hidden.in(context, body.text);
      await breathe();
      return deriver.run(within({ tenant }, context), body.text.length, 'payload', bare(body), format, unknown);
    },
  };
}

/** Returns the requester of a parse that has to end before the call's deadline. */
export function within({ tenant }: Pick<Holder, 'tenant'>, { deadline }: Pick<CallContext, 'deadline'>): Requester {
  return { tenant, deadline };
}
