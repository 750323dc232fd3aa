import { beforeAll, describe, expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { type Api, api } from '../src/client.js';
import type { List, Resource, TableContent, Workspace } from '../src/records.js';
import { standingSystem } from '../src/standing.js';

let boss: Api;
let workspace: Workspace;
let ajv: Ajv2020;
let columnTypes: readonly string[];
let fieldTypes: readonly string[];

interface Described {
  readonly anyOf: readonly { readonly $ref: string }[];
  readonly properties: { readonly type: { readonly enum: readonly string[] } };
}

beforeAll(async () => {
  const system = await standingSystem();
  boss = api(system, system.owner.apiKey);
  workspace = (await boss.post<Workspace>('/workspaces', { name: 'Schemas' })).data;
  const body = JSON.parse((await boss.get('/openapi.json')).text) as {
    components: { schemas: Record<string, Described> };
  };
  const { schemas } = body.components;
  const typesOf = (name: string) => (schemas[name] as Described).properties.type.enum;
  columnTypes = (schemas.TableColumn as Described).anyOf.flatMap(({ $ref }) =>
    typesOf($ref.split('/').at(-1) as string),
  );
  fieldTypes = typesOf('FormField');
  ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: false });
  ajv.addSchema({ $id: 'api', ...body });
});

/** Returns the violations of the schema of that name; empty if there are none. */
function faultsBy(name: string, value: unknown): unknown[] {
  const validate = ajv.getSchema(`api#/components/schemas/${name}`);
  if (validate === undefined) throw new Error(`the document has no schema ${name}`);
  return validate(value) === true ? [] : (validate.errors ?? []);
}

const create = async (body: object) =>
  (await boss.post<Resource>('/resources', { name: 'Record', workspace_id: workspace.id, ...body })).data.id;

const OPTIONS: Readonly<Record<string, object>> = {
  currency: { currency: 'EUR', min: 0 },
  rating: { max: 5 },
  datetime: { timezone: 'Europe/Berlin' },
  select: { choices: [{ id: 'a', name: 'A' }, 'B'] },
  multi_select: { choices: [{ id: 'a', name: 'A', color: 'red' }] },
  user: { many: false },
  formula: { expression: '{number} / 2', precision: 2 },
  lookup: { link_column_id: 'link', target_column_id: 'name' },
  rollup: { link_column_id: 'link', target_column_id: 'name', function: 'count' },
  count: { link_column_id: 'link' },
};

/** A column of each type, of a table whose rows link to those of another. */
const columnsOf = (target: string) =>
  columnTypes.map((type) => {
    const options = type === 'link' ? { target_table_id: target } : OPTIONS[type];
    return { id: type, name: type, type, ...(options && { options }) };
  });

const MARKDOWN = `---
kind: note
---

# Weir

A **bold**, *italic*, ~~gone~~, \`code\` [link](https://example.com "Title") ==mark== $x^2$ and [[Page|label]].

- one
- two

3. three

- [x] done
- [ ] open

> [!NOTE]
> Mind the gap.

> A quotation.

\`\`\`ts
let a;
\`\`\`

$$
x
$$

| a | b |
| :-- | --: |
| 1 | 2 |

---

:::toggle{summary="More"}
Inside.
:::

Text[^1] with <u>underline</u> and ![image](https://example.com/a.png).

[^1]: A footnote.
`;

