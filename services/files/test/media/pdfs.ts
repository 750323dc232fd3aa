import { PDFDocument, StandardFonts } from 'pdf-lib';

/** Creates a PDF with the given text on its pages. */
export async function pdf(pages: readonly (readonly string[])[], javaScript?: string): Promise<Buffer> {
  const document = await PDFDocument.create();
  const font = await document.embedFont(StandardFonts.Helvetica);
  for (const lines of pages) {
    const page = document.addPage([595, 842]);
    lines.forEach((line, at) => {
      page.drawText(line, { x: 40, y: 800 - at * 15, size: 11, font });
    });
  }
  if (javaScript !== undefined) document.addJavaScript('main', javaScript);
  return Buffer.from(await document.save());
}

/** Creates a PDF of the given objects; the first is the catalogue. */
export function pdfOf(objects: readonly string[], trailer = ''): Buffer {
  let file = '%PDF-1.4\n';
  const offsets = objects.map((object, at) => {
    const offset = file.length;
    file += `${at + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(offset).padStart(10, '0')} 00000 n \n`;
  });
  const size = objects.length + 1;
  const table = `xref\n0 ${size}\n0000000000 65535 f \n${offsets.join('')}`;
  return Buffer.from(
    `${file}${table}trailer<</Size ${size}/Root 1 0 R${trailer}>>\nstartxref\n${file.length}\n%%EOF`,
    'latin1',
  );
}

const page = (font: string, text: string): string[] => {
  const content = `BT /F1 24 Tf 50 200 Td ${text} Tj ET`;
  return [
    '<</Type/Catalog/Pages 2 0 R>>',
    '<</Type/Pages/Kids[3 0 R]/Count 1>>',
    '<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Resources<</Font<</F1 5 0 R>>>>/Contents 4 0 R>>',
    `<</Length ${content.length}>>stream\n${content}\nendstream`,
    font,
  ];
};

/**
 * Creates a PDF with Japanese in a font that is not embedded and has no Unicode mapping, as older printer software
 * does.
 */
export function japanesePdf(): Buffer {
  return pdfOf([
    ...page(
      '<</Type/Font/Subtype/Type0/BaseFont/HeiseiMin-W3/Encoding/90ms-RKSJ-H/DescendantFonts[6 0 R]>>',
      '<93fa967b8cea>',
    ),
    '<</Type/Font/Subtype/CIDFontType0/BaseFont/HeiseiMin-W3/CIDSystemInfo<</Registry(Adobe)/Ordering(Japan1)/Supplement 2>>/FontDescriptor 7 0 R/DW 1000>>',
    '<</Type/FontDescriptor/FontName/HeiseiMin-W3/Flags 4/FontBBox[0 -200 1000 900]/ItalicAngle 0/Ascent 800/Descent -200/CapHeight 700/StemV 80>>',
  ]);
}

/** Creates a PDF that opens only with a password. */
export function encryptedPdf(): Buffer {
  const key = '00'.repeat(32);
  return pdfOf(
    page('<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>', '(secret)'),
    `/ID[<00><00>]/Encrypt<</Filter/Standard/V 1/R 2/O<${key}>/U<${key}>/P -4>>`,
  );
}

/** Creates a PDF with a huge page. */
export function vastPdf(): Buffer {
  const objects = page('<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>', '(x)');
  return pdfOf(objects.map((object) => object.replace('[0 0 300 300]', '[0 0 99999999 99999999]')));
}

/** Creates a PDF whose page tree contains itself. */
export function loopingPdf(): Buffer {
  return pdfOf(['<</Type/Catalog/Pages 2 0 R>>', '<</Type/Pages/Kids[2 0 R 2 0 R]/Count 1000000>>']);
}
