import { BASE_VERSION, CURSOR, choice, LIMIT, list, PAGE_ROWS, RESOURCE_ID, text } from './fields.js';
import { rowsText } from './find.js';
import { factsOf, footOf, inline, paragraphs } from './markdown.js';
import type { OperationAnswer, Tool, ToolContext } from './tool.js';

const ROWS = list('The rows. Each is an object keyed by column id or name, or `{id, cells}` to name an existing row.', {
  type: 'object',
});

/** Renders the result of a write for people: name, id and link of what it created or changed. */
function written(what: string, answer: OperationAnswer, { publicUrl }: Pick<ToolContext, 'publicUrl'>): string {
  const { data } = answer;
  const id = inline(data.id ?? data.resource_id);
  const facts = factsOf({
    id,
    link: `${publicUrl}/api/v1/resources/${id}`,
    version: data.version,
    changed: data.changed,
  });
  return paragraphs(`${what}${data.name === undefined ? '' : ` **${inline(data.name)}**`}.`, facts, footOf(answer));
}

const create: Tool = {
  name: 'create',
  title: 'Create a resource',
  description:
    'Creates a document (with `content` as Markdown), a table (with `columns` and `rows`) or a folder, in a workspace or ' +
    'below a `parent_id`. Search first, so that nothing is written twice.',
  operations: ['createResource'],
  properties: {
    type: choice('What is created.', 'document', 'table', 'folder'),
    name: text('Its name.'),
    workspace_id: text('Id of the workspace; your default one when absent.'),
    parent_id: text('Id of the resource that it is put below.'),
    content: text('For a document: its text in Markdown.'),
    columns: list('For a table: its columns, `{name, type, options}`. Types: text, number, date, checkbox, select, …', {
      type: 'object',
    }),
    rows: ROWS,
  },
  required: ['type', 'name'],
  async run(args, context) {
    const answer = await context.send('createResource', args);
    return { text: written('Created', answer, context), structured: { ...answer } };
  },
};

const write: Tool = {
  name: 'write',
  title: 'Write a document',
  description:
    'Changes the text of a document. `edit` replaces passages that you quote exactly (all or none), and is the safest ' +
    'way; `append` and `prepend` add Markdown; `replace` replaces the whole text. What was there is kept as a snapshot.',
  operations: ['replaceContent'],
  properties: {
    resource_id: RESOURCE_ID,
    mode: choice('How the document is changed.', 'edit', 'append', 'prepend', 'replace'),
    markdown: text('For `append`, `prepend` and `replace`: the text.'),
    edits: list('For `edit`: what is replaced.', {
      type: 'object',
      properties: {
        old_text: text(
          'A passage of the Markdown, exactly as `read` returned it. It must occur once, unless `replace_all`.',
        ),
        new_text: text('What it is replaced by; empty to delete it.'),
        replace_all: { type: 'boolean' },
      },
      required: ['old_text', 'new_text'],
    }),
    base_version: BASE_VERSION,
  },
  required: ['resource_id', 'mode'],
  async run(args, context) {
    const answer = await context.send('replaceContent', args.mode === 'edit' ? { format: 'markdown', ...args } : args);
    // The content is left out, because the model has just sent it.
    const { content: _, ...data } = answer.data;
    return { text: written('Written', { ...answer, data }, context), structured: { ...answer, data } };
  },
};

const queryRows: Tool = {
  name: 'query_rows',
  title: 'Query the rows of a table',
  description:
    'Reads rows of a table, filtered and sorted by the server. Returns the columns with their ids, the rows with ' +
    'theirs, and how many there are.',
  operations: ['getContent'],
  properties: {
    resource_id: RESOURCE_ID,
    filter: {
      type: 'object',
      description:
        '`{"and":[{"column":"status","op":"eq","value":"open"}]}`; `or` and nested groups too. Operators: eq, neq, ' +
        'contains, not_contains, gt, gte, lt, lte, before, after, in, empty, not_empty.',
    },
    sort: list('The order: `[{"column":"due","direction":"asc"}]`.', { type: 'object' }),
    columns: list('Ids of the columns to return; all when absent.'),
    limit: LIMIT,
    cursor: CURSOR,
  },
  required: ['resource_id'],
  async run(args, { send }) {
    const answer = await send('getContent', { limit: PAGE_ROWS, ...args });
    return { text: paragraphs(rowsText(answer.data), footOf(answer)), structured: { ...answer } };
  },
};