describe('the schemas of free-form JSON', () => {
  test('describe a table with columns of all types, as a request and as a response', async () => {
    const target = await create({
      type: 'table',
      columns: [{ id: 'name', name: 'Name' }],
      rows: [{ id: 'r', Name: 'x' }],
    });
    const columns = columnsOf(target);
    const rows = [
      { id: 'r1', cells: { text: 'a', number: 4, select: 'a', link: ['r'], checkbox: true } },
      { text: 'b' },
      ['c'],
    ];
    for (const column of columns) expect([column, faultsBy('TableColumnInput', column)]).toEqual([column, []]);
    for (const row of rows) expect(faultsBy('TableRowInput', row)).toEqual([]);
    const id = await create({ type: 'table', columns, rows });
    const { data } = await boss.get<TableContent>(`/resources/${id}/content`);
    expect(data.columns.map(({ type }) => type)).toEqual(columnTypes);
    for (const column of data.columns) expect([column, faultsBy('TableColumn', column)]).toEqual([column, []]);
    for (const row of data.rows) expect([row, faultsBy('TableRow', row)]).toEqual([row, []]);
    expect(data.rows).toHaveLength(3);
    expect(faultsBy('TableColumn', { ...data.columns[0], options: { expression: '1' } })).not.toEqual([]);
    expect(faultsBy('TableColumn', { ...data.columns[0], type: 'colour' })).not.toEqual([]);
  });

  test('describe a document, as a response and as a request', async () => {
    const id = await create({ type: 'document', content: MARKDOWN });
    const read = async () => (await boss.get<{ content: object }>(`/resources/${id}/content?format=json`)).data.content;
    const document = await read();
    expect(faultsBy('Document', document)).toEqual([]);
    expect(faultsBy('DocumentInput', document)).toEqual([]);
    await boss.patch(`/resources/${id}/content`, { document });
    expect(faultsBy('Document', await read())).toEqual([]);
    const heading = (level: unknown) => ({
      type: 'doc',
      content: [{ type: 'heading', attrs: { level }, content: [] }],
    });
    expect(faultsBy('Document', heading(2))).toEqual([]);
    expect(faultsBy('Document', heading(7))).not.toEqual([]);
  });

  test('describe the bundled documents and tables', async () => {
    const { data } = await boss.get<List<{ id: string; preview_tree: unknown[] }>>('/workspace-templates');
    expect(data.items.length).toBeGreaterThan(0);
    for (const { preview_tree: tree } of data.items)
      for (const item of tree) expect(faultsBy('TemplateItem', item)).toEqual([]);
  });

  test('describe a form with fields of all types, as a request and as a response', async () => {
    const id = await create({ type: 'table', columns: [{ id: 'name', name: 'Name' }] });
    const choices = ['single_choice', 'multi_choice', 'dropdown'];
    const fields = fieldTypes.map((type) => ({
      id: type,
      type,
      label: `A ${type}`,
      ...(choices.includes(type) && { options: ['One', { label: 'Two', value: '2' }] }),
      ...(type === 'number' && { min: 1, visible_if: { field_id: 'short_text', op: 'not_empty' } }),
      ...(type === 'file' && { accept: ['.pdf'], max_files: 2 }),
    }));
    const config = {
      title: 'All types',
      fields,
      webhooks: [{ url: 'https://example.com/hook' }],
      mapping: { other: 'short_text' },
      collect: { email: true },
    };
    expect(faultsBy('FormConfigInput', config)).toEqual([]);
    const made = await boss.post<{ form: { config: { fields: { type: string }[] } } }>(`/resources/${id}/form`, {
      config,
    });
    expect(faultsBy('FormConfig', made.data.form.config)).toEqual([]);
    expect(made.data.form.config.fields.map(({ type }) => type)).toEqual(expect.arrayContaining([...fieldTypes]));
    // A response can be sent back as a request.
    expect(faultsBy('FormConfigInput', made.data.form.config)).toEqual([]);
    expect(faultsBy('FormConfigInput', { ...config, fields: [{ label: 'A', type: 'colour' }] })).not.toEqual([]);
  });

  test('list the scopes', async () => {
    const { data } = await boss.get<{ scopes: string[] }>('/capabilities');
    for (const scope of data.scopes) expect(faultsBy('Scope', scope)).toEqual([]);
    expect(faultsBy('Scope', 'moon:read')).not.toEqual([]);
  });
});
