import type { Api } from './client.js';
import type { Resource } from './records.js';

/** A form as the API returns it. */
export interface Form {
  readonly id: string;
  readonly resource_id: string;
  readonly config: FormConfig;
  readonly is_active: boolean;
  readonly token: string | null;
  readonly submit_url: string | null;
  readonly public_url: string | null;
  readonly webhook_token: string | null;
  readonly webhook_url: string | null;
  readonly submission_count: number;
  readonly last_submitted_at: string | null;
  readonly version: number;
  readonly webhook_secrets?: readonly { readonly url: string; readonly secret: string }[];
}

interface FormConfig {
  readonly title: string;
  readonly fields: readonly FormField[];
  readonly webhooks: readonly Readonly<Record<string, unknown>>[];
  readonly [key: string]: unknown;
}

interface FormField {
  readonly id: string;
  readonly column_id: string | null;
  readonly type: string;
  readonly label: string;
  readonly disabled: boolean;
  readonly [key: string]: unknown;
}

export interface FormAnswer {
  readonly resource: Resource;
  readonly access: Readonly<Record<string, unknown>>;
  readonly form: Form;
}

export interface Submitted {
  readonly submission_id: string;
  readonly row_id: string;
  readonly submitted_at: string;
  readonly success_message: string | null;
  readonly redirect_url: string | null;
}

export interface TableContent {
  readonly columns: readonly { readonly id: string; readonly name: string; readonly type: string }[];
  readonly rows: readonly { readonly id: string; readonly cells: Readonly<Record<string, unknown>> }[];
  readonly row_count: number;
}

/** Reads the content of a table with up to 1,000 rows. */
export async function tableOf(by: Api, id: string): Promise<TableContent> {
  return (await by.get<TableContent>(`/resources/${id}/content?limit=1000`)).data;
}

/** Creates a table with the given columns and a form for it. */
export async function newForm(
  by: Api,
  workspaceId: string,
  config?: Readonly<Record<string, unknown>>,
  columns: readonly Readonly<Record<string, unknown>>[] = [{ id: 'name', name: 'Name', type: 'text' }],
): Promise<FormAnswer> {
  const table = await by.post<Resource>('/resources', {
    type: 'table',
    name: 'Leads',
    workspace_id: workspaceId,
    columns,
    rows: [],
  });
  const made = await by.post<FormAnswer>(`/resources/${table.data.id}/form`, config === undefined ? {} : { config });
  return made.data;
}
