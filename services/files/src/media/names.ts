/** Types of text that only a name tells. */
const TEXTS: Readonly<Record<string, string>> = {
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
};

/** What a container of many formats holds, by its name: none of them is served inline. */
const CONTAINED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'application/zip': {
    docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
    xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    pptx: 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
    odt: 'application/vnd.oasis.opendocument.text',
    ods: 'application/vnd.oasis.opendocument.spreadsheet',
    odp: 'application/vnd.oasis.opendocument.presentation',
    epub: 'application/epub+zip',
    jar: 'application/java-archive',
  },
  'application/x-cfb': {
    doc: 'application/msword',
    xls: 'application/vnd.ms-excel',
    ppt: 'application/vnd.ms-powerpoint',
    msg: 'application/vnd.ms-outlook',
  },
};

function extensionOf(name: string): string {
  return /\.([a-z0-9]{1,10})$/i.exec(name.trim())?.[1]?.toLowerCase() ?? '';
}

/** The type of text that a name stands for; undefined for a name that stands for none. */
export function textTypeByName(name: string): string | undefined {
  return TEXTS[extensionOf(name)];
}

/** The type of what a container holds, the container's own where the name does not tell. */
export function containedType(container: string, name: string): string {
  return CONTAINED[container]?.[extensionOf(name)] ?? container;
}