const writeRows: Tool = {
  name: 'write_rows',
  title: 'Write rows of a table',
  description:
    'Adds rows to a table (`append`), or changes those that are there and adds the others (`upsert`, by row id or by ' +
    '`key_column_id`). `delete_row_ids` deletes rows. Cells that you do not send do not change.',
  operations: ['replaceContent'],
  properties: {
    resource_id: RESOURCE_ID,
    mode: choice('How the rows are written.', 'append', 'upsert'),
    rows: ROWS,
    key_column_id: text('For `upsert`: the column whose values tell which row is meant.'),
    delete_row_ids: list('Ids of rows to delete.'),
    base_version: BASE_VERSION,
  },
  required: ['resource_id', 'mode'],
  async run(args, context) {
    const answer = await context.send('replaceContent', { typecast: true, ...args });
    const { columns: _, rows = [], ...data } = answer.data;
    const facts = factsOf({ 'rows in the answer': (rows as readonly unknown[]).length, 'rows in all': data.row_count });
    return {
      text: paragraphs(written('Written', { ...answer, data }, context), facts),
      structured: { ...answer },
    };
  },
};

const comment: Tool = {
  name: 'comment',
  title: 'Comment',
  description:
    'Comments on a document, or replies to a comment. `@[name](user:id)` mentions a person, who is notified.',
  operations: ['createComment'],
  properties: {
    resource_id: RESOURCE_ID,
    body: text('The comment in Markdown.'),
    parent_comment_id: text('Id of the comment that is replied to.'),
  },
  required: ['resource_id', 'body'],
  async run(args, { send }) {
    const answer = await send('createComment', args);
    return {
      text: paragraphs('Commented.', factsOf({ id: answer.data.id }), footOf(answer)),
      structured: { ...answer },
    };
  },
};

const share: Tool = {
  name: 'share',
  title: 'Share',
  description:
    'Gives a person, a group, an agent, a workspace or the Org a role on a resource and on everything below it. Ask the ' +
    'person you act for before you share with somebody new.',
  operations: ['grantPermission'],
  properties: {
    resource_id: RESOURCE_ID,
    role: choice('What they may do.', 'viewer', 'commenter', 'editor', 'manager'),
    email: text('Address of the person.'),
    principal_type: choice(
      'What `principal_id` names; a user when absent.',
      'user',
      'agent',
      'workspace',
      'org',
      'group',
    ),
    principal_id: text('Id of the user, agent, workspace or group.'),
    expires_at: text('When the role ends, such as `2030-01-31T12:00:00Z`; never when absent.'),
    message: text('What the people are told.'),
  },
  required: ['resource_id', 'role'],
  async run(args, { send }) {
    const answer = await send('grantPermission', args);
    return { text: paragraphs('Shared.', footOf(answer)), structured: { ...answer } };
  },
};

const addFile: Tool = {
  name: 'add_file',
  title: 'Add a file',
  description:
    'Creates a file from text or Base64 (small ones), or from a public https URL that the server fetches. For text that ' +
    'people edit, `create` a document instead.',
  operations: ['createFile'],
  properties: {
    name: text('Name with its extension, such as `report.csv`.'),
    workspace_id: text('Id of the workspace; your default one when absent.'),
    parent_id: text('Id of the resource that it is put below.'),
    text: text('The content as text.'),
    content_base64: text('The content as Base64.'),
    source_url: text('URL that the server fetches the content from.'),
  },
  required: ['name'],
  async run({ text: content, ...args }, context) {
    const bytes = typeof content === 'string' ? { content_base64: Buffer.from(content).toString('base64') } : {};
    const answer = await context.send('createFile', { ...args, ...bytes });
    const { data } = answer;
    const resource = (data.resource ?? data) as Readonly<Record<string, unknown>>;
    return { text: written('Added', { ...answer, data: resource }, context), structured: { ...answer } };
  },
};

export const WRITE: readonly Tool[] = [create, write, queryRows, writeRows, comment, share, addFile];
