import { SNIFF_BYTES, sniff } from '../../media/index.js';
import type { Bytes } from '../bundle/bytes.js';
import type { OpenBundle } from '../bundle/zip.js';
import { type Bundle, ImportFault } from '../sources/port.js';
import { BY_CONTENT } from './url-type.js';

/** Matches content types that are text. */
const TEXT = /^(?:text|message|multipart)\/|[/+](?:json|xml|yaml|toml|javascript|x-ndjson)$/;
/** Single-file formats that are ZIP archives inside. */
const PACKED: ReadonlySet<string> = new Set(['docx', 'xlsx']);
/** Types that the entries of an archive identify with certainty. */
const CERTAIN: ReadonlySet<string> = new Set([...PACKED, 'native_zip']);

/** Refuses a single file whose bytes do not match its `source_type`, and names the type that they have. */
export async function requireFile(
  bytes: Bytes,
  type: string,
  fileName: string,
  encoding: string | undefined,
  openZip: () => Promise<OpenBundle>,
): Promise<void> {
  const head = await bytes.read(0, SNIFF_BYTES);
  if (isZip(head)) {
    const found = await typeOfZip(openZip);
    if (found === type || (found === undefined && PACKED.has(type))) return;
    throw mismatch('a zip archive', type, found);
  }
  const content = await contentTypeOf(head, fileName);
  if (PACKED.has(type)) throw mismatch(content, type, BY_CONTENT[content]);
  // Text in a user-specified encoding may look like any type.
  const isText = TEXT.test(content) || (content === 'application/octet-stream' && !head.includes(0));
  if (!isText && encoding === undefined) throw mismatch(content, type, BY_CONTENT[content]);
}

/** Refuses bytes that are not an archive, and names the type that they have. */
export async function requireArchive(bytes: Bytes, fileName: string): Promise<void> {
  const head = await bytes.read(0, SNIFF_BYTES);
  if (isZip(head)) return;
  const content = await contentTypeOf(head, fileName.replace(/\.zip$/i, ''));
  const found = BY_CONTENT[content];
  // Bytes that begin differently may still be an archive, because its directory is at the end.
  if (found !== undefined && TEXT.test(content)) throw mismatch(content, 'a zip archive', found);
}

/** Refuses an archive of another type, when its entries identify the type with certainty. */
export function requireArchiveOf(bundle: Bundle, type: string): void {
  const found = archiveTypeOf(bundle);
  if (found !== type && CERTAIN.has(found)) throw mismatch('another kind of archive', type, found);
}

async function contentTypeOf(head: Buffer, fileName: string): Promise<string> {
  return (await sniff(head, fileName, undefined)).split(';')[0] as string;
}

function isZip(head: Buffer): boolean {
  return head.length >= 4 && head.readUInt16BE(0) === 0x504b && [0x0304, 0x0506].includes(head.readUInt16BE(2));
}

/** Returns the type of an archive, or undefined when it can't be opened. */
async function typeOfZip(open: () => Promise<OpenBundle>): Promise<string | undefined> {
  const bundle = await open().catch(() => undefined);
  if (bundle === undefined) return undefined;
  const found = archiveTypeOf(bundle);
  await bundle.close();
  return found;
}

/** Returns the source type of an archive, judged by the names of its entries. */
function archiveTypeOf({ entries, entry }: Pick<Bundle, 'entries' | 'entry'>): string {
  const has = (pattern: RegExp) => entries.some(({ path }) => pattern.test(path));
  if (entry('[Content_Types].xml') !== undefined) {
    if (has(/^word\/[^/]+\.xml$/)) return 'docx';
    if (has(/^xl\/[^/]+\.xml$/)) return 'xlsx';
  }
  if (entry('manifest.json') !== undefined && has(/^resources\/[0-9a-f-]{36}\.json$/)) return 'native_zip';
  if (has(/ [0-9a-f]{32}\.(?:md|html|csv)$/i)) return 'notion_zip';
  if (has(/\.(?:md|markdown)$/i)) return 'markdown_zip';
  return has(/\.html?$/i) ? 'html_zip' : 'markdown_zip';
}

function mismatch(is: string, wanted: string, found: string | undefined): ImportFault {
  const what = `The bytes are ${is}, not ${wanted}`;
  const hint = found === undefined ? 'that can’t be imported' : `import them with the source_type ${found}`;
  return new ImportFault('unsupported_format', `${what}: ${hint}.`);
}
