import type { Node } from '../../domain/node.js';
import { formOf } from '../../forms/records.js';
import { shownConfig } from '../../forms/shown.js';
import { publicationOf } from '../../publications/publication-state.js';
import type { PublicationRecord } from '../../publications/records.js';
import type { TransferParts } from '../parts.js';
import type { ArchiveTerms } from './pieces.js';

/** Returns the form of a table for an archive, without its tokens and the secrets of its webhooks. */
export async function shownForm(
  { forms }: Pick<TransferParts, 'forms'>,
  node: Node,
  { emails }: ArchiveTerms,
): Promise<object | null> {
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

/** Returns the publication of a resource for an archive, without its password. */
export async function shownPublication(
  { publications }: Pick<TransferParts, 'publications'>,
  node: Node,
): Promise<object | null> {
  return node.published === true ? published(await publicationOf(publications, node.id)) : null;
}

/** Returns the publication of a whole workspace for an archive. */
export async function shownWorkspacePublication(
  { publications }: Pick<TransferParts, 'publications'>,
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
