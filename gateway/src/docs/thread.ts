import { workerData } from 'node:worker_threads';
import { performTasks } from '@commonplace/kit/workers';
import { readRecordedExamples } from '@commonplace/platform/api-document';
import { API_TITLE, createLibrary, type DocPage, docFile, OPENAPI_PATH } from '@commonplace/site/docs';
import { createOpenApi } from '../openapi/document.js';
import { routesOf } from '../routes.js';
import { SERVER_VERSION } from '../version.js';
import type { WrittenPage } from './written.js';

// This worker thread writes the OpenAPI document and the pages generated from it. It takes seconds, during which the
// event loop of the server has to remain free.
const { publicUrl } = workerData as { publicUrl: string };
const pages = listPages();

async function listPages(): Promise<ReadonlyMap<string, DocPage>> {
  const examples = readRecordedExamples();
  const about = { title: API_TITLE, serverVersion: SERVER_VERSION, serverUrl: publicUrl };
  const document = createOpenApi(routesOf(), { ...about, examples });
  const openApi = docFile(OPENAPI_PATH, 'application/json; charset=utf-8', () => JSON.stringify(document));
  const library = await createLibrary({ document, examples, publicUrl });
  return new Map([openApi, ...library].map((page) => [page.path, page]));
}

/** Returns the page of a path, or the paths of all pages if the path is null. */
async function perform(path: string | null): Promise<string[] | WrittenPage> {
  const known = await pages;
  if (path === null) return [...known.keys()];
  const page = known.get(path);
  if (page === undefined) throw new Error(`there is no page ${path}`);
  const { contentType, contentSecurityPolicy } = page;
  return { contentType, contentSecurityPolicy, body: await page.body() };
}

performTasks(perform);
