import { deflateSync } from 'node:zlib';
import { FormPage, FormPageState } from '@commonplace/proto/resources/v1/form_page_service.js';
import { type ReaderEntry, ReaderPage } from '@commonplace/proto/resources/v1/reader_service.js';
import { ResourceType } from '@commonplace/proto/resources/v1/resource.js';

const UPDATED = '2026-10-05T09:00:00.000Z';

const entry = (path: string, name: string, type: ResourceType, depth: number, parentId: string): ReaderEntry => ({
  id: path === '' ? 'handbook' : path,
  type,
  name,
  icon: '',
  path: path === '' ? '/p/handbook' : `/p/handbook/${path}`,
  depth,
  parentId,
  updatedAt: UPDATED,
});

/** A publication of a few pages, as the resources service returns it. */
export const TREE: readonly ReaderEntry[] = [
  entry('', 'Field handbook', ResourceType.DOCUMENT, 0, ''),
  entry('getting-started', 'Getting started', ResourceType.DOCUMENT, 1, 'handbook'),
  entry('reference', 'Reference', ResourceType.FOLDER, 1, 'handbook'),
  entry('prices', 'Price list', ResourceType.TABLE, 2, 'reference'),
  entry('dial', 'A dial', ResourceType.ARTIFACT, 2, 'reference'),
  entry('plan', 'Site plan.png', ResourceType.FILE, 2, 'reference'),
];

const FACE = {
  id: 'publication',
  title: 'Field handbook',
  description: 'How we work outdoors.',
  imagePath: '',
  imageUrl: '',
  theme: 'auto',
  showToc: true,
  showAuthor: true,
  allowCopy: true,
  allowDownload: true,
  allowIndexing: true,
  url: 'https://wiki.example.com/p/handbook',
  basePath: '/p/handbook',
  language: 'en',
  publishedAt: '2026-10-01T09:00:00.000Z',
  updatedAt: UPDATED,
  slug: 'handbook',
  origins: ['https://wiki.example.com', 'https://docs.example.com'],
};

const HTML = `<p>Everything that a <strong>new colleague</strong> asks in the first week. Start with
<a href="/p/handbook/getting-started">Getting started</a>, or look at the <a href="https://example.org/">weather service</a>.</p>
<p><img src="/p/handbook/files/plan/0123456789abcdef/plan.png" alt="The site from above" width="720" height="240" /></p>
<h2 id="before-you-go">Before you go</h2>
<ul><li><input type="checkbox" disabled="" checked="" /> Charge the radio</li><li><input type="checkbox" disabled="" /> Tell the office</li></ul>
<aside data-callout="warning"><p>Never go alone above the tree line. The radio does not reach the valley from there.</p></aside>
<h2 id="on-the-way">On the way</h2>
<p>Note the time at each post: <code>post, time, name</code>. A line looks like this:</p>
<pre><code class="language-text">P4 10:32 Ada
</code></pre>
<table><thead><tr><th>Post</th><th align="right">Height</th></tr></thead><tbody><tr><td>Saddle</td><td align="right">1,920 m</td></tr><tr><td>Hut</td><td align="right">2,140 m</td></tr></tbody></table>
<blockquote><p>The map is not the mountain.</p></blockquote>
<h3 id="bad-weather">Bad weather</h3>
<p>A picture of the <img src="https://elsewhere.example/radar.png" alt="weather radar" /> is at the service’s own site.</p>
<details><summary>What the siren means</summary><p>One long tone: come back.</p></details>`;

const HEADINGS = [
  { id: 'before-you-go', level: 2, text: 'Before you go' },
  { id: 'on-the-way', level: 2, text: 'On the way' },
  { id: 'bad-weather', level: 3, text: 'Bad weather' },
];

export const ROWS = 250;

const DIAL = `<!doctype html><title>Dial</title><style>body{font:16px system-ui;text-align:center}</style>
<h2>Wind</h2><p id="out">waiting</p><svg width="160" height="90"><path d="M10 80a70 70 0 0 1 140 0" fill="none" stroke="#0b57d0" stroke-width="12"/></svg>
<script>document.getElementById('out').textContent = 'Force ' + (2 + 3);</script>`;

