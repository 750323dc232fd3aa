import { Parser } from 'htmlparser2';
import { decode } from '../charset.js';
import { type Collector, createCollector } from './collector.js';
import { bounded } from './nesting.js';
import type { ReadText } from './read-text.js';

/** Elements whose content is not visible to a reader. */
const UNSEEN = new Set(['script', 'style', 'template', 'noscript', 'iframe', 'object', 'embed', 'noembed', 'noframes']);

const BLOCKS = new Set(
  `address article aside blockquote body br caption center dd details dialog div dl dt fieldset figcaption figure footer
  form h1 h2 h3 h4 h5 h6 head header hr html li main nav ol option p pre section summary table tbody thead tfoot title
  tr ul`.split(/\s+/),
);
const CELLS = new Set(['td', 'th']);
const STEP = 64 * 1024;

/** Describes how to treat the elements of a kind of markup. */
export interface MarkupRules {
  /** Whether to parse as XML: only its five predefined entities are decoded, so that none can expand. */
  readonly xml: boolean;
  /** Returns whether the content of an element is ignored. */
  unseen(name: string): boolean;
  /** Return the text that replaces the start and the end of an element. */
  opened?(name: string, attributes: Readonly<Record<string, string>>): string;
  closed(name: string): string;
  /** Name of an element outside of which text is ignored; by default all text counts. */
  readonly within?: string;
}

/** Adds the text of markup to a collector; stops when it is full. */
export function addMarkup(text: string, out: Collector, rules: MarkupRules): void {
  let depth = 0;
  let unseen = 0;
  let within = 0;
  // XML has no text outside its root element, but the parser reports the internal subset of a document type as such.
  const counts = () => unseen === 0 && (!rules.xml || depth > 0) && (rules.within === undefined || within > 0);
  const parser = new Parser(
    bounded({
      onopentag(name, attributes) {
        depth++;
        if (rules.unseen(name)) unseen++;
        if (name === rules.within) within++;
        if (unseen === 0) out.add(rules.opened?.(name, attributes) ?? '');
      },
      ontext(piece) {
        if (counts()) out.add(piece);
      },
      onclosetag(name) {
        depth--;
        if (name === rules.within) within--;
        if (rules.unseen(name)) unseen--;
        else if (unseen === 0) out.add(rules.closed(name));
      },
    }),
    { xmlMode: rules.xml, decodeEntities: true },
  );
  for (let at = 0; at < text.length && !out.isFull; at += STEP) parser.write(text.slice(at, at + STEP));
  parser.end();
}

const before = (name: string): string => (BLOCKS.has(name) ? '\n' : '');
const after = (name: string): string => (CELLS.has(name) ? '\t' : name === 'br' ? '' : before(name));

const HTML: MarkupRules = {
  xml: false,
  unseen: (name) => UNSEEN.has(name),
  opened: (name, attributes) => (name === 'img' ? ` ${attributes.alt ?? ''} ` : before(name)),
  closed: after,
};

const XML: MarkupRules = {
  xml: true,
  unseen: (name) => UNSEEN.has(name.replace(/^.*:/, '').toLowerCase()),
  closed: () => '\n',
};

/** Returns the charset that a page names in its head or its XML declaration. */
function declaredCharset(file: Buffer): string | undefined {
  const head = file.toString('latin1', 0, 2048);
  return /<meta[^>]+charset\s*=\s*["']?\s*([\w-]+)/i.exec(head)?.[1] ?? xmlCharset(head);
}

function xmlCharset(head: string): string | undefined {
  return /^\s*<\?xml[^>]+encoding\s*=\s*["']([\w-]+)/i.exec(head)?.[1];
}

function reader(rules: MarkupRules): ReadText {
  return (file, { maxChars }) => {
    const out = createCollector(maxChars);
    addMarkup(decode(file, declaredCharset(file)), out, rules);
    return out.end();
  };
}

/** Adds the visible text of a page that is UTF-8 or declares its charset. */
export function addHtml(page: Buffer, out: Collector): void {
  addMarkup(decode(page, declaredCharset(page)), out, HTML);
}

/** Extracts the visible text of a page, with its title and the alternative texts of its images. */
export const readHtml = reader(HTML);

/**
 * Extracts the text between tags, one line per element; a document type is skipped and its entities are not resolved.
 */
export const readXml = reader(XML);
