import { openMarkdown, openMarkdownZip } from './markdown/index.js';
import type { OpenSource } from './port.js';

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
const archive = (open: OpenSource): Format => ({ open, archive: true, text: false, fileName: 'import.zip' });

/** Every kind of source that can be read, by its `source_type`. */
export const FORMATS: Readonly<Record<string, Format>> = {
  markdown: text(openMarkdown, 'import.md'),
  markdown_zip: archive(openMarkdownZip),
};
