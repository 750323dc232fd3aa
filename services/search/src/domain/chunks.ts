import { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { type Piece, readPieces } from './pieces.js';
import { tokensIn } from './tokens.js';

/** Changes whenever the same text gives other chunks than before: its vectors are made anew. */
export const CHUNKER_VERSION = 1;

/** What is embedded of an entry. */
export interface ChunkSource {
  readonly type: ResourceType;
  readonly name: string;
  /** Markdown of a document, rows of a table, what was read out of a file. */
  readonly text: string;
}

/** A piece of a text that is embedded by itself. Bounds are UTF-16 units. */
export interface Chunk {
  readonly start: number;
  readonly end: number;
  /** Where it stands: the entry's name and the headings above, from the outermost on. */
  readonly title: string;
}

/** Chunks of one entry; what lies behind them is found by its words alone. */
const MOST_CHUNKS = 500;
/** Units of the parts of a title. */
const LONGEST_NAME = 120;
const LONGEST_TITLE = 300;
const SEPARATOR = ' › ';
/** A chunk may go on below the next heading while it has less than this part of its tokens. */
const SMALL = 0.25;
/** The part of the tokens that a title leaves to its text, at the least. */
const LEAST_TEXT = 0.5;

/**
 * Cuts a text into chunks of at most `tokens` tokens with their titles, on headings first, then between paragraphs,
 * lines, sentences and words. An entry without text has one empty chunk for its name.
 */
export function chunksOf({ type, name, text }: ChunkSource, tokens: number): Chunk[] {
  const about = cut(name.trim().replace(/\s+/g, ' '), LONGEST_NAME);
  const columns = type === ResourceType.TABLE ? cut(text.slice(0, Math.max(0, text.indexOf('\n'))), LONGEST_NAME) : '';
  const room = (path: readonly string[]): number =>
    Math.max(tokens * LEAST_TEXT, tokens - tokensIn(titleOf(about, columns, path)));
  const chunks: Chunk[] = [];
  let open: Open | undefined;

  const close = (): void => {
    if (open === undefined) return;
    const { start, end, path } = open;
    chunks.push({ start, end, title: titleOf(about, columns, path) });
    open = undefined;
  };

  for (const piece of readPieces(text, type === ResourceType.DOCUMENT, Math.floor(tokens * LEAST_TEXT))) {
    const most = room(piece.path);
    const heading = piece.level !== undefined;
    if (open !== undefined && heading && open.filled >= tokens * SMALL) close();
    if (open !== undefined && open.tokens + (open.filled > 0 ? piece.tokens : 0) > most) {
      // A heading at the end goes with what stands below it.
      const last: Trailing | undefined = open.trailing;
      if (last !== undefined) open.end = last.end;
      close();
      open = last?.begins;
    }
    if (chunks.length >= MOST_CHUNKS) return chunks;
    open = extended(open, piece);
  }
  close();
  if (chunks.length === 0 && about !== '') chunks.push({ start: 0, end: 0, title: about });
  return chunks;
}

/** A chunk that may still grow. */
interface Open {
  start: number;
  end: number;
  tokens: number;
  /** Tokens of it that are no headings. */
  filled: number;
  path: readonly string[];
  trailing?: Trailing;
}

/** Headings at the end of a chunk. */
interface Trailing {
  /** Where the chunk would end without them. */
  readonly end: number;
  /** The chunk that they would begin. */
  readonly begins: Open;
}

function extended(open: Open | undefined, piece: Piece): Open {
  const { start, end, tokens, path, level } = piece;
  const heading = level !== undefined;
  const alone: Open = { start, end, tokens, filled: heading ? 0 : tokens, path };
  if (open === undefined) return alone;
  const grown: Open = {
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
  return cut(parts.join(SEPARATOR), LONGEST_TITLE);
}

function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  const half = (text.charCodeAt(length - 1) & 0xfc00) === 0xd800;
  return text.slice(0, half ? length - 1 : length);
}

const LINK = /!?\[([^\][]{0,500})\]\([^()\s]{0,2000}(?:\s"[^"]{0,500}")?\)/g;
const RULE = /^[ \t|:+=*_-]{3,}$/gm;

/** What a model is given of a chunk: its title, then its text without the targets of links and the lines of tables. */
export function embeddedText({ text }: Pick<ChunkSource, 'text'>, { start, end, title }: Chunk): string {
  const body = text.slice(start, end).replace(LINK, '$1').replace(RULE, '');
  return `${title}\n${body.replace(/\s+/g, ' ').trim()}`.trim();
}
