import { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { type Piece, readPieces } from './pieces.js';
import { tokensIn } from './tokens.js';

/**
 * Version of the chunker. It changes whenever a text yields other chunks than before; vectors of another version are
 * computed again.
 */
export const CHUNKER_VERSION = 2;

/** Holds the parts of an entry that are embedded. */
interface ChunkSource {
  readonly type: ResourceType;
  readonly name: string;
  /** Markdown of a document, rows of a table, or text extracted from a file. */
  readonly text: string;
}

/** Describes a part of a text that is embedded separately. Bounds are UTF-16 units. */
export interface Chunk {
  readonly start: number;
  readonly end: number;
  /** The entry's name and the headings above the chunk, outermost first. */
  readonly title: string;
}

/** Chunks per entry; text beyond them is found by its words only. */
const MAX_CHUNKS = 500;
/** Lengths of a title's parts and of the whole title, in UTF-16 units. */
const MAX_NAME_CHARS = 120;
const MAX_TITLE_CHARS = 300;
const SEPARATOR = ' › ';
/** Share of the tokens below which a chunk may continue after the next heading, and a rest joins the chunk before it. */
const SMALL_SHARE = 0.25;
/** Minimum share of the tokens that a title leaves to the text. */
const MIN_TEXT_SHARE = 0.5;

/**
 * Splits a text into chunks of at most `tokens` tokens including their titles: first at headings, then between
 * paragraphs, lines, sentences and words. The last one may exceed that by a small rest. If there are several, the first
 * is the beginning of the text as far as a model reads, which overlaps the others: it shows what the text is about as a
 * whole. An entry without text gets one empty chunk for its name.
 */
export function chunksOf(source: ChunkSource, tokens: number): Chunk[] {
  const parts = partsOf(source, tokens);
  return parts.length > 1 ? [overviewOf(source, parts, tokens), ...parts] : parts;
}

/** Returns the chunk of as many parts of a text, or of the first, as have a few tokens more than one chunk. */
function overviewOf({ type, name, text }: ChunkSource, parts: readonly Chunk[], tokens: number): Chunk {
  const start = parts[0]?.start ?? 0;
  let end = start;
  let read = 0;
  for (const piece of readPieces(text, type === ResourceType.DOCUMENT, Math.floor(tokens * MIN_TEXT_SHARE))) {
    read += piece.tokens;
    if (read > tokens * (1 + SMALL_SHARE)) break;
    end = piece.end;
  }
  return { start, end, title: cut(tidy(name), MAX_NAME_CHARS) };
}

function tidy(name: string): string {
  return name.trim().replace(/\s+/g, ' ');
}

/** Returns chunks that do not overlap and contain the whole text. */
function partsOf({ type, name, text }: ChunkSource, tokens: number): Chunk[] {
  const about = cut(tidy(name), MAX_NAME_CHARS);
  const columns =
    type === ResourceType.TABLE ? cut(text.slice(0, Math.max(0, text.indexOf('\n'))), MAX_NAME_CHARS) : '';
  const room = (path: readonly string[]): number =>
    Math.max(tokens * MIN_TEXT_SHARE, tokens - tokensIn(titleOf(about, columns, path)));
  const chunks: Chunk[] = [];
  let open: OpenChunk | undefined;
  let last: OpenChunk | undefined;

  const close = (): void => {
    if (open === undefined) return;
    const { start, end, path } = open;
    chunks.push({ start, end, title: titleOf(about, columns, path) });
    last = open;
    open = undefined;
  };

  for (const piece of readPieces(text, type === ResourceType.DOCUMENT, Math.floor(tokens * MIN_TEXT_SHARE))) {
    const maxTokens = room(piece.path);
    const heading = piece.level !== undefined;
    if (open !== undefined && heading && open.filled >= tokens * SMALL_SHARE) close();
    if (open !== undefined && open.tokens + (open.filled > 0 ? piece.tokens : 0) > maxTokens) {
      // A heading at the end moves to the chunk of the text below it.
      const trailing: TrailingHeadings | undefined = open.trailing;
      if (trailing !== undefined) open.end = trailing.end;
      close();
      open = trailing?.begins;
    }
    if (chunks.length >= MAX_CHUNKS) return chunks;
    open = extended(open, piece);
  }
  if (open !== undefined && last !== undefined && isRest(open, last, tokens)) {
    chunks.push({ ...(chunks.pop() as Chunk), end: open.end });
  } else close();
  if (chunks.length === 0 && about !== '') chunks.push({ start: 0, end: 0, title: about });
  return chunks;
}

/**
 * Returns whether a chunk is the small rest of the section of the one before. On its own its vector would be that of the
 * title more than of its few words, and resemble every query about the title.
 */
function isRest(open: OpenChunk, last: OpenChunk, tokens: number): boolean {
  return open.path === last.path && open.tokens < tokens * SMALL_SHARE;
}

/** A chunk that may still grow. */
interface OpenChunk {
  start: number;
  end: number;
  tokens: number;
  /** Tokens outside of headings. */
  filled: number;
  path: readonly string[];
  trailing?: TrailingHeadings;
}

/** Headings at the end of a chunk. */
interface TrailingHeadings {
  /** Where the chunk would end without them. */
  readonly end: number;
  /** The chunk that they would begin. */
  readonly begins: OpenChunk;
}

function extended(open: OpenChunk | undefined, piece: Piece): OpenChunk {
  const { start, end, tokens, path, level } = piece;
  const heading = level !== undefined;
  const alone: OpenChunk = { start, end, tokens, filled: heading ? 0 : tokens, path };
  if (open === undefined) return alone;
  const grown: OpenChunk = {
    start: open.start,
    end,
    tokens: open.tokens + tokens,
    filled: open.filled + alone.filled,
    path: open.filled === 0 ? path : open.path,
  };
  if (!heading || open.filled === 0) return grown;
  const { trailing } = open;
  const begins = trailing === undefined ? alone : extended(trailing.begins, piece);
  return { ...grown, trailing: { end: trailing?.end ?? open.end, begins } };
}

function titleOf(name: string, columns: string, path: readonly string[]): string {
  const parts = [name, columns, ...path].filter((part, i, all) => part !== '' && part !== all[i - 1]);
  return cut(parts.join(SEPARATOR), MAX_TITLE_CHARS);
}

function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  const half = (text.charCodeAt(length - 1) & 0xfc00) === 0xd800;
  return text.slice(0, half ? length - 1 : length);
}

const LINK = /!?\[([^\][]{0,500})\]\([^()\s]{0,2000}(?:\s"[^"]{0,500}")?\)/g;
const RULE = /^[ \t|:+=*_-]{3,}$/gm;

/** Returns the text of a chunk for the model: its title, then its text without link targets and table rules. */
export function embeddedText({ text }: Pick<ChunkSource, 'text'>, { start, end, title }: Chunk): string {
  const body = text.slice(start, end).replace(LINK, '$1').replace(RULE, '');
  return `${title}\n${body.replace(/\s+/g, ' ').trim()}`.trim();
}
