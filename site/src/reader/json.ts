import { defineError, NotFound } from '@commonplace/kit/errors';
import { envelope } from '@commonplace/kit/http';
import { enumName } from '@commonplace/platform/enums';
import {
  type ReaderEntry,
  ReaderFormat,
  type ReaderPage,
  type ReadPageResponse,
} from '@commonplace/proto/resources/v1/reader_service.js';
import type { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import type { Context } from 'koa';
import { markdownOf } from './markdown.js';
import { callOf, offsetOf, type Place, type ReaderParts } from './parts.js';

const LinkForMembers = defineError('UNAUTHENTICATED', 'missing_credentials', 'This link is for members. Sign in.');

/** Returns whether a client prefers JSON to a page. */
export const wantsJson = (ctx: Context): boolean => ctx.accepts('html', 'json') === 'json';

/**
 * Responds with the target of a share link as JSON in the API's envelope. Throws NotFound if the link is invalid, and
 * UNAUTHENTICATED if it is for members only.
 */
export async function serveJson(ctx: Context, parts: ReaderParts, place: Place): Promise<void> {
  const { page, missing } = await read(ctx, parts, place);
  if (missing?.signIn) throw LinkForMembers();
  if (page === undefined) throw NotFound();
  sendJson(ctx, parts, page);
}

/**
 * Responds with the target of a share link that is open to everybody. Returns false without answering if there is no
 * such link.
 */
export async function answerAnyone(ctx: Context, parts: ReaderParts, place: Place): Promise<boolean> {
  const { page } = await read(ctx, parts, place);
  if (page !== undefined) sendJson(ctx, parts, page);
  return page !== undefined;
}

/** Reads a page. Programs are not redirected: the redirect is followed here, so that they get the page itself. */
async function read(ctx: Context, parts: ReaderParts, place: Place): Promise<ReadPageResponse> {
  const ask = (path: string) =>
    parts.reader.readPage(
      { address: place.address, path, format: ReaderFormat.MARKDOWN, offset: offsetOf(ctx), limit: 0 },
      callOf(ctx, parts),
    );
  const answer = await ask(place.path);
  if (answer.redirect === undefined) return answer;
  // The path of a share link is `/s/{token}/{page}`.
  const [, , , ...below] = new URL(answer.redirect.location).pathname.split('/');
  return ask(decodeURIComponent(below.join('/')));
}

function sendJson(ctx: Context, parts: ReaderParts, page: ReaderPage): void {
  ctx.status = 200;
  ctx.vary('Accept');
  ctx.type = 'application/json; charset=utf-8';
  ctx.body = envelope(JSON.stringify(jsonOf(page, parts.publicUrl)), undefined, {}, ctx.state.requestId);
}

/** Converts a page to the JSON of a share link: the fields of a resource, its place, and its content as Markdown. */
function jsonOf(page: ReaderPage, publicUrl: string): object {
  const { item, trail, table, file, folder, below = folder } = page;
  const urlOf = (path: string): string => new URL(path, publicUrl).href;
  const entry = ({ id, type, name, path }: ReaderEntry) => ({ id, type: typeName(type), name, url: urlOf(path) });
  return {
    id: item?.id,
    type: typeName(item?.type),
    name: item?.name,
    icon: item?.icon || null,
    description: item?.description ?? '',
    url: urlOf(item?.path ?? '/'),
    created_at: item?.createdAt,
    updated_at: item?.updatedAt,
    content_version: item?.contentVersion,
    path: trail.map(entry),
    children: below?.children.map(entry) ?? [],
    child_count: below?.childCount ?? 0,
    content_format: 'markdown',
    content: markdownOf(page),
    table: table === undefined ? null : tableOf(table),
    file:
      file === undefined
        ? null
        : {
            content_type: file.contentType,
            size_bytes: Number(file.sizeBytes),
            url: file.path === '' ? null : urlOf(file.path),
          },
  };
}

type Table = NonNullable<ReaderPage['table']>;

const tableOf = ({ columns, rows, rowCount, offset, limit }: Table): object => ({
  columns: columns.map(({ id, name, type }) => ({ id, name, type })),
  rows: rows.map(({ id, cells }) => ({ id, cells })),
  row_count: rowCount,
  offset,
  limit,
});

const typeName = (type: ResourceType | undefined): string | undefined =>
  type === undefined ? undefined : enumName(type, 'RESOURCE_TYPE');
