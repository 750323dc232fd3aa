import { openConfluenceSource } from './sources/confluence/source.js';
import { openCsvSource } from './sources/csv/source.js';
import { openDocxSource } from './sources/docx/source.js';
import { openGoogleDocsSource } from './sources/google-docs/source.js';
import { openHtmlSource } from './sources/html/source.js';
import { openJsonSource } from './sources/json/source.js';
import { openMarkdown, openMarkdownZip } from './sources/markdown/index.js';
import { openNativeSource } from './sources/native/index.js';
import { openNotionSource } from './sources/notion/source.js';
import { openOutlineSource } from './sources/outline/source.js';
import type { OpenSource } from './sources/port.js';
import { splitting } from './sources/sections/index.js';
import { openXlsxSource } from './sources/xlsx/source.js';

/** Describes how a kind of source is read. */
export interface Format {
  readonly open: OpenSource;
  /** Whether its bytes are an archive; otherwise they are a single file. */
  readonly archive: boolean;
  /** Whether it may be sent as text in the request. */
  readonly text: boolean;
  /** Default name of the single file. */
  readonly fileName: string;
}

const text = (open: OpenSource, fileName: string): Format => ({ open, archive: false, text: true, fileName });
const file = (open: OpenSource, fileName: string): Format => ({ open, archive: false, text: false, fileName });
const archive = (open: OpenSource): Format => ({ open, archive: true, text: false, fileName: 'import.zip' });

/** All supported kinds of sources, by `source_type`. */
export const FORMATS: Readonly<Record<string, Format>> = {
  confluence_zip: archive(splitting(openConfluenceSource)),
  csv: text(openCsvSource, 'import.csv'),
  docx: file(openDocxSource, 'import.docx'),
  google_docs_zip: archive(openGoogleDocsSource),
  html: text(splitting(openHtmlSource), 'import.html'),
  html_zip: archive(splitting(openHtmlSource)),
  json: text(openJsonSource, 'import.json'),
  markdown: text(splitting(openMarkdown), 'import.md'),
  markdown_zip: archive(splitting(openMarkdownZip)),
  native_zip: archive(openNativeSource),
  notion_zip: archive(splitting(openNotionSource)),
  outline_zip: archive(splitting(openOutlineSource)),
  xlsx: file(openXlsxSource, 'import.xlsx'),
};
