import type { Bench } from '../bench.js';
import { compareBeside } from '../beside.js';
import { createResource, createWorkspace } from '../fill.js';
import { JSON_BODY } from '../http.js';
import { type Row, ratioOf } from '../row.js';
import { startBareKoa } from '../subjects/limit.js';

/** Number of forms that get answers in turn, because a table has at most 200,000 rows. */
const FORMS = 4;

const FIELDS = [
  { id: 'name', type: 'short_text', label: 'Your name', required: true },
  { id: 'mail', type: 'email', label: 'Your address', required: true },
  { id: 'kind', type: 'single_choice', label: 'What it is about', options: ['Question', 'Order', 'Complaint'] },
  { id: 'stars', type: 'rating', label: 'How was it?' },
  { id: 'words', type: 'long_text', label: 'In your words' },
];
const VALUES = {
  name: 'Ada Lovelace',
  mail: 'ada@example.com',
  kind: 'Order',
  stars: 4,
  words: 'The delivery came a day late, but all of it was there and in good shape. Thank you.',
};

/** Measures submissions of forms. Each becomes a row of the form's table, which is synced to disk before the answer. */
export async function measureForm(bench: Bench): Promise<Row> {
  const { subject, client } = await bench.shared();
  const workspaceId = await createWorkspace(client, 'Forms');
  const tokens: string[] = [];
  for (let i = 0; i < FORMS; i++) {
    const table = await createResource(client, { type: 'table', name: `Answers ${i}`, workspace_id: workspaceId });
    const config = { title: 'Tell us', fields: FIELDS };
    const made = await client.ask<{ form: { token: string } }>('POST', `/resources/${table}/form`, { config });
    tokens.push(made.form.token);
  }
  const body = JSON.stringify({ values: VALUES });
  const [first = ''] = tokens.map((token) => `/forms/${token}/submit`);
  const { status, text } = await client.send('POST', first, { values: VALUES });
  const requests = tokens.map((token) => {
    return { method: 'POST', path: `/api/v1/forms/${token}/submit`, body, headers: JSON_BODY } as const;
  });
  const limit = () => startBareKoa({ method: 'POST', path: '/api/v1/forms/:token/submit', status, answers: [text] });
  const figures = await compareBeside(bench, [{ subject, requests }], limit);
  const notes = [`${FIELDS.length} fields, ${FORMS} forms; bare Koa reads and parses the same body and keeps nothing`];
  return { figures, checks: [ratioOf(figures, 0.08)], notes };
}
