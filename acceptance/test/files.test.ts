import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Api, api } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import {
  download,
  type FileLink,
  linkOf,
  type NewFile,
  newFile,
  putBytes,
  putPart,
  sha256,
  type Upload,
} from '../src/files.js';
import { newAddress, signUp, tokenOf } from '../src/people.js';
import type { List, Member, Org, Resource, Workspace } from '../src/records.js';
import { standingSystem } from '../src/standing.js';
import { mode, type System } from '../src/system.js';

const MIB = 1024 * 1024;
/** A bucket has URLs of its own, with errors of its own. */
const throughGateway = mode === 'embedded' ? test : test.skip;
const inlineBytes = Buffer.from('Some words about the thylacine.');

let system: System;
let by: Api;
let workspace: Workspace;
let source: Server;
let sourceUrl: string;

beforeAll(async () => {
  source = createServer((request, response) => {
    if (request.url === '/there.txt') response.end('Bytes from elsewhere.');
    else if (request.url === '/away') response.writeHead(302, { Location: 'http://10.0.0.1/' }).end();
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => source.listen(0, '127.0.0.1', resolve));
  sourceUrl = `http://localhost:${(source.address() as AddressInfo).port}`;
  system = await standingSystem();
  by = api(system, system.owner.apiKey);
  workspace = (await by.post<Workspace>('/workspaces', { name: 'Files' })).data;
});

afterAll(() => {
  source?.close();
});

const inWorkspace = (fields: object = {}) => ({ name: 'file.bin', workspace_id: workspace.id, ...fields });
const errorCodeOf = async (answer: Response): Promise<string> => JSON.parse(await answer.text()).error.code;
const idOf = (reply: { data: NewFile }) => reply.data.resource.id;

describe('a small file', () => {
  test('is ready in the response, and its type is detected', async () => {
    const reply = await newFile(by, inWorkspace({ name: 'words.txt', content_type: 'image/png' }), inlineBytes);
    expect(reply.status).toBe(201);
    const { resource, file, upload } = reply.data;
    expect([resource.type, resource.name, upload]).toEqual(['file', 'words.txt', null]);
    expect(resource.file).toEqual({
      content_type: 'text/plain; charset=utf-8',
      size_bytes: inlineBytes.length,
      status: 'ready',
    });
    expect(file).toMatchObject({
      status: 'ready',
      checksum_sha256: sha256(inlineBytes),
      version_count: 1,
      error: null,
    });
    const read = await by.get<Resource>(`/resources/${resource.id}`);
    expect(read.data).toMatchObject({ size_bytes: inlineBytes.length, file: { status: 'ready' } });
  });

  test('is read by a link, completely and in part', async () => {
    const id = idOf(await newFile(by, inWorkspace({ name: 'words.txt' }), inlineBytes));
    const link = await linkOf(by, id);
    expect(link).toMatchObject({ name: 'words.txt', checksum_sha256: sha256(inlineBytes), disposition: 'attachment' });
    const whole = await download(link.download_url);
    expect([whole.status, whole.bytes.equals(inlineBytes)]).toEqual([200, true]);
    expect(whole.headers.get('content-disposition')).toBe('attachment; filename="words.txt"');
    const part = await download(link.download_url, { range: 'bytes=5-9' });
    expect([part.status, String(part.bytes)]).toEqual([206, 'words']);
    expect(part.headers.get('content-range')).toBe(`bytes 5-9/${inlineBytes.length}`);
    const last = await download(link.download_url, { range: 'bytes=-10' });
    expect(String(last.bytes)).toBe('thylacine.');
    const longer = await download(link.download_url, { range: 'bytes=-9999' });
    expect(longer.status).toBe(206);
    expect(longer.headers.get('content-range')).toBe(`bytes 0-${inlineBytes.length - 1}/${inlineBytes.length}`);
    expect(longer.bytes).toEqual(Buffer.from(inlineBytes));
    expect((await download(link.download_url, { range: 'bytes=-0' })).status).toBe(416);
    expect((await download(link.download_url, { range: 'bytes=9999-' })).status).toBe(416);
  });

  throughGateway('has a link with an ETag, and headers under which nothing runs', async () => {
    const id = idOf(await newFile(by, inWorkspace({ name: 'words.txt' }), inlineBytes));
    const { download_url: url } = await linkOf(by, id, '?expires_in=60');
    const { headers } = await download(url);
    expect(headers.get('etag')).toBe(`"${sha256(inlineBytes)}"`);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'.*; sandbox$/);
    expect(headers.get('cache-control')).toMatch(/^private, max-age=(59|60)$/);
    expect((await download(url, { 'if-none-match': headers.get('etag') ?? '' })).status).toBe(304);
    const other = { range: 'bytes=0-3', 'if-range': '"other"' };
    expect((await download(url, other)).status).toBe(200);
    const head = await fetch(url, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(inlineBytes.length)]);
    expect((await fetch(url, { method: 'PUT', body: 'x' })).status).toBe(404);
    expect((await download(`${url.slice(0, -4)}AAAA`)).status).toBe(404);
    expect((await download(url.replace('/blobs/', '/blobs/x'))).status).toBe(404);
  });

  test('that does not match its announcement is refused, and nothing is created', async () => {
    const before = await by.get(`/workspaces/${workspace.id}/resources?type=file`);
    const refused = async (fields: object) => (await newFile(by, inWorkspace(fields), inlineBytes)).error.code;
    expect(await refused({ checksum_sha256: '0'.repeat(64) })).toBe('checksum_mismatch');
    expect(await refused({ size_bytes: 5 })).toBe('upload_incomplete');
    expect(await refused({ checksum_sha256: 'x'.repeat(64) })).toBe('invalid_value');
    const code = async (body: object) => (await by.post('/files', body)).error.code;
    expect(await code(inWorkspace({ content_base64: '!!' }))).toBe('invalid_value');
    expect(await code({ workspace_id: workspace.id, content_base64: 'AA==' })).toBe('missing_field');
    expect(await code(inWorkspace({ size_bytes: 65 * MIB }))).toBe('payload_too_large');
    const tooLong = Buffer.alloc(5 * MIB + 1).toString('base64');
    expect(await code(inWorkspace({ content_base64: tooLong }))).toBe('payload_too_large');
    const after = await by.get(`/workspaces/${workspace.id}/resources?type=file`);
    expect(after.page.total).toBe(before.page.total);
  });

  test('may be empty', async () => {
    const id = idOf(await newFile(by, inWorkspace(), ''));
    const { bytes } = await download((await linkOf(by, id)).download_url);
    expect(bytes.length).toBe(0);
  });

  test('is created once under one key', async () => {
    const options = { headers: { 'Idempotency-Key': `file-${Date.now()}` } };
    const body = inWorkspace({ content_base64: inlineBytes.toString('base64') });
    const first = await by.post<NewFile>('/files', body, options);
    const again = await by.post<NewFile>('/files', body, options);
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
    expect(idOf(again)).toBe(idOf(first));
  });

  test('gets new versions under the same id', async () => {
    const id = idOf(await newFile(by, inWorkspace({ name: 'words.txt' }), inlineBytes));
    const old = await linkOf(by, id);
    const reply = await newFile(by, { replace_resource_id: id }, 'Other words.');
    expect(reply.data.resource).toMatchObject({ id, size_bytes: 12, content_version: 2, name: 'words.txt' });
    expect(reply.data.file).toMatchObject({ version_count: 2, checksum_sha256: sha256('Other words.') });
    expect(String((await download((await linkOf(by, id)).download_url)).bytes)).toBe('Other words.');
    expect((await download(old.download_url)).bytes.equals(inlineBytes)).toBe(true);
    const stale = await by.post(
      '/files',
      { replace_resource_id: id, content_base64: '' },
      {
        headers: { 'If-Match': '"v1"' },
      },
    );
    expect(stale.error.code).toBe('version_conflict');
    const document = (await by.post<Resource>('/resources', inWorkspace({ type: 'document' }))).data;
    expect((await newFile(by, { replace_resource_id: document.id }, '')).error.code).toBe('not_a_file');
    expect((await by.get(`/resources/${document.id}/file`)).error.code).toBe('not_a_file');
  });
});

