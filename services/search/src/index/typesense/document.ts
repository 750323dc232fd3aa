import { analyse } from '@commonplace/kit/analysis';
import type { IndexEntry } from '@commonplace/proto/resources/v1/index_service.js';
import { textHashOf } from '../../domain/text-hash.js';
import { commentsText } from '../comments.js';
import type { Document } from './client.js';
import { storedText } from './text.js';
import { digest, pairToken, prefixToken, type Token, termToken, valueToken } from './tokens.js';

/**
 * Holds the properties of an entry that decide about access and filters: all of a document that does not depend on its
 * texts.
 */
type Access = Document & {
  readonly workspace: Token;
  readonly boundary: Token;
  readonly ancestors: readonly Token[];
  /** The ancestors, each combined with the boundary of the entry. */
  readonly below: readonly Token[];
  readonly principals: readonly Token[];
  readonly type: Token;
  readonly tags: readonly Token[];
  readonly created_by?: Token;
  readonly metadata: readonly Token[];
  /** Epoch milliseconds. */
  readonly updated: number;
};

export function accessOf(entry: IndexEntry): Access {
  return {
    id: valueToken(entry.id),
    workspace: valueToken(entry.workspaceId),
    boundary: valueToken(entry.boundaryId),
    ancestors: entry.ancestorIds.map(valueToken),
    below: entry.ancestorIds.map((id) => belowToken(entry.boundaryId, id)),
    principals: entry.directPrincipals.map(valueToken),
    type: valueToken(typeValue(entry.type)),
    tags: entry.tags.map(valueToken),
    created_by: entry.createdBy === undefined ? undefined : valueToken(entry.createdBy.id),
    metadata: pairsOf(entry.metadataJson),
    updated: Date.parse(entry.updatedAt ?? '') || 0,
  };
}

/** Returns a token that states that an entry lies below another one, within one boundary. */
export function belowToken(boundaryId: string, ancestorId: string): Token {
  return pairToken(valueToken(boundaryId), valueToken(ancestorId));
}

/** Returns a type in lower case, which makes the shorter token. */
export function typeValue(type: string): string {
  return type.toLowerCase();
}

/** Returns a token that is unique for a name and value of the metadata. */
export function pairValue(name: string, value: string | number | boolean): Token {
  return valueToken(JSON.stringify([name, value]));
}

function pairsOf(json: string): Token[] {
  if (json === '') return [];
  const metadata = JSON.parse(json) as Record<string, string | number | boolean>;
  return Object.entries(metadata).map(([name, value]) => pairValue(name, value));
}

/** Describes which state of an entry a document holds. */
export interface State {
  readonly version: number;
  readonly content_version: number;
  readonly updated_at: string;
}

export function stateOf({ version, contentVersion, updatedAt }: IndexEntry): State {
  return { version, content_version: contentVersion, updated_at: updatedAt ?? '' };
}

export function isOlder(state: State, held: State): boolean {
  if (state.version !== held.version) return state.version < held.version;
  if (state.content_version !== held.content_version) return state.content_version < held.content_version;
  return state.updated_at < held.updated_at;
}

/** Returns the partition of an entry's words: each Org has one, and each Personal workspace. */
export function partitionOf({ tenant }: IndexEntry): Token {
  return valueToken(tenant);
}

export interface Texts {
  readonly name: string;
  readonly text: string;
  readonly hash: string;
}

export function textsOf(entry: IndexEntry): Texts {
  const name = storedText(entry.name);
  const text = storedText(entry.text);
  return { name, text, hash: textHashOf(name, text) };
}

/** Returns a document without texts, for an update that leaves them unchanged. */
export function accessDocument(entry: IndexEntry): Document & { readonly access_hash: string } {
  const access = { ...accessOf(entry), partition: partitionOf(entry) };
  return { ...access, ...stateOf(entry), access_hash: digest(JSON.stringify(access), 16) };
}

interface Comments {
  readonly document: { readonly comments: string; readonly comments_terms: string; readonly comments_parts: string };
  readonly words: Iterable<string>;
}

export function commentsOf(entry: IndexEntry): Comments {
  const comments = storedText(commentsText(entry));
  if (comments === '') return { document: { comments, comments_terms: '', comments_parts: '' }, words: [] };
  const { terms, words } = analyse(comments);
  const tokens = tokensOf(terms);
  return { document: { comments, comments_terms: tokens.join(' '), comments_parts: partsOf(terms, tokens) }, words };
}

interface WholeDocument {
  readonly document: Document;
  readonly partition: Token;
  /** The words of the texts as they are written. */
  readonly words: ReadonlySet<string>;
}

export function wholeDocument(entry: IndexEntry, { name, text, hash }: Texts): WholeDocument {
  const [inName, inText] = [analyse(name), analyse(text)];
  const nameTerms = tokensOf(inName.terms);
  const textTerms = tokensOf(inText.terms);
  const comments = commentsOf(entry);
  return {
    document: {
      ...accessDocument(entry),
      entry: entry.id,
      name,
      text,
      text_hash: hash,
      name_terms: nameTerms.join(' '),
      text_terms: textTerms.join(' '),
      name_parts: partsOf(inName.terms, nameTerms),
      text_parts: partsOf(inText.terms, textTerms),
      ...comments.document,
    },
    partition: partitionOf(entry),
    words: new Set([...inName.words, ...inText.words, ...comments.words]),
  };
}

function tokensOf(terms: string): Token[] {
  return terms === '' ? [] : terms.split(' ').map(termToken);
}

/** Characters of a prefix that are looked up; `weigh` checks longer ones in the results. */
export const MAX_PREFIX_CHARS = 6;

/** Returns the distinct prefixes of the terms and pairs of consecutive terms. */
function partsOf(terms: string, tokens: readonly Token[]): string {
  const parts = new Set<Token>();
  for (const term of new Set(terms.split(' '))) {
    let beginning = '';
    let letters = 0;
    for (const letter of term) {
      if (letters++ === MAX_PREFIX_CHARS) break;
      beginning += letter;
      parts.add(prefixToken(beginning));
    }
  }
  for (let i = 1; i < tokens.length; i++) parts.add(pairToken(tokens[i - 1] as Token, tokens[i] as Token));
  return [...parts].join(' ');
}
