import {
  blocksAt,
  blocksOfDocAt,
  type Doc,
  type Leads,
  type PublishedHtml,
  publishedHtml,
  publishedMarkdown,
  type TextPlace,
} from '../documents/index.js';
import type { DocumentFormat } from '../stores/contents.js';
import { type Body, disclosed, docOf, following, idsOf, isSame, payloadOf, shownText } from './document-body.js';
import { bodyAfter, bodyFrom, type Limits, type ReadInput } from './document-input.js';
import type { ContentInput, Payload } from './kind.js';
import { redirected } from './redirect.js';

/** A write worked out: the body that it leaves, and whether that is another. */
export interface Outcome extends ReadInput {
  readonly changed: boolean;
  /** The format that the write is in. */
  readonly format: DocumentFormat;
}

/**
 * Everything that is made of a document by reading it. Pure, of plain values and bytes alone: where it
 * runs is no matter. `hidden` are ids of resources that the caller may not know.
 */
export const derivation = {
  /** The content of a new document. Throws as `write` does. */
  create: (input: ContentInput, limits: Limits): ReadInput => bodyFrom(input, limits),
  /** What a write makes of a document. Throws AppError for what is not well-formed or too large. */
  write(before: Body, input: ContentInput, limits: Limits, hidden: readonly string[]): Outcome {
    const { body, warnings } = bodyAfter(before, input, limits);
    const after = hidden.length === 0 ? body : disclosed(before, body, hidden);
    const changed = !isSame(before, after);
    return { body: changed ? following(before, after) : before, warnings, changed, format: body.format };
  },
  /** What putting a kept body in the place of the present one makes. */
  replace(before: Body, kept: Body): Outcome {
    const changed = !isSame(before, kept);
    return { body: changed ? following(before, kept) : before, warnings: [], changed, format: kept.format };
  },
  payload: (body: Body, format: DocumentFormat, hidden: readonly string[]): Payload => payloadOf(body, format, hidden),
  text: (body: Body, format: DocumentFormat, hidden: readonly string[]): string => shownText(body, format, hidden),
  ids: (body: Body): string => idsOf(docOf(body)),
  doc: (body: Body): Doc => docOf(body),
  /** The ids of the blocks in which places of the document's Markdown lie. */
  blocksAt: (body: Body, places: readonly TextPlace[]): (string | undefined)[] =>
    body.format === 'markdown'
      ? blocksAt(body.text, places, body.blockIds?.split(' '))
      : blocksOfDocAt(docOf(body), places),
  publishedHtml: (body: Body, leads: Leads): PublishedHtml => publishedHtml(docOf(body), leads),
  publishedMarkdown: (body: Body, leads: Leads): string => publishedMarkdown(docOf(body), leads),
  redirect: (body: Body, renames: ReadonlyMap<string, string>): Body => redirected(body, renames),
};

export type Derivation = typeof derivation;
