import { dictionary } from '@commonplace/kit/dictionary';

/** Text formats that only a file name can identify. */
const TEXTS: Readonly<Record<string, string>> = dictionary({
  txt: 'text/plain',
  log: 'text/plain',
  md: 'text/markdown',
  markdown: 'text/markdown',
  mdx: 'text/markdown',
  csv: 'text/csv',
  tsv: 'text/tab-separated-values',
  json: 'application/json',
  geojson: 'application/json',
  ipynb: 'application/json',
  jsonl: 'application/x-ndjson',
  ndjson: 'application/x-ndjson',
  yaml: 'application/yaml',
  yml: 'application/yaml',
  toml: 'application/toml',
  ics: 'text/calendar',
  vcf: 'text/vcard',
  css: 'text/css',
  js: 'text/javascript',
  mjs: 'text/javascript',
  cjs: 'text/javascript',
  html: 'text/html',
  htm: 'text/html',
  xhtml: 'application/xhtml+xml',
  xht: 'application/xhtml+xml',
  svg: 'image/svg+xml',
  xml: 'application/xml',
  xsl: 'text/xsl',
  xslt: 'text/xsl',
  mht: 'multipart/related',
  mhtml: 'multipart/related',
  eml: 'message/rfc822',
  hta: 'application/hta',
  htc: 'text/x-component',
  vbs: 'text/vbscript',
  eps: 'application/postscript',
});

/** Formats inside container formats, by extension. None of them is served inline. */
const CONTAINED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'application/zip': dictionary({
    docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
    xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    pptx: 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
    odt: 'application/vnd.oasis.opendocument.text',
    ods: 'application/vnd.oasis.opendocument.spreadsheet',
    odp: 'application/vnd.oasis.opendocument.presentation',
    epub: 'application/epub+zip',
    jar: 'application/java-archive',
  }),
  'application/x-cfb': dictionary({
    doc: 'application/msword',
    xls: 'application/vnd.ms-excel',
    ppt: 'application/vnd.ms-powerpoint',
    msg: 'application/vnd.ms-outlook',
  }),
};

function extensionOf(name: string): string {
  return /\.([a-z0-9]{1,10})$/i.exec(name.trim())?.[1]?.toLowerCase() ?? '';
}

/** Returns the text type that a name's extension denotes, or undefined. */
export function textTypeByName(name: string): string | undefined {
  return TEXTS[extensionOf(name)];
}

/** Returns the type of a container's content by its name, or the container's own type. */
export function containedType(container: string, name: string): string {
  return CONTAINED[container]?.[extensionOf(name)] ?? container;
}
