import type { CallContext } from '@commonplace/kit/rpc';
import { createBreathe } from '@commonplace/kit/slices';
import { TreePiece } from '@commonplace/proto/resources/v1/tree_export_service.js';
import type { AccessSubject } from '../../policy.js';
import type { Emails } from './people.js';

/** Options that apply to a whole export. */
export interface ArchiveTerms {
  readonly format: 'native' | 'markdown' | 'html';
  readonly include: {
    readonly files: boolean;
    readonly comments: boolean;
    readonly snapshots: boolean;
    readonly permissions: boolean;
  };
  readonly subject: AccessSubject;
  readonly context: CallContext;
  readonly emails: Emails;
}

export type Pieces = AsyncGenerator<TreePiece, void, undefined>;

/** Returns a complete entry. */
export function entry(path: string, data: string | Buffer): TreePiece {
  return TreePiece.fromPartial({ path, data: Buffer.from(data), end: true });
}

/** Returns an entry of JSON, indented by two spaces for readers. */
export function jsonEntry(path: string, value: unknown): TreePiece {
  return entry(path, `${JSON.stringify(value, null, 2)}\n`);
}

/** Yields the text of a list as `jsonEntry` writes it, value by value. The list must not be empty. */
export async function* listTexts(values: AsyncIterable<unknown>): AsyncGenerator<string> {
  let before = '[\n';
  for await (const value of values) {
    // Line ends within texts are escaped.
    yield `${before}  ${JSON.stringify(value, null, 2).replaceAll('\n', '\n  ')}`;
    before = ',\n';
  }
  yield '\n]\n';
}

/** Returns an entry for the bytes of a file. */
export function fileEntry(path: string, fileId: string): TreePiece {
  return TreePiece.fromPartial({ path, fileId, end: true });
}

/** Number of characters after which part of an entry is sent. */
const PIECE_CHARS = 512 * 1024;

/** Yields an entry whose text is produced piece by piece, with pauses between them. */
export async function* growingEntry(path: string, texts: AsyncIterable<string>): Pieces {
  const breathe = createBreathe();
  let held: string[] = [];
  let chars = 0;
  for await (const text of texts) {
    await breathe();
    held.push(text);
    chars += text.length;
    if (chars < PIECE_CHARS) continue;
    yield TreePiece.fromPartial({ path, data: Buffer.from(held.join('')) });
    held = [];
    chars = 0;
  }
  yield entry(path, held.join(''));
}

/** Returns a piece that reports something that could not be read completely. */
export function faultPiece(code: string, message: string): TreePiece {
  return TreePiece.fromPartial({ fault: { code, message } });
}
