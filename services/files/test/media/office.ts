import { Document, Packer, Paragraph, Table, TableCell, TableRow } from 'docx';
import { strToU8, zipSync } from 'fflate';

/** Creates real Office files for tests. */

export function zip(parts: Readonly<Record<string, string | Uint8Array>>): Buffer {
  const bytes = Object.entries(parts).map(([name, part]) => [name, typeof part === 'string' ? strToU8(part) : part]);
  return Buffer.from(zipSync(Object.fromEntries(bytes)));
}

export async function docx(...paragraphs: string[]): Promise<Buffer> {
  const cell = (text: string) => new TableCell({ children: [new Paragraph(text)] });
  const table = new Table({ rows: [new TableRow({ children: [cell('left cell'), cell('right cell')] })] });
  const children = [...paragraphs.map((text) => new Paragraph(text)), table];
  return Buffer.from(await Packer.toBuffer(new Document({ sections: [{ children }] })));
}

/** Creates a Word document whose main part is the given XML. */
export function docxOf(documentXml: string | Uint8Array): Buffer {
  return zip({
    '[Content_Types].xml':
      '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>',
    '_rels/.rels':
      '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>',
    'word/document.xml': documentXml,
  });
}

/** A value, or a cell as it is written. */
type Cell = string | number | boolean | Date | { readonly xml: string };

function cellXml(cell: Cell): string {
  if (typeof cell === 'number') return `<c><v>${cell}</v></c>`;
  if (typeof cell === 'boolean') return `<c t="b"><v>${cell ? 1 : 0}</v></c>`;
  if (typeof cell === 'object' && 'xml' in cell) return cell.xml;
  if (cell instanceof Date) return `<c s="1"><v>${cell.getTime() / 86_400_000 + 25_569}</v></c>`;
  return `<c t="inlineStr"><is><t>${cell}</t></is></c>`;
}

function sheetXml(rows: readonly (readonly Cell[])[]): string {
  const lines = rows.map((row, at) => {
    const cells = row.map((cell, column) =>
      cellXml(cell).replace('<c', `<c r="${String.fromCharCode(65 + column)}${at + 1}"`),
    );
    return `<row r="${at + 1}">${cells.join('')}</row>`;
  });
  return `<?xml version="1.0"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>${lines.join('')}</sheetData></worksheet>`;
}

const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const RELATION = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';

export function xlsx(sheets: Readonly<Record<string, readonly (readonly Cell[])[]>>): Buffer {
  const names = Object.keys(sheets);
  const list = names.map((name, at) => `<sheet name="${name}" sheetId="${at + 1}" r:id="r${at + 1}"/>`);
  const relations = names.map(
    (_, at) => `<Relationship Id="r${at + 1}" Type="${RELATION}/worksheet" Target="worksheets/sheet${at + 1}.xml"/>`,
  );
  return zip({
    '[Content_Types].xml':
      '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>',
    '_rels/.rels': `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="${RELATION}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
    'xl/workbook.xml': `<?xml version="1.0"?><workbook xmlns="${MAIN}" xmlns:r="${RELATION}"><sheets>${list.join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${relations.join('')}<Relationship Id="s" Type="${RELATION}/styles" Target="styles.xml"/></Relationships>`,
    'xl/styles.xml': `<styleSheet xmlns="${MAIN}"><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14" applyNumberFormat="1"/></cellXfs></styleSheet>`,
    ...Object.fromEntries(
      Object.values(sheets).map((rows, at) => [`xl/worksheets/sheet${at + 1}.xml`, sheetXml(rows)]),
    ),
  });
}

const slide = (text: string) =>
  `<p:sld xmlns:p="p" xmlns:a="a"><a:p><a:r><a:t>${text}</a:t></a:r></a:p><a:p><a:fld><a:t>end of ${text}</a:t></a:fld></a:p></p:sld>`;

export function pptx(...slides: string[]): Buffer {
  return zip({
    '[Content_Types].xml':
      '<Types xmlns="x"><Override PartName="/ppt/presentation.xml" ContentType="application/vnd.openxmlformats-officedocument.presentationml.presentation.main+xml"/></Types>',
    ...Object.fromEntries(slides.map((text, at) => [`ppt/slides/slide${at + 1}.xml`, slide(text)])),
    'ppt/notesSlides/notesSlide1.xml': slide('a note'),
    'ppt/slides/_rels/slide2.xml.rels': relations({ r7: '../notesSlides/notesSlide1.xml' }),
  });
}

/** Creates slides whose order differs from that of their parts' names. */
export function shuffledPptx(): Buffer {
  return zip({
    'ppt/presentation.xml':
      '<p:presentation><p:sldIdLst><p:sldId id="256" r:id="r2"/><p:sldId id="257" r:id="r1"/></p:sldIdLst></p:presentation>',
    'ppt/_rels/presentation.xml.rels': relations({ r1: 'slides/slide1.xml', r2: '/ppt/slides/slide2.xml' }),
    'ppt/slides/slide1.xml': slide('shown last'),
    'ppt/slides/slide2.xml': slide('shown first'),
    'ppt/slides/slide3.xml': slide('not shown'),
  });
}

function relations(targets: Readonly<Record<string, string>>): string {
  const all = Object.entries(targets).map(([id, target]) => `<Relationship Id="${id}" Type="x" Target="${target}"/>`);
  return `<Relationships>${all.join('')}</Relationships>`;
}

/** Creates an OpenDocument presentation with one line per slide. */
export function odp(...slides: string[]): Buffer {
  const pages = slides.map((text) => `<draw:page><draw:frame><text:p>${text}</text:p></draw:frame></draw:page>`);
  return zip({
    mimetype: 'application/vnd.oasis.opendocument.presentation',
    'content.xml': `<office:document-content><office:body>${pages.join('')}</office:body></office:document-content>`,
  });
}

export function odt(text: string): Buffer {
  return zip({
    mimetype: 'application/vnd.oasis.opendocument.text',
    'content.xml': `<office:document-content><text:tracked-changes><text:p>was deleted</text:p></text:tracked-changes><text:h>Heading</text:h><text:p>${text}<text:tab/>tabbed</text:p></office:document-content>`,
  });
}

export function epub(...chapters: string[]): Buffer {
  const items = chapters.map((_, at) => `<item id="c${at}" href="text/chapter%20${at}.xhtml"/>`);
  const order = chapters.map((_, at) => `<itemref idref="c${at}"/>`);
  return zip({
    mimetype: 'application/epub+zip',
    'META-INF/container.xml': '<container><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>',
    'OPS/book.opf': `<package><manifest>${items.reverse().join('')}</manifest><spine>${order.join('')}</spine></package>`,
    ...Object.fromEntries(
      chapters.map((text, at) => [
        `OPS/text/chapter ${at}.xhtml`,
        `<?xml version="1.0"?><html><head><title>T${at}</title><script>evil()</script></head><body><p>${text}</p></body></html>`,
      ]),
    ),
  });
}