describe('an upload', () => {
  const bytes = randomBytes(2 * MIB + 17);

  test('is sent to its URL, and ready when it has arrived', async () => {
    const asked = inWorkspace({ size_bytes: bytes.length, checksum_sha256: sha256(bytes) });
    const { data } = await newFile(by, asked);
    expect(data.resource.file).toMatchObject({ status: 'pending_upload', size_bytes: bytes.length });
    expect(data.upload).toMatchObject({ method: 'PUT', url: expect.any(String), parts: null, part_size: null });
    const early = await by.get(`/resources/${data.resource.id}/file`);
    expect([early.status, early.error.code]).toEqual([409, 'file_not_ready']);
    const put = await putBytes(data.upload as Upload, bytes);
    expect(put.status).toBe(200);
    const link = await linkOf(by, data.resource.id);
    expect((await download(link.download_url)).bytes.equals(bytes)).toBe(true);
    expect((await by.get<Resource>(`/resources/${data.resource.id}`)).data).toMatchObject({
      file: { status: 'ready' },
    });
  });

  throughGateway('is refused while its workspace is archived or its file locked or in the trash', async () => {
    const { data: closed } = await by.post<Workspace>('/workspaces', { name: 'Closed' });
    const { data } = await newFile(by, { name: 'late.bin', workspace_id: closed.id, size_bytes: 5 });
    const { id } = data.resource;
    const put = async () => {
      const answer = await putBytes(data.upload as Upload, Buffer.from('bytes'));
      return answer.ok ? 'done' : errorCodeOf(answer);
    };
    await by.post(`/workspaces/${closed.id}/archive`, {});
    expect(await put()).toBe('workspace_archived');
    await by.post(`/workspaces/${closed.id}/archive`, { mode: 'unarchive' });
    await by.patch(`/resources/${id}`, { is_locked: true });
    expect(await put()).toBe('resource_locked');
    await by.patch(`/resources/${id}`, { is_locked: false });
    await by.del(`/resources/${id}`);
    expect(await put()).toBe('expired_link');
    await by.post(`/resources/${id}/restore`, {});
    const { data: waiting } = await by.get<Resource>(`/resources/${id}`);
    expect(waiting).toMatchObject({ file: { status: 'pending_upload' } });
    expect(await put()).toBe('done');
  });

  throughGateway('is refused once whoever began it may no longer write there', async () => {
    const owner = await signUp(system, 'Owner');
    const { data: org } = await owner.post<Org>('/orgs', { name: 'Uploads' });
    const { data: shared } = await owner.post<Workspace>('/workspaces', { name: 'Shared', org_id: org.id });
    const email = newAddress('editor');
    const { data: invited } = await owner.post<Member>(`/orgs/${org.id}/members`, { email, role: 'member' });
    const editor = await signUp(system, 'Editor', { email, invitation: tokenOf(invited.invite_url) });
    const members = `/workspaces/${shared.id}/members`;
    const { data: member } = await owner.post<Member>(members, { user_id: editor.user.id, role: 'editor' });
    const begin = () => newFile(editor, { name: 'mine.bin', workspace_id: shared.id, size_bytes: 5 });
    await eventually(async () => expect((await begin()).status).toBe(201));
    const [first, second] = [await begin(), await begin()];
    const put = (one: { data: NewFile }) => putBytes(one.data.upload as Upload, Buffer.from('bytes'));
    expect((await put(first)).status).toBe(200);
    expect((await owner.del(`${members}/${member.id}`)).status).toBe(200);
    await eventually(async () => expect((await begin()).status).toBe(404));
    const late = await put(second);
    expect([late.status, await errorCodeOf(late)]).toEqual([404, 'expired_link']);
  });

  test('of other bytes than announced creates no file, and can be retried', async () => {
    const asked = inWorkspace({ size_bytes: bytes.length, checksum_sha256: sha256(bytes) });
    const { data } = await newFile(by, asked);
    const upload = data.upload as Upload;
    expect((await putBytes(upload, randomBytes(bytes.length))).ok).toBe(false);
    expect((await putBytes(upload, bytes.subarray(1))).ok).toBe(false);
    expect((await by.get(`/resources/${data.resource.id}/file`)).error.code).toBe('file_not_ready');
    expect((await putBytes(upload, bytes)).ok).toBe(true);
    expect((await linkOf(by, data.resource.id)).checksum_sha256).toBe(sha256(bytes));
  });

  throughGateway(
    'says what is wrong with the bytes, and answers the same bytes alike once it is complete',
    async () => {
      const asked = inWorkspace({ size_bytes: bytes.length, checksum_sha256: sha256(bytes) });
      const upload = (await newFile(by, asked)).data.upload as Upload;
      const codeOf = async (put: Response) => [
        put.status,
        ((await put.json()) as { error: { code: string } }).error.code,
      ];
      expect(await codeOf(await putBytes(upload, randomBytes(bytes.length)))).toEqual([409, 'checksum_mismatch']);
      expect(await codeOf(await putBytes(upload, bytes.subarray(1)))).toEqual([409, 'upload_incomplete']);
      expect(await codeOf(await putBytes(upload, randomBytes(bytes.length + 1)))).toEqual([400, 'payload_too_large']);
      const put = async () => {
        const response = await putBytes(upload, bytes);
        return [response.status, ((await response.json()) as { data: unknown }).data];
      };
      const done = await put();
      expect(done).toEqual([200, { resource_id: expect.any(String), status: 'ready', parts_missing: 0 }]);
      expect(await put()).toEqual(done);
      expect(await codeOf(await putBytes(upload, randomBytes(bytes.length)))).toEqual([404, 'expired_link']);
      expect(await codeOf(await putBytes(upload, bytes.subarray(1)))).toEqual([404, 'expired_link']);
    },
  );

  throughGateway('that several requests put at the same time creates one version, and answers them alike', async () => {
    const { data } = await newFile(by, inWorkspace({ size_bytes: bytes.length }));
    const puts = await Promise.all([1, 2, 3].map(() => putBytes(data.upload as Upload, bytes)));
    expect(puts.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await linkOf(by, data.resource.id)).file.version_count).toBe(1);
  });

  test('in parts is complete when the last part arrives, in any order, and can be continued', async () => {
    const large = randomBytes(12 * MIB);
    const { data } = await newFile(by, inWorkspace({ size_bytes: large.length, checksum_sha256: sha256(large) }));
    const { id } = data.resource;
    const { parts, part_size: size, url } = data.upload as Upload;
    expect([parts?.length, size, url]).toEqual([3, 5 * MIB, null]);
    const [first, second, third] = parts as [never, never, never];
    for (const part of [third, first]) expect((await putPart(part, large)).status).toBe(200);
    expect((await by.get(`/resources/${id}/file`)).error.code).toBe('file_not_ready');
    const resumed = await by.post<NewFile>('/files', { resume_resource_id: id });
    expect([resumed.status, resumed.data.upload?.parts?.map(({ number }) => number)]).toEqual([200, [2]]);
    expect((await putPart(second, large)).status).toBe(200);
    const link = await linkOf(by, id);
    expect(link.checksum_sha256).toBe(sha256(large));
    expect(sha256((await download(link.download_url)).bytes)).toBe(sha256(large));
    const middle = await download(link.download_url, { range: `bytes=${5 * MIB - 3}-${5 * MIB + 2}` });
    expect(middle.bytes.equals(large.subarray(5 * MIB - 3, 5 * MIB + 3))).toBe(true);
  });

  throughGateway('in parts answers a part that is put again alike once it is complete', async () => {
    const large = randomBytes(7 * MIB);
    const { data } = await newFile(by, inWorkspace({ size_bytes: large.length }));
    const [first, second] = (data.upload as Upload).parts as [never, never];
    for (const part of [first, second]) expect((await putPart(part, large)).status).toBe(200);
    expect((await linkOf(by, data.resource.id)).file.status).toBe('ready');
    const again = await putPart(second, large);
    const done = { resource_id: data.resource.id, status: 'ready', parts_missing: 0 };
    expect([again.status, JSON.parse(await again.text()).data]).toEqual([200, done]);
    const other = await putPart(second, randomBytes(large.length));
    expect([other.status, await errorCodeOf(other)]).toEqual([404, 'expired_link']);
  });

  test('with one wrong part fails, and is repeated as a new version', async () => {
    const large = randomBytes(7 * MIB);
    const asked = { size_bytes: large.length, checksum_sha256: sha256(large) };
    const { data } = await newFile(by, inWorkspace(asked));
    const { id } = data.resource;
    const other = randomBytes(large.length);
    for (const part of data.upload?.parts ?? []) await putPart(part, other);
    const status = async () => (await by.get<NewFile['resource']>(`/resources/${id}`)).data.file?.status;
    await eventually(async () => {
      await by.get(`/resources/${id}/file`);
      expect(await status()).toBe('failed');
    });
    const { details } = (await by.get(`/resources/${id}/file`)).error;
    expect(details).toMatchObject({ status: 'failed', error: { code: 'checksum_mismatch' } });
    const again = await newFile(by, { replace_resource_id: id, ...asked });
    for (const part of again.data.upload?.parts ?? []) await putPart(part, large);
    expect((await linkOf(by, id)).file).toMatchObject({ status: 'ready', error: null, version_count: 1 });
  });
});

