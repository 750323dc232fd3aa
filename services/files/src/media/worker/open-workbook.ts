import { archiveEnd, crc32, directoryRecord, localHeader } from '../../zip.js';
import type { TextLimits } from '../protocol.js';
import { type Archive, openArchive, textPartsOf } from './archive.js';

/**
 * A section of character data, or a numeric reference to a character above U+FFFF, in hexadecimal or decimal digits. The
 * last section may lack its end.
 */
const CHARACTERS = /<!\[CDATA\[([\s\S]*?)(?:\]\]>|$)|&#(?:x0*([1-9a-f][0-9a-f]{4,5})|0*([1-9][0-9]{4,6}));/gi;

/** When the parts of a workbook that was written anew are said to be changed: no reader asks. */
const MODIFIED_AT = new Date('1980-01-01T00:00:00Z');

/**
 * Unpacks all text parts of a workbook once, as `checkArchive` does, and returns the bytes for the library that reads
 * workbooks. It decodes references to characters above U+FFFF, which openpyxl writes for emoji, as other characters, and
 * leaves out sections of character data (CDATA), so a workbook that has such is written anew with the characters
 * themselves.
 */
export async function checkWorkbook(file: Buffer, limits: TextLimits): Promise<Buffer> {
  const archive = await openArchive(file, limits);
  const names = textPartsOf(archive);
  let isChanged = false;
  for (const name of names) {
    const part = await partOf(archive, name);
    isChanged ||= withCharacters(part) !== part;
  }
  return isChanged ? writeWorkbook(archive, names) : file;
}

const partOf = async (archive: Archive, name: string): Promise<Buffer> => (await archive.read(name)) ?? Buffer.alloc(0);

/** Returns the bytes of a part with plain characters for references and sections; the part itself if it has none. */
function withCharacters(part: Buffer): Buffer {
  if (!part.includes('&#') && !part.includes('<![CDATA[')) return part;
  const bytes = part.toString('latin1');
  const replaced = bytes.replace(CHARACTERS, (found, section?: string, hex?: string, decimal?: string) => {
    if (section !== undefined) return section.replace(/[&<>]/g, (sign) => `&#${sign.charCodeAt(0)};`);
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    if (code <= 0xffff || code > 0x10ffff) return found;
    return Buffer.from(String.fromCodePoint(code)).toString('latin1');
  });
  return replaced === bytes ? part : Buffer.from(replaced, 'latin1');
}

async function writeWorkbook(archive: Archive, names: readonly string[]): Promise<Buffer> {
  const pieces: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const path of names) {
    const data = withCharacters(await partOf(archive, path));
    const sizes = { crc: crc32(data), packedBytes: data.length, sizeBytes: data.length };
    const entry = { path, deflated: false, described: false, modifiedAt: MODIFIED_AT, ...sizes };
    const header = localHeader({ ...entry, huge: false });
    directory.push(directoryRecord({ ...entry, offset }));
    pieces.push(header, data);
    offset += header.length + data.length;
  }
  const listed = Buffer.concat(directory);
  return Buffer.concat([...pieces, listed, archiveEnd(names.length, offset, listed.length)]);
}