const BODIES: Readonly<Record<string, (offset: number) => Partial<ReaderPage>>> = {
  '': () => ({
    document: {
      html: HTML,
      markdown: '',
      wordCount: 120,
      headings: HEADINGS,
      excerpt: 'Everything that a new colleague asks.',
      imagePath: '/p/handbook/files/plan/0123456789abcdef/plan.png',
    },
  }),
  'getting-started': () => ({
    document: {
      html: '<p>Ask for your keys.</p>',
      markdown: '',
      wordCount: 4,
      headings: [],
      excerpt: 'Ask for your keys.',
      imagePath: '',
    },
  }),
  reference: (offset) => ({
    folder: { children: TREE.filter(({ parentId }) => parentId === 'reference'), offset, limit: 3, childCount: 3 },
  }),
  prices: (offset) => ({
    table: {
      columns: [
        { id: 'name', name: 'Article', type: 'text', description: '' },
        { id: 'price', name: 'Price', type: 'currency', description: 'Without tax' },
        { id: 'left', name: 'In stock', type: 'number', description: '' },
        { id: 'url', name: 'Maker', type: 'url', description: '' },
      ],
      rows: Array.from({ length: Math.min(100, ROWS - offset) }, (_, i) => ({
        id: `row-${offset + i}`,
        cells: [
          `Rope no. ${offset + i + 1}`,
          `€ ${(12.5 + i).toFixed(2)}`,
          String((i * 7) % 40),
          'https://ropes.example/',
        ],
      })),
      rowCount: ROWS,
      offset,
      limit: 100,
    },
  }),
  dial: () => ({
    artifact: { artifactType: 'html', language: 'html', source: DIAL, title: 'A dial', entry: '', assets: [] },
  }),
  plan: () => ({
    file: {
      contentType: 'image/png',
      sizeBytes: 48_213,
      path: '/p/handbook/files/plan/0123456789abcdef/plan.png',
      isImage: true,
    },
  }),
};

/** Returns a page of the publication; undefined if there is none at the path. */
export function pageAt(path: string, offset = 0, html?: string): ReaderPage | undefined {
  const found = TREE.find(({ id }) => id === (path || 'handbook'));
  const body = BODIES[path]?.(offset);
  if (found === undefined || body === undefined) return undefined;
  const page = ReaderPage.fromPartial({
    face: FACE,
    tree: [...TREE],
    item: { ...found, description: '', createdAt: UPDATED, author: 'Ada Lovelace', contentVersion: 3 },
    trail: trailTo(found),
    etag: 'etag',
    canonicalUrl: `https://wiki.example.com${found.path}`,
    indexed: true,
    ...body,
  });
  if (html !== undefined && page.document) page.document.html = html;
  if (page.document) page.document.markdown = '# Field handbook\n\nEverything.\n';
  return page;
}

function trailTo(target: ReaderEntry): ReaderEntry[] {
  const above = TREE.find(({ id }) => id === target.parentId);
  return [...(above === undefined ? [] : trailTo(above)), target];
}

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const options = (...labels: string[]) => labels.map((label) => ({ id: label, label, value: label.toLowerCase() }));

/** A form with a field of every type. */
export const FORM = FormPage.fromPartial({
  formId: 'form',
  state: FormPageState.OPEN,
  title: 'Join the expedition',
  description: 'Tell us **who you are** and what you bring. See [the handbook](https://example.org/).',
  submitLabel: 'Send application',
  language: 'en',
  credential: 'a-credential',
  fields: [
    { id: 'intro', type: 'statement', label: 'Before you begin', helpText: 'It takes five minutes.' },
    { id: 'name', type: 'short_text', label: 'Your name', required: true, maxLength: 80 },
    { id: 'mail', type: 'email', label: 'E-mail', required: true, placeholder: 'ada@example.com' },
    { id: 'phone', type: 'phone', label: 'Phone' },
    { id: 'site', type: 'url', label: 'Your site' },
    { id: 'why', type: 'long_text', label: 'Why do you come along?', helpText: 'A few sentences.' },
    { id: 'age', type: 'number', label: 'Age', min: 18, max: 99 },
    { id: 'budget', type: 'currency', label: 'Budget' },
    { id: 'from', type: 'date', label: 'Free from' },
    { id: 'call', type: 'datetime', label: 'When may we call?' },
    { id: 'role', type: 'dropdown', label: 'Role', options: options('Cook', 'Doctor', 'Guide') },
    {
      id: 'licence',
      type: 'short_text',
      label: 'Number of your licence',
      required: true,
      visibleIf: { fieldId: 'role', op: 'in', value: json(['doctor', 'guide']) },
    },
    { id: 'size', type: 'single_choice', label: 'Size of your jacket', options: options('S', 'M', 'L') },
    { id: 'gear', type: 'multi_choice', label: 'What do you bring?', options: options('Rope', 'Tent', 'Stove') },
    { id: 'fit', type: 'rating', label: 'How fit are you?' },
    { id: 'sure', type: 'scale', label: 'How sure are you?', min: 0, max: 10 },
    { id: 'photo', type: 'file', label: 'A photo of you', accept: ['image/*'], maxFiles: 1 },
    { id: 'sign', type: 'signature', label: 'Signature', helpText: 'Type your name.', isFile: true },
    { id: 'source', type: 'hidden', label: 'Source', default: json('site') },
    { id: 'consent', type: 'checkbox', label: 'I know the risks.', required: true },
  ],
});

/** Returns a PNG image of one colour. */
export function png(width: number, height: number): Buffer {
  const line = Buffer.concat([Buffer.of(0), Buffer.alloc(width * 3, Buffer.of(120, 160, 150))]);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const chunks = [
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.concat(Array(height).fill(line)))),
    chunk('IEND', Buffer.alloc(0)),
  ];
  return Buffer.concat([Buffer.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a), ...chunks]);
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
}

function crc32(bytes: Buffer): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return (crc ^ 0xffffffff) >>> 0;
}