describe('dangerous content', () => {
  const script = '<script>alert(1)</script>';
  const HOSTILE: readonly [name: string, content: string | Buffer][] = [
    ['page.html', `<!doctype html><html>${script}</html>`],
    ['picture.svg', `<svg xmlns="http://www.w3.org/2000/svg">${script}</svg>`],
    ['picture.png', `<html>${script}</html>`],
    ['data.xml', `<?xml version="1.0"?><a xmlns:h="http://www.w3.org/1999/xhtml"><h:script>1</h:script></a>`],
    ['paper.pdf', '%PDF-1.4\n1 0 obj<</OpenAction<</S/JavaScript/JS(app.alert(1))>>>>endobj'],
    ['script.js', 'alert(1)'],
    ['page.txt', `\n\n  <!-- x --><html>${script}`],
    ['page.xhtml', `<html xmlns="http://www.w3.org/1999/xhtml">${script}</html>`],
    ['image.gif', Buffer.concat([Buffer.from('GIF89a'), Buffer.from(`/*${script}*/=1;alert(1)`)])],
    ['nothing', Buffer.from([0, 1, 2, 3])],
  ];

  test.each(HOSTILE)('%s is never returned as something that a browser renders', async (name, content) => {
    const id = idOf(await newFile(by, inWorkspace({ name, content_type: 'image/png' }), content));
    const link = await linkOf(by, id, '?disposition=inline');
    const { headers } = await download(link.download_url);
    const type = headers.get('content-type') ?? '';
    const shown = headers.get('content-disposition')?.startsWith('inline');
    expect(type).not.toMatch(/html|svg|xml|pdf|script/);
    // Only pictures and plain text, judged by their bytes, are shown inline.
    if (shown) expect(type).toMatch(/^(image\/(png|gif|jpeg|webp)|text\/plain)/);
  });

  test.each([
    'a"b.txt',
    'a\\b/c.txt',
    'naïve – 文書.pdf',
    '\u202efdp.exe',
    'a;filename=evil.html',
    "x'y%22.html",
    '…'.repeat(255),
  ])('the name %j results in a header that contains only a name', async (name) => {
    const id = idOf(await newFile(by, inWorkspace({ name }), 'x'));
    const { headers } = await download((await linkOf(by, id)).download_url);
    expect(headers.get('content-disposition')).toMatch(
      /^attachment; filename="?[\x20-\x7e]*"?(; filename\*=UTF-8''[\w%!#$&+.^`|~-]*)?$/,
    );
    expect(headers.get('content-disposition')).not.toMatch(/[\r\n]/);
  });

  test('pictures are shown inline, with a thumbnail', async () => {
    const pixel = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAFklEQVR4nGP8z8DAwMDAxMDAwMDAAAANHQEDasKb6QAAAABJRU5ErkJggg==',
      'base64',
    );
    const made = await newFile(by, inWorkspace({ name: 'pixel' }), pixel);
    expect(made.data.file).toMatchObject({ content_type: 'image/png', width: 2, height: 2 });
    const link = await linkOf(by, idOf(made), '?disposition=inline&thumbnail=64');
    expect(link.disposition).toBe('inline');
    const { headers } = await download(link.download_url);
    expect([headers.get('content-type'), headers.get('content-disposition')]).toEqual([
      'image/png',
      expect.stringMatching(/^inline/),
    ]);
    const small = await download(link.thumbnail_url ?? '');
    expect([small.status, small.headers.get('content-type')]).toEqual([200, 'image/webp']);
    expect(small.bytes.length).toBeGreaterThan(0);
  });
});

describe('a file from a URL', () => {
  test('is fetched after the response', async () => {
    const asked = inWorkspace({ name: 'there.txt', source_url: `${sourceUrl}/there.txt` });
    const { data } = await newFile(by, asked);
    expect(data.file.status).toBe('processing');
    expect(data.resource).toMatchObject({ source: { type: 'url', url: `${sourceUrl}/there.txt` } });
    const link = await linkOf(by, data.resource.id);
    expect(String((await download(link.download_url)).bytes)).toBe('Bytes from elsewhere.');
  });

  test.each([
    ['/missing', 'invalid_url'],
    ['/away', 'url_not_allowed'],
  ])('%s fails with a reason', async (path, code) => {
    const { data } = await newFile(by, inWorkspace({ source_url: sourceUrl + path }));
    const { error } = await eventually(async () => {
      const reply = await by.get(`/resources/${data.resource.id}/file`);
      expect(reply.error.details).toMatchObject({ status: 'failed' });
      return reply;
    });
    expect(error.details).toMatchObject({ error: { code } });
  });

  test.each(['http://example.com/', 'https://127.0.0.1/', 'https://[::1]/', 'https://a:b@example.com/', 'nonsense'])(
    '%s is not called',
    async (url) => {
      const reply = await newFile(by, inWorkspace({ source_url: url }));
      expect([reply.status, reply.error.code]).toEqual([400, 'url_not_allowed']);
    },
  );
});

describe('the text of a file', () => {
  test('is its content, is found by searching, and follows its versions', async () => {
    const id = idOf(await newFile(by, inWorkspace({ name: 'Minutes.txt' }), 'The quokka has decided.'));
    const content = async () => (await by.get(`/resources/${id}/content`)).data;
    await eventually(async () =>
      expect(await content()).toMatchObject({
        type: 'file',
        format: 'text',
        text: 'The quokka has decided.',
        text_extraction: 'done',
      }),
    );
    const found = async (query: string) => {
      const { data } = await by.post<{ items: { resource: Resource }[] }>('/search', { query, mode: 'keyword' });
      return data.items.map(({ resource }) => resource.id);
    };
    await eventually(async () => expect(await found('quokka')).toEqual([id]));
    await newFile(by, { replace_resource_id: id }, 'The numbat has decided.');
    await eventually(async () => expect([await found('numbat'), await found('quokka')]).toEqual([[id], []]));
  });

  test('is empty for a file without text, and cannot be written', async () => {
    const id = idOf(await newFile(by, inWorkspace(), Buffer.from([0, 255, 1, 254])));
    expect((await by.get(`/resources/${id}/content`)).data).toMatchObject({ text: '', text_extraction: 'none' });
    const codeOf = async (reply: Promise<{ error: { code: string } }>) => (await reply).error.code;
    expect(await codeOf(by.patch(`/resources/${id}/content`, { content: 'x' }))).toBe('content_not_supported');
    expect(await codeOf(by.get(`/resources/${id}/content?format=html`))).toBe('unsupported_format');
    expect(await codeOf(by.post('/resources', inWorkspace({ type: 'file' })))).toBe('use_files_endpoint');
  });
});

interface Named {
  readonly id: string;
  readonly status: string;
}

describe('storage', () => {
  test('is counted by kind and workspace, the largest first, with the trash counted separately', async () => {
    const mine = (await by.post<Workspace>('/workspaces', { name: 'Counted' })).data;
    const there = { workspace_id: mine.id };
    const large = idOf(await newFile(by, { name: 'large', ...there }, Buffer.alloc(1000)));
    const small = idOf(await newFile(by, { name: 'small', ...there }, Buffer.alloc(100)));
    const document = { type: 'document', name: 'D', content: 'Ten bytes.', ...there };
    const { id: written } = (await by.post<Resource>('/resources', document)).data;
    await by.patch(`/resources/${written}/content`, { content: 'Now eleven.' });
    const gone = idOf(await newFile(by, { name: 'gone', ...there }, Buffer.alloc(500)));
    await by.del(`/resources/${gone}`);
    const { data } = await by.get(`/storage/usage?workspace_id=${mine.id}&limit=2`);
    expect(data).toMatchObject({
      used_bytes: 1621,
      quota_bytes: null,
      by_kind: { files: 1100, documents: 11, tables: 0, artifacts: 0, snapshots: 10, trash: 500 },
      by_workspace: [{ workspace_id: mine.id, bytes: 1621, file_count: 2 }],
      largest: [
        { resource_id: large, name: 'large', bytes: 1000 },
        { resource_id: small, name: 'small', bytes: 100 },
      ],
    });
    const named = await by.get<{ largest: { name: string }[] }>(`/storage/usage?workspace_id=${mine.id}&limit=900`);
    expect(named.data.largest.map(({ name }) => name)).toEqual(['large', 'small', 'D']);
    const all = await by.get<{ by_workspace: { workspace_id: string }[] }>('/storage/usage');
    expect(all.data.by_workspace.map(({ workspace_id: id }) => id)).toContain(mine.id);
  });

  test('includes templates, which belong to no workspace', async () => {
    const author = await signUp(system, 'Author');
    const { data: source } = await author.post<Workspace>('/workspaces', { name: 'Source' });
    const document = { type: 'document', name: 'D', content: 'Ten bytes.', workspace_id: source.id };
    await author.post('/resources', document);
    const { data: made } = await author.post<Named>('/workspace-templates', {
      ...{ name: 'Counted', source_workspace_id: source.id },
    });
    await eventually(async () => {
      const { data } = await author.get<Named>(`/workspace-templates/${made.id}`);
      expect(data.status).toBe('ready');
    });
    const { data } = await author.get('/storage/usage');
    expect(data).toMatchObject({ used_bytes: 20, by_kind: { documents: 10, templates: 10 } });
  });

  test('is freed when a file is purged, and its link becomes invalid', async () => {
    const id = idOf(await newFile(by, inWorkspace({ name: 'gone' }), 'Soon gone.'));
    const { download_url: url } = await linkOf(by, id);
    await by.del(`/resources/${id}`);
    await by.del(`/workspaces/${workspace.id}/trash?resource_ids=${id}`);
    await eventually(async () => expect((await download(url)).status).toBe(404));
    expect((await by.get<FileLink>(`/resources/${id}/file`)).status).toBe(404);
  });
});

describe('a file below a document', () => {
  const listed = async (query: string, at = workspace) => {
    const { data, body } = await by.get<List<Resource>>(`/workspaces/${at.id}/resources?${query}`);
    return { names: data.items.map(({ name }) => name).sort(), total: body.page?.total };
  };

  test('is its attachment, and is omitted from lists unless they ask for files', async () => {
    const at = (await by.post<Workspace>('/workspaces', { name: 'Attached' })).data;
    const folder = (await by.post<Resource>('/resources', { type: 'folder', name: 'Folder', workspace_id: at.id }))
      .data;
    const page = (await by.post<Resource>('/resources', { type: 'document', name: 'Page', parent_id: folder.id })).data;
    const put = async (name: string, parent_id: string) =>
      (await newFile(by, { name, parent_id }, inlineBytes)).data.resource;
    const attached = await put('attached.txt', page.id);
    const loose = await put('loose.txt', folder.id);
    expect([attached.is_attachment, loose.is_attachment]).toEqual([true, false]);
    const all = ['Folder', 'Page', 'loose.txt'];
    expect(await listed('', at)).toEqual({ names: all, total: 3 });
    expect(await listed('type=file', at)).toEqual({ names: ['attached.txt', 'loose.txt'], total: 2 });
    expect(await listed(`parent_id=${page.id}`, at)).toEqual({ names: [], total: 0 });
    expect((await by.get<Resource>(`/resources/${page.id}`)).data.child_count).toBe(0);

    await by.patch(`/resources/${attached.id}`, { parent_id: folder.id });
    await by.patch(`/resources/${loose.id}`, { parent_id: page.id });
    expect(await listed('', at)).toEqual({ names: ['Folder', 'Page', 'attached.txt'], total: 3 });
    const copy = await by.post<{ resource: Resource }>(`/resources/${page.id}/copy`, { name: 'Copied' });
    expect(copy.status).toBe(201);
    expect(await listed('', at)).toEqual({ names: ['Copied', 'Folder', 'Page', 'attached.txt'], total: 4 });
    expect((await listed('type=file', at)).names).toEqual(['attached.txt', 'loose.txt', 'loose.txt']);

    await by.del(`/resources/${page.id}`);
    expect(await listed('', at)).toEqual({ names: ['Copied', 'Folder', 'attached.txt'], total: 3 });
    await by.post(`/resources/${page.id}/restore`);
    expect(await listed('', at)).toEqual({ names: ['Copied', 'Folder', 'Page', 'attached.txt'], total: 4 });
  });
});
