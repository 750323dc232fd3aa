import { type Direction, FLAG, JSON_OBJECT, listOf, orNull, ref, type Schema, TEXT, whole } from './schema.js';

type Attributes = Readonly<Record<string, Schema>>;

const WORDS: Schema = { type: 'string', minLength: 1 };
const TIGHT = { tight: FLAG };
const LABEL = { label: { type: 'string', pattern: '^[^\\]\\s^[]{1,200}$' } };
const IMAGE = { src: WORDS, alt: TEXT, title: TEXT };

/** What a block holds: blocks, inline nodes, one text, either of the first two, nothing, or blocks of one type. */
type Content = 'blocks' | 'inline' | 'text' | 'cell' | 'none' | { readonly only: string };

interface BlockKind {
  readonly content: Content;
  readonly attrs?: Attributes;
}

const BLOCKS: Readonly<Record<string, BlockKind>> = {
  paragraph: { content: 'inline' },
  heading: { content: 'inline', attrs: { level: whole(1, 6) } },
  bullet_list: { content: { only: 'list_item' }, attrs: TIGHT },
  ordered_list: { content: { only: 'list_item' }, attrs: { ...TIGHT, start: whole(0, 999_999_999) } },
  task_list: { content: { only: 'list_item' }, attrs: TIGHT },
  list_item: { content: 'blocks', attrs: { checked: FLAG } },
  blockquote: { content: 'blocks' },
  callout: { content: 'blocks', attrs: { kind: { type: 'string', pattern: '^[A-Za-z][A-Za-z0-9_-]{0,63}$' } } },
  code_block: { content: 'text', attrs: { language: TEXT, meta: TEXT } },
  math: { content: 'none', attrs: { tex: TEXT } },
  toggle: { content: 'blocks', attrs: { summary: TEXT } },
  table: { content: { only: 'table_row' }, attrs: { align: listOf({}), header: FLAG } },
  table_row: { content: { only: 'table_cell' } },
  table_cell: { content: 'cell' },
  image: { content: 'none', attrs: IMAGE },
  file: { content: 'none' },
  embed: { content: 'none' },
  resource_link: { content: 'none' },
  divider: { content: 'none' },
  columns: { content: { only: 'column' } },
  column: { content: 'blocks' },
  synced_block: { content: 'blocks' },
  form_embed: { content: 'none' },
  html: { content: 'none', attrs: { html: TEXT } },
  footnote: { content: 'blocks', attrs: LABEL },
  front_matter: { content: 'none', attrs: { text: TEXT } },
  directive: { content: 'blocks' },
};

const INLINE: Readonly<Record<string, Attributes>> = {
  text: {},
  mention: { user_id: WORDS, name: TEXT },
  emoji: { emoji: TEXT, name: TEXT },
  math_inline: { tex: TEXT },
  hard_break: {},
  image: IMAGE,
  wiki_link: { target: WORDS, label: TEXT },
  footnote_ref: LABEL,
  html: { html: TEXT },
};

const MARKS: Readonly<Record<string, Attributes>> = {
  comment: { id: WORDS },
  link: { href: TEXT, title: TEXT },
  bold: {},
  italic: {},
  strike: {},
  underline: {},
  highlight: {},
  sub: {},
  sup: {},
  code: {},
};

/** Types of blocks, of nodes within text, and of marks. */
export const BLOCK_TYPES: readonly string[] = Object.keys(BLOCKS);
export const INLINE_TYPES: readonly string[] = Object.keys(INLINE);
export const MARK_TYPES: readonly string[] = Object.keys(MARKS);

/** `task_list` → `TaskList`. */
const pascal = (type: string) =>
  type.replace(/(^|_)([a-z])/g, (_match, _before, letter: string) => letter.toUpperCase());

