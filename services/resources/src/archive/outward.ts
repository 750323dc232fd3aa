import { shownConfig } from '../forms/shown.js';
import type { Parts } from '../parts.js';
import { publicationOf } from '../publications/standing.js';
import { formOf } from '../stores/forms.js';
import type { Node } from '../stores/nodes.js';
import type { PublicationRecord } from '../stores/publications.js';
import type { ArchiveTerms } from './pieces.js';

/** The form of a table: what it asks. Its tokens, and the secrets of its webhooks, are in no archive. */
export async function shownForm({ forms }: Parts, node: Node, { emails }: ArchiveTerms): Promise<object | null> {
  if (node.type !== 'table' || node.form === undefined) return null;
  const form = await formOf(forms, node.id);
  if (form === undefined) return null;
  const { notify_user_ids: notified, webhooks } = form.config;
  await emails.load(notified);
  const { notify_user_ids: _, ...config } = shownConfig(form);
  return {
    config: { ...config, webhooks: webhooks.map(({ url, events, is_active }) => ({ url, events, is_active })) },
    is_active: form.isActive,
    notify: notified.map((id) => ({ type: 'user', id, email: emails.of(id) ?? null })),
  };
}

/** How a resource is published, without its password. */
export async function shownPublication({ publications }: Parts, node: Node): Promise<object | null> {
  return node.published === true ? published(await publicationOf(publications, node.id)) : null;
}

/** The same of a workspace as a whole. */
export async function shownWorkspacePublication(
  { publications }: Pick<Parts, 'publications'>,
  workspaceId: string,
): Promise<object | null> {
  return published(await publicationOf(publications, workspaceId));
}

function published(record: PublicationRecord | undefined): object | null {
  if (record === undefined) return null;
  return {
    slug: record.slug,
    is_active: record.active,
    visibility: record.visibility,
    expires_at: record.expiresAt ?? null,
    include_children: record.includeChildren,
    allow_indexing: record.allowIndexing,
    title: record.title ?? null,
    description: record.description ?? null,
    theme: record.theme ?? null,
    show_toc: record.showToc,
    show_author: record.showAuthor,
    allow_copy: record.allowCopy,
    allow_download: record.allowDownload,
    mode: record.mode,
    published_at: record.publishedAt,
  };
}
