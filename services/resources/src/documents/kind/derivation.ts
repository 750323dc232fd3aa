import type { ContentInput, Diff, Payload } from '../../content/kind.js';
import {
  type Anchor,
  type BlockMap,
  commentDerivation,
  findAnchors,
  hiddenWords,
  mapBlocks,
  mapBlocksOfDoc,
  type Place,
  type PublicLinks,
  type PublishedHtml,
  publishedHtml,
  publishedMarkdown,
} from '../index.js';
import { type PageMarkdown, pageMarkdown } from '../page/markdown.js';
import { diffLines } from './diff.js';
import { type Body, disclosed, docOf, following, idsOf, isSame, payloadOf, shownText } from './document-body.js';
import { bodyAfter, bodyFrom, type Limits, type ReadInput } from './document-input.js';
import type { DocumentFormat } from './records.js';
import { redirected } from './redirect.js';

/** The computed result of a write: the new body, and whether it differs from the one before. */
export interface Outcome extends ReadInput {
  readonly changed: boolean;
  /** The format that the write was sent in. */
  readonly format: DocumentFormat;
}

/**
 * Functions that compute something by parsing a document. They are pure and take only plain values and bytes, so they
 * can run on any thread. `hidden` holds ids of resources that must not be disclosed to the caller.
 */
export const derivation = {
  /** Returns the content of a new document. Throws as `write` does. */
  create: (input: ContentInput, limits: Limits): ReadInput => bodyFrom(input, limits),
  /** Returns the document that a write results in. Throws AppError for input that is malformed or too large. */
  write(before: Body, input: ContentInput, limits: Limits, hidden: readonly string[]): Outcome {
    const { body, warnings } = bodyAfter(before, input, limits);
    const after = hidden.length === 0 ? body : disclosed(before, body, hidden);
    const changed = !isSame(before, after);
    return { body: changed ? following(before, after) : before, warnings, changed, format: body.format };
  },
  /** Returns the result of replacing the current body by one that a snapshot keeps. */
  replace(before: Body, kept: Body): Outcome {
    const changed = !isSame(before, kept);
    return { body: changed ? following(before, kept) : before, warnings: [], changed, format: kept.format };
  },
  payload: (body: Body, format: DocumentFormat, hidden: readonly string[]): Payload => payloadOf(body, format, hidden),
  text: (body: Body, format: DocumentFormat, hidden: readonly string[]): string => shownText(body, format, hidden),
  ids: (body: Body): string => idsOf(docOf(body)),
  anchors: (body: Body, anchors: readonly Anchor[]): (Place | 'orphaned')[] => findAnchors(docOf(body), anchors),
  hiddenWords: (body: Body, hidden: ReadonlySet<string>): string[] => hiddenWords(docOf(body), hidden),
  /** Returns the map of the document's blocks in its Markdown, with that Markdown unless the body contains it. */
  blockMap: (body: Body): BlockMap & { readonly markdown?: string } =>
    body.format === 'markdown' ? mapBlocks(body.text, body.blockIds?.split(' ')) : mapBlocksOfDoc(docOf(body)),
  publishedHtml: (body: Body, links: PublicLinks): PublishedHtml => publishedHtml(docOf(body), links),
  publishedMarkdown: (body: Body, links: PublicLinks): string => publishedMarkdown(docOf(body), links),
  /** Returns the difference between two texts. */
  diff: (before: string, after: string): Diff => diffLines(before, after),
  page: (html: string): PageMarkdown => pageMarkdown(html),
  redirect: (body: Body, renames: ReadonlyMap<string, string>): Body => redirected(body, renames),
  ...commentDerivation,
};

export type Derivation = typeof derivation;
