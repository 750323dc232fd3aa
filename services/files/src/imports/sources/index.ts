import { openConfluenceSource } from './confluence/source.js';
import { openCsvSource } from './csv/source.js';
import { openDocxSource } from './docx/source.js';
import { openGoogleDocsSource } from './google-docs/source.js';
import { openHtmlSource } from './html/source.js';
import { openJsonSource } from './json/source.js';
import { openMarkdown, openMarkdownZip } from './markdown/index.js';
import { openNativeSource } from './native/index.js';
import { openNotionSource } from './notion/source.js';
import { openOutlineSource } from './outline/source.js';
import type { OpenSource } from './port.js';
import { openXlsxSource } from './xlsx/source.js';

/** How a kind of source is read. */
export interface Format {
  readonly open: OpenSource;
  /** Its bytes are an archive; otherwise one file. */
  readonly archive: boolean;
  /** It may come as text in the request. */
  readonly text: boolean;
  /** What the one file is called where nobody says. */
  readonly fileName: string;
}

const text = (open: OpenSource, fileName: string): Format => ({ open, archive: false, text: true, fileName });
const file = (open: OpenSource, fileName: string): Format => ({ open, archive: false, text: false, fileName });
const archive = (open: OpenSource): Format => ({ open, archive: true, text: false, fileName: 'import.zip' });

/** Every kind of source that can be read, by its `source_type`. */
export const FORMATS: Readonly<Record<string, Format>> = {
  confluence_zip: archive(openConfluenceSource),
  csv: text(openCsvSource, 'import.csv'),
  docx: file(openDocxSource, 'import.docx'),
  google_docs_zip: archive(openGoogleDocsSource),
  html: text(openHtmlSource, 'import.html'),
  html_zip: archive(openHtmlSource),
  json: text(openJsonSource, 'import.json'),
  markdown: text(openMarkdown, 'import.md'),
  markdown_zip: archive(openMarkdownZip),
  native_zip: archive(openNativeSource),
  notion_zip: archive(openNotionSource),
  outline_zip: archive(openOutlineSource),
  xlsx: file(openXlsxSource, 'import.xlsx'),
};
