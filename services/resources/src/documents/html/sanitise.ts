import { escapeHtml } from '@commonplace/kit/html';
import { lazyLibrary } from '@commonplace/kit/library';
import type sanitizeHtml from 'sanitize-html';
import { MAX_OPEN_ELEMENTS } from '../model/model.js';
import { createNestingGuard, readNested } from './nesting.js';

const library = lazyLibrary<typeof sanitizeHtml>('sanitize-html', import.meta.url);

export interface Warning {
  readonly code: string;
  readonly message: string;
}

const TAGS = [
  ...[
    'h1',
    'h2',
    'h3',
    'h4',
    'h5',
    'h6',
    'p',
    'div',
    'section',
    'article',
    'aside',
    'header',
    'footer',
    'hr',
    'br',
    'wbr',
  ],
  ...['blockquote', 'pre', 'ul', 'ol', 'li', 'dl', 'dt', 'dd', 'figure', 'figcaption', 'details', 'summary', 'input'],
  ...['table', 'caption', 'colgroup', 'col', 'thead', 'tbody', 'tfoot', 'tr', 'th', 'td'],
  ...['a', 'abbr', 'b', 'bdi', 'bdo', 'cite', 'code', 'del', 'dfn', 'em', 'i', 'ins', 'kbd', 'mark', 'q', 's', 'samp'],
  ...['small', 'span', 'strike', 'strong', 'sub', 'sup', 'time', 'u', 'var', 'center', 'ruby', 'rb', 'rt', 'rp'],
  ...['img', 'picture', 'video', 'audio', 'source', 'track'],
];

const ATTRIBUTES: Readonly<Record<string, string[]>> = {
  '*': ['title', 'dir', 'lang', 'align', 'id', 'data-*'],
  a: ['href', 'rel'],
  code: ['class'],
  ol: ['start', 'reversed', 'type'],
  li: ['value'],
  th: ['colspan', 'rowspan', 'scope', 'valign'],
  td: ['colspan', 'rowspan', 'valign'],
  col: ['span'],
  colgroup: ['span'],
  details: ['open'],
  input: ['type', 'checked', 'disabled'],
  img: ['src', 'alt', 'width', 'height'],
  video: ['src', 'poster', 'width', 'height', 'controls'],
  audio: ['src', 'controls'],
  source: ['src', 'type'],
  track: ['src', 'kind', 'srclang', 'label'],
  time: ['datetime'],
};

const SCHEMES = ['http', 'https', 'mailto', 'tel', 'resource'];
const ADDRESSES = ['href', 'src', 'poster'];
const allowed = new Set(TAGS);

/** Longest `data:` address of an image, in characters: enough for icons, not for photographs. */
const MAX_DATA_IMAGE = 32 * 1024;
const DATA_IMAGE = /^data:image\/(?:png|jpeg|gif|webp|avif);base64,[A-Za-z\d+/=]*$/;

const isSmallImage = (address: string): boolean => address.length <= MAX_DATA_IMAGE && DATA_IMAGE.test(address);

/** Returns the scheme of an address as a browser reads it, which ignores blanks and control characters. */
const schemeOf = (address: string) => /^([a-z][a-z\d+.-]*):/i.exec(address.replace(/[\p{Cc} ]/gu, ''))?.[1];

function isSafe(address: string, onImage: boolean): boolean {
  const scheme = schemeOf(address)?.toLowerCase();
  if (scheme === 'data') return onImage && isSmallImage(address);
  return scheme === undefined || SCHEMES.includes(scheme);
}

/** Collects each distinct warning once, at most 20. */
function createWarnings() {
  const found = new Map<string, Warning>();
  return {
    add(code: string, message: string): void {
      if (found.size < 20) found.set(message, { code, message });
    },
    list: (): Warning[] => [...found.values()],
  };
}

/** Runs on every tag before the allow-list does, and removes attributes that can only be judged by their value. */
function inspect(name: string, attributes: sanitizeHtml.Attributes, warnings: ReturnType<typeof createWarnings>) {
  if (!allowed.has(name)) warnings.add('html_removed', `<${name.slice(0, 40)}> is not shown.`);
  const kept: sanitizeHtml.Attributes = {};
  for (const [key, value] of Object.entries(attributes)) {
    if (/^on/i.test(key)) warnings.add('html_removed', 'Event handlers are not kept.');
    else if (ADDRESSES.includes(key) && !isSafe(value, name === 'img' && key === 'src')) {
      warnings.add('unsafe_url', `An address of the kind "${schemeOf(value)?.slice(0, 20)}:" is not shown.`);
    } else if (key !== 'id' || /^fn(?:ref)?-/.test(value)) kept[key] = value;
  }
  if (name === 'a' && kept.href !== undefined) kept.rel = 'noopener noreferrer';
  if (name === 'input') Object.assign(kept, { type: 'checkbox', disabled: '' });
  return { tagName: name, attribs: kept };
}

export interface Sanitised {
  readonly html: string;
  readonly warnings: Warning[];
  /** Whether elements were nested deeper than allowed; the HTML then shows the source. */
  readonly isTooNested?: boolean;
}

/** Removes everything that the allow-list does not name, with one warning for each kind of thing. Takes linear time. */
export function sanitise(html: string): Sanitised {
  return readNested(
    () => sanitiseNested(html),
    () => {
      const message = `HTML with more than ${MAX_OPEN_ELEMENTS} nested elements is shown as text.`;
      return {
        html: `<pre>${escapeHtml(html)}</pre>`,
        warnings: [{ code: 'html_removed', message }],
        isTooNested: true,
      };
    },
  );
}

/** Throws NestedTooDeep. */
function sanitiseNested(html: string): Sanitised {
  const warnings = createWarnings();
  const nesting = createNestingGuard();
  const clean = library()(html, {
    onOpenTag: nesting.onOpen,
    onCloseTag: nesting.onClose,
    allowedTags: TAGS,
    allowedAttributes: ATTRIBUTES as Record<string, string[]>,
    allowedClasses: { code: ['language-*'] },
    allowedSchemes: SCHEMES,
    allowedSchemesByTag: { img: [...SCHEMES, 'data'] },
    allowedSchemesAppliedToAttributes: ADDRESSES,
    nonTextTags: [
      'script',
      'style',
      'textarea',
      'option',
      'noscript',
      'template',
      'title',
      'xmp',
      'iframe',
      'noembed',
      'noframes',
    ],
    transformTags: { '*': (name, attributes) => inspect(name, attributes, warnings) },
    parser: { lowerCaseTags: true },
  });
  return { html: clean, warnings: warnings.list() };
}
