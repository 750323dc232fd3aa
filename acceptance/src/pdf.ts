/** Creates a PDF with the given lines on its pages, in basic Latin letters. */
export function pdfOf(pages: readonly (readonly string[])[]): Buffer {
  const kids = pages.map((_, i) => `${4 + 2 * i} 0 R`).join(' ');
  const objects = [
    '<</Type/Catalog/Pages 2 0 R>>',
    `<</Type/Pages/Count ${pages.length}/Kids[${kids}]>>`,
    '<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>',
    ...pages.flatMap((lines, i) => {
      const drawn = `BT /F1 11 Tf 40 800 Td 14 TL ${lines.map((line) => `(${line}) Tj T*`).join(' ')} ET`;
      const page = `/Resources<</Font<</F1 3 0 R>>>>/MediaBox[0 0 595 842]/Contents ${5 + 2 * i} 0 R`;
      return [`<</Type/Page/Parent 2 0 R${page}>>`, `<</Length ${drawn.length}>>stream\n${drawn}\nendstream`];
    }),
  ];
  let file = '%PDF-1.4\n';
  const offsets = objects.map((object, i) => {
    const offset = String(file.length).padStart(10, '0');
    file += `${i + 1} 0 obj\n${object}\nendobj\n`;
    return `${offset} 00000 n \n`;
  });
  const size = objects.length + 1;
  const table = `xref\n0 ${size}\n0000000000 65535 f \n${offsets.join('')}`;
  return Buffer.from(`${file}${table}trailer<</Size ${size}/Root 1 0 R>>\nstartxref\n${file.length}\n%%EOF`, 'latin1');
}