function documentSchemas(direction: Direction): Record<string, Schema> {
  const suffix = direction === 'input' ? 'Input' : '';
  const named = (name: string) => ref(`Document${name}${suffix}`);
  // A request may have null for what it leaves out.
  const field = (schema: Schema) => (direction === 'input' ? orNull(schema) : schema);
  const attrs = (known: Attributes) =>
    field({
      type: 'object',
      properties: Object.fromEntries(Object.entries(known).map(([name, schema]) => [name, field(schema)])),
      additionalProperties: true,
    });
  const id = field({ type: 'string', pattern: '^[A-Za-z0-9_-]{1,64}$' });
  const node = (
    type: string,
    properties: Readonly<Record<string, Schema>>,
    required: readonly string[] = [],
  ): Schema => ({
    type: 'object',
    properties: { type: { const: type }, ...properties },
    required: ['type', ...required],
    additionalProperties: true,
  });
  const contentOf = (content: Content): Record<string, Schema> => {
    if (content === 'none') return {};
    if (typeof content === 'object') {
      const part = named(`${pascal(content.only)}Block`);
      return { content: field(listOf(direction === 'input' ? { anyOf: [part, named('OtherNode')] } : part)) };
    }
    const blocks = listOf(named('Block'));
    const inline = listOf(named('Inline'));
    if (content === 'blocks') return { content: field(blocks) };
    if (content === 'cell') return { content: field({ anyOf: [inline, blocks] }) };
    return { content: field(content === 'inline' ? inline : listOf(named('TextInline'))) };
  };
  const schemas: Record<string, Schema> = {};
  const union = (name: string, members: readonly string[], description: string) => {
    schemas[`Document${name}${suffix}`] = { description, anyOf: members.map(named) };
  };
  const known = (types: readonly string[]): Schema => ({
    type: 'string',
    minLength: 1,
    maxLength: 64,
    not: { enum: types },
  });

  schemas[direction === 'input' ? 'DocumentInput' : 'Document'] = {
    ...node('doc', { content: field(listOf(named('Block'))) }),
    description: 'A document as JSON: blocks, and in them text with its marks.',
  };
  for (const [type, kind] of Object.entries(BLOCKS)) {
    const own = { id, attrs: attrs(kind.attrs ?? {}), ...contentOf(kind.content) };
    schemas[`Document${pascal(type)}Block${suffix}`] = node(type, own);
  }
  for (const [type, own] of Object.entries(INLINE)) {
    const marks = field(listOf(named('Mark')));
    const text: Record<string, Schema> = type === 'text' ? { text: TEXT, marks } : { attrs: attrs(own), marks };
    schemas[`Document${pascal(type)}Inline${suffix}`] = node(type, text, type === 'text' ? ['text'] : []);
  }
  for (const [type, own] of Object.entries(MARKS)) {
    schemas[`Document${pascal(type)}Mark${suffix}`] = node(type, { attrs: attrs(own) });
  }
  const other = (types: readonly string[], description: string): Schema => ({
    type: 'object',
    description,
    properties: { type: known(types) },
    required: ['type'],
    additionalProperties: true,
  });
  schemas[`DocumentOtherNode${suffix}`] = other(
    [...new Set([...BLOCK_TYPES, ...INLINE_TYPES])],
    'A block or inline node of a type that the server does not know. It is kept as it is.',
  );
  schemas[`DocumentOtherMark${suffix}`] = other(MARK_TYPES, 'A mark of a type that the server does not know.');
  union('Block', [...BLOCK_TYPES.map((type) => `${pascal(type)}Block`), 'OtherNode'], 'A block of a document.');
  union('Inline', [...INLINE_TYPES.map((type) => `${pascal(type)}Inline`), 'OtherNode'], 'A node within text.');
  union('Mark', [...MARK_TYPES.map((type) => `${pascal(type)}Mark`), 'OtherMark'], 'How text is set.');
  return schemas;
}

export const DOCUMENT_SCHEMAS: Readonly<Record<string, Schema>> = {
  ...documentSchemas('output'),
  ...documentSchemas('input'),
  DocumentContent: {
    description: 'A string in the format asked for; for `json` a document.',
    anyOf: [TEXT, ref('Document')],
  },
  ContentInput: {
    description: 'A document as a string or as JSON, or the fields of a table or an artifact as one object.',
    anyOf: [TEXT, ref('DocumentInput'), ref('TableContentInput'), ref('ArtifactContentInput')],
  },
  ArtifactContentInput: { ...JSON_OBJECT, description: 'The fields of an artifact, as for replacing its content.' },
};
